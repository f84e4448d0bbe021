"""Synonyms: spans that take each other's place often enough become a class, within the places where they do."""

from __future__ import annotations

import re
from itertools import product

from hypothesis import given, settings
from hypothesis import strategies as st

from tpn2f.domains.algolisp.generation.synonyms import expressions, find_synonyms, rewrite


def phrases(*texts: str) -> list[tuple[str, ...]]:
    return [("|", *text.split()) for text in texts]


def test_alternatives_are_factored_out() -> None:
    made = [
        f"{head} {noun} {word} {{0}}"
        for head, noun, word in product(("odd", "prime", "even"), ("elements", "values"), ("of", "in"))
    ]
    classes = find_synonyms([("filter", phrases(*made))])
    assert {frozenset(" ".join(member) for member in group.members) for group in classes} >= {
        frozenset({"elements", "values"}),
        frozenset({"of", "in"}),
    }
    assert len({rewrite(phrase, classes, "filter") for phrase in phrases(*made)}) < 4


def test_what_tells_programs_apart_is_no_synonym() -> None:
    groups = [
        ("first", phrases("first half of {0}", "first part of {0}", "keep first half of {0}")),
        ("second", phrases("second half of {0}", "second part of {0}", "keep second half of {0}")),
    ]
    members = {member for group in find_synonyms(groups) for member in group.members}
    assert ("first",) not in members and ("second",) not in members


def test_between_edges_a_class_stays_in_its_group() -> None:
    """`such values of {0}` in one program says nothing about the phrases of another that begin with a hole."""
    ends = ("that are odd", "that are even", "that are prime", "that are big")
    first = phrases(*(f"{start} {{0}} {end}" for start in ("values of", "such") for end in ends))
    second = phrases(*(f"values of {{0}} {end}" for end in ("doubled", "squared", "halved")))
    classes = find_synonyms([("filter", first), ("map", second)])
    assert any(("such",) in group.members for group in classes)
    for phrase in second:
        assert rewrite(phrase, classes, "map") == phrase
    assert all(rewrite(phrase, classes, "filter") != phrase for phrase in first)


@settings(max_examples=30)
@given(st.lists(st.lists(st.sampled_from(["a1", "b1", "c1", "{0}"]), min_size=1, max_size=5).map(tuple), max_size=12))
def test_a_class_says_all_of_its_members(bodies: list[tuple[str, ...]]) -> None:
    """What a phrase becomes still matches the phrase: classes only ever add."""
    texts = [("|", *body) for body in bodies]
    classes = find_synonyms([("group", texts)])
    words = expressions(classes)
    for text in texts:
        short = rewrite(text, classes, "group")
        pattern = " ".join(words.get(word, re.escape(word)) for word in short)
        assert re.fullmatch(pattern, " ".join(text))
