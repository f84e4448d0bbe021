"""The generator of everyday problems: every template keeps its contract, parts share no phrasing, seeds repeat."""

from __future__ import annotations

import random
from dataclasses import replace
from fractions import Fraction
from itertools import islice
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stories import few_stories
from tpn2f.domains.everyday.generation import ProblemGenerator, generate, generator
from tpn2f.domains.everyday.generation.canonical import bind, spell_out
from tpn2f.domains.everyday.generation.contract import faults, faults_of_facts, repeated
from tpn2f.domains.everyday.generation.english import article, base_form, plural, verb_form
from tpn2f.domains.everyday.generation.expressions import compile_expression
from tpn2f.domains.everyday.generation.generator import execute, fits
from tpn2f.domains.everyday.generation.quantities import Quantity, parse_source, write
from tpn2f.domains.everyday.generation.stocks import Stocks, bundled_stocks
from tpn2f.domains.everyday.generation.telling import Telling
from tpn2f.domains.everyday.generation.templates import ProblemKind, bundled_kinds, held_out, read_kinds, with_taught
from tpn2f.domains.everyday.generation.wording import finish, parse_wording
from tpn2f.domains.everyday.reading import read
from tpn2f.errors import DataError
from tpn2f.numbers import in_words
from tpn2f.program import Program

KINDS = bundled_kinds()
THEMES = sorted({kind.theme for kind in KINDS})


