"""MathQA: the reader of its files and of a person's text, the words that stand for numbers, and the scores."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conftest import unchecked
from tpn2f.domain import Problem
from tpn2f.domains.mathqa.domain import MAX_CHARACTERS, MathQA, constant_value, mask_numbers, tokenize
from tpn2f.errors import DataError, ExecutionError
from tpn2f.program import Program

RECORD = {
    "Problem": "a shop sold 3 of 1,200 pens at 2.5 each . what did it earn ?",
    "options": "a ) 7.5 , b ) 3000 , c ) 1 , d ) 2 , e ) none of these",
    "correct": "a",
    "linear_formula": "multiply(n0,n2)|",
    "category": "general",
}


def write(folder: Path, records: object, split: str = "dev") -> MathQA:
    folder.mkdir(exist_ok=True)
    (folder / f"{split}.json").write_text(records if isinstance(records, str) else json.dumps(records))
    return MathQA(folder)


# Numbers and constants


def test_numbers_become_names_in_the_order_of_their_tokens() -> None:
    text = "if 3 / 4 of - 1,200 is .5 , then 5th and x2 and 1.2.3 , 7. ?"
    problem = mask_numbers(text.split())
    assert problem.bindings == {"n0": 3, "n1": 4, "n2": 1200, "n3": 0.5, "n4": 7}
    assert " ".join(problem.words) == "if n0 / n1 of - n2 is n3 , then 5th and x2 and 1.2.3 , n4 ?"


@pytest.mark.parametrize(
    ("word", "value"),
    [
        ("const_100", 100),
        ("const_0_25", 0.25),
        ("const_0.25", 0.25),
        ("const_2.0", 2),
        ("const_1_6", 1.6),
        ("const_pi", math.pi),
        ("const_deg_to_rad", math.pi / 180),
    ],
)
def test_constants_are_worth_what_they_say(word: str, value: float) -> None:
    assert constant_value(word) == value
    assert word in MathQA.constants
    program = Program.parse(f"add({word}, {word})")
    assert MathQA().execute(program, Problem(("x",))) == pytest.approx(2 * value)


def test_every_constant_of_the_official_list_is_there_in_both_spellings(mathqa_data: Path) -> None:
    for line in (mathqa_data / "constant_list.txt").read_text().lower().split():
        assert line in MathQA.constants
        if line != "const_deg_to_rad":
            assert line.replace(".", "_") in MathQA.constants


# Files


def test_a_record_becomes_an_example(tmp_path: Path) -> None:
    domain = write(tmp_path, [RECORD])
    (example,) = domain.examples("dev")
    assert example.id == "dev:0"
    assert example.text == RECORD["Problem"]
    assert example.program == Program.parse("multiply(n0, n2)")
    assert example.problem.bindings == {"n0": 3, "n1": 1200, "n2": 2.5}
    assert example.answer.values == (7.5, 3000, 1, 2, None)
    assert domain.execute(example.program, example.problem) == 7.5
    assert domain.is_solved(example.program, example)
    assert domain.skipped == {"dev": []}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("[{", "is not valid JSON: "),
        ("", "is not valid JSON: "),
        ("\udcff", "is not valid JSON: "),
        ("[" * 100_000, "is not valid JSON: "),
        ("[]", "expected a list of records, got an empty list"),
        ("{}", "expected a list of records, got no list"),
        ("3", "expected a list of records, got no list"),
    ],
)
def test_a_damaged_file_is_a_data_error_that_names_it(tmp_path: Path, content: str, message: str) -> None:
    path = tmp_path / "dev.json"
    path.write_text(content, errors="surrogateescape")
    with pytest.raises(DataError, match=re.escape(str(path))) as caught:
        list(MathQA(tmp_path).examples("dev"))
    assert message in str(caught.value)


def test_a_missing_file_names_what_is_there(tmp_path: Path) -> None:
    domain = write(tmp_path / "some", [RECORD])
    with pytest.raises(DataError, match=r"test.json does not exist \(the folder has dev.json\)"):
        list(domain.examples("test"))
    with pytest.raises(DataError, match=r"dev.json does not exist \(the folder has no .json files\)"):
        list(MathQA(tmp_path / "absent").examples("dev"))


def test_a_file_that_cannot_be_read_is_a_data_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    domain = write(tmp_path, [RECORD])

    def refuse(path: Path) -> bytes:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "read_bytes", refuse)
    with pytest.raises(DataError, match=r"cannot read .*dev\.json: Permission denied"):
        list(domain.examples("dev"))


def test_an_unknown_split_lists_the_splits() -> None:
    with pytest.raises(DataError, match="mathqa has no split 'tests'; it has train, dev, test, challenge_test"):
        list(MathQA().examples("tests"))


DAMAGED: list[tuple[object, str]] = [
    ("text", "expected a JSON object, got str"),
    (None, "expected a JSON object, got NoneType"),
    ({**RECORD, "Problem": 3}, "the field 'Problem' is int, not text"),
    ({**RECORD, "Problem": " \n"}, "the problem has no text"),
    ({name: value for name, value in RECORD.items() if name != "options"}, "the field 'options' is missing"),
    ({name: value for name, value in RECORD.items() if name != "correct"}, "the field 'correct' is missing"),
    ({**RECORD, "linear_formula": None}, "the field 'linear_formula' is NoneType, not text"),
    ({**RECORD, "linear_formula": ""}, "the formula is empty"),
    ({**RECORD, "linear_formula": "add(n0,n1"}, "position 9: expected ',' or ')' after the argument n1"),
    ({**RECORD, "linear_formula": "add n0"}, "position 3: expected '(' after the relation add"),
]


def test_damaged_records_are_left_out_and_listed_never_in_silence(tmp_path: Path) -> None:
    domain = write(tmp_path, [RECORD, *(record for record, _ in DAMAGED), RECORD])
    examples = list(domain.examples("dev"))
    assert [example.id for example in examples] == ["dev:0", f"dev:{len(DAMAGED) + 1}"]
    assert len(domain.skipped["dev"]) == len(DAMAGED)
    for index, (line, (_, message)) in enumerate(zip(domain.skipped["dev"], DAMAGED), 1):
        assert line.startswith(f"dev.json, record {index}: ")
        assert message in line


def test_a_reading_that_stops_early_does_not_forget_what_was_left_out(tmp_path: Path) -> None:
    domain = write(tmp_path, [RECORD, *(record for record, _ in DAMAGED)])
    list(domain.examples("dev"))
    next(iter(domain.examples("dev")))
    list(domain.examples("dev"))
    assert len(domain.skipped["dev"]) == len(DAMAGED)


def test_the_real_files_are_read_whole(mathqa_examples) -> None:
    counts = {split: len(mathqa_examples(split)) for split in MathQA.splits}
    assert counts == {"train": 29_837, "dev": 4_475, "test": 2_985, "challenge_test": 604}


# A person's text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("What is 60% of $1,200?", "what is 60 % of $ 1,200 ?"),
        ("The 5th of 12 boys", "the 5 th of 12 boys"),
        ("3/4 of it", "3 / 4 of it"),
        ("It's Tom's.", "it ' s tom ' s ."),
        ("A train (120m long), runs at 50km/h.", "a train ( 120 m long ) , runs at 50 km / h ."),
        ("the ratio 2:3", "the ratio 2 : 3"),
        ("x^2 - 4x = 0", "x ^ 2 - 4 x = 0"),
        ("1,234,567.89 and .5 and 7.", "1,234,567.89 and .5 and 7 ."),
        ("21,36 and 66", "21 , 36 and 66"),
        ("1,2,3,4", "1 , 2 , 3 , 4"),
        ("  many \n\t spaces  ", "many spaces"),
        ("STRASSE ÉTÉ π", "strasse été π"),
        ("____ ?", "____ ?"),
        ("n0 is 3", "n 0 is 3"),
    ],
)
def test_a_persons_text_has_the_tokens_of_the_data(text: str, expected: str) -> None:
    assert tokenize(text) == expected.split()


def test_reading_gives_the_template_and_the_values() -> None:
    problem = MathQA().read("If $1,200 grows by 60%, what's 3/4 of it?")
    assert " ".join(problem.words) == "if $ n0 grows by n1 % , what ' s n2 / n3 of it ?"
    assert problem.bindings == {"n0": 1200, "n1": 60, "n2": 3, "n3": 4}


@pytest.mark.parametrize("text", ["", " \n "])
def test_an_empty_question_is_a_data_error(text: str) -> None:
    with pytest.raises(DataError, match="the question is empty"):
        MathQA().read(text)


def test_an_endless_question_is_a_data_error() -> None:
    with pytest.raises(DataError, match=f"has {MAX_CHARACTERS + 1} characters; at most"):
        MathQA().read("a" * (MAX_CHARACTERS + 1))


@given(st.text(min_size=1))
def test_every_sign_that_is_not_space_is_kept(text: str) -> None:
    assert "".join(tokenize(text)) == "".join(text.lower().split())


@given(st.text(min_size=1))
def test_reading_is_stable(text: str) -> None:
    words = tokenize(text)
    assert tokenize(" ".join(words)) == words


def test_the_text_of_the_data_is_read_as_the_data_has_it(mathqa_examples) -> None:
    """The only differences are lists that the data left glued, `21,36 and 66`, where a person means several numbers. In
    texts without numerals numbers in words are read, which the data does not do."""
    examples = [example for example in mathqa_examples("dev") if example.problem.bindings]
    domain = MathQA()
    with unchecked():
        different = [example for example in examples if domain.read(example.text) != example.problem]
    assert len(different) <= 0.006 * len(examples)
    glued = re.compile(r"\d,\d{1,2}(?!\d)|\d,\d{4}|\d{4},\d")
    assert [example.text for example in different if not glued.search(example.text)] == []


# Scores


def test_the_nearest_option_decides(tmp_path: Path) -> None:
    domain = write(tmp_path, [RECORD])
    (example,) = domain.examples("dev")
    near = Program.parse("multiply(n0, n2) | add(#0, const_0.25)")
    assert domain.credits(near, example) == {"value": 0.0, "nearest_option": 1.0, "published": 1.0}
    assert domain.credits(example.program, example) == {"value": 1.0, "nearest_option": 1.0, "published": 1.0}
    wrong = Program.parse("multiply(n1, n2)")
    assert domain.credits(wrong, example) == {"value": 0.0, "nearest_option": 0.0, "published": 0.0}
    failing = Program.parse("divide(n0, const_1) | what(#0)")
    assert domain.credits(failing, example)["nearest_option"] == 0.0
    assert not domain.is_solved(failing, example)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({}, None),
        ({"linear_formula": "multiply(n1,n2)"}, "the program gives another option"),
        ({"linear_formula": "multiply(n1,n1)"}, "the program gives none of the options"),
        ({"linear_formula": "divide(n1,n7)"}, "the program cannot be run"),
        ({"correct": "e"}, "the gold option is not a number"),
        ({"correct": "x"}, "the gold option is not a number"),
        ({"options": ""}, "the gold option is not a number"),
        ({"options": "a ) 7 , b ) 8 , c ) 1 , d ) 2 , e ) 3"}, "the program gives none of the options"),
    ],
)
def test_gold_that_misses_its_answer_says_why(tmp_path: Path, change: dict[str, str], reason: str | None) -> None:
    domain = write(tmp_path, [{**RECORD, **change}])
    (example,) = domain.examples("dev")
    assert domain.diagnose(example) == reason
    assert domain.is_solved(example.program, example) == (reason is None)


def test_steps_show_the_work() -> None:
    domain = MathQA()
    problem = domain.read("20 is subtracted from 60 percent of a number , the result is 88 . find the number ?")
    steps = domain.steps(Program.parse("add(n0,n2)|divide(n1,const_100)|divide(#0,#1)"), problem)
    assert [(step.values, step.result) for step in steps] == [((20, 88), 108), ((60, 100), 0.6), ((108, 0.6), 180)]


def test_an_error_names_the_step_and_the_names_of_the_problem() -> None:
    domain = MathQA()
    with pytest.raises(ExecutionError, match=r"step 1, divide\(#0, n4\): the problem has no n4 \(it has n0, n1\)"):
        domain.execute(Program.parse("add(n0,n1)|divide(#0,n4)"), domain.read("3 and 4"))
