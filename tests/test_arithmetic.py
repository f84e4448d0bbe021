"""Arithmetic: what the splits promise, how a person's text is read, and what its language does."""

from __future__ import annotations

import hashlib
import math
import operator
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tpn2f.domain import Domain, Example, Problem
from tpn2f.domains.arithmetic import MAX_TEXT, SIZES, Arithmetic
from tpn2f.errors import DataError, ExecutionError
from tpn2f.program import Program, reference

DOMAIN = Arithmetic()
EXAMPLES = {split: list(DOMAIN.examples(split)) for split in DOMAIN.splits}
ALL = [example for split in EXAMPLES.values() for example in split]
TRAIN_TEMPLATES = {example.problem.words for example in EXAMPLES["train"]}


def run(program: str, **bindings: float) -> object:
    return DOMAIN.execute(Program.parse(program), Problem(("words",), bindings))


# The splits


def test_it_is_a_domain() -> None:
    assert isinstance(DOMAIN, Domain)
    assert {signature.arity for signature in DOMAIN.relations.values()} == {1, 2, 3}


def test_sizes_and_names() -> None:
    assert {split: len(examples) for split, examples in EXAMPLES.items()} == SIZES
    assert len({example.id for example in ALL}) == len(ALL)
    assert EXAMPLES["test"][17].id == "test:17"


def test_the_data_are_the_same_on_every_machine() -> None:
    lines = "\n".join(f"{example.id}\t{example.text}\t{example.program}" for example in ALL)
    assert hashlib.sha256(lines.encode()).hexdigest() == (
        "412b8128165522ce0cc414f23f0b0bd4b844c63b5decaa0cc0ebcf2563c4710c"
    ), "the generated data changed: every result on arithmetic has to be made anew"


def test_an_unknown_split_is_an_error_that_lists_the_others() -> None:
    with pytest.raises(DataError, match="no split 'valid'; it has train, dev, test"):
        DOMAIN.examples("valid")


def test_no_text_occurs_twice() -> None:
    assert len({example.text for example in ALL}) == len(ALL)


@pytest.mark.parametrize("split", ["dev", "test"])
def test_about_thirty_percent_are_new_combinations_of_known_words(split: str) -> None:
    new = [example for example in EXAMPLES[split] if example.problem.words not in TRAIN_TEMPLATES]
    assert 0.2 < len(new) / len(EXAMPLES[split]) < 0.4
    words = {word for template in TRAIN_TEMPLATES for word in template}
    assert all(words.issuperset(example.problem.words) for example in new)


def test_a_text_has_one_meaning() -> None:
    meanings: dict[tuple[str, ...], set[Program]] = {}
    for example in ALL:
        meanings.setdefault(example.problem.words, set()).add(example.program)
    assert all(len(programs) == 1 for programs in meanings.values())


def test_every_relation_constant_and_length_is_practised() -> None:
    for examples in EXAMPLES.values():
        steps = [step for example in examples for step in example.program]
        assert {step.relation for step in steps} == set(DOMAIN.relations)
        assert {word for step in steps for word in step.arguments}.issuperset(DOMAIN.constants)
        assert {len(example.program) for example in examples} == {1, 2, 3, 4}
        assert {len(example.problem.bindings) for example in examples} == {2, 3, 4}


def test_programs_use_every_number_of_the_text_and_only_known_words() -> None:
    for example in ALL:
        words = {word for step in example.program for word in step.arguments if reference(word) is None}
        assert words - set(DOMAIN.constants) == set(DOMAIN.names(example.problem))
        for step in example.program:
            assert len(step.arguments) == DOMAIN.relations[step.relation].arity


def test_gold_reaches_its_answer_and_an_independent_calculator_agrees() -> None:
    functions = {
        "add": operator.add,
        "subtract": operator.sub,
        "multiply": operator.mul,
        "divide": operator.truediv,
        "square": lambda value: value**2,
        "clamp": lambda value, low, high: sorted((low, value, high))[1],
    }
    constants = {"const_2": 2.0, "const_100": 100.0}

    def value(tree, numbers):
        if isinstance(tree, str):
            return numbers[tree] if tree in numbers else constants[tree]
        return functions[tree[0]](*(value(child, numbers) for child in tree[1:]))

    for example in ALL:
        assert DOMAIN.is_solved(example.program, example)
        assert DOMAIN.credits(example.program, example) == {"execution": 1.0}
        assert DOMAIN.diagnose(example) is None
        assert math.isclose(value(example.program.to_tree(), example.problem.bindings), example.answer, rel_tol=1e-12)


def test_the_texts_read_back() -> None:
    for example in ALL:
        assert DOMAIN.read(example.text) == example.problem
        # As a person might type it: a capital first, signs glued to the words.
        typed = re.sub(r" ([.,?])", r"\1", example.text.capitalize())
        assert DOMAIN.read(typed) == example.problem


def test_the_tables_mean_what_they_say() -> None:
    by_words = {" ".join(example.problem.words): str(example.program) for example in ALL}
    assert by_words["what is the product of n0 and n1 ?"] == "multiply(n0, n1)"
    assert by_words["subtract n0 from n1 ."] == "subtract(n1, n0)"
    assert by_words["find the average of n0 and n1 ."] == "add(n0, n1) | divide(#0, const_2)"


# A person's text


