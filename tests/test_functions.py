"""The domain made of typed functions: what annotations mean, how texts name values, what a program may cost."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from datetime import date
from enum import Enum
from pathlib import Path
from random import Random
from typing import Annotated, Any, Literal, NewType, TypeVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conftest import unchecked
from tpn2f.domain import Domain, Example, Problem, load_domain
from tpn2f.errors import DataError, DomainError, ExecutionError, LimitError
from tpn2f.functions import FunctionDomain, Limits
from tpn2f.functions.budget import OutOfTime, limited, size_of
from tpn2f.functions.kinds import kind_of
from tpn2f.functions.mentions import NUMBERS, QUOTED, read_text
from tpn2f.functions.sources import as_program, same_value
from tpn2f.functions.splits import cut
from tpn2f.program import Program

Meters = NewType("Meters", float)
T = TypeVar("T")


class Colour(Enum):
    red = 1
    blue = 2


# Annotations


@pytest.mark.parametrize(
    ("annotation", "name", "fitting", "unfitting"),
    [
        (float, "number", [1, 2.5, -3], [True, "1", None, float("nan"), float("inf")]),
        (int, "number", [1, 2.0], [2.5, "1", False]),
        (str, "text", ["", "a"], [1, None]),
        (bool, "bool", [True], [1]),
        (date, "date", [date(2024, 2, 29)], ["2024-02-29"]),
        (Colour, "Colour", [Colour.red], [1, "red"]),
        (Meters, "Meters", [1.5], ["1.5"]),
        (list[float], "list[number]", [[], [1.0]], [(), None]),
        (dict[str, list[int]], "dict[text, list[number]]", [{}], [[]]),
        (Annotated[float, "km"], "number", [1], ["x"]),
        (object, "any", [1, None, "x"], []),
        (Any, "any", [1, None, "x"], []),
    ],
)
def test_an_annotation_names_a_type_and_checks_values(
    annotation: object, name: str, fitting: list[object], unfitting: list[object]
) -> None:
    kind = kind_of(annotation, "here")
    assert kind.name == name
    assert [kind.accepts(value) for value in fitting] == [True] * len(fitting)
    assert [kind.accepts(value) for value in unfitting] == [False] * len(unfitting)


@pytest.mark.parametrize(
    "annotation", [float | str, int | None, Literal["a"], None.__class__, Callable[[int], int], T, 3, "x"]
)
def test_what_is_not_one_type_is_refused(annotation: object) -> None:
    with pytest.raises(DomainError, match=r"^here is "):
        kind_of(annotation, "here")


def test_whole_numbers_are_made_whole() -> None:
    assert repr(kind_of(int, "here").fit(3.0)) == "3"
    assert repr(kind_of(float, "here").fit(3)) == "3"


# What a text mentions


@pytest.mark.parametrize(
    ("text", "words", "bindings"),
    [
        ("Walk 3 steps!", "walk n0 steps !", {"n0": 3}),
        ("3 and 4 and 3", "n0 and n1 and n0", {"n0": 3, "n1": 4}),
        ("1,250.5 or .5 or 1,25", "n0 or n1 or n2 , n3", {"n0": 1250.5, "n1": 0.5, "n2": 1, "n3": 25}),
        ("at -5 but 7-5", "at n0 but n1 - n2", {"n0": -5, "n1": 7, "n2": 5}),
        ("20km 3rd", "n0 km n1 rd", {"n0": 20, "n1": 3}),
        ("go to 'New York', say \"hi\"", "go to s0 , say s1", {"s0": "New York", "s1": "hi"}),
        ("tom's 2 dogs' bones", "tom's n0 dogs ' bones", {"n0": 2}),
        ("1234567890123456789", "n0", {"n0": 1234567890123456789.0}),
    ],
)
def test_values_are_taken_out_of_texts(text: str, words: str, bindings: dict[str, object]) -> None:
    reading = read_text(text, [QUOTED, NUMBERS], {})
    assert " ".join(reading.words) == words
    assert reading.bindings == bindings


@given(st.text(max_size=60))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        reading = read_text(text, [QUOTED, NUMBERS], {})
    except DataError:
        return
    assert reading.words and all(word and not word.isspace() for word in reading.words)
    assert set(reading.bindings) <= set(reading.words)


@pytest.mark.parametrize("text", ["", " \n", "9" * 400, "x" * 10_001])
def test_empty_and_endless_texts_are_refused(text: str) -> None:
    with pytest.raises(DataError):
        read_text(text, [NUMBERS], {})


# A whole domain


def make(**options: Any) -> FunctionDomain:
    """Orders for a robot, with one of everything."""
    robot = FunctionDomain("robot", "Orders.", **options)

    @robot.relation
    def start() -> list[str]:
        """nothing yet"""
        return []

    @robot.relation
    def walk(path: list[str], steps: int) -> list[str]:
        """so many steps"""
        return path + ["step"] * steps

    @robot.relation(name="paint")
    def _paint(path: list[str], colour: Colour) -> list[str]:
        return [*path, colour.name]

    @robot.relation(commutative=True)
    def sum_(left: float, right: float) -> float:
        """the sum"""
        return left + right

    @robot.relation
    def spin(times: float) -> float:
        """turns for ever when the number is negative"""
        while times < 0:
            pass
        return times

    @robot.relation
    def age(day: date, today: date) -> float:
        """days between"""
        return (today - day).days

    @robot.input(default="2024-03-01")
    def today(text: str) -> date:
        """the day"""
        return date.fromisoformat(text)

    @robot.mention("d", r"\d{4}-\d\d-\d\d")
    def day(found: str) -> date:
        """a day"""
        return date.fromisoformat(found)

    robot.constant("dozen", 12)
    return robot


robot = make()


def run(text: str, program: str, **inputs: object) -> object:
    return robot.execute(Program.parse(program), robot.read_with(text, inputs))


def test_functions_are_the_language() -> None:
    assert isinstance(robot, Domain)
    assert list(robot.relations) == ["start", "walk", "paint", "sum", "spin", "age"]
    walk = robot.relations["walk"]
    assert str(walk) == "(path: list[text], steps: number) -> list[text]"
    assert (walk.arity, walk.doc, walk.commutative) == (2, "so many steps", False)
    assert robot.relations["sum"].commutative
    assert robot.constants == {"red": "Colour", "blue": "Colour", "dozen": "number"}


def test_programs_run_step_by_step() -> None:
    assert run("walk 2 , paint red", "start() | walk(#0, n0) | paint(#1, red)") == ["step", "step", "red"]
    assert run("x", "sum(dozen, dozen)") == 24
    assert run("born 2024-02-28", "age(d0, today)") == 2
    assert run("born 2024-02-28", "age(d0, today)", today="2024-03-02") == 3
    steps = robot.steps(Program.parse("sum(n0, n0) | sum(#0, n1)"), robot.read("3 and 4"))
    assert [step.result for step in steps] == [6, 10]


@pytest.mark.parametrize(
    ("text", "program", "message"),
    [
        ("x", "", "the program is empty"),
        ("3", "walks(n0)", "step 0, walks(n0): there is no relation walks; did you mean walk?"),
        ("3", "sum(n0)", "step 0, sum(n0): sum(left: number, right: number) -> number takes 2 arguments, got 1"),
        ("3", "sum(n0, n1)", "step 0, sum(n0, n1): there is no n1 (there are red, blue, dozen, today, n0)"),
        ("3", "sum(n0, red)", "step 0, sum(n0, red): red is of the type Colour; expected number"),
        ("3", "sum(#0, n0)", "step 0, sum(#0, n0): #0 does not point to an earlier step"),
        ("3", "sum(n0, n0) | walk(#0, n0)", "step 1, walk(#0, n0): #0 is of the type number; expected list[text]"),
        ("2.5", "start() | walk(#0, n0)", "step 1, walk(#0, n0): steps is 2.5, not a whole number"),
    ],
)
def test_wrong_programs_say_what_was_expected(text: str, program: str, message: str) -> None:
    with pytest.raises(ExecutionError) as caught:
        run(text, program)
    assert str(caught.value) == message


@pytest.mark.parametrize("value", ["tomorrow", 3, None, ["2024-01-01"]])
def test_inputs_that_cannot_be_read_are_refused(value: object) -> None:
    with pytest.raises(DataError, match="the input today cannot be read"):
        robot.read_with("x", {"today": value})
    with pytest.raises(ExecutionError, match="today is the input today cannot be read"):
        robot.execute(Program.parse("age(today, today)"), Problem((), {"today": value}))


def test_inputs_that_do_not_exist_are_refused() -> None:
    with pytest.raises(DataError, match="robot has no input 'table'; it has today"):
        robot.read_with("x", {"table": 1})


def test_an_input_without_a_default_must_be_given() -> None:
    domain = FunctionDomain("needy")

    @domain.input
    def table(text: str) -> dict[str, str]:
        """some table"""
        return {"text": text}

    with pytest.raises(DataError, match=r"needy needs table \(some table\): --input table="):
        domain.read("x")
    assert domain.read_with("x", {"table": "a"}).bindings == {"table": {"text": "a"}}


def test_a_mention_that_cannot_be_read_stays_in_the_text() -> None:
    assert robot.read("on 2024-13-45").words == ("on", "n0", "-", "n1", "-", "n2")


def test_a_mention_may_depend_on_an_input() -> None:
    domain = FunctionDomain("shop")

    @domain.input
    def goods(value: object) -> list[str]:
        raise ValueError("a list of names is expected")

    @domain.mention("g", lambda goods: "|".join(goods))
    def good(found: str, goods: list[str]) -> str:
        return goods[[name.lower() for name in goods].index(found.lower())]

    problem = domain.read_with("a LAMP, not a lampion; a lamp", {"goods": ["Lamp", "bed"]})
    assert " ".join(problem.words) == "a g0 , not a lampion ; a g0"
    assert (problem.bindings["g0"], domain.names(problem)) == ("Lamp", {"goods": "list[text]", "g0": "text"})


# Budgets

quick = make(limits=Limits(seconds=0.05))
narrow = make(limits=Limits(seconds=60, elements=1_000))


def fails(program: str, text: str, domain: FunctionDomain) -> str:
    with pytest.raises(LimitError) as caught:
        domain.execute(Program.parse(program), domain.read(text))
    return str(caught.value)


def test_endless_functions_end() -> None:
    assert fails("spin(n0)", "-1", quick) == "step 0, spin(n0): it took longer than 0.05 s"
    assert fails("sum(n0, n0) | spin(#0)", "-1", quick) == "step 1, spin(#0): it took longer than 0.05 s"


def test_endless_functions_end_in_any_thread() -> None:
    said: list[str] = []
    threads = [threading.Thread(target=lambda: said.append(fails("spin(n0)", "-1", quick))) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert said == ["step 0, spin(n0): it took longer than 0.05 s"] * 2


def test_a_limit_leaves_nothing_behind() -> None:
    fails("spin(n0)", "-1", quick)
    assert robot.execute(Program.parse("sum(n0, n0)"), robot.read("3")) == 6
    assert signal.getitimer(signal.ITIMER_PROF) == signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)


def test_huge_results_are_refused() -> None:
    assert "elements" in fails("start() | walk(#0, n0)", "2000", narrow)
    assert "memory" in fails("start() | walk(#0, n0)", "1,000,000,000", narrow)
    # Many small ones are as large as a big one.
    chain = " | ".join(["start()", *(f"walk(#{k}, n0)" for k in range(40))])
    assert "elements" in fails(chain, "20", narrow)


def test_a_swallowed_alarm_rings_again() -> None:
    rung = 0
    with pytest.raises(OutOfTime), limited(Limits(seconds=0.002)):
        while rung < 2:
            try:
                time.sleep(5)
            except OutOfTime:
                rung += 1
        time.sleep(5)
    time.sleep(0.15)  # and is silent afterwards
    assert rung == 2


@pytest.mark.parametrize(
    ("value", "size"),
    [(3, 1), ("abc", 4), ([1, [2, 3]], 5), ({"a": 1}, 4), (None, 1), (Colour.red, 1), (range(10), 11), ((), 1)],
)
def test_sizes_are_counted_all_the_way_down(value: object, size: int) -> None:
    assert size_of(value, 1_000) == size


@pytest.mark.parametrize("value", [range(10**30), "x" * 2_000, [[0] * 500] * 500, {1: [0] * 2_000}])
def test_counting_ends(value: object) -> None:
    assert size_of(value, 1_000) > 1_000


@pytest.mark.parametrize("value", [iter([1]), [1 << 20_000], [map(str, [])]])
def test_values_without_a_size_are_refused(value: object) -> None:
    with pytest.raises(ValueError, match=r"iterator|bits"):
        size_of(value, 1_000)


def test_an_object_that_holds_itself_has_a_size() -> None:
    class Node:
        pass

    node = Node()
    node.self = node  # type: ignore[attr-defined]
    assert size_of(node, 1_000) == 2


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (lambda: 1 / 0, "ZeroDivisionError: division by zero"),
        (lambda: {}["x"], "KeyError: 'x'"),
        (lambda: int("x"), "invalid literal for int() with base 10: 'x'"),
        (lambda: sys.exit(), "it tried to exit Python"),
        (lambda: None, "the result is NoneType, not a number"),
        (lambda: float("nan"), "the result is not a finite number"),
        (lambda: (_ for _ in ()).throw(ExecutionError("refused")), "refused"),
        (lambda: (_ for _ in ()), "the result is generator, not a number"),
        (lambda: next(iter(())), "StopIteration"),
    ],
)
def test_whatever_a_function_does_is_the_error_of_its_step(body: Callable[[], Any], message: str) -> None:
    domain = FunctionDomain("bad")

    @domain.relation
    def act() -> float:
        return body()

    with pytest.raises(ExecutionError) as caught:
        domain.execute(Program.parse("act()"), Problem(("x",)))
    assert str(caught.value) == f"step 0, act(): {message}"


# Mistakes in the file


def untyped(x) -> float:
    return x


def without_result(x: float):
    return x


def with_default(x: float = 1) -> float:
    return x


def with_several(*x: float) -> float:
    return sum(x)


def with_union(x: float | str) -> float:
    return float(x)


def with_unknown(x: "Nothing") -> float:  # type: ignore[name-defined]
    return 0.0


def giving_none(x: float) -> None:
    return None


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (untyped, "untyped: x has no annotation; expected a type, such as x: float"),
        (without_result, "without_result: the result has no annotation"),
        (with_default, "with_default: x has a default"),
        (with_several, r"with_several: \*x.* is not one position"),
        (with_union, r"with_union: x is float \| str; a position has one type"),
        (with_unknown, "with_unknown: the annotations cannot be read: name 'Nothing' is not defined"),
        (giving_none, "giving_none: the result is None; every relation gives a value"),
    ],
)
def test_a_wrong_annotation_is_one_line_with_its_place(function: Callable[..., Any], message: str) -> None:
    with pytest.raises(DomainError, match=rf"^test_functions.py, line \d+, {message}") as caught:
        FunctionDomain("wrong").relation(function)
    assert "\n" not in str(caught.value)


def test_names_are_given_once() -> None:
    domain = make()
    with pytest.raises(DomainError, match=r"line \d+, walk is defined twice; first in test_functions.py, line \d+"):

        @domain.relation
        def walk(x: float) -> float:
            return x

    with pytest.raises(DomainError, match="the constant red is defined twice"):
        domain.constant("red", 3)
    with pytest.raises(DomainError, match="the constant today is defined twice"):
        domain.constant("today", 3)
    with pytest.raises(DomainError, match="names such as #0 and n0 are for values"):
        domain.constant("n7", 3)
    with pytest.raises(DomainError, match="the prefix 'd' is taken"):
        domain.mention("d", "x")(lambda found: found)

    class Colour(Enum):
        green = 1

    def other() -> object:
        raise NotImplementedError

    other.__annotations__["return"] = Colour
    with pytest.raises(DomainError, match="there are two types called Colour"):
        domain.relation(other)


@pytest.mark.parametrize(
    "options", [{"name": "my domain"}, {"split": "text"}, {"share": 0.5}, {"combinations": 1}, {"share": 0}]
)
def test_wrong_options_are_refused(options: dict[str, Any]) -> None:
    with unchecked(), pytest.raises(DomainError):
        FunctionDomain(**{"name": "x", **options})


def test_a_domain_needs_relations_and_examples() -> None:
    empty = FunctionDomain("empty")
    with pytest.raises(DomainError, match="empty has no relations"):
        empty()
    with pytest.raises(DataError, match=r"robot has no examples: write @robot.generator"):
        robot.examples("train")
    with pytest.raises(DataError, match="robot has no split 'all'; it has train, dev, test"):
        robot.examples("all")


# Examples


@pytest.mark.parametrize(
    "program",
    ["sum(3, 4)", "sum(n0, n1)", "(sum 3 4)", ("sum", 3, 4), ["sum", "n0", 4.0], Program.parse("sum(3.0, 4)")],
)
def test_a_program_may_name_values_as_its_text_does(program: object) -> None:
    example = robot.example("add 3 and 4", program)
    assert str(example.program) == "sum(n0, n1)"


def test_names_are_found_by_type() -> None:
    assert str(robot.example("since 2024-02-28", "age(2024-02-28, today)").program) == "age(d0, today)"
    assert str(robot.example("12 times", "sum(12, dozen)").program) == "sum(n0, dozen)"
    assert str(as_program(("paint", ("start",), Colour.red))) == "start() | paint(#0, red)"


@pytest.mark.parametrize("program", ["sum(3, 5)", "sum(3", "add(3, 4)", "sum(3)", 7, "", ("sum", ("start",), 3)])
def test_wrong_examples_are_data_errors(program: object) -> None:
    with pytest.raises(DataError):
        robot.example("add 3 and 4", program)


@pytest.mark.parametrize(
    ("value", "answer", "same"),
    [
        (0.1 + 0.2, 0.3, True),
        (1, 2, False),
        ([1, (2, 3)], (1, [2.0, 3]), True),
        ([1], [1, 2], False),
        ({"a": 0.3}, {"a": 0.1 + 0.2}, True),
        (date(2024, 1, 2), "2024-01-02", True),
        (True, 1, False),
        (None, None, True),
        ("1", 1, False),
    ],
)
def test_answers_are_compared_as_people_would(value: object, answer: object, same: bool) -> None:
    assert same_value(value, answer) is same


def orders(random: Random) -> Iterator[tuple[str, object]]:
    while True:
        n = random.randrange(1, 99)
        text = f"{random.choice(('walk', 'go', 'move', 'run', 'step'))} {n}"
        program: tuple = ("walk", ("start",), n)
        for _ in range(random.randrange(3)):
            colour = random.choice(list(Colour))
            text, program = f"{text} {random.choice(('and', 'then'))} {colour.name}", ("paint", program, colour)
        yield text, program


def generated(**options: Any) -> FunctionDomain:
    domain = make(**options)
    domain.generator(count=300)(orders)
    with unchecked():
        domain = domain()
        domain.examples("train")
    return domain


def test_generated_examples_are_distinct_answered_and_the_same_each_time() -> None:
    one, two = generated(), generated()
    for split in one.splits:
        assert list(one.examples(split)) == list(two.examples(split))
        assert [example.id for example in one.examples(split)] == [
            f"{split}:{k}" for k in range(len(one.examples(split)))
        ]
    everything = [example for split in one.splits for example in one.examples(split)]
    assert len({example.text for example in everything}) == len(everything) == 300
    with unchecked():
        assert all(one.diagnose(example) is None for example in everything)
    assert one.skipped == {}


@pytest.mark.parametrize("rule", ["template", "program"])
def test_splits_share_nothing(rule: Literal["template", "program"]) -> None:
    domain = generated(split=rule, combinations=0.3)
    assert domain.splits == ("train", "dev", "test", "combinations")
    keys: Mapping[str, set] = {
        split: {e.problem.words if rule == "template" else e.program for e in domain.examples(split)}
        for split in domain.splits
    }
    assert all(keys[one].isdisjoint(keys[two]) for one in keys for two in keys if one < two)
    learned = {tuple(s.relation for s in e.program) for e in domain.examples("train")}
    if rule == "program":
        assert {tuple(s.relation for s in e.program) for e in domain.examples("test")} <= learned
    held = {frozenset(s.relation for s in e.program) for e in domain.examples("combinations")}
    assert held.isdisjoint(map(frozenset, learned))


def test_examples_that_are_added_later_move_no_others() -> None:
    domain = generated()
    examples = [*domain.examples("train"), *domain.examples("test")]
    few, many = cut(examples[::2], "template", 0.2, 0, "salt"), cut(examples, "template", 0.2, 0, "salt")
    for split, part in few.items():
        assert {example.text for example in part} <= {example.text for example in many[split]}


def test_few_examples_still_give_three_splits() -> None:
    examples = [Example(Problem((word,)), Program.parse("start()"), text=word) for word in "abc"]
    assert {split: len(part) for split, part in cut(examples, "template", 0.01, 0, "").items()} == {
        "train": 1,
        "dev": 1,
        "test": 1,
    }


FILE = '''
from tpn2f import FunctionDomain

sums = FunctionDomain("sums")

@sums.relation
def add(left: float, right: float) -> float:
    """the sum"""
    return left + right

sums.examples_from("sums.jsonl")
sums.examples_from("more.jsonl", split="extra")
'''
LINES = """
{"text": "3 plus 4", "program": "add(3, 4)"}
{"text": "4 and 5", "program": "add(n0, n1)", "answer": 9}
{"text": "the sum of 5 and 6", "program": "add(n0, n1)", "answer": 12}
{"text": "6 plus 7", "program": "subtract(6, 7)"}
{"text": "3 plus 4", "program": "add(3, 4)"}
{"program": "add(3, 4)"}
[1]
{"text": 3
"""


@pytest.fixture
def sums(tmp_path: Path) -> Path:
    (tmp_path / "sums.py").write_text(FILE)
    (tmp_path / "sums.jsonl").write_text(LINES)
    (tmp_path / "more.jsonl").write_text('{"text": "8 plus 9", "program": "add(8, 9)", "inputs": {}}\n')
    return tmp_path / "sums.py"


def test_examples_come_from_files_beside_the_domain(sums: Path) -> None:
    domain = load_domain(str(sums))
    assert domain.splits == ("train", "dev", "test", "extra")
    found = [example for split in domain.splits for example in domain.examples(split)]
    assert sorted(example.text for example in found) == ["3 plus 4", "4 and 5", "8 plus 9", "the sum of 5 and 6"]
    assert {example.text: domain.diagnose(example) for example in found} == {
        "3 plus 4": None,
        "4 and 5": None,
        "8 plus 9": None,
        "the sum of 5 and 6": "the value is not the answer",
    }
    reasons = domain.skipped["train"]  # type: ignore[attr-defined]
    assert [reason.partition(":")[0] for reason in reasons] == [f"sums.jsonl, line {k}" for k in (5, 7, 8, 9)]
    assert "there is no relation subtract" in reasons[0]


def test_a_file_that_is_not_there_is_named(sums: Path, tmp_path: Path) -> None:
    domain = load_domain(f"{sums}:sums", tmp_path / "elsewhere")
    with pytest.raises(DataError, match=r"sums: cannot read .*elsewhere/sums.jsonl"):
        domain.examples("train")


@pytest.mark.parametrize("name", ["../secret.txt", "/etc/hostname", "link.txt", "pipe", "a\\u0000b"])
def test_inputs_of_a_file_of_examples_lie_beside_it(sums: Path, name: str) -> None:
    sums.parent.with_name("secret.txt").write_text("secret")
    sums.with_name("link.txt").symlink_to(sums.parent.with_name("secret.txt"))
    os.mkfifo(sums.with_name("pipe"))
    note = "@sums.input(default='')\ndef note(text: str) -> str: ...\n\nsums.examples_from"
    sums.write_text(FILE.replace("sums.examples_from", note, 1))
    line = f'{{"text": "8 plus 9", "program": "add(8, 9)", "inputs": {{"note": "@{name}"}}}}\n'
    sums.with_name("more.jsonl").write_text(line)
    with pytest.raises(DataError, match=r"more\.jsonl, line 1: .*(no file beside the examples|cannot read)"):
        load_domain(str(sums)).examples("train")


def test_inputs_of_a_file_of_examples_may_be_files(sums: Path) -> None:
    text = FILE.replace(
        "sums.examples_from", "@sums.input(default='')\ndef note(text: str) -> str: ...\n\nsums.examples_from", 1
    )
    sums.write_text(text)
    line = '{"text": "8 plus 9", "program": "add(8, 9)", "inputs": {"note": "@note.txt"}}\n'
    sums.with_name("more.jsonl").write_text(line)
    with pytest.raises(DataError, match=r"more.jsonl, line 1: cannot read .*note.txt: No such file"):
        load_domain(str(sums)).examples("train")
    sums.with_name("note.txt").write_text("hello")
    (example,) = load_domain(str(sums)).examples("extra")
    assert example.problem.bindings["note"] == "hello"


def test_a_file_with_several_domains_needs_a_name(sums: Path) -> None:
    sums.write_text(FILE + "\nother = FunctionDomain('other')\n")
    with pytest.raises(DomainError, match=r"has sums, other; name one as .*sums.py:Name"):
        load_domain(str(sums))
    sums.write_text("x = 1")
    with pytest.raises(DomainError, match=r"has no domain; name one as"):
        load_domain(str(sums))


@pytest.mark.parametrize(
    ("generator", "message"),
    [
        (lambda random: [("x",)], "example 0: expected .text, program."),
        (lambda random: iter([1 / 0]), "raised ZeroDivisionError"),
        (lambda random: None, "gives NoneType"),
        (lambda random: [], "robot has no examples: its sources are empty"),
        (
            lambda random: [("x", "y()")],
            "1 were left out, the first as .*there is no relation y",
        ),
        (lambda random: [("-1", "spin(-1)")], "'-1': the gold program step 0, spin.n0.: it took longer than 0.05 s"),
    ],
)
def test_a_wrong_generator_is_one_line(generator: Callable[[Random], Any], message: str) -> None:
    domain = make(limits=Limits(seconds=0.05))
    domain.generator(generator)
    with pytest.raises(DataError, match=message) as caught:
        domain.examples("train")
    assert "\n" not in str(caught.value)
