"""The grammar's file: what is written is read, and a wrong row is named with its line."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from algolisp_toy import toy_rows, write_rows
from tpn2f.domains.algolisp.generation.grammar import Span, TextGrammar, read_phrase, write_phrase
from tpn2f.domains.algolisp.generation.wording import Argument, Draft, NoMoreLetters, Wording
from tpn2f.errors import DataError
from tpn2f.program import read_tree, write_tree


@pytest.fixture
def toy(tmp_path: Path) -> TextGrammar:
    return TextGrammar.load(write_rows(tmp_path / "toy.jsonl", toy_rows()))


def test_saving_and_loading(toy: TextGrammar, tmp_path: Path) -> None:
    toy.inputs[read_tree("(head {0})"), "{0}"]["int[]"] = Span(1, 30, 5, 15)
    toy.inputs[read_tree("(strlen {0})"), "{0}"]["string"] = Span(2, 5, letters="abc")
    toy.orders["int", "int[]"]["int[]", "int"] += 3
    toy.unnamed["int"] = [1.0, 2.5]
    toy.mentions["int"]["than"] += 4
    toy.save(tmp_path / "one.jsonl")
    again = TextGrammar.load(tmp_path / "one.jsonl")
    again.save(tmp_path / "two.jsonl")
    assert (tmp_path / "one.jsonl").read_text() == (tmp_path / "two.jsonl").read_text()
    assert again.inputs == toy.inputs and again.orders == toy.orders and again.shapes == toy.shapes
    assert not list(tmp_path.glob("*.part"))


@pytest.mark.parametrize("text", ["sum of {0}", "define {x} as {0} | {x}", "square {0} , keep {0} | half of {0}"])
def test_phrases_as_texts(text: str) -> None:
    assert write_phrase(read_phrase(text)) == text


GOOD = {"kind": "phrase", "program": "(len {0})", "type": "int", "holes": ["int[]"], "text": "size of {0}", "count": 1}


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ({"kind": "sentence"}, "the kind 'sentence' is not known"),
        ({}, "the field 'kind' is missing"),
        ({**GOOD, "program": "(len {0}"}, "closing bracket"),
        ({**GOOD, "program": "(len {1})"}, "needs 1 holes"),
        ({**GOOD, "program": "(length {0})"}, "length"),
        ({**GOOD, "type": "string"}, "does not give the type string"),
        ({**GOOD, "type": "number"}, "the type 'number' is not known"),
        ({**GOOD, "text": "size of it"}, "does not mention every hole"),
        ({**GOOD, "text": "size of {0} and {1}"}, "does not mention every hole"),
        ({**GOOD, "order": [1]}, "needs 1 holes"),
        ({**GOOD, "count": "many"}, "many"),
        ({key: value for key, value in GOOD.items() if key != "text"}, "the field 'text' is missing"),
    ],
)
def test_a_wrong_row_is_named_with_its_line(tmp_path: Path, row: dict, words: str) -> None:
    rows = toy_rows()
    path = write_rows(tmp_path / "toy.jsonl", [*rows, row])
    with pytest.raises(DataError, match=rf"toy.jsonl, line {len(rows) + 1}: .*") as caught:
        TextGrammar.load(path)
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ([], "has no phrase"),
        ([{**GOOD, "text": "<7> of {0}"}], "<7>, which no row gives"),
        ([GOOD, {"kind": "root", "program": "(head {0})", "count": 1}], r"no row of the kind phrase says (head {0})"),
    ],
)
def test_a_grammar_that_does_not_hang_together(tmp_path: Path, rows: list[dict], words: str) -> None:
    with pytest.raises(DataError) as caught:
        TextGrammar.load(write_rows(tmp_path / "toy.jsonl", rows))
    assert words in str(caught.value)


def test_no_file_and_no_json(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="cannot be read"):
        TextGrammar.load(tmp_path / "none.jsonl")
    (tmp_path / "bad.jsonl").write_text("{\n")
    with pytest.raises(DataError, match="line 1"):
        TextGrammar.load(tmp_path / "bad.jsonl")


def test_what_two_spans_allow() -> None:
    assert Span(1, 30) & Span(5, 99) == Span(5, 30)
    assert Span(1, 10, 5, 15) & Span(20, 30, 6, 40) == Span(20, 30, 6, 15)


def draft(text: str) -> Draft:
    """`(head (reverse int[]))` with every call a skeleton of its own."""
    tree = read_tree(text)
    assert not isinstance(tree, str)
    parts = {}
    for index, part in enumerate(tree[1:]):
        parts[f"{{{index}}}"] = Argument(part) if isinstance(part, str) else draft(write_tree(part))
    return Draft((tree[0], *parts), parts)


def test_letters_count_from_a_in_every_part_and_later_parts_give_way(toy: TextGrammar) -> None:
    """As in the data: in `min(x, length of a segment of a, b, c, d)` the segment's a and b become the next letters."""
    rows = [row for row in toy_rows() if row["kind"] == "phrase" and row["program"] == "(slice {0} {1} {2})"]
    assert len(rows) == 1
    slice_and_sum = draft("(+ (head (slice int[] int int)) (head (slice int[] int int)))")
    task = Wording(toy, random.Random(0)).say(slice_and_sum)
    # The first slice has a, b, c and its own name d; in the second all four are taken, and e to h are next.
    assert write_tree(task.tree) == "(+ (head (slice a b c)) (head (slice e f g)))"
    text = " ".join(task.words)
    assert "define d as" in text and "define h as" in text
    assert {name: argument.type for argument, name in task.names.items()} == {
        **{"a": "int[]", "b": "int", "c": "int"},
        **{"e": "int[]", "f": "int", "g": "int"},
    }


def test_a_program_with_too_many_arguments_cannot_be_named(toy: TextGrammar) -> None:
    text = "int"
    for _ in range(30):
        text = f"(+ int {text})"
    with pytest.raises(NoMoreLetters):
        Wording(toy, random.Random(0)).say(draft(text))