@pytest.mark.parametrize(
    ("text", "words", "numbers"),
    [
        ("Add 3 to 4.", "add n0 to n1 .", [3, 4]),
        ("What is 60% of 1,200?", "what is n0 percent of n1 ?", [60, 1200]),
        ("$1,234,567.50", "$ n0", [1234567.5]),
        ("(2.5)+.5", "( n0 ) + n1", [2.5, 0.5]),
        ("7, 8,9", "n0 , n1 , n2", [7, 8, 9]),
        ("1,23 and 1,2345", "n0 , n1 and n2 , n3", [1, 23, 1, 2345]),
        ("Tom's 3 apples", "tom's n0 apples", [3]),
        ("3. Then 4", "n0 . then n1", [3, 4]),
        ("-3", "- n0", [3]),
        ("  no numbers \n here ", "no numbers here", []),
        ("007", "n0", [7]),
    ],
)
def test_read(text: str, words: str, numbers: list[float]) -> None:
    problem = DOMAIN.read(text)
    assert problem.words == tuple(words.split())
    assert problem.bindings == {f"n{index}": number for index, number in enumerate(numbers)}
    assert DOMAIN.names(problem) == dict.fromkeys(problem.bindings, "number")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "empty"),
        (" \n\t", "empty"),
        ("a" * (MAX_TEXT + 1), "10001 characters"),
        ("add 1 to " + "9" * 400, "a number of 400 digits; at most 250 are read"),
    ],
)
def test_texts_that_are_refused(text: str, message: str) -> None:
    with pytest.raises(DataError, match=re.escape(message)):
        DOMAIN.read(text)


@given(st.text())
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        problem = DOMAIN.read(text)
    except DataError:
        assert not text.strip()
        return
    assert all(word and not re.search(r"\s", word) for word in problem.words)
    assert [word for word in problem.words if re.fullmatch("n[0-9]+", word)] == list(problem.bindings)


# The language


@pytest.mark.parametrize(
    ("program", "expected"),
    [
        ("add(n0, n1)", 10.0),
        ("subtract(n0, n1)", 4.0),
        ("multiply(n0, n1)", 21.0),
        ("divide(n0, n1)", 7 / 3),
        ("square(n0)", 49.0),
        ("clamp(n0, n1, const_100)", 7.0),
        ("clamp(n1, n0, const_100)", 7.0),
        ("clamp(const_100, n1, n0)", 7.0),
        ("multiply(n0, n1) | divide(#0, const_100)", 0.21),
        ("square(n0) | square(#0) | subtract(#1, #0)", 7.0**4 - 49),
    ],
)
def test_execute(program: str, expected: float) -> None:
    assert run(program, n0=7.0, n1=3.0) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(
    ("program", "message"),
    [
        ("", "the program is empty"),
        ("divide(n0, n1)", "step 0, divide(n0, n1): division by zero"),
        ("square(n2) | square(#0)", "step 0, square(n2): the result is too large"),
        ("multiply(n2, n2)", "the result is too large"),
        ("clamp(n0, n0, n1)", "there is nothing between 7 and 0"),
        ("modulo(n0, n1)", "there is no relation modulo"),
        ("add(n0, n9)", "the problem has no n9 (it has n0, n1, n2)"),
        ("add(n0, #0)", "#0 does not point to an earlier step"),
        ("add(n0)", "step 0, add(n0): "),
        ("square(n0, n1)", "step 0, square(n0, n1): "),
    ],
)
def test_execution_errors(program: str, message: str) -> None:
    with pytest.raises(ExecutionError, match=re.escape(message)):
        run(program, n0=7.0, n1=0.0, n2=1e200)


ARGUMENTS = st.sampled_from(["n0", "n1", "n2", "const_2", "const_100", "#0", "#1", "#2", '"x"'])
STEPS = st.lists(
    st.tuples(st.sampled_from([*DOMAIN.relations, "sqrt"]), st.lists(ARGUMENTS, max_size=4)), max_size=5
).map(lambda steps: " | ".join(f"{relation}({', '.join(arguments)})" for relation, arguments in steps))
NUMBERS = st.floats() | st.integers() | st.text(max_size=2) | st.none()


@given(STEPS, st.lists(NUMBERS, max_size=3), NUMBERS)
def test_no_program_does_more_than_raise_an_execution_error(text: str, numbers: list, answer: object) -> None:
    program = Program.parse(text)
    problem = Problem(("words",), {f"n{index}": number for index, number in enumerate(numbers)})
    example = Example(problem, program, answer)
    assert set(DOMAIN.credits(program, example)) == {"execution"}
    try:
        value = DOMAIN.execute(program, problem)
    except ExecutionError:
        assert not DOMAIN.is_solved(program, example)
        return
    assert isinstance(value, int | float) and math.isfinite(value)


def test_solved_means_the_value_and_not_the_program() -> None:
    example = Example(Problem(("words",), {"n0": 1.0, "n1": 3.0}), Program.parse("divide(n0, n1)"), 0.3333333)
    assert DOMAIN.is_solved(Program.parse("divide(n0, n1)"), example)
    assert DOMAIN.is_solved(Program.parse("multiply(n0, const_2) | multiply(n1, const_2) | divide(#0, #1)"), example)
    assert not DOMAIN.is_solved(Program.parse("divide(n1, n0)"), example)
    assert not DOMAIN.is_solved(Program.parse("divide(n0, #7)"), example)
    assert not DOMAIN.is_solved(Program(), example)


@pytest.mark.parametrize(
    ("program", "answer", "reason"),
    [
        ("add(n0, const_2)", 3.0, None),
        ("add(n0, const_2)", 4.0, "the value is not the answer"),
        ("add(n0, const_2)", "three", "the value is not the answer"),
        ("add(n0, n1)", 3.0, "the program does not run"),
        ("", 3.0, "the program does not run"),
    ],
)
def test_diagnose(program: str, answer: object, reason: str | None) -> None:
    example = Example(Problem(("words",), {"n0": 1.0}), Program.parse(program), answer)
    assert DOMAIN.diagnose(example) == reason
    assert DOMAIN.subsets(example) == ()
