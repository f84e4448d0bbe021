"""What a domain may offer beyond the contract, and what generic code makes of a domain that offers nothing."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import tpn2f
from tpn2f.domain import (
    ComputesDirectly,
    DescribesSteps,
    Domain,
    DoubtsAnswers,
    Generates,
    HasDoc,
    HasDoubts,
    HasGrades,
    HasInputs,
    HasMentions,
    HasNotation,
    HasOptions,
    HasRelationClasses,
    HasRoles,
    HasSteps,
    HasTests,
    HasTyping,
    JudgesAnswers,
    JudgesTypes,
    ListsSkipped,
    NamesLicences,
    ReadsWithInputs,
    RemembersMore,
    TellsUnits,
    grades_of,
    inputs_of,
    load_domain,
    notation_of,
    offers,
    read_question,
    skipped_of,
)
from tpn2f.functions import FunctionDomain

SOURCE = Path(tpn2f.__file__).parent
MATHQA = {HasSteps, HasNotation, DescribesSteps, HasOptions, ListsSkipped, HasDoubts, ComputesDirectly}
TYPED = {HasTyping, offers.HasTreeTyping, JudgesTypes}
ALGOLISP = TYPED | {HasTests, offers.TracesRuns, offers.ChecksValues, ListsSkipped, Generates, HasRoles}
EVERYDAY = MATHQA | {HasGrades, HasRoles, NamesLicences, RemembersMore, JudgesAnswers, DoubtsAnswers, TellsUnits}
FUNCTIONS = {HasSteps, HasDoc, HasMentions, HasInputs, ReadsWithInputs, ListsSkipped}
OFFERS = MATHQA | ALGOLISP | EVERYDAY | FUNCTIONS | {HasRelationClasses}


@pytest.mark.parametrize(
    ("domain", "expected"),
    [
        (load_domain("arithmetic"), {HasSteps}),
        (load_domain("mathqa"), MATHQA),
        (load_domain("algolisp"), ALGOLISP),
        (load_domain("everyday"), EVERYDAY),
        (FunctionDomain("letters"), FUNCTIONS),
    ],
    ids=["arithmetic", "mathqa", "algolisp", "everyday", "functions"],
)
def test_what_the_domains_offer(domain: Domain, expected: set[type]) -> None:
    assert {offer for offer in OFFERS if isinstance(domain, offer)} == expected


def test_every_offer_is_in_the_table_and_says_what_it_is() -> None:
    tree = ast.parse(Path(offers.__file__).read_text(encoding="utf-8"))
    protocols = {
        node.name: ast.get_docstring(node)
        for node in tree.body
        if isinstance(node, ast.ClassDef) and any(ast.unparse(base) == "Protocol" for base in node.bases)
    }
    assert protocols.keys() - {"Typing", "TreeTyping"} == {offer.__name__ for offer in OFFERS}
    assert all(protocols.values())


def test_a_domain_that_offers_nothing_has_empty_tables() -> None:
    domain = load_domain("arithmetic")
    assert (notation_of(domain), skipped_of(domain), inputs_of(domain), grades_of(domain)) == ({}, {}, {}, {})


def test_a_reading_keeps_types_for_the_model_and_values_for_the_executor() -> None:
    reading = read_question(load_domain("algolisp"), "given a number a , add one", {"a": 3})
    assert reading.seen.bindings == {"a": "int"}
    assert reading.valued.bindings == {"a": 3}
    # What the text does not introduce can be used by its name all the same.
    assert read_question(load_domain("algolisp"), "go on", {"q": 1}).seen.bindings == {"q": 1}


# Names of what holds a domain; asking these whether they have something is the business of `tpn2f.domain` alone.
DOMAINS = ("domain", "language", "solver.domain", "self.domain", "self.solver.domain", "loaded")


@pytest.mark.parametrize("path", sorted(SOURCE.rglob("*.py")), ids=lambda path: str(path.relative_to(SOURCE)))
def test_nobody_else_looks_whether_a_domain_has_something(path: Path) -> None:
    if path.parent == SOURCE / "domain":
        return
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call) and ast.unparse(node.func) in ("hasattr", "getattr"):
            assert ast.unparse(node.args[0]) not in DOMAINS, f"{path}, line {node.lineno}"


GENERIC = ("evaluation", "solver", "search", "retrieval", "training", "tuning", "web", "contract", "domain", "grammar")


@pytest.mark.parametrize("room", GENERIC)
def test_generic_code_has_no_domains_words(room: str) -> None:
    paths = [SOURCE / f"{room}.py"] if (SOURCE / f"{room}.py").exists() else sorted((SOURCE / room).rglob("*.py"))
    for path in paths:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and node.value in ("dev-train", "dev-valid", "algolisp", "const_"):
                raise AssertionError(f"{path}, line {node.lineno}: {node.value}")


def test_the_default_is_said_in_one_place() -> None:
    found = []
    for path in SOURCE.rglob("*.py"):
        room = path.relative_to(SOURCE).parts[0]
        if room in ("domains", "publish", "data"):
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and node.value in ("mathqa", "everyday"):
                found.append(str(path.relative_to(SOURCE)))
    assert sorted(found) == ["cli/demo.py", "domain/loading.py", "pretrained/__init__.py"], (
        "domain, model, the demo's questions"
    )
