"""The contract in library form: what it finds in domains that are wrong in one way each."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest

from conftest import unchecked
from tpn2f.contract.checks import Finding, check_domain, check_examples, check_splits, is_word
from tpn2f.contract.isolated import inspect_domain
from tpn2f.contract.probes import hostile, mutate, random_program
from tpn2f.domain import Example, Problem, check_types, load_domain
from tpn2f.errors import DomainError
from tpn2f.functions import FunctionDomain, Limits
from tpn2f.functions.starter import write_starter
from tpn2f.program import Program


def sums() -> FunctionDomain:
    """A domain that is right."""
    domain = FunctionDomain("sums", limits=Limits(seconds=0.2))

    @domain.relation
    def add(left: float, right: float) -> float:
        """the sum"""
        return left + right

    @domain.relation
    def double(value: float) -> float:
        """twice as much"""
        return 2 * value

    @domain.generator(count=60)
    def generate(random: Random) -> Any:
        while True:
            n, m = random.sample(range(100), 2)
            opening = random.choice(("what is ", "find ", "tell me ", "", "please find ", "now ", "give me ", "say "))
            yield opening + random.choice(("{} plus {}", "the sum of {} and {}")).format(n, m), f"add({n}, {m})"
            yield opening + random.choice(("twice {}", "double {}", "two times {}")).format(n), f"double({n})"

    return domain


def check(domain: Any) -> list[Finding]:
    with unchecked():
        return list(check_domain(domain))


def errors(domain: Any) -> list[str]:
    return [finding.text for finding in check(domain) if finding.level == "error"]


def warnings(domain: Any) -> list[str]:
    return [finding.text for finding in check(domain) if finding.level == "warning"]


def assert_told(lines: list[str], *expected: str) -> None:
    """Every expected text is in a line of its own, each of one line."""
    assert all("\n" not in line for line in lines)
    for text in expected:
        assert [line for line in lines if text in line], (text, lines)


def test_a_right_domain_has_no_faults() -> None:
    notes = check(sums()())
    assert [note.level for note in notes] == ["note", "note"]
    assert notes[0].text == "sums: 2 relations, 0 constants"


def test_arithmetic_has_no_errors_but_shares_templates() -> None:
    arithmetic = load_domain("arithmetic")
    found = check(arithmetic)
    assert not [finding for finding in found if finding.level == "error"]
    assert_told([finding.text for finding in found], "texts without their values of dev are also in train")


@pytest.mark.parametrize(
    ("examples", "expected"),
    [
        ([], "sums has no examples: its sources are empty"),
        ([("1 plus 2", "add(1, 2")], "position 8: expected ',' or ')'"),
        ([("1 plus 2", "ad(1, 2)")], "there is no relation ad; did you mean add?"),
        ([("1 plus 2", "add(1)")], "add(left: number, right: number) -> number takes 2 arguments, got 1"),
        ([("1 plus 2", "add(1, 3)")], "there is no 3"),
        ([("say 'x'", 'double("x")')], "s0 is of the type text; expected number"),
        ([("1 plus 2", "add(1, 2)")], "the split dev is empty"),
    ],
)
def test_wrong_examples_are_told_in_plain_words(examples: list[tuple[str, str]], expected: str) -> None:
    domain = sums()
    domain.sources.clear()
    domain.generator(lambda random: [*examples, *[("3 plus 4", "add(3, 4)")] * bool(examples)])
    assert_told(errors(domain()), expected)


def test_ambiguous_texts_are_told() -> None:
    domain = sums()
    domain.generator(lambda random: [("do 1", "double(1)"), ("do 2", "add(2, 2)")])
    assert_told(warnings(domain()), "ambiguous: 'do n0' means double(n0) (")


def test_gold_that_does_not_run_is_told() -> None:
    domain = sums()

    @domain.relation
    def invert(value: float) -> float:
        """one over it"""
        return 1 / value

    domain.generator(lambda random: [(f"invert {n} {'x' * n}", f"invert({n})") for n in range(5)])
    assert_told(
        errors(domain()),
        "gold: the program does not run in 1 of 65 examples",
        "step 0, invert(n0): ZeroDivisionError: division by zero",
    )


def test_one_split_only_is_told() -> None:
    domain = sums()
    domain.sources[0] = replace(domain.sources[0], split="train")
    assert_told(errors(domain()), "there is only one split, train: a model learns from train, is chosen by dev")


def test_leaks_are_told() -> None:
    domain = sums()()
    splits = {split: list(domain.examples(split)) for split in domain.splits}
    first, second = splits["train"][:2]
    splits["test"] += [first, replace(second, text="another text")]
    found = list(check_splits(domain, splits))
    assert_told(
        [finding.text for finding in found if finding.level == "error"], "leak: 1 of", "texts of test are also in train"
    )
    assert_told(
        [finding.text for finding in found if finding.level == "warning"],
        "texts without their values of test are also in train",
    )


def test_what_training_never_uses_is_told() -> None:
    domain = sums()()
    splits = {split: list(domain.examples(split)) for split in domain.splits}
    splits["train"] = [example for example in splits["train"] if "add" in str(example.program)]
    assert_told([finding.text for finding in check_splits(domain, splits)], "double cannot be learned: train never")
    assert_told(
        [finding.text for finding in check_examples(domain, {"train": splits["train"]})], "no example uses double"
    )


def test_malformed_gold_of_any_domain_is_told() -> None:
    domain = sums()()
    example = next(iter(domain.examples("train")))
    wrong = [
        replace(example, program=Program.parse("add(n9, n9)"), id="a"),
        replace(example, program=Program.parse("add(#0, #1)"), id="b"),
        replace(example, program=Program(), id="c"),
        replace(example, problem=Problem(("", "x")), id="d"),
        replace(example, text=" ", id="d"),
    ]
    found = [finding.text for finding in check_examples(domain, {"train": wrong})]
    assert_told(
        found,
        "a: step 0, add(n9, n9): there is no n9",
        "b: step 0, add(#0, #1): #0 does not point to an earlier step",
        "c: the program is empty",
        "d: there are no words, or empty ones",
        "has no text or no id",
        "1 ids are given twice, such as d",
    )


class Wrong:
    """A domain that is right but for what a test puts in the place of one member."""

    def __init__(self, **members: Any) -> None:
        self._inner = sums()()
        self.__dict__.update(members)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)


def explode(*arguments: Any) -> Any:
    raise KeyError("x")


@pytest.mark.parametrize(
    ("members", "expected"),
    [
        ({"name": "my sums"}, "the name 'my sums' is not made of letters"),
        ({"read": explode}, "raised KeyError: 'x'; expected DataError"),
        ({"read": lambda text: Problem(("x",), {})}, "the empty text '' was read"),
        ({"read": lambda text: Problem((), {})}, "there are no words"),
        ({"execute": explode}, "raised KeyError: 'x'; expected ExecutionError"),
        ({"diagnose": explode}, "diagnose raised KeyError"),
        ({"credits": lambda program, example: {"execution": 2.0}}, "is credited {'execution': 2.0}"),
        ({"examples": lambda split: []}, "a split that does not exist has examples"),
        ({"relations": {}}, "there are no relations"),
        ({"constants": {"#0": "number"}}, "the constant '#0' cannot be written"),
    ],
)
def test_a_broken_promise_is_told(members: dict[str, Any], expected: str) -> None:
    inner = sums()()
    if "diagnose" in members:
        members = {**members, "execute": inner.execute}
    assert_told(errors(Wrong(**members)), expected)


def test_a_value_that_changes_is_told() -> None:
    domain = FunctionDomain("bag")

    @domain.relation
    def grow(text: str) -> float:
        """one more each time"""
        bag.append(text)
        return len(bag)

    bag: list[str] = []
    domain.generator(lambda random: [(f"put '{word}' {word}", f'grow("{word}")') for word in "abcdefgh"])
    assert_told(errors(domain()), "gives another value when it is run again")


# Programs to try


def test_random_programs_are_well_typed_and_changed_ones_are_programs() -> None:
    domain, random = sums()(), Random(1)
    examples = list(domain.examples("train"))
    for _ in range(200):
        example = random.choice(examples)
        program = random_program(random, domain, example.problem)
        check_types(program, domain.relations, domain.names(example.problem))
        changed = mutate(random, domain, example.program, example.problem)
        assert Program.parse(str(changed)) == changed
    numbers = {value for _ in range(50) for value in hostile(random, examples[0].problem).bindings.values()}
    assert {0, -1, 10**9} <= numbers


@pytest.mark.parametrize(("word", "fits"), [("a", True), ("#0", False), ("a b", False), ('"a b"', True), ("", False)])
def test_words_of_programs(word: str, fits: bool) -> None:
    assert is_word(word) is fits


def test_a_random_program_ends_where_nothing_fits() -> None:
    domain = sums()
    assert random_program(Random(0), domain, Problem(("x",))) == Program()
    assert mutate(Random(0), domain, Program(), Example(Problem(("x",)), Program()).problem).tuples is not None


# In a process of its own

HEAD = '''
from tpn2f import FunctionDomain
from tpn2f.functions import Limits

bad = FunctionDomain("bad", limits=Limits(seconds=0.2))

@bad.relation
def add(left: float, right: float) -> float:
    """the sum"""
    return left + right

@bad.generator
def generate(random):
    for word in "abcdefghij":
        yield f"add 1 and 2 {word}", "add(1, 2)"
'''


def inspect(tmp_path: Path, text: str, patience: float = 60.0) -> list[str]:
    (tmp_path / "bad.py").write_text(HEAD + text)
    return [finding.text for finding in inspect_domain(str(tmp_path / "bad.py"), patience=patience)]


def test_what_a_domain_prints_is_no_finding(tmp_path: Path) -> None:
    assert not [line for line in inspect(tmp_path, "print('hello')") if "hello" in line]


def test_a_function_that_loops_or_builds_too_much_is_one_line_each(tmp_path: Path) -> None:
    loops = "@bad.relation\ndef loop(x: float) -> float:\n    'for ever'\n    while x > 1e6: pass\n    return x\n"
    grows = "@bad.relation\ndef grow(x: int) -> list[int]:\n    'many'\n    return [0] * x\n"
    found = inspect(tmp_path, loops + grows)
    assert_told(found, "runs into a limit: step ", "it took longer than 0.2 s (n0 = ", "loop(", "grow(")
    assert_told(found, "it needs more than 512 MiB of memory")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "@bad.relation\ndef add(x: float) -> float:\n    return x\n",
            "bad.py, line 16, add is defined twice; first in",
        ),
        ("@bad.relation\ndef f(x) -> float:\n    return x\n", "bad.py, line 16, f: x has no annotation"),
        ("1 / 0", "ZeroDivisionError"),
    ],
)
def test_a_file_that_cannot_be_loaded_is_one_line(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(DomainError, match=message) as caught:
        inspect(tmp_path, text)
    assert "\n" not in str(caught.value)


def test_a_process_that_dies_or_hangs_is_a_finding(tmp_path: Path) -> None:
    dies = "import os\n@bad.relation\ndef die(x: float) -> float:\n    'ends'\n    os.kill(os.getpid(), 9)\n"
    assert_told(inspect(tmp_path, dies), "the process was stopped (SIGKILL): a random program: die(")
    hangs = "@bad.relation\ndef hang(x: float) -> float:\n    'in C'\n    return sum(range(10**15))\n"
    assert_told(
        inspect(tmp_path, hangs, patience=3), "nothing happened for 3 s and nothing could interrupt it: a random"
    )


# The starter


def test_the_starter_keeps_the_contract_and_its_own_tests(tmp_path: Path) -> None:
    paths = write_starter("rover", tmp_path / "new")
    assert [path.name for path in paths] == ["rover.py", "test_rover.py"]
    assert [finding.level for finding in check(load_domain(f"{paths[0]}:rover"))] == ["note", "note"]
    run = (
        "import test_rover as t; [print(name, value()) for name, value in vars(t).items() if name.startswith('test_')]"
    )
    done = subprocess.run([sys.executable, "-c", run], cwd=paths[0].parent, capture_output=True, text=True, check=True)
    assert done.stdout.count("None\n") == 3
