"""Reading everyday texts: every number is named, whatever its shape, and keeps its place."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tpn2f.domains.everyday.reading import MAX_CHARACTERS, read
from tpn2f.errors import DataError

# (text, the words, the values)
TABLE = [
    ("Tom has 1,200 stamps.", "tom has n0 stamps .", ["1200"]),
    ("It costs $2.50, or $.5", "it costs $ n0 , or $ n1", ["5/2", "1/2"]),
    ("60% off", "n0 % off", ["60"]),
    ("35 percent or 12 per cent", "n0 % or n1 %", ["35", "12"]),
    ("3/4 of 2 1/2 cups", "n0 fraction of n1 cups", ["3/4", "5/2"]),
    ("1½ cups, ½ cup", "n0 cups , n1 fraction cup", ["3/2", "1/2"]),
    ("3 / 4 of it", "n0 / n1 of it", ["3", "4"]),
    ("a run of 1:30 hours", "a run of n0 hours", ["3/2"]),
    ("the ratio is 3:20", "the ratio is n0 : n1", ["3", "20"]),
    ("mixed 3:2", "mixed n0 : n1", ["3", "2"]),
    ("the 5th day", "the n0 th day", ["5"]),
    ("a 10-year-old, a 120-page book", "a n0 - year - old , a n1 - page book", ["10", "120"]),
    ("-5 degrees, then 8 -3", "n0 degrees , then n1 - n2", ["-5", "8", "3"]),
    ("twenty-five apples", "n0 apples", ["25"]),
    ("twenty - five apples", "n0 apples", ["25"]),
    ("one hundred and five", "n0", ["105"]),
    ("five hundred thousand", "n0", ["500000"]),
    ("3 million people", "n0 people", ["3000000"]),
    ("a dozen eggs, 5 dozen", "n0 dozen eggs , n1 n2 dozen", ["12", "5", "12"]),
    ("half of them, a half, one half", "n0 half of them , n1 half , n2 half", ["1/2", "1/2", "1/2"]),
    ("half a dozen", "n0 half n1 dozen", ["1/2", "12"]),
    ("one-fifth of two thirds", "n0 fraction of n1 fraction", ["1/5", "2/3"]),
    ("one - half of it", "n0 half of it", ["1/2"]),
    ("two hundred and one-half", "n0", ["401/2"]),
    ("twice, thrice, double, tripled", "n0 twice , n1 thrice , n2 double , n3 tripled", ["2", "3", "2", "3"]),
    ("a quarter of it", "n0 quarter of it", ["1/4"]),
    ("three quarters of it", "n0 fraction of it", ["3/4"]),
    ("5 quarters in a jar", "n0 n1 quarters in a jar", ["5", "1/4"]),
    ("seventy-four quarters in a jar", "n0 n1 quarters in a jar", ["74", "1/4"]),
    ("twenty-one hundredths of it", "n0 fraction of it", ["21/100"]),
    ("one and a half hours, 2 and a half", "n0 hours , n1", ["3/2", "5/2"]),
    ("a third of the cake", "n0 fraction of the cake", ["1/3"]),
    ("a third dog", "a third dog", []),
    ("the second and the third day", "the second and the third day", []),
    ("which one of them? each one has one apple", "which one of them ? each one has n0 apple", ["1"]),
    ("One has 5 cards", "one has n0 cards", ["5"]),
    ("hundreds of birds", "hundreds of birds", []),
    ("Sue’s dog didn’t eat", "sue 's dog did n't eat", []),
    ("the company ’ s did n't", "the company 's did n't", []),
    ("n0 and x2", "n n0 and x n1", ["0", "2"]),
    ("1,20,000 or 2,3", "n0 or n1 , n2", ["120000", "2", "3"]),
    ("5.", "n0 .", ["5"]),
]


@pytest.mark.parametrize(("text", "words", "values"), TABLE, ids=[row[0] for row in TABLE])
def test_numbers_in_every_shape(text: str, words: str, values: list[str]) -> None:
    reading = read(text)
    assert " ".join(reading.words) == words
    assert [number.value for number in reading.numbers] == [Fraction(value) for value in values]


def test_places_are_those_of_the_text_as_given() -> None:
    text = "“Tom’s” twenty-five books — half of 1,200 — cost $2.50"
    assert [text[number.start : number.end] for number in read(text).numbers] == [
        "twenty-five",
        "half",
        "1,200",
        "2.50",
    ]


@given(st.text(max_size=120))
def test_any_text_is_read_with_names_in_order(text: str) -> None:
    reading = read(text)
    names = [word for word in reading.words if word[0] == "n" and word[1:].isdigit()]
    assert names == [f"n{k}" for k in range(len(reading.numbers))]
    places = [place for number in reading.numbers for place in (number.start, number.end)]
    assert places == sorted(places) and all(0 <= place <= len(text) for place in places)
    assert list(reading.problem.bindings) == names
    assert all(word and not any(sign.isspace() for sign in word) for word in reading.words)


_BELOW = "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen"
_ONES = [*_BELOW.split(), "seventeen", "eighteen", "nineteen"]
_TENS = ["", "", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]


def spell(number: int) -> str:
    """A whole number below a million in words, written independently of the reader."""
    if number < 20:
        return _ONES[number]
    if number < 100:
        return _TENS[number // 10] + (f"-{_ONES[number % 10]}" if number % 10 else "")
    if number < 1000:
        return f"{_ONES[number // 100]} hundred" + (f" and {spell(number % 100)}" if number % 100 else "")
    rest = number % 1000
    return f"{spell(number // 1000)} thousand" + (f" {spell(rest)}" if rest else "")


@given(st.integers(2, 999_999))
def test_a_number_in_words_is_the_number(number: int) -> None:
    reading = read(f"there were {spell(number)} birds")
    assert [found.value for found in reading.numbers] == [number]
    assert reading.words == ("there", "were", "n0", "birds")


@given(st.integers(0, 10**12), st.integers(0, 99))
def test_a_numeral_is_the_number(whole: int, cents: int) -> None:
    for text in (f"{whole}.{cents:02}", f"{whole:,}.{cents:02}"):
        assert [found.value for found in read(f"it is ${text}.").numbers] == [Fraction(100 * whole + cents, 100)]


def test_long_texts_and_numbers_are_refused() -> None:
    with pytest.raises(DataError, match="characters"):
        read("7" * (MAX_CHARACTERS + 1))
    with pytest.raises(DataError, match="digits"):
        read("9" * 1_000)