@pytest.fixture(autouse=True)
def _few_stories(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(generator, "bundled_stories", few_stories)


@pytest.mark.parametrize("theme", THEMES)
def test_every_template_keeps_its_contract(theme: str) -> None:
    # Of what is taught beside it some here, and all in a slower test.
    kinds = [replace(kind, taught=kind.taught[::5], taught_asks=kind.taught_asks[::5]) for kind in KINDS]
    assert [fault for kind in kinds if kind.theme == theme for fault in faults(kind, tellings=1)] == []


def test_every_fact_of_a_story_is_read() -> None:
    stories = {kind.setting.name: kind for kind in KINDS if kind.setting.facts}
    assert [fault for kind in stories.values() for fault in faults_of_facts(kind)] == []


def test_there_are_many_kinds_and_no_phrasing_belongs_to_two() -> None:
    assert len(KINDS) >= 150
    assert repeated(KINDS) == []


def test_what_is_held_out_is_never_in_training() -> None:
    told = {
        part: list(islice(ProblemGenerator(1, part, bundled_kinds()).examples(), 200))
        for part in ("train", "dev", "test")
    }
    shown = {wording.source for _, draft, _ in told["train"] for wording in draft.wordings}
    assert all(kind.part == "train" for kind, _, _ in told["train"])
    for part in ("dev", "test"):
        for kind, draft, _ in told[part]:
            asked = draft.wordings[0].source
            assert kind.part == part or (kind.part == "train" and asked not in shown and held_out(asked, 8) == part)


def test_both_parts_for_judging_have_unseen_kinds_and_unseen_phrasings() -> None:
    for part in ("dev", "test"):
        origins = {example.id.split(":")[1] for example in generate(3, 500, part)}
        assert origins == {"kind", "phrasing", "story"}


@pytest.mark.parametrize("part", ["train", "dev", "test"])
def test_a_seed_repeats_and_no_text_comes_twice(part: str) -> None:
    first, again, other = (list(generate(seed, 60, part)) for seed in (5, 5, 6))
    assert first == again
    assert first != other
    assert len({example.text for example in first}) == len(first)


def test_programs_give_the_answer_on_the_numbers_that_are_read() -> None:
    for example in generate(11, 200):
        values = {f"n{k}": float(number.value) for k, number in enumerate(read(example.text).numbers)}
        assert execute(example.program, values) == pytest.approx(example.answer)
        assert isinstance(example.answer, float)
        assert fits(example.answer, "any")


def test_several_questions_are_asked_over_the_same_story() -> None:
    bindings: dict[tuple, set[str]] = {}
    for example in generate(4, 300):
        key = (example.id.split("/")[0], *sorted(map(str, example.problem.bindings.values())))
        bindings.setdefault(key, set()).add(str(example.program))
    assert sum(len(programs) > 1 for programs in bindings.values()) > 3


@pytest.mark.parametrize(
    ("text", "names", "expected"),
    [
        ("add(a,b)", {"a": "n1", "b": "n0"}, "add(n0, n1)"),
        ("subtract(a,b)", {"a": "n1", "b": "n0"}, "subtract(n1, n0)"),
        ("percent(a,b)", {"a": "n0", "b": "n1"}, "divide(n0, const_100) | multiply(n1, #0)"),
        ("add(a,b)|add(#0,c)", {"a": "n2", "b": "n0", "c": "n1"}, "add(n0, n1) | add(n2, #0)"),
        ("add(a,b)|add(a,#0)", {"a": "n0", "b": "n1"}, "add(n0, n1) | add(n0, #0)"),
        ("multiply(a,b)|multiply(c,d)|add(#0,#1)", {"a": "n2", "b": "n3", "c": "n0", "d": "n1"},
         "multiply(n0, n1) | multiply(n2, n3) | add(#0, #1)"),
        ("rectangle_perimeter(a,b)", {"a": "n0", "b": "n1"}, "add(n0, n1) | multiply(#0, const_2)"),
        ("lcm(a,b)", {"a": "n1", "b": "n0"}, "lcm(n0, n1)"),
    ],
)  # fmt: skip
def test_programs_become_canonical(text: str, names: dict[str, str], expected: str) -> None:
    assert str(bind(spell_out(Program.parse(text)), names)) == expected


@given(st.integers(2, 60), st.integers(2, 60), st.integers(1, 99))
def test_canonical_form_keeps_the_value(a: int, b: int, p: int) -> None:
    names = {"a": "n2", "b": "n0", "p": "n1"}
    values = {"a": a, "b": b, "p": p}
    for text in (
        "price_after_gain(p,a)|add(#0,b)",
        "volume_rectangular_prism(a,b,p)",
        "original_price_before_loss(p,a)",
    ):
        program = Program.parse(text)
        bound = bind(spell_out(program), names)
        told = {names[name]: float(value) for name, value in values.items()}
        assert execute(bound, told) == pytest.approx(execute(program, {k: float(v) for k, v in values.items()}))


@pytest.mark.parametrize(
    ("noun", "many"),
    [("apple", "apples"), ("box", "boxes"), ("loaf of bread", "loaves of bread"), ("cherry", "cherries"),
     ("toy", "toys"), ("pair of scissors", "pairs of scissors"), ("goldfish", "goldfish"), ("snowman", "snowmen")],
)  # fmt: skip
def test_plurals(noun: str, many: str) -> None:
    assert plural(noun) == many


@pytest.mark.parametrize(
    ("verb", "pres", "past", "ing"),
    [("pick up", "picks up", "picked up", "picking up"), ("catch", "catches", "caught", "catching"),
     ("bake", "bakes", "baked", "baking"), ("carry", "carries", "carried", "carrying"),
     ("drop", "drops", "dropped", "dropping")],
)  # fmt: skip
def test_verbs(verb: str, pres: str, past: str, ing: str) -> None:
    assert (verb_form(verb, "pres"), verb_form(verb, "past"), verb_form(verb, "ing")) == (pres, past, ing)
    assert base_form(pres) == verb


@pytest.mark.parametrize(
    ("word", "expected"),
    [("apple", "an"), ("uniform", "a"), ("hour", "an"), ("8-page", "an"), ("11", "an"), ("180", "a")],
)
def test_articles(word: str, expected: str) -> None:
    assert article(word) == expected


@given(st.integers(2, 999))
def test_numbers_in_words_are_read_back(n: int) -> None:
    assert [number.value for number in read(f"{in_words(n)} apples").numbers] == [n]


@given(st.integers(0, 10**6), st.sampled_from(["2..30", "5..95 step 5", "0.25..9.75 step 0.25", "@times", "@fraction"]))
def test_numbers_are_written_so_that_they_are_read_back(seed: int, spec: str) -> None:
    chance = random.Random(seed)
    source, _ = parse_source(spec)
    quantity = source(chance, {})
    text = write(quantity, chance)
    assert [number.value for number in read(f"{text} of the apples").numbers] == [Fraction(quantity.value)]


@given(st.integers(-20, 20), st.integers(1, 20))
def test_expressions_agree_with_python(a: int, b: int) -> None:
    cases = {
        "a % b == 0": a % b == 0,
        "a - b * 2 > 3 and a != b": a - b * 2 > 3 and a != b,
        "min(a, b) ** 2": min(a, b) ** 2,
        "a / b": Fraction(a, b),
        "-a < b <= 9": -a < b <= 9,
    }
    for text, value in cases.items():
        assert compile_expression(text)[0]({"a": a, "b": b}) == value


@pytest.mark.parametrize("text", ["__import__('os')", "a.b", "[a]", "lambda: a", "a if b else c", "a +", "open('x')"])
def test_expressions_know_nothing_but_arithmetic(text: str) -> None:
    with pytest.raises(DataError):
        compile_expression(text)


@pytest.mark.parametrize("text", ["{z}", "{Z}", "{P.wrong}", "{a", "(x|y", "x]", "{}", "{a Z}", "{O.he}"])
def test_a_wrong_template_says_where(text: str) -> None:
    with pytest.raises(DataError, match="template"):
        parse_wording(text, {"P": "name", "O": "fruit"}, ["a"])


def _tell(text: str, slots: dict[str, str], seed: int = 0, **values: int) -> str:
    telling = Telling(bundled_stocks(), slots, {k: Quantity(v) for k, v in values.items()}, random.Random(seed))
    return finish(parse_wording(text, slots, list(values)).tell(telling), list(values))[0]


def test_a_pronoun_before_the_name_is_the_name() -> None:
    for seed in range(20):
        first, second = _tell("{P.he} sang. {P.he} left.", {"P": "name"}, seed).rstrip(".").split(". ")
        assert first.split()[0] not in ("He", "She")
        assert second.split()[0] in ("He", "She")


def test_verbs_agree_with_whoever_acts() -> None:
    told = {_tell("{P} {P~has} {a#} {P~watches}", {"P": "anyone"}, seed, a=3) for seed in range(200)}
    assert any(text.startswith("I have 3 watch") for text in told)
    assert all(" have 3 watch" in text for text in told if text.startswith(("I ", "You ", "We ", "The ")))


def test_nouns_agree_with_their_number() -> None:
    slots = {"O": "nouns: loaf of bread"}
    assert _tell("{a# O}", slots, a=1) == "1 loaf of bread"
    assert _tell("{a# red O}", slots, a=4) == "4 red loaves of bread"


def test_a_number_that_stands_twice_is_an_error() -> None:
    with pytest.raises(DataError, match="twice"):
        _tell("{a} and {a}", {}, a=4)


def test_the_contract_finds_what_is_wrong() -> None:
    table = {
        "kind": [
            {"name": "bad", "numbers": {"a": "5..9", "b": "2..4", "c": "2..4"}, "program": "add(a,b)",
             "phrasings": ["add {a#} to {b#}", "add {a#} to four", "add {a#} to {b#} and {c#}"]},
        ]
    }  # fmt: skip
    found = " ".join(faults(read_kinds(table, "none", Stocks([]))[0], stocks=Stocks([])))
    assert "3 phrasings" in found
    assert "b of the program is not in the text" in found
    assert "four is read as a number" in found
    assert "neither in the program" in found


def test_what_is_taught_is_in_training_alone_and_changes_nothing_else() -> None:
    taught = {wording.source for kind in KINDS for wording in kind.taught + kind.taught_asks}
    assert len(taught) > 4_000
    without = [replace(kind, taught=(), taught_asks=()) for kind in KINDS]
    for part in ("dev", "test"):
        with_it, plain = (list(islice(ProblemGenerator(5, part, kinds).examples(), 100)) for kinds in (KINDS, without))
        assert [example for *_, example in with_it] == [example for *_, example in plain]
    told = islice(ProblemGenerator(5, "train", KINDS).examples(), 200)
    assert any(wording.source in taught for _, draft, _ in told for wording in draft.wordings)


def test_what_is_taught_is_checked_while_read(tmp_path: Path) -> None:
    file = tmp_path / "more.toml"
    wrong = {
        '[nothing]\nphrasings = ["add"]': "there is no kind 'nothing'",
        '[sum_two]\nways = ["add"]': "unknown keys ways",
        '[sum_two]\nask = ["add"]': "it has phrasings only",
        '[sum_two]\nphrasings = ["add {q}"]': "sum_two",
        "[sum_two": "more.toml",
    }
    for text, message in wrong.items():
        file.write_text(text)
        with pytest.raises(DataError, match=message):
            with_taught(KINDS, [file])
    file.write_text('[sum_two]\nphrasings = ["put {a#} and {b#} into one"]')
    (kind,) = [kind for kind in with_taught(KINDS, [file]) if kind.name == "sum_two"]
    assert kind.taught[-1].source == "put {a#} and {b#} into one"


def _kinds_of(where: str, **more: str) -> list[ProblemKind]:
    rest = {"program": "add(a,b)", "phrasings": ["add {a#} to {b#}"], "core": True}
    numbers = {"a": "1..100", "b": "1..100"}
    entries = [{"name": "rare", "numbers": numbers, "where": [where], **rest}]
    entries += [{"name": name, "numbers": numbers, **rest, "phrasings": [text]} for name, text in more.items()]
    return read_kinds({"kind": entries}, "none", Stocks([]))


def test_a_kind_whose_numbers_seldom_fit_does_not_end_a_long_draw() -> None:
    kinds = _kinds_of("a == b * 97", often="what do {a#} and {b#} make?")
    examples = list(islice(ProblemGenerator(1, "train", kinds, Stocks([])).examples(), 20))
    assert sum("make" in example.text for _, _, example in examples) > 10


def test_numbers_that_never_fit_are_an_error() -> None:
    with pytest.raises(DataError, match="rare: no numbers met the conditions"):
        next(ProblemGenerator(1, "train", _kinds_of("a > 200"), Stocks([])).examples())


def test_an_unknown_part_is_refused() -> None:
    with pytest.raises(DataError, match="expected train, dev, test"):
        ProblemGenerator(1, "valid")
