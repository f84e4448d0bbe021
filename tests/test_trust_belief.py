"""A belief finds what made answers right, survives JSON exactly, and says nothing wild about what it never saw."""

import json
import math
import random

import pytest

from tpn2f.errors import CheckpointError, DataError
from tpn2f.trust.belief import FARTHEST, Belief, fit_belief, fit_choice


def drawn(count: int = 3000, seed: int = 1) -> tuple[list[dict[str, float]], list[bool]]:
    """Answers that are right with the chance 1 / (1 + exp(-(2 a - b))); c tells nothing, d never varies."""
    chance = random.Random(seed)
    rows = [{"a": chance.gauss(0, 1), "b": chance.gauss(3, 2), "c": chance.random(), "d": 1.0} for _ in range(count)]
    return rows, [chance.random() < 1 / (1 + math.exp(-(2 * row["a"] - row["b"]))) for row in rows]


def test_the_weights_that_made_the_answers_are_found():
    belief = fit_belief(*drawn(), penalty=0.1)
    found = {name: weight / spread for name, weight, spread in zip(belief.names, belief.weights, belief.deviations)}
    assert found["a"] == pytest.approx(2, rel=0.1) and found["b"] == pytest.approx(-1, rel=0.1)
    assert abs(found["c"]) < 0.3 and "d" not in found
    assert belief.confidence({"a": 2.0, "b": 2.0, "c": 0.5}) == pytest.approx(1 / (1 + math.exp(-2)), abs=0.05)


def test_a_belief_survives_json_exactly():
    belief = fit_belief(*drawn(300))
    again = Belief.from_json(json.loads(json.dumps(belief.to_json())), "here")
    assert again == belief
    row = drawn(1, seed=9)[0][0]
    assert again.confidence(row) == belief.confidence(row)


def test_what_is_missing_counts_as_usual_and_what_is_far_counts_no_more():
    belief = fit_belief(*drawn())
    assert belief.confidence({}) == pytest.approx(1 / (1 + math.exp(-belief.bias)))
    edge = belief.means[0] + FARTHEST * belief.deviations[0]
    assert belief.confidence({"a": edge}) == pytest.approx(belief.confidence({"a": 1e9}))
    assert belief.parts({"a": 1e9})["a"] > 0 > belief.parts({"b": 1e9})["b"]


def test_a_penalty_makes_weights_small():
    loose, tight = (fit_belief(*drawn(300), penalty=penalty) for penalty in (0.1, 1000.0))
    assert sum(w * w for w in tight.weights) < sum(w * w for w in loose.weights)


def test_answers_can_count_differently():
    rows, right = [{"a": 0.0}, {"a": 1.0}] * 50, [True, False] * 50
    belief = fit_belief(rows, right, [9.0, 1.0] * 50)
    assert belief.confidence({"a": 0.5}) > 0.5


@pytest.mark.parametrize("right", [True, False])
def test_answers_that_are_all_right_or_all_wrong_can_be_fitted(right):
    belief = fit_belief([{"a": float(k)} for k in range(20)], [right] * 20)
    assert (belief.confidence({"a": 3.0}) > 0.9) == right


def test_nothing_cannot_be_fitted():
    with pytest.raises(DataError, match="at least one answer"):
        fit_belief([], [])


@pytest.mark.parametrize(
    "wrong",
    [
        None,
        {"names": ["a"]},
        {"names": ["a"], "means": [1.0], "deviations": [0.0], "weights": [1.0], "bias": 0.0},
        {"names": ["a"], "means": [1.0, 2.0], "deviations": [1.0], "weights": [1.0], "bias": 0.0},
        {"names": ["a"], "means": [1.0], "deviations": [1.0], "weights": ["much"], "bias": 0.0},
        {"names": ["a"], "means": [1.0], "deviations": [1.0], "weights": [1.0], "bias": float("nan")},
    ],
)
def test_what_is_no_belief_is_refused(wrong):
    with pytest.raises(CheckpointError, match="here: the checkpoint's belief"):
        Belief.from_json(wrong, "here")


def beams(count: int = 400, seed: int = 3) -> list[tuple[list[dict[str, float]], list[bool]]]:
    """Questions with four candidates; the right one mostly has the largest 2 a - b, whatever the level is."""
    chance = random.Random(seed)
    found = []
    for _ in range(count):
        level = chance.gauss(0, 5)
        rows = [{"a": chance.gauss(0, 1), "b": chance.gauss(0, 1), "level": level} for _ in range(4)]
        scores = [2 * row["a"] - row["b"] - math.log(-math.log(chance.random())) for row in rows]
        found.append((rows, [score == max(scores) for score in scores]))
    return found


def test_a_choice_ranks_the_right_candidate_first():
    choice = fit_choice(beams(3000), penalty=0.1)
    found = {name: weight / spread for name, weight, spread in zip(choice.names, choice.weights, choice.deviations)}
    assert found["a"] == pytest.approx(2, rel=0.1) and found["b"] == pytest.approx(-1, rel=0.1)
    assert abs(found["level"]) < 1e-6, "what all candidates of a question share chooses nothing"
    assert choice.score({"a": 1.0, "b": 0.0}) > choice.score({"a": 0.0, "b": 0.0}) > choice.score({"a": 0.0, "b": 1.0})
    assert Belief.from_json(json.loads(json.dumps(choice.to_json())), "here") == choice


def test_questions_without_a_choice_teach_none():
    same = [([{"a": 1.0}, {"a": 2.0}], [True, True]), ([{"a": 1.0}, {"a": 2.0}], [False, False])]
    with pytest.raises(DataError, match="a right and a wrong candidate"):
        fit_choice(same)
    assert fit_choice([*beams(50), *same[:0]]) == fit_choice(beams(50))


def test_questions_can_count_differently():
    up, down = ([{"a": 0.0}, {"a": 1.0}], [False, True]), ([{"a": 0.0}, {"a": 1.0}], [True, False])
    assert (
        fit_choice([up, down] * 20, [3.0, 1.0] * 20).weights[0]
        > 0
        > fit_choice([up, down] * 20, [1.0, 3.0] * 20).weights[0]
    )
