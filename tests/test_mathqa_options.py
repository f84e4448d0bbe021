"""Options as the data writes them: split at their letters, and read as numbers where they state exactly one."""

from __future__ import annotations

import math
from collections import Counter

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tpn2f.domains.mathqa.options import LETTERS, Options, arithmetic, read_options, read_value, split_options

SPLITS = {
    "a ) 24 , b ) 120 , c ) 625 , d ) 720 , e ) 1024": ("24", "120", "625", "720", "1024"),
    "a ) rs . 400 , b ) rs . 300 , c ) rs . 500 , d ) rs . 350 , e ) none of these": (
        *("rs . 400", "rs . 300", "rs . 500", "rs . 350"),
        "none of these",
    ),
    # Thousands commas do not divide.
    "a ) 1,200 , b ) 1 , 300 , c ) 14 , d ) 15 , e ) 16": ("1,200", "1 , 300", "14", "15", "16"),
    # A printed Python list.
    "['a ) 1 / 9', 'b ) 1 / 8', 'c ) 1 / 6', 'd ) 1 / 5', 'e ) 1 / 3']": ("1 / 9", "1 / 8", "1 / 6", "1 / 5", "1 / 3"),
    # Repeated letters.
    "a ) a ) 70 , b ) b ) 315 , c ) c ) 200 , d ) d ) 280 , e ) e ) 140": ("70", "315", "200", "280", "140"),
    # No spaces, and brackets inside an option.
    "a)3(4+1),b)2,c)1,d)[ 105 ],e)x": ("3(4+1)", "2", "1", "[ 105 ]", "x"),
    # Damaged: what comes before the first missing letter is kept.
    "a ) 1 , b ) 2 , d ) 4": ("1", "2 , d ) 4"),
    "": (),
    "12 , 13 , 14": (),
}


@pytest.mark.parametrize(("text", "expected"), SPLITS.items())
def test_options_are_split_at_their_letters(text: str, expected: tuple[str, ...]) -> None:
    assert split_options(text) == expected


VALUES = {
    # plain
    "24": 24,
    "0.05": 0.05,
    ". 05": 0.05,
    ".05": 0.05,
    "145 .": 145,
    "- 40": -40,
    "− 7": -7,
    "+ 20 %": 20,
    "1.506 e - 06": 1.506e-6,
    "[ 105 ]": 105,
    "two": 2,
    "Twelve": 12,
    # thousands
    "1,200": 1200,
    "1 , 200": 1200,
    "1,20,000": 120_000,
    "12,345,678.9": 12_345_678.9,
    "19 , 356.732": 19356.732,
    "10 000": 10_000,
    # money, percent and units
    "$ 1,250.50": 1250.5,
    "rs . 400": 400,
    "rs 11.81": 11.81,
    "rs.400": 400,
    "s . 96": 96,
    "s 1500": 1500,
    "$ 2.4 million": 2.4e6,
    "3 lakh": 3e5,
    "45 %": 45,
    "44 % increase": 44,
    "60 km / h": 60,
    "20 km / hr": 20,
    "110 sq . m": 110,
    "48 m 2": 48,
    "30 m ^ 2": 30,
    "54 cm ²": 54,
    "132.8 cm³": 132.8,
    "127 ° f": 127,
    "17 th minute": 17,
    "5 a . m": 5,
    "12.5 minutes .": 12.5,
    # fractions, mixed numbers and ratios
    "3 / 4": 0.75,
    "- 7 / 3": -7 / 3,
    "3 1 / 3": 10 / 3,
    "3 ( 1 / 3 )": 10 / 3,
    "135 1 / 3 %": 135 + 1 / 3,
    "12 1 / 4 days": 12.25,
    "3 ½": 3.5,
    "¾": 0.75,
    "4 : 15": 4 / 15,
    "1.5 : 1": 1.5,
    "9 / 2,000": 0.0045,
    # arithmetic
    "2 ^ 9": 512,
    "2 ** 3": 8,
    "17 ( 4 ^ 6 )": 17 * 4096,
    "( 0.95 ) ^ 50": 0.95**50,
    "3 √ 7": 3 * math.sqrt(7),
    "sqrt ( 16 )": 4,
    "17 π cm": 17 * math.pi,
    "4 * pi": 4 * math.pi,
    "2 × 3": 6,
    "- 2 ^ 2": -4,
    "5 - 3 - 1": 1,
    "2 * 3 + 4 / 2": 8,
    # names before the number
    "x = 5": 5,
    "w = 8 √ 2": 8 * math.sqrt(2),
    "b . 1.2": 1.2,
    "( d ) 7 / 31": 7 / 31,
}
NO_VALUE = [
    *("", " ", ".", "none", "none of these", "none of the above", "can not be determined", "data inadequate", "m"),
    *("2 and 6", "12 , 24", "8,9", "941,1009", "8 , 9", "22,36 , 63", "77,43 kmph", "( 0,4 )"),
    *("2 hours 30 minutes", "1 hour 2 min", "4 min 3 sec", "l = 6 , w = 4"),
    *("10 b ^ 2", "200 b / c", "2 d + 2", "x ^ 3", "z / 2", "ab + 4", "m + n", "5 y ² / z ²", "12 y / 3"),
    *(
        "4 / 0",
        "5 : 00",
        "( - 8 ) ^ 0.5",
        "√ ( - 4 )",
        "10 ^ 1000",
        "10 ^ 308 * 100",
        "5 +",
        "( 3",
        "3 )",
        "^ 2",
        "* 4",
    ),
    *("9 " * 100, "9e+300 billion", "(" * 60, "-" * 63 + "1 ^"),
]


