"""The unit of an answer is told where the text is clear, and never where it is not."""

import pytest

from tpn2f.domains.everyday.units import question_of, unit_of


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("A shirt costs $40 and is 25% off. What do I pay?", "$7"),
        ("7 pens at €2 each, I pay with €90, how much do I get back?", "€7"),
        ("How much money is left of 50 dollars?", "$7"),
        ("A car goes 240 km in 4 hours. What is its speed in km per hour?", "7 km per hour"),
        ("A train goes 180 miles in 3 hours. How fast is it?", "7 miles per hour"),
        ("Marie bikes at 12 miles an hour. How far can she bike in 31 hours?", "7 miles"),
        ("Ann is twice as old as Bob. Bob is 9. How old is Ann?", "7 years"),
        ("I read 45 pages a day for 4 days. How many pages are left?", "7 pages"),
        ("How many more apples does Tom have than Sue, who has 3?", "7 apples"),
        ("There are 14 red crayons. How many yellow crayons are there?", "7 yellow crayons"),
        ("Of 80 guests 20% did not come. How many people ordered chicken?", "7 people"),
        ("He reads 60 pages in 5 hours. How many pages per hour does he read?", "7 pages per hour"),
        ("What percent of 80 is 20?", "7%"),
        ("Jake weighs 80 pounds. What is his weight, in kg?", "7 kg"),
        ("A room is 3 m by 4 m. What is the area?", "7 square meters"),
        ("It takes 3 hours for 5 cakes. How long does it take for 2 cakes?", "7 hours"),
    ],
)
def test_a_clear_text_has_a_unit(text: str, expected: str) -> None:
    unit = unit_of(text, 7.0)
    assert unit is not None and f"{unit.before}7{unit.behind}" == expected


@pytest.mark.parametrize(
    "text",
    [
        "What is 3 plus 4?",
        "What is the average of 3, 5 and 7?",
        "A train of 150 m runs at 54 km per hour. How far does it go in 10 seconds?",
        "There are 16 singers and 10 girls. How many singers and girls are there in total?",
        "How many of the 30 balls are red?",
        "How much flour is needed for 3 cakes?",
        "A pen costs 50 cents and a book $3. How much do they cost?",
        "What fraction of $40 did he spend?",
        "",
    ],
)
def test_an_unclear_text_has_none(text: str) -> None:
    assert unit_of(text, 7.0) is None


@pytest.mark.parametrize("value", [None, "text", True, [1]])
def test_only_numbers_have_units(value: object) -> None:
    assert unit_of("How many apples?", value) is None


def test_one_thing_is_not_written_in_the_plural() -> None:
    assert unit_of("How many apples are left of 3?", 1.0) is None
    assert unit_of("What is the length in km of 1000 m, in km?", 1.0) is not None


def test_the_question_is_the_last_sentence_that_asks() -> None:
    assert question_of("what a day! tom has 2.5 kg. how many? he is 9.") == "how many?"
    assert question_of("3 and 4") == "3 and 4"
