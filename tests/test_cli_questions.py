"""Questions from files: plain lines, JSON lines, and lines that are neither."""

import pytest

from tpn2f.bulk.records import Unread, add_given, read_line
from tpn2f.cli.questions import count_questions, open_questions, read_lines
from tpn2f.errors import DataError
from tpn2f.solution import Question


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("What is 3 plus 4?\n", Question("What is 3 plus 4?")),
        ("[1, 2]", Question("[1, 2]")),
        ("{1, 2, 3} has how many elements?", Question("{1, 2, 3} has how many elements?")),
        ("{ a } plus 3", Question("{ a } plus 3")),
        ('{"question": "a", "options": "a ) 1 , b ) 2"}', Question("a", {}, "a ) 1 , b ) 2")),
        ('{"text": "a", "options": [1, "2"], "inputs": {"n0": 3}}', Question("a", {"n0": 3}, ["1", "2"])),
        ('{"text": "a", "options": {"b": "2", "a": "1"}}', Question("a", {}, ["1", "2"])),
    ],
)
def test_a_line_is_a_question(line, expected):
    assert read_line(line) == expected


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ('{"question": ', "not valid JSON"),
        ('{"question": 5}', "the text field `question` or `text`"),
        ("{}", "the text field"),
        ('{"text": "a", "inputs": [1]}', "`inputs` is list"),
        ('{"text": "a", "options": 5}', "`options` is int"),
        ('{"a":' * 50_000, "not valid JSON"),
    ],
)
def test_a_line_that_is_none_says_why(line, reason):
    found = read_line(line)
    assert isinstance(found, Unread) and reason in found.reason


def test_a_jsonl_file_has_only_json(tmp_path):
    assert isinstance(read_line("plain", only_json=True), Unread)
    assert isinstance(read_line("[1]", only_json=True), Unread)
    path = tmp_path / "questions.jsonl"
    path.write_bytes(b'\xef\xbb\xbf{"text": "a"}\n\n \nplain\n{"text": "b\xff"}')
    with open_questions(path) as lines:
        found = list(lines)
    assert [line.where for line in found] == [f"questions.jsonl, line {number}" for number in (1, 4, 5)]
    assert found[0].asked == Question("a") and isinstance(found[1].asked, Unread)
    assert found[2].asked == Question("b\ufffd")
    assert count_questions(path) == 3


def test_a_file_that_cannot_be_read_is_one_line(tmp_path):
    for path in (tmp_path / "absent", tmp_path):
        with pytest.raises(DataError, match="cannot read"), open_questions(path):
            pass


def test_lines_are_read_one_by_one():
    def source():
        yield "first\n"
        raise AssertionError("asked for more than was needed")

    assert next(read_lines(source(), "here")).asked == Question("first")


def test_what_a_question_says_itself_comes_first():
    own = Question("a", {"n0": 1}, "own")
    assert add_given(own, {"n0": 2, "n1": 3}, "given") == Question("a", {"n0": 1, "n1": 3}, "own")
    assert add_given(Question("a"), {}, "given").options == "given"
    assert add_given(Unread("no"), {"n0": 2}, None) == Unread("no")
