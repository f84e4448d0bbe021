"""What can be the answer to an everyday question."""

from __future__ import annotations

import pytest

from tpn2f.domain import JudgesAnswers, Problem
from tpn2f.domains.everyday.domain import Everyday


@pytest.mark.parametrize(
    ("text", "value", "sensible"),
    [
        ("Ann has 7 pens and gives 2 away. How many pens are left?", 5.0, True),
        ("Ann has 7 pens and gives 2 away. How many pens are left?", -5.0, False),
        ("Ann has 7 pens and gives 2 away. How many pens are left?", 3.5, False),
        ("Ann has 7 pens and gives 2 away. How many pens are left?", 0.0, False),
        ("7 people share 2 pizzas. How much does each get?", 2 / 7, True),
        ("A car goes 7 km in 2 hours. How many km per hour is that?", 3.5, True),
        ("How many square feet has a room of 7 by 3 yards?", 20.5, True),
        ("Half of 7.5 bags are full. How many bags is that?", 3.75, True),
        ("What is the average of how many goals 3 teams with 7 goals scored?", 7 / 3, True),
    ],
)
def test_what_makes_sense(text: str, value: float, sensible: bool) -> None:
    domain = Everyday()
    assert domain.makes_sense(value, domain.read(text)) is sensible


def test_what_is_no_number_makes_no_sense() -> None:
    domain = Everyday()
    assert isinstance(domain, JudgesAnswers)
    for value in (None, "7", True, float("nan")):
        assert not domain.makes_sense(value, Problem(("how", "many"), {"n0": 1}))
