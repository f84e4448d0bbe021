"""The words of a question as they were written: nothing lost, every number with its name."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tpn2f.domain import Problem, load_domain
from tpn2f.errors import DataError
from tpn2f.web.spelling import spell

DOMAINS = {name: load_domain(name) for name in ("everyday", "mathqa", "arithmetic", "algolisp")}
WORDS = [
    "A",
    "Three",
    "twenty",
    "friends",
    "$40",
    "25%",
    "1,200",
    "3/4",
    "half",
    "km/h.",
    "don't",
    "4.50",
    "?",
    "two-thirds",
    "x",
]


@pytest.mark.parametrize(
    ("domain", "text", "expected"),
    [
        ("everyday", "Three friends share 24 candies equally. How many does each get?", {"n0": "Three", "n1": "24"}),
        ("everyday", "If 3 pens cost $4.50, how much do 7 pens cost?", {"n0": "3", "n1": "4.50", "n2": "7"}),
        ("everyday", "A shirt costs $40 and is 25% off. What do I pay?", {"n0": "40", "n1": "25"}),
        ("mathqa", "A car goes 1,200 km in 4 hours.", {"n0": "1,200", "n1": "4"}),
        ("arithmetic", "What is 20% of 1,200?", {"n0": "20", "n1": "1,200"}),
    ],
)
def test_numbers_are_where_they_were_written(domain, text, expected):
    words, _ = spell(text, DOMAINS[domain].read(text), ())
    assert {word.name: word.text for word in words if word.name} == expected


@pytest.mark.parametrize("name", DOMAINS)
@given(st.lists(st.sampled_from(WORDS) | st.text(max_size=5), min_size=1, max_size=8).map(" ".join))
def test_nothing_is_lost_and_nothing_added(name, text):
    try:
        problem = DOMAINS[name].read(text)
    except DataError:
        return
    words, rest = spell(text, problem, ())
    assert len(words) == len(problem.words)
    assert [word.name for word in words] == [word if word in problem.bindings else None for word in problem.words]
    written = "".join((" " if word.space else "") + word.text for word in words) + rest
    assert "".join(written.split()) == "".join(text.split())


def test_a_text_that_was_changed_beyond_recognition_is_still_all_there():
    words, rest = spell("Zwei mal drei?", Problem(("two", "times", "three", "?"), {}), ())
    assert [word.text for word in words] == ["Zwei", "mal", "drei", "?"] and rest == ""
