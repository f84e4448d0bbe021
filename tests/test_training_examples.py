"""Mixtures: what a split counts, how often an epoch shows it, and what is said of a mixture that cannot be read."""

import pytest

from tpn2f.config import Config, DataConfig
from tpn2f.domain import Example, Problem
from tpn2f.errors import DataError
from tpn2f.program import Program
from tpn2f.training.examples import Taught, Worth, mixture_parts, spread, weigh


def example(*words: str) -> Example:
    return Example(Problem(words, {"n0": 1.0}), Program.parse("add(n0,n0)"), 2.0, " ".join(words))


A, B = example("a", "n0"), example("b", "n0")


def test_a_mixture_is_read():
    assert mixture_parts("gsm8k + generated*0.5+mathqa*0.25*4") == {
        "gsm8k": Worth(1, 1),
        "generated": Worth(0.5, 1),
        "mathqa": Worth(0.25, 4),
    }


@pytest.mark.parametrize("wrong", ["a*x", "a*0", "a*-1", "a*inf", "a*nan", "a*1*0", "a*1*1.5", "a*1*2*3", "a*1*1001"])
def test_a_mixture_that_cannot_be_read_is_named(wrong):
    with pytest.raises(DataError, match="expected a split"):
        mixture_parts(f"b+{wrong}")


@pytest.mark.parametrize("distinct", [True, False])
def test_an_epoch_shows_an_example_as_often_as_its_split_says(distinct):
    config = Config(data=DataConfig(distinct=distinct))
    shown = weigh([Taught(A, Worth(1.0, 1)), Taught(B, Worth(0.5, 3))], config)
    assert [one.example for one in shown] == [A, B, B, B]
    weights = [one.weight for one in shown]
    assert sum(weights) / len(weights) == pytest.approx(1)
    assert weights[0] == pytest.approx(2 * weights[1])


def test_equal_pairs_of_two_splits_count_as_the_first_one_says():
    config = Config(data=DataConfig(distinct=True, weight_power=1.0))
    shown = weigh([Taught(A, Worth(1.0, 2)), Taught(A, Worth(9.0, 5)), Taught(B, Worth(1.0, 1))], config)
    assert [one.example for one in shown] == [A, A, B]
    assert shown[0].weight == pytest.approx(2 * shown[2].weight)


def test_a_spread_is_even():
    examples = [example(str(place)) for place in range(10)]
    assert spread(examples, 0) == spread(examples, 20) == examples
    assert spread(examples, 5) == examples[::2]
