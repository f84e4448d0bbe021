"""The published scorer: its credits, its mistakes, and the figures it gives on the real test split."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conftest import unchecked
from tpn2f.domains.mathqa import MathQA
from tpn2f.domains.mathqa.operations import OPERATIONS
from tpn2f.domains.mathqa.options import Options, read_options
from tpn2f.domains.mathqa.published import CHANCE, published_credit, published_numbers
from tpn2f.program import Program

FIVE = "a ) 10 , b ) 20 , c ) 30 , d ) 40 , e ) 50"


def credit(program: str, text: str = "10 20 30", options: str = FIVE, correct: str = "c") -> float:
    return published_credit(Program.parse(program), text, read_options(options, correct))


# Credits


@pytest.mark.parametrize(
    ("program", "options", "expected"),
    [
        ("add(n0,n1)", FIVE, 1.0),
        ("add(n0,const_10)", FIVE, 0.0),
        # The nearest threshold that finds an option decides: 0.1, then 1, then a wide one of at most 10.
        ("divide(n2,const_1)", "a ) 1 , b ) 2 , c ) 30.05 , d ) 30.9 , e ) 5", 1.0),
        ("divide(n2,const_1)", "a ) 1 , b ) 2 , c ) 30.9 , d ) 30.05 , e ) 5", 0.0),
        ("divide(n2,const_1)", "a ) 1 , b ) 2 , c ) 30.9 , d ) 38 , e ) 5", 1.0),
        ("divide(n2,const_1)", "a ) 1 , b ) 2 , c ) 38 , d ) 100 , e ) 5", 1.0),
        # Two candidates share.
        ("divide(n2,const_1)", "a ) 30 , b ) 2 , c ) 30 , d ) 100 , e ) 5", 0.5),
        ("divide(n2,const_1)", "a ) 30 , b ) 30 , c ) 31 , d ) 100 , e ) 5", 0.0),
        # Three candidates, none, no value, no number of the problem: chance.
        ("divide(n2,const_1)", "a ) 30 , b ) 30 , c ) 30 , d ) 100 , e ) 5", CHANCE),
        ("multiply(n2,const_1000)", FIVE, CHANCE),
        ("divide(n0,const_0)", FIVE, CHANCE),
        ("add(const_10,const_10)", FIVE, CHANCE),
        ("add(const_10,const_10)|add(#0,n0)", FIVE, 1.0),
        ("", FIVE, CHANCE),
        ("add(n0,n1)", "", CHANCE),
        ("add(n0,n1)", "a ) none , b ) none , c ) none , d ) none , e ) none of these", CHANCE),
    ],
)
def test_credits_are_one_a_half_a_fifth_or_nothing(program: str, options: str, expected: float) -> None:
    assert credit(program, options=options) == expected


def test_a_step_without_a_value_is_forgotten_so_that_later_references_shift() -> None:
    # Step 0 has no value, so #0 is what the program calls #1: 20 + 10.
    assert credit("divide(n0,const_0)|add(n1,const_0)|add(#0,n0)") == 1.0
    assert credit("divide(n0,const_0)|add(n1,const_0)|add(#1,n0)") != 1.0, "#1 is dropped, and add of one has no value"


def test_numbers_are_read_with_the_published_mistakes() -> None:
    assert published_numbers("from 10 - 5 take 1 / 2 and 1,200") == [10, -5, 0.5, 1200]
    assert published_numbers("11 / 20 of 1 / 3") == [10.5, 0.33]
    assert published_numbers("no numbers") == []


@pytest.mark.parametrize(
    ("program", "value"),
    [
        ("choose(n0,n1)", math.factorial(6) / math.factorial(2) * math.factorial(4)),
        ("choose(n1,n0)", math.factorial(6) / math.factorial(2) * math.factorial(4)),
        ("permutation(n1,n0)", 30),
        ("sine(const_1)|add(#0,n0)", math.pi / 2 + 6),
        ("sum_consecutive_number(n1,n0)", 2 + 3 + 4 + 5),
        ("sum_consecutive_number(n0,n1)", 0),
        ("multiply(n0,const_2_54)", 6 * 254),
        ("multiply(n0,const_0_25)", 1.5),
        ("multiply(n0,const_pi)", 6 * 3.1415),
        ("lcm(n0,const_4)", 12),
        ("radians_to_degree(n0)", 1080),
        ("cube_edge_by_volume(n0)", 6**0.33333),
    ],
)
def test_published_operators_keep_their_mistakes(program: str, value: float) -> None:
    options = Options((), "a", f"a ) {value!r} , b ) {value + 50!r}")
    assert published_credit(Program.parse(program), "6 and 2", options) == 1.0


@pytest.mark.parametrize("program", ["gcd(n0,const_5)", "power(n0,const_10)", "price_after_gain(n0,n1)", "nothing(n0)"])
def test_published_operators_have_no_value_where_they_had_none(program: str) -> None:
    assert credit(program, "6 and 2") == CHANCE


WORDS = st.sampled_from(
    [
        *("n0", "n1", "n2", "n99", "n" + "9" * 5_000, "#0", "#1", "#7", "const_1", "const_0", "const_pi", "const_2_54"),
        *("const_1000000000", "const_inf", "const_nan", "const_" + "9" * 400, "x", "-5"),
    ]
)


@given(
    st.lists(st.tuples(st.sampled_from([*sorted(OPERATIONS), "what"]), st.lists(WORDS, max_size=3)), max_size=5),
    st.one_of(st.just("10 20 30"), st.text(max_size=20), st.just("9" * 400 + " 3 - 1000000000")),
    st.one_of(st.just(FIVE), st.text(max_size=30)),
)
def test_the_scorer_never_raises_and_never_hangs(steps, text: str, options: str) -> None:
    program = Program.parse("|".join(f"{relation}({','.join(words)})" for relation, words in steps))
    assert published_credit(program, text, read_options(options, "a")) in (0.0, CHANCE, 0.5, 1.0)


def test_huge_counts_end_at_once() -> None:
    for program in (
        "negate(n0)|permutation(const_3,#0)",
        "multiply(n0,n0)|sum_consecutive_number(n1,#0)",
        "factorial(n0)",
        "choose(n0,n1)",
    ):
        assert credit(program, "1000000000 3") == CHANCE


# Figures on the real data


def test_gold_programs_have_the_published_ceiling(mathqa_examples) -> None:
    domain = MathQA()
    examples = mathqa_examples("test")
    with unchecked():
        credits = [domain.credits(example.program, example) for example in examples]
    mean = {name: 100 * sum(credit[name] for credit in credits) / len(credits) for name in credits[0]}
    assert len(examples) == 2985
    assert mean["published"] == pytest.approx(68.1, abs=0.3)
    assert mean["nearest_option"] == pytest.approx(74.7, abs=0.5)
    assert mean["value"] <= mean["nearest_option"]


def test_an_empty_program_earns_one_in_five_and_nothing_elsewhere(mathqa_examples) -> None:
    domain = MathQA()
    with unchecked():
        for example in mathqa_examples("test"):
            assert domain.credits(Program(), example) == {"value": 0.0, "nearest_option": 0.0, "published": 0.2}


def test_most_templates_of_the_test_split_occur_in_train(mathqa_examples) -> None:
    train = mathqa_examples("train")
    texts = {example.problem.words for example in train}
    assert sum(example.problem.words in texts for example in mathqa_examples("test")) == 2302
    assert len(texts) == 11_551
    assert len({(example.problem.words, example.program) for example in train}) == 12_248
