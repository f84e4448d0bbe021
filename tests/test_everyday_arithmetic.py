"""Bare arithmetic: parsed, exact, bounded, and nothing else is taken for it."""

from __future__ import annotations

import random
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tpn2f.domains.everyday import Everyday
from tpn2f.domains.everyday.arithmetic import calculate, parse
from tpn2f.errors import DataError, ExecutionError

# (text, program, value)
TABLE = [
    ("2+2", "add(n0, n1)", "4"),
    ("5 * 7", "multiply(n0, n1)", "35"),
    ("(3 + 4) / 2", "add(n0, n1) | divide(#0, n2)", "7/2"),
    ("15% of 240", "divide(n0, const_100) | multiply(#0, n1)", "36"),
    ("What's 35 percent of 180?", "divide(n0, const_100) | multiply(#0, n1)", "63"),
    ("how much is 10% of 200 dollars?", "divide(n0, const_100) | multiply(#0, n1)", "20"),
    ("2^10", "power(n0, n1)", "1024"),
    ("what is 3 x 4?", "multiply(n0, n1)", "12"),
    ("2-1/2", "divide(n1, n2) | subtract(n0, #0)", "3/2"),
    ("-2^2", "power(n0, n1) | negate(#0)", "-4"),
    ("2^-3", "power(n0, n1)", "1/8"),
    ("2/3^2", "power(n1, n2) | divide(n0, #0)", "2/9"),
    ("2^3^2", "power(n1, n2) | power(n0, #0)", "512"),
    ("half of 50", "multiply(n0, n1)", "25"),
    ("twenty-five times 4 =", "multiply(n0, n1)", "100"),
    ("$1,200 ÷ 3 = ?", "divide(n0, n1)", "400"),
    ("3(4+1)", "add(n1, n2) | multiply(n0, #0)", "15"),
    ("5!", "factorial(n0)", "120"),
    ("5 squared minus 1", "power(n0, const_2) | subtract(#0, n1)", "24"),
    ("square root of 16", "sqrt(n0)", "4"),
    ("17 mod 5", "reminder(n0, n1)", "2"),
    ("0.1 + 0.2", "add(n0, n1)", "3/10"),
]


@pytest.mark.parametrize(("text", "program", "value"), TABLE, ids=[row[0] for row in TABLE])
def test_bare_arithmetic(text: str, program: str, value: str) -> None:
    found = calculate(text)
    assert found is not None
    assert (str(found.program), found.value) == (program, Fraction(value))
    assert parse(text) == (found.program, found.problem)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "7",
        "five",
        "hello",
        "what is this?",
        "Tom has 3 apples and 2 pears",
        "3 and 4",
        "x",
        "1e5 * 2",
        "a" * 50_000,
    ],
)
def test_other_texts_are_left_alone(text: str) -> None:
    assert calculate(text) is None


HOSTILE = ["9**9**9", "9^" * 200 + "9", "(" * 10_000, "(" * 10_000 + "1" + ")" * 10_000, "-" * 10_000 + "5"]
HOSTILE += [
    "(" * 100 + "1" + ")" * 100 + "+1",
    "1+" * 5_000 + "1",
    "9" * 5_000 + "+1",
    "151!",
    "1/0",
    "0^-1",
]
HOSTILE += ["999^999", "100 + 10%", "(-8)^0.5", "√ " * 500 + "2", " " * 50_000 + "1/0"]


@pytest.mark.parametrize("text", HOSTILE, ids=[text[:12] for text in HOSTILE])
def test_what_cannot_be_computed_is_an_error(text: str) -> None:
    try:
        found = calculate(text)
    except DataError as error:
        assert 0 < len(str(error)) < 120
    else:
        # The one that is cut off before its end; it is no calculation any more.
        assert found is None and text.startswith(" ")


def draw(chance: random.Random, depth: int) -> tuple[str, Fraction, int]:
    """A random expression, its value in Python's fractions, and how strongly its sign binds: 1 sum, 2 product, 3."""
    if depth == 0 or chance.random() < 0.2:
        number = Fraction(chance.randint(0, 999), chance.choice((1, 1, 10, 100)))
        return f"{float(number):.2f}" if number.denominator > 1 else str(number.numerator), number, 4
    sign = chance.choice("+-*/^")
    left, a, binds = draw(chance, depth - 1)
    if sign == "^":
        exponent = chance.randint(0, 4)
        return f"{left if binds == 4 else f'({left})'}^{exponent}", a**exponent, 3
    right, b, binds_right = draw(chance, depth - 1)
    if sign == "/" and b == 0:
        sign = "+"
    strength = 1 if sign in "+-" else 2
    left = left if binds >= strength else f"({left})"
    right = right if binds_right > strength else f"({right})"
    value = a + b if sign == "+" else a - b if sign == "-" else a * b if sign == "*" else a / b
    gap = chance.choice(("", " "))
    return f"{left}{gap}{sign}{gap}{right}", value, strength


def test_ten_thousand_random_expressions_equal_pythons_fractions() -> None:
    chance = random.Random(7)
    computed = 0
    while computed < 10_000:
        text, value, _ = draw(chance, 4)
        if max(abs(value.numerator), value.denominator) >= 10**60:
            continue
        found = calculate(text)
        if found is None:
            assert value == Fraction(text)  # a number alone
            continue
        assert found.value == value, text
        computed += 1


@given(st.integers(0, 10**6))
def test_the_domain_runs_the_program(seed: int) -> None:
    text, value, _ = draw(random.Random(seed), 3)
    found = calculate(text)
    if found is not None:
        try:
            result = Everyday().execute(found.program, found.problem)
        except ExecutionError:
            assert abs(value) > 10**100
        else:
            assert result == pytest.approx(
                float(value), rel=1e-6, abs=1e-6 * max(1.0, *map(abs, map(float, found.results)))
            )


@given(st.text(alphabet="0123456789+-*/^().% x!√", max_size=40))
def test_any_signs_end(text: str) -> None:
    try:
        calculate(text)
    except DataError as error:
        assert str(error)


@pytest.mark.parametrize("text", ["2+", "(2+3", "2 " * 200 + "+ 1", "11 : 35 : : 17 : ?", "33 1 / 3 % of 210 ?"])
def test_signs_that_make_no_calculation_are_left_to_the_model(text: str) -> None:
    assert calculate(text) is None
