"""AlgoLisp's data and metrics: the reader and its refusals, the protocol, a person's text, and the gold programs."""

from __future__ import annotations

import gzip
import json
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from tpn2f.domain import ANY, Domain, Example, Problem, read_problem
from tpn2f.domains.algolisp.domain import AlgoLisp, Answer, Case, TypeName
from tpn2f.errors import DataError, ExecutionError
from tpn2f.program import Program, read_tree

RECORD = {
    "text": [
        "given",
        "an",
        "array",
        "of",
        "numbers",
        "a",
        "and",
        "a",
        "number",
        "b",
        ",",
        "what",
        "is",
        "the",
        "sum",
        "of",
        "a",
        "and",
        "b",
    ],
    "short_tree": ["+", ["reduce", "a", "0", "+"], "b"],
    "args": {"a": "int[]", "b": "int"},
    "return_type": "int",
    "tests": [
        {"input": {"a": [1, 2], "b": 3}, "output": 6},
        {"input": {"a": [], "b": 1}, "output": 1},
        {"input": {"a": [5], "b": 5}, "output": 10},
        {"input": {"a": [0], "b": 0}, "output": 0},
    ],
    "nodes": ["sum_plus"],
}


def write(folder: Path, *lines: str, name: str = "metaset3.dev.jsonl") -> AlgoLisp:
    content = "".join(f"{line}\n" for line in lines).encode()
    (folder / name).write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    return AlgoLisp(folder)


def program(text: str) -> Program:
    return Program.from_tree(read_tree(text))


@pytest.fixture
def example(tmp_path: Path) -> Example:
    (found,) = write(tmp_path, json.dumps(RECORD)).examples("dev")
    return found


DOMAIN = AlgoLisp()


# Reading


@pytest.mark.parametrize("name", ["metaset3.test.jsonl", "metaset3.test.jsonl.gz"])
def test_a_record_is_read_plain_or_gzipped(tmp_path: Path, name: str) -> None:
    domain = write(tmp_path, json.dumps(RECORD), json.dumps(RECORD), name=name)
    first, second = domain.examples("test")
    assert (first.id, second.id) == ("test:0", "test:1")
    assert first.text == " ".join(RECORD["text"])
    assert first.problem == Problem(tuple(RECORD["text"]), {"a": "int[]", "b": "int"})
    assert str(first.program) == "reduce(a, 0, +) | +(#0, b)"
    assert isinstance(first.answer, Answer)
    assert first.answer.return_type == "int" and first.answer.template == "sum_plus"
    assert first.answer.tests[0] == Case({"a": [1, 2], "b": 3}, 6)
    assert isinstance(domain, Domain)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("{", "is not JSON"),
        ("[" * 100_000, "is not JSON"),
        ('{"text": ' + "9" * 5_000 + "}", "is not JSON"),
        ("7", "is a int; expected an object"),
        ("", "is not JSON"),
        *[
            (json.dumps({key: RECORD[key] for key in RECORD if key != field}), f"{field!r} is missing")
            for field in ("text", "short_tree", "args", "return_type", "tests")
        ],
        (json.dumps({**RECORD, "text": "a b"}), "'text' is not a list"),
        (json.dumps({**RECORD, "text": []}), "not a list of words"),
        (json.dumps({**RECORD, "short_tree": []}), "a call must begin with a relation"),
        (json.dumps({**RECORD, "short_tree": ["+", 1, 2]}), "words and calls only"),
        (json.dumps({**RECORD, "args": {"a": "float"}}), "'float' is not a type"),
        (json.dumps({**RECORD, "tests": [{"input": {"a": [], "b": 1}}]}), "no 'output'"),
        (json.dumps({**RECORD, "tests": [{"input": {"a": []}, "output": 1}]}), "does not have the record's arguments"),
    ],
)
def test_a_broken_line_is_named_or_skipped_and_listed(tmp_path: Path, line: str, words: str) -> None:
    good = json.dumps(RECORD)
    domain = write(tmp_path, good, line, good)
    with pytest.raises(DataError) as caught:
        list(domain.examples("dev"))
    assert "metaset3.dev.jsonl, line 2: " in str(caught.value)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)
    lenient = AlgoLisp(tmp_path, skip_broken=True)
    assert [found.id for found in lenient.examples("dev")] == ["dev:0", "dev:2"]
    assert lenient.skipped == {"dev": [str(caught.value)]}