@pytest.mark.parametrize(("text", "expected"), VALUES.items())
def test_an_option_that_states_one_number_has_its_value(text: str, expected: float) -> None:
    assert read_value(text) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("text", NO_VALUE)
def test_an_option_that_does_not_is_never_guessed(text: str) -> None:
    assert read_value(text) is None


PIECES = st.sampled_from(
    [*"0123456789.,:;/*^+-()[]√π%$²³½ abcxyz", "rs . ", " and ", "**", "sqrt", "e-", "million", "none", "m ", "१", "٣"]
)


@given(st.one_of(st.text(max_size=60), st.lists(PIECES, max_size=40).map("".join)))
@example("9" * 5_000)
@example("1/" + "9" * 5_000)
@example("²")
@example("5 ²")
@example("9" * 400 + " million")
def test_reading_never_raises_and_gives_finite_numbers(text: str) -> None:
    value = read_value(text)
    assert value is None or (isinstance(value, float) and math.isfinite(value))


@given(st.lists(st.one_of(PIECES, st.text(min_size=1, max_size=3)), max_size=70))
def test_arithmetic_never_raises_and_gives_finite_numbers(tokens: list[str]) -> None:
    value = arithmetic(tokens)
    assert value is None or math.isfinite(value)


@given(st.text(max_size=200), st.text(max_size=3))
def test_reading_options_never_raises(text: str, correct: str) -> None:
    options = read_options(text, correct)
    assert len(options.texts) <= 5
    assert len(options.values) == len(options.texts)
    assert options.source == text
    assert options.gold is None or options.gold in options.values
    assert options.nearest(1.0) in (None, *LETTERS)


@given(st.fractions(0, 10**6, max_denominator=1000))
def test_every_way_to_write_a_fraction_has_its_value(number) -> None:
    whole, rest = divmod(number.numerator, number.denominator)
    written = [f"{number.numerator} / {number.denominator}", f"{number.numerator} : {number.denominator} "]
    if rest:
        written.append(f"{whole} {rest} / {number.denominator}" if whole else f"{rest} / {number.denominator}")
    for text in written:
        assert read_value(text) == pytest.approx(float(number), rel=1e-12)


@given(st.integers(0, 10**12))
def test_thousands_commas_change_nothing(number: int) -> None:
    assert read_value(f"{number:,}") == read_value(str(number)) == number


def test_the_nearest_option_is_found_among_those_with_a_value() -> None:
    options = Options(("10", "none of these", "30", "20 and 21", "50"), "c")
    assert options.values == (10, None, 30, None, 50)
    assert options.gold == 30
    assert [options.nearest(value) for value in (-1e9, 19, 21, 41, 1e9)] == ["a", "a", "c", "e", "e"]
    assert options.nearest(20.0) is None, "10 and 30 are equally near"


@pytest.mark.parametrize("correct", ["", "f", "e", "ab", "ä"])
def test_a_letter_without_an_option_has_no_gold_value(correct: str) -> None:
    assert read_options("a ) 1 , b ) 2", correct).gold is None


def test_the_letter_is_read_with_mercy() -> None:
    assert read_options("a ) 1 , b ) 2", " B ").gold == 2


def test_options_of_the_data_have_five_texts_and_mostly_values(mathqa_examples) -> None:
    counts = Counter(len(example.answer.texts) for example in mathqa_examples("dev"))
    assert counts[5] == 4475
    values = [value for example in mathqa_examples("dev") for value in example.answer.values]
    assert sum(value is not None for value in values) / len(values) > 0.96
