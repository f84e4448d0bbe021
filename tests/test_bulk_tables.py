"""Files in parts: the parts are the file, in every format, and a table is written completely or not at all."""

import csv
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tpn2f.bulk.records import COLUMNS, Unread, describe_unread
from tpn2f.bulk.tables import divide, format_of, read, read_rows, write
from tpn2f.errors import DataError

TEXTS = [f"What is {k} plus {k}?" for k in range(10)]


def all_of(path, size):
    return [record for part in divide(path, size).parts for record in read(path, part)]


def write_questions(folder, kind, texts=TEXTS):
    path = folder / f"questions.{kind}"
    if kind == "parquet":
        pyarrow = pytest.importorskip("pyarrow", reason="needs the extra `ray`")
        from pyarrow.parquet import write_table

        write_table(pyarrow.table({"id": list(range(len(texts))), "question": texts}), path, row_group_size=4)
    elif kind == "csv":
        with path.open("w", newline="") as file:
            csv.writer(file).writerows([["id", "question"], *enumerate(texts)])
    elif kind == "txt":
        path.write_text("\n\n".join(texts))
    else:
        path.write_text("".join(json.dumps({"id": k, "question": text}) + "\n" for k, text in enumerate(texts)))
    return path


@pytest.mark.parametrize("kind", ["jsonl", "csv", "txt", "parquet"])
@pytest.mark.parametrize("size", [1, 3, 10, 100])
def test_the_parts_are_the_file(kind, size, tmp_path):
    path = write_questions(tmp_path, kind)
    parts = divide(path, size)
    assert [record["question"] for record in all_of(path, size)] == TEXTS
    assert parts.count == len(TEXTS)
    assert [part.number for part in parts.parts] == list(range(len(parts.parts)))
    firsts = [part.first for part in parts.parts]
    assert firsts == [1 + sum(part.count for part in parts.parts[:k]) for k in range(len(firsts))]
    assert all(part.count <= size for part in parts.parts)
    assert divide(path, size) == parts


@given(st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=8), max_size=8))
def test_cells_may_hold_lines_and_quotes(tmp_path_factory, texts):
    path = write_questions(tmp_path_factory.mktemp("csv"), "csv", texts)
    wanted = [text or None for text in texts]
    assert [record.get("question") for record in all_of(path, 2)] == wanted


def test_marks_line_ends_and_empty_lines_do_no_harm(tmp_path):
    path = tmp_path / "q.txt"
    path.write_bytes(b"\xef\xbb\xbf15% of 240\r\n\n  \n\xff plus 3\r\n{1, 2} has how many?")
    assert all_of(path, 2) == [
        {"question": "15% of 240"},
        {"question": "\ufffd plus 3"},
        {"question": "{1, 2} has how many?"},
    ]


def test_what_is_no_record_says_why_and_the_others_stay(tmp_path):
    path = tmp_path / "q.jsonl"
    path.write_text('{"question": \n"a text"\n{"question": "3 + 4"}\n')
    broken, text, good = all_of(path, 10)
    assert isinstance(broken, Unread) and "not valid JSON" in broken.reason
    assert text == "a text" and good == {"question": "3 + 4"}
    table = tmp_path / "q.csv"
    table.write_text('question,inputs,other\na,"{""a"": [1]}",x\nb,{,y\n')
    first, second = all_of(table, 10)
    assert first == {"question": "a", "inputs": {"a": [1]}}
    assert isinstance(second, Unread) and second.reason.startswith("`inputs`: not valid JSON")


def test_files_that_are_none_are_refused(tmp_path):
    with pytest.raises(DataError, match="cannot read"):
        divide(tmp_path / "none.jsonl", 1)
    (tmp_path / "a.csv").write_text("name,answer\n1,2\n")
    with pytest.raises(DataError, match="expected a column `question` or `text`"):
        divide(tmp_path / "a.csv", 1)
    pytest.importorskip("pyarrow", reason="needs the extra `ray`")
    (tmp_path / "a.parquet").write_text("no table")
    with pytest.raises(DataError, match="is no Parquet file"):
        divide(tmp_path / "a.parquet", 1)


@pytest.mark.parametrize("kind", ["jsonl", "csv", "parquet"])
def test_a_table_is_read_as_it_was_written(kind, tmp_path):
    if kind == "parquet":
        pytest.importorskip("pyarrow", reason="needs the extra `ray`")
    row = {"row": 1, "id": "a", "question": 'q\n"q"', **describe_unread("why"), "steps": ["1 + 2 = 3"]}
    path = tmp_path / f"part.{kind}"
    write(path, [row, {**row, "row": 2, "answer": "7", "confidence": 0.5}], kind)
    first, second = read_rows(path)
    assert list(first) == list(COLUMNS)
    assert first["question"] == row["question"] and first["error"] == "why"
    assert second["answer"] == "7" and float(second["confidence"]) == 0.5
    assert [json.loads(first["steps"])] if kind == "csv" else [first["steps"]] == [["1 + 2 = 3"]]
    assert [other.name for other in tmp_path.iterdir()] == [path.name]


def test_what_cannot_be_written_leaves_nothing(tmp_path):
    with pytest.raises(DataError, match="cannot write"):
        write(tmp_path / "none" / "part.jsonl", [])
    assert list(tmp_path.iterdir()) == []


def test_the_ending_says_the_format(tmp_path):
    assert [format_of(tmp_path / name) for name in ("a.JSONL", "a.csv", "a.parquet", "a.txt", "a")] == [
        *("jsonl", "csv", "parquet", "text", "text"),
    ]