def test_damaged_and_empty_files(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="is empty"):
        list(write(tmp_path).examples("dev"))
    whole = gzip.compress("".join(json.dumps(RECORD) + "\n" for _ in range(2000)).encode())
    (tmp_path / "metaset3.test.jsonl.gz").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(DataError, match=r"metaset3.test.jsonl.gz, after line \d+: cannot be read"):
        list(AlgoLisp(tmp_path).examples("test"))
    (tmp_path / "metaset3.train.jsonl").write_bytes(b"\xff\xfe")
    with pytest.raises(DataError, match="after line 0: cannot be read"):
        list(AlgoLisp(tmp_path).examples("train"))


def test_missing_files_say_what_was_looked_for(tmp_path: Path) -> None:
    domain = AlgoLisp(tmp_path)
    with pytest.raises(DataError, match=r"looked for metaset3.test.jsonl and metaset3.test.jsonl.gz in .*data get"):
        domain.examples("test")
    with pytest.raises(DataError, match=r"metaset3.train.jsonl.*dev-as-train protocol.*dev-train.*dev-valid"):
        domain.examples("train")
    with pytest.raises(DataError, match="it has train, dev, test, dev-train, dev-valid"):
        domain.examples("challenge")


def test_the_protocol_cuts_dev_by_program(tmp_path: Path) -> None:
    lines = [json.dumps({**RECORD, "short_tree": ["+", str(n // 3), "b"]}) for n in range(300)]
    domain = write(tmp_path, *lines)
    parts = [{str(found.program) for found in domain.examples(split)} for split in ("dev-train", "dev-valid")]
    assert not parts[0] & parts[1]
    assert len(parts[0]) + len(parts[1]) == 100
    assert 0 < len(parts[1]) < 30
    assert [len(list(domain.examples(split))) for split in ("dev-train", "dev-valid")] == [
        3 * len(part) for part in parts
    ]


# Running and scoring


def test_values_come_from_the_bindings() -> None:
    problem = Problem(("x",), {"a": [1, 2, 3], "b": TypeName("int")})
    assert DOMAIN.execute(program("(reduce a 0 +)"), problem) == 6
    with pytest.raises(ExecutionError, match=r"a type but no value: b \(int\)"):
        DOMAIN.execute(program("(+ b 1)"), problem)
    assert DOMAIN.execute(program("(strlen b)"), Problem(("x",), {"b": "int"})) == 3


@pytest.mark.parametrize("text", ["", "+(#0, 1)", "+(#3, 1)", "+(1)", "frobnicate(1)", "+(1, x)"])
def test_programs_that_cannot_run_are_execution_errors(text: str, example: Example) -> None:
    bad = Program.parse(text)
    with pytest.raises(ExecutionError):
        DOMAIN.execute(bad, Problem(("x",), {"a": [1]}))
    assert DOMAIN.passed_tests(bad, example) == (False,) * 4
    assert not DOMAIN.is_solved(bad, example)
    assert DOMAIN.credits(bad, example) == {"acc": 0.0, "acc50": 0.0, "m_acc": 0.0}


@pytest.mark.parametrize(
    ("text", "passed", "credits"),
    [
        ("(+ (reduce a 0 +) b)", (True,) * 4, (1, 1, 1)),
        ("(+ b (reduce a 0 +))", (True,) * 4, (1, 1, 0)),
        ("(+ b (if (== (len a) 0) 0 (head a)))", (False, True, True, True), (0, 1, 0)),
        ("(* b (if (== b 1) 1 2))", (True, True, True, True), (1, 1, 0)),
        ("(+ b (head a))", (False, False, True, True), (0, 1, 0)),
        ("(head a)", (False, False, False, True), (0, 0, 0)),
    ],
)
def test_the_published_metrics(
    example: Example, text: str, passed: tuple[bool, ...], credits: tuple[int, int, int]
) -> None:
    tried = program(text)
    assert DOMAIN.passed_tests(tried, example) == passed
    assert DOMAIN.is_solved(tried, example) == all(passed)
    assert DOMAIN.credits(tried, example) == dict(zip(("acc", "acc50", "m_acc"), map(float, credits)))


def test_half_of_a_single_test_is_not_half_and_no_test_is_all() -> None:
    problem = Problem(("x",), {"a": TypeName("int")})
    gold = program("(+ a 1)")
    one = Example(problem, gold, Answer((Case({"a": 1}, 3),), "int"))
    none = Example(problem, gold, Answer((), "int"))
    assert DOMAIN.credits(gold, one) == {"acc": 0.0, "acc50": 0.0, "m_acc": 1.0}
    assert DOMAIN.credits(gold, none) == {"acc": 1.0, "acc50": 1.0, "m_acc": 1.0}


def test_tuples_that_nothing_uses_do_not_count_for_the_tree(example: Example) -> None:
    padded = Program.parse("len(a) | reduce(a, 0, +) | +(#1, b)")
    assert DOMAIN.credits(padded, example)["m_acc"] == 1.0


@pytest.mark.parametrize(
    ("text", "well_typed"),
    [
        ("(+ (reduce a 0 +) b)", True),
        ("b", None),
        ("(+ a b)", False),  # an array is no number
        ("(reverse a)", False),  # the task returns a number
        ("(+ c b)", False),  # there is no c
        ("(+ b)", False),
    ],
)
def test_a_program_is_well_typed_or_not(example: Example, text: str, well_typed: bool | None) -> None:
    found = Program() if well_typed is None else program(text)
    assert DOMAIN.is_well_typed(found, example.problem) is bool(well_typed)


def test_why_gold_is_not_clean(tmp_path: Path) -> None:
    tests = [{"input": {"a": [], "b": 0}, "output": 0}]
    lines = [
        json.dumps(RECORD),
        json.dumps({**RECORD, "short_tree": ["head", "a"], "tests": tests}),
        json.dumps({**RECORD, "short_tree": ["+", "b", "1"], "tests": tests}),
    ]
    domain = write(tmp_path, *lines)
    clean, empty, other = domain.examples("dev")
    assert domain.diagnose(clean) is None
    assert domain.diagnose(empty) == "head: the array is empty"
    assert domain.diagnose(other) == "the gold program gives another value than a test expects"
    assert [domain.subsets(found) for found in (clean, empty, other)] == [("cleaned",), (), ()]


# A person's text


def test_values_must_be_what_the_text_says() -> None:
    text = "Given an array of numbers a and a string b, go"
    given = {"a": [1, 2], "b": "x"}
    assert read_problem(DOMAIN, text, given).bindings == given
    assert read_problem(DOMAIN, text, {"a": []}).bindings == {"a": [], "b": "string"}
    assert read_problem(DOMAIN, "go on", {"q": 1}).bindings == {"q": 1}


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        ({"a": "x"}, 'a is int[] in the text; got "x"'),
        ({"a": 1}, "a is int[] in the text; got 1"),
        ({"a": [1, "x"]}, 'a is int[] in the text; got [1, "x"]'),
        ({"a": [1.5]}, "a is int[] in the text; got [1.5]"),
        ({"a": [True]}, "a is int[] in the text; got [true]"),
        ({"b": 2}, "b is string in the text; got 2"),
        ({"q": 2}, "the text introduces a (int[]), b (string); got a value for q"),
    ],
)
def test_other_values_are_one_clear_line(inputs: dict[str, object], message: str) -> None:
    with pytest.raises(DataError, match=f"^{re.escape(message)}$"):
        read_problem(DOMAIN, "Given an array of numbers a and a string b, go", inputs)


@pytest.mark.parametrize(
    ("text", "words", "bindings"),
    [
        (
            "Given an array of numbers A and a number B, find A's sum (0 based).",
            "given an array of numbers a and a number b , find a ' s sum ( 0 based )",
            {"a": "int[]", "b": "int"},
        ),
        (
            "You are given arrays of numbers a, b and c and strings d and e, go?",
            None,
            dict(zip("abcde", ["int[]"] * 3 + ["string"] * 2)),
        ),
        ("consider an array of strings and a number, find it", None, {"a": "string[]", "b": "int"}),
        (
            "consider numbers b, c and d and a string, find the sum",
            None,
            {"a": "string", "b": "int", "c": "int", "d": "int"},
        ),
        (
            "given a number and an array of numbers, let b be the given number, reverse b",
            None,
            {"a": "int", "c": "int[]"},
        ),
        ("what is the sum of the numbers x and y", None, {"x": "int", "y": "int"}),
        ("find the length of the string s", None, {"s": "string"}),
        ("given a list of integers a, sort a", None, {"a": "int[]"}),
        ("hello there", "hello there", {}),
    ],
)
def test_reading_a_text(text: str, words: str | None, bindings: dict[str, str]) -> None:
    problem = DOMAIN.read(text)
    assert problem.bindings == bindings
    if words is not None:
        assert " ".join(problem.words) == words
    coarse = {"int[]": "array", "string[]": "array", "int": "int", "string": "string"}
    assert DOMAIN.names(problem) == {name: coarse[kind] for name, kind in bindings.items()}


@pytest.mark.parametrize("text", ["", "  \n", "?!."])
def test_an_empty_text_is_refused(text: str) -> None:
    with pytest.raises(DataError, match="the text is empty"):
        DOMAIN.read(text)


def test_words_with_values_fit_anywhere() -> None:
    assert DOMAIN.names(Problem(("x",), {"a": [1]})) == {"a": ANY}


# The real data


@cache
def gold(folder: Path, split: str) -> dict:
    command = [sys.executable, str(Path(__file__).with_name("gold.py")), str(folder), split]
    return json.loads(subprocess.run(command, capture_output=True, check=True, text=True).stdout)


@pytest.mark.parametrize(
    ("split", "records", "programs", "clean"),
    [pytest.param("dev", 10_819, 3_676, 10_551, marks=pytest.mark.slow), ("test", 9_967, 3_827, 9_641)],
)
def test_gold_passes_its_tests_as_often_as_it_should(
    algolisp_data: Path, split: str, records: int, programs: int, clean: int
) -> None:
    found = gold(algolisp_data, split)
    assert (found["records"], found["programs"], found["reasons"]["none"]) == (records, programs, clean)
    assert set(found["reasons"]) == {
        "none",
        "head: the array is empty",
        "the gold program gives another value than a test expects",
    }


@pytest.mark.parametrize("split", [pytest.param("dev", marks=pytest.mark.slow), "test"])
def test_every_gold_program_has_the_type_of_its_record_and_survives_tree_and_text(
    algolisp_data: Path, split: str
) -> None:
    assert gold(algolisp_data, split)["defects"] == []


@pytest.mark.parametrize(("split", "bindings"), [pytest.param("dev", 10_816, marks=pytest.mark.slow), ("test", 9_962)])
def test_texts_are_read_as_the_data_has_them(algolisp_data: Path, split: str, bindings: int) -> None:
    found = gold(algolisp_data, split)
    # One record of test has a token of half a sentence.
    assert found["same words"] == found["records"] - (split == "test")
    assert found["same bindings"] == bindings


def test_the_protocol_on_the_real_data(algolisp_data: Path) -> None:
    train, valid = (gold(algolisp_data, "dev")[part] for part in ("dev-train", "dev-valid"))
    assert (len(train), len(valid)) == (10_003, 816)
    assert not {text for _, text in train} & {text for _, text in valid}
    assert sorted(int(number) for number, _ in train + valid) == list(range(10_819))
