"""Numbers in words are found in any text; words that mean more than a value stay what they are."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tpn2f.domain import load_domain
from tpn2f.functions import FunctionDomain
from tpn2f.numbers import in_digits, in_words, spoken_number


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("dim the hall to Twenty five percent", "dim the hall to 25 percent"),
        ("two hundred and five km in four hours", "205 km in 4 hours"),
        ("five and six", "5 and 6"),
        ("one and a half hours", "1.5 hours"),
        ("3 million people, 300 dogs", "3000000 people, 300 dogs"),
        ("a hundred lamps", "100 lamps"),
        ("one, two, three", "1, 2, 3"),
    ],
)
def test_plain_numbers_are_read(text, read):
    assert in_digits(text) == read


@pytest.mark.parametrize(
    "text",
    [
        "the twenty-first of may",
        "which one is it",
        "half of 8",
        "twice",
        "two thirds of 9",
        "a dozen eggs",
        "someone",
        "",
    ],
)
def test_what_means_more_or_else_stays(text):
    assert in_digits(text) == text


@given(st.integers(0, 9_999))
def test_words_of_a_number_are_read_back(number):
    assert spoken_number(in_words(number), 0) == (number, len(in_words(number)))


def test_every_domain_with_numbers_reads_them_in_words():
    said, written = "what is the sum of twenty-five and four ?", "what is the sum of 25 and 4 ?"
    for domain in (load_domain("arithmetic"), load_domain("mathqa"), load_domain("everyday"), FunctionDomain("own")):
        assert domain.read(said) == domain.read(written), domain.name
    # MathQA has words such as `two` beside its numerals, which its programs do not take for values.
    assert load_domain("mathqa").read("two cars go 5 km").bindings == {"n0": 5.0}


def test_a_word_of_the_language_is_no_number():
    own = FunctionDomain("own")
    own.constant("one", 1)
    assert own.read("add one to two").words == ("add", "one", "to", "n0")
