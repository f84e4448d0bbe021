"""The contract of `tpn2f.domain.Domain`, as laws that every installed domain keeps; `tpn2f.contract` has most.

To hold a domain of your own to them: `TPN2F_DOMAIN=path/file.py:Name pytest tests/test_domain_contract.py`.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from itertools import islice

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import FILES, find_data, unchecked
from tpn2f.contract.checks import check_language, check_reading, check_robustness, is_word, problem_fault, program_fault
from tpn2f.domain import (
    Domain,
    Example,
    Problem,
    Signature,
    domain_names,
    load_domain,
    read_problem,
    split_parts,
    split_roles,
)
from tpn2f.errors import DataError, ExecutionError
from tpn2f.program import Program, RelationalTuple

SPECS = [os.environ["TPN2F_DOMAIN"]] if "TPN2F_DOMAIN" in os.environ else domain_names()
PER_SPLIT = 200
RUNS = settings(max_examples=60)


@dataclass(frozen=True)
class Loaded:
    """A domain and the first examples of those splits whose data is at hand."""

    domain: Domain
    splits: Mapping[str, list[Example]]

    @property
    def examples(self) -> list[Example]:
        return [example for examples in self.splits.values() for example in examples]


@cache
def load(spec: str) -> Loaded:
    folder = find_data(spec) if spec in FILES else None
    if isinstance(folder, str):
        return Loaded(load_domain(spec), {})
    domain = load_domain(spec, folder)
    splits: dict[str, list[Example]] = {}
    for split in domain.splits:
        try:
            with unchecked():
                splits[split] = list(islice(domain.examples(split), PER_SPLIT))
        except DataError:
            continue
    return Loaded(domain, splits)


@pytest.fixture(params=SPECS)
def loaded(request: pytest.FixtureRequest) -> Loaded:
    found = load(request.param)
    if not found.examples:
        pytest.skip(f"there is no data for {request.param}")
    return found


@pytest.fixture(params=SPECS)
def domain(request: pytest.FixtureRequest) -> Domain:
    return load(request.param).domain


# What a domain is, with and without data


def test_it_keeps_the_protocol(domain: Domain) -> None:
    assert isinstance(domain, Domain)
    assert domain.name.isidentifier()
    assert domain.splits and len(set(domain.splits)) == len(domain.splits)
    assert domain.relations


def test_relations_and_constants_are_words_of_programs(domain: Domain) -> None:
    assert not [finding for finding in check_language(domain) if finding.level == "error"]
    for relation, signature in domain.relations.items():
        assert isinstance(signature, Signature) and is_word(relation, relation=True)
        assert signature.arity == len(signature.arguments)


def test_hostile_texts_are_read_or_refused(domain: Domain) -> None:
    assert list(check_reading(domain)) == []


def test_an_unknown_split_lists_the_splits(domain: Domain) -> None:
    with pytest.raises(DataError) as caught:
        list(domain.examples("no such split"))
    for split in domain.splits:
        assert split in str(caught.value)


@pytest.mark.parametrize("text", ["", " ", "\n\t"])
def test_an_empty_text_is_a_data_error(domain: Domain, text: str) -> None:
    with pytest.raises(DataError):
        domain.read(text)


@pytest.mark.parametrize("spec", SPECS)
@given(text=st.text(max_size=80))
@RUNS
def test_reading_any_text_gives_a_problem_or_a_data_error(spec: str, text: str) -> None:
    domain = load(spec).domain
    try:
        problem = domain.read(text)
    except DataError:
        return
    assert_problem(domain, problem)


def test_an_endless_text_is_read_or_refused(domain: Domain) -> None:
    with unchecked(), contextlib.suppress(DataError):
        assert_problem(domain, domain.read("consider 7 a " * 100_000))


# What its examples are


def test_ids_are_unique_and_name_the_split(loaded: Loaded) -> None:
    ids = [example.id for example in loaded.examples]
    assert len(set(ids)) == len(ids)
    for split, examples in loaded.splits.items():
        assert examples, f"{split} is empty"
        for example in examples:
            assert example.id and example.text.strip(), f"an example of {split} has no id or no text"


def test_a_split_is_the_same_each_time(loaded: Loaded) -> None:
    for split, examples in loaded.splits.items():
        with unchecked():
            assert list(islice(loaded.domain.examples(split), 20)) == examples[:20]


def test_problems_and_their_names(loaded: Loaded) -> None:
    for example in loaded.examples:
        assert_problem(loaded.domain, example.problem)


def test_gold_programs_are_well_formed_and_well_typed(loaded: Loaded) -> None:
    for example in loaded.examples:
        assert program_fault(loaded.domain, example) is None, example.id


def test_gold_programs_survive_their_text(loaded: Loaded) -> None:
    with unchecked():
        for example in loaded.examples:
            assert Program.parse(str(example.program)) == example.program


def test_the_text_of_an_example_can_be_read(loaded: Loaded) -> None:
    beside = getattr(loaded.domain, "inputs", {})
    for example in loaded.examples[::5]:
        given = {name: value for name, value in example.problem.bindings.items() if name in beside}
        problem = read_problem(loaded.domain, example.text, given)
        assert_problem(loaded.domain, problem)
        assert_runs(loaded.domain, example.program, problem)


def test_gold_programs_are_scored_without_contradiction(loaded: Loaded) -> None:
    domain = loaded.domain
    reasons: list[str] = []
    with unchecked():
        for example in loaded.examples:
            solved = domain.is_solved(example.program, example)
            reason = domain.diagnose(example)
            assert (reason is None) == solved, example.id
            credits = domain.credits(example.program, example)
            assert not solved or max(credits.values()) == 1.0, example.id
            assert all(isinstance(name, str) and name for name in domain.subsets(example))
            if reason is not None:
                assert reason == reason.strip() and 0 < len(reason) <= 80
                reasons.append(reason)
    assert len(reasons) < 0.4 * len(loaded.examples), "most gold programs give the gold answer"
    assert len(set(reasons)) <= 20, "reasons are shared by many examples"


def test_scoring_the_same_program_twice_gives_the_same(loaded: Loaded) -> None:
    for example in loaded.examples[::20]:
        once = loaded.domain.credits(example.program, example)
        assert loaded.domain.credits(example.program, example) == once


def test_credits_have_the_same_names_for_every_prediction(loaded: Loaded) -> None:
    names = {
        tuple(loaded.domain.credits(program, example))
        for example in loaded.examples[::20]
        for program in (example.program, Program(), Program.parse("no_such_relation(x)"))
    }
    assert len(names) == 1


def test_what_a_model_learns_from_can_be_named(loaded: Loaded) -> None:
    """`train`, or a part of dev that stands in for it; evaluation tells seen from unseen by it."""
    assert set(split_parts(split_roles(loaded.domain).learn)) <= set(loaded.splits)


def test_records_that_are_left_out_are_listed_by_split(loaded: Loaded) -> None:
    skipped = getattr(loaded.domain, "skipped", {})
    assert isinstance(skipped, Mapping) and set(skipped) <= set(loaded.domain.splits)
    assert all(isinstance(line, str) for lines in skipped.values() for line in lines)


# What it does with programs that a model, or an enemy, might write

EDITS = ("relation", "argument", "drop", "repeat", "add", "remove", "swap")


@pytest.mark.parametrize("spec", SPECS)
@given(data=st.data())
@RUNS
def test_random_programs_run_or_raise_an_execution_error(spec: str, data: st.DataObject) -> None:
    found = load(spec)
    example = data.draw(st.sampled_from(found.examples)) if found.examples else None
    problem = example.problem if example else Problem(("x",))
    program = draw_program(data, found.domain, problem)
    assert_runs(found.domain, program, problem)
    if example is not None:
        assert_scores(found.domain, program, example)


@pytest.mark.parametrize("spec", SPECS)
@given(data=st.data())
@RUNS
def test_mutated_gold_programs_run_or_raise_an_execution_error(spec: str, data: st.DataObject) -> None:
    found = load(spec)
    if not found.examples:
        pytest.skip(f"there is no data for {spec}")
    example = data.draw(st.sampled_from(found.examples))
    program = example.program
    for _ in range(data.draw(st.integers(1, 3))):
        program = mutate(data, found.domain, program, example.problem)
    assert_runs(found.domain, program, example.problem)
    assert_scores(found.domain, program, example)


def test_random_and_changed_programs_break_nothing(loaded: Loaded) -> None:
    with unchecked():
        assert not [f for f in check_robustness(loaded.domain, loaded.examples) if f.level == "error"]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "no_such_relation(x)",
        "no_such_relation()",
        "{relation}()",
        "{relation}(#0)",
        "{relation}(#5, #999999)",
        "{relation}(" + ", ".join(["x"] * 64) + ")",
        "{relation}(" + "x" * 50_000 + ")",
    ],
)
def test_malformed_programs_are_execution_errors(domain: Domain, text: str) -> None:
    for relation, signature in domain.relations.items():
        if text == "{relation}()" and signature.arity == 0:
            continue
        program = Program.parse(text.replace("{relation}", relation))
        with pytest.raises(ExecutionError):
            domain.execute(program, Problem(("x",)))


@pytest.mark.parametrize("text", ['{relation}("")', '{relation}("a", "b", "c")', '{relation}("\\" (")'])
def test_quoted_texts_run_or_raise_an_execution_error(domain: Domain, text: str) -> None:
    for relation in domain.relations:
        assert_runs(domain, Program.parse(text.replace("{relation}", relation)), Problem(("x",)))


def test_the_longest_program_ends(loaded: Loaded) -> None:
    """Every tuple uses the one before twice: what a tree walker would take 2^1024 steps for."""
    domain, example = loaded.domain, loaded.examples[0]
    words = [*domain.names(example.problem), *domain.constants]
    for relation, signature in list(domain.relations.items())[::3]:
        first = RelationalTuple(relation, tuple(words[: signature.arity]))
        chain = [first] + [RelationalTuple(relation, (f"#{k}",) * signature.arity) for k in range(1023)]
        with unchecked():
            assert_runs(domain, Program(tuple(chain)), example.problem)


# The laws


def assert_problem(domain: Domain, problem: Problem) -> None:
    assert problem_fault(domain, problem) is None


def assert_runs(domain: Domain, program: Program, problem: Problem) -> None:
    """Whatever happens is a value or an ExecutionError with a message of one readable length."""
    try:
        domain.execute(program, problem)
    except ExecutionError as error:
        assert str(error).strip()


def assert_scores(domain: Domain, program: Program, example: Example) -> None:
    assert isinstance(domain.is_solved(program, example), bool)
    credits = domain.credits(program, example)
    assert list(credits) == list(domain.credits(example.program, example))
    assert all(isinstance(credit, float) and 0 <= credit <= 1 for credit in credits.values())


# Programs are built here and not in strategies: beartype draws random numbers, which hypothesis forbids there.


def draw_word(data: st.DataObject, domain: Domain, problem: Problem, index: int) -> str:
    kind = data.draw(st.integers(0, 9))
    if kind < 4 and index:
        return f"#{data.draw(st.integers(0, index - 1))}"
    if kind < 9:
        return data.draw(st.sampled_from([*domain.names(problem), *domain.constants]))
    return data.draw(st.sampled_from(["#99", "#0", "n99", "xyz", '"text"', "-1", "1e999", *domain.relations]))


def draw_step(data: st.DataObject, domain: Domain, problem: Problem, index: int) -> RelationalTuple:
    relation = data.draw(st.sampled_from(list(domain.relations)))
    arity = domain.relations[relation].arity
    if data.draw(st.integers(0, 19)) == 0:
        arity = data.draw(st.integers(0, 4))
    return RelationalTuple(relation, tuple(draw_word(data, domain, problem, index) for _ in range(arity)))


def draw_program(data: st.DataObject, domain: Domain, problem: Problem) -> Program:
    length = data.draw(st.integers(0, 8))
    return Program(tuple(draw_step(data, domain, problem, index) for index in range(length)))


def mutate(data: st.DataObject, domain: Domain, program: Program, problem: Problem) -> Program:
    """The program with one thing changed."""
    steps = list(program.tuples) or [draw_step(data, domain, problem, 0)]
    place = data.draw(st.integers(0, len(steps) - 1))
    step = steps[place]
    arguments = list(step.arguments)
    match data.draw(st.sampled_from(EDITS)):
        case "relation":
            steps[place] = RelationalTuple(data.draw(st.sampled_from(list(domain.relations))), step.arguments)
        case "argument" if arguments:
            arguments[data.draw(st.integers(0, len(arguments) - 1))] = draw_word(data, domain, problem, len(steps))
            steps[place] = RelationalTuple(step.relation, tuple(arguments))
        case "drop":
            del steps[place]
        case "repeat":
            steps.insert(place, step)
        case "add":
            steps.append(draw_step(data, domain, problem, len(steps)))
        case "remove" if arguments:
            steps[place] = RelationalTuple(step.relation, tuple(arguments[:-1]))
        case _:
            steps[place] = RelationalTuple(step.relation, tuple(reversed(arguments)))
    return Program(tuple(steps))
