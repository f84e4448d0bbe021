"""Confidence: the temperature is found, the error is what its definition says, thresholds keep their promise."""

import json
import math
import random
from itertools import islice

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from conftest import unchecked
from tpn2f.checkpoint import Checkpoint, locked, read_checkpoint, write_checkpoint
from tpn2f.codec import Codec
from tpn2f.confidence import (
    Judged,
    answered,
    calibrate,
    expected_error,
    facts,
    find_threshold,
    fit_temperature,
    half,
    halves,
    judge,
    reliability,
    write_calibration,
)
from tpn2f.config import Config, DataConfig
from tpn2f.domain import Problem, load_domain
from tpn2f.errors import CheckpointError, DataError
from tpn2f.model import ModelConfig
from tpn2f.solver import Solver, make_model, setting

MODEL = ModelConfig(
    n_fillers=7, d_filler=4, n_roles=5, d_role=3, d_word=6, d_relation=3, d_argument=4, d_position=3, d_symbol=5
)
CONFIG = Config("tiny", DataConfig("arithmetic"), MODEL)
judgements = st.lists(st.builds(Judged, st.floats(-20, 0), st.booleans()), min_size=1, max_size=60)


def drawn(temperature: float, count: int = 2500, seed: int = 1) -> list[Judged]:
    """Predictions that are right with exactly the probability that they claim at this temperature."""
    chance = random.Random(seed)
    logs = [-chance.expovariate(0.8) * temperature for _ in range(count)]
    return [Judged(log, chance.random() < math.exp(log / temperature)) for log in logs]


@pytest.mark.parametrize("temperature", [0.5, 1.0, 2.5])
def test_the_temperature_that_made_the_predictions_is_found(temperature):
    assert fit_temperature(drawn(temperature)) == pytest.approx(temperature, rel=0.08)


@pytest.mark.parametrize("temperature", [0.4, 3.0])
def test_calibration_makes_the_error_small_on_predictions_it_never_saw(temperature):
    found = calibrate(drawn(temperature, seed=1), drawn(temperature, seed=2))
    assert found.error_before > 0.08
    assert found.error_after < 0.03
    assert found.fitted == found.reported == 2500


def test_certain_and_wrong_is_not_infinitely_bad():
    assert math.isfinite(fit_temperature([Judged(0.0, False), Judged(0.0, True), Judged(-1.0, True)]))


def test_the_bins_and_the_error_are_what_the_definition_says():
    judged = [Judged(math.log(p), right) for p, right in ((0.15, False), (0.11, True), (0.95, True), (0.99, False))]
    bins = reliability(judged)
    assert [part.count for part in bins] == [0, 2, 0, 0, 0, 0, 0, 0, 0, 2]
    assert bins[1].confidence == pytest.approx(0.13) and bins[1].accuracy == 0.5
    assert expected_error(bins) == pytest.approx((2 * (0.5 - 0.13) + 2 * (0.97 - 0.5)) / 4)
    assert reliability([Judged(0.0, True)])[-1].count == 1, "a confidence of 1 is in the last bin"


@given(judgements, st.floats(0.1, 5))
def test_bins_lose_nobody_and_the_error_is_a_share(judged, temperature):
    bins = reliability(judged, temperature)
    assert sum(part.count for part in bins) == len(judged)
    assert 0 <= expected_error(bins) <= 1


@given(judgements, st.sampled_from([0.5, 0.8, 0.95]))
def test_a_threshold_keeps_its_promise_and_no_lower_one_does(judged, goal):
    threshold = find_threshold(judged, 1.0, goal)
    lower = sorted({one.confidence(1.0) for one in judged if threshold is None or one.confidence(1.0) < threshold})
    for other in lower:
        assert answered(judged, 1.0, other)[1] < goal
    if threshold is not None:
        coverage, precision = answered(judged, 1.0, threshold)
        assert precision >= goal and 0 < coverage <= 1


def test_one_half_alone_cannot_be_calibrated():
    with pytest.raises(DataError, match="two halves; they have 1 and 0"):
        calibrate([Judged(-1.0, True)], [])


def test_no_threshold_means_no_answers():
    found = calibrate([Judged(-0.1, False)] * 5, [Judged(-0.1, True)] * 5)
    assert found.plain is None and found.safe is None
    assert json.loads(json.dumps(facts(found)))["safe"] is None


def test_the_safe_threshold_keeps_its_promise_elsewhere_more_often():
    kept = {0.0: 0, 1.645: 0}
    for seed in range(20):
        fit, other = drawn(1.0, 400, seed), drawn(1.0, 400, 100 + seed)
        for deviations in kept:
            threshold = find_threshold(fit, 1.0, 0.8, deviations)
            assert threshold is not None
            kept[deviations] += answered(other, 1.0, threshold)[1] >= 0.8
    assert kept[1.645] > kept[0.0] and kept[1.645] >= 16
    assert find_threshold([Judged(-0.1, True)] * 3, 1.0, 0.95, 1.645) is None, "three cases prove nothing"


def test_the_same_words_are_in_the_same_half():
    problems = [Problem((str(number),), {"n0": number}) for number in range(200)]
    assert [half(problem) for problem in problems] == [half(Problem(problem.words)) for problem in problems]
    assert 60 < sum(half(problem) for problem in problems) < 140


@pytest.fixture(scope="module")
def solver() -> Solver:
    domain = load_domain("arithmetic")
    with unchecked():
        codec = Codec.build(islice(domain.examples("train"), 60))
    torch.manual_seed(0)
    return Solver(domain, codec, make_model(CONFIG, codec).eval())


@pytest.fixture
def run(solver, tmp_path):
    state, texts = setting(CONFIG, solver.codec)
    place = tmp_path / "run" / "checkpoints" / "best"
    write_checkpoint(place, Checkpoint({"model": solver.model.state_dict()}, state, texts))
    return tmp_path / "run"


def test_a_model_is_judged_with_signals_and_never_on_test(solver):
    seen = []
    with unchecked():
        judged = judge(solver, "dev", limit=20, progress=lambda done, total: seen.append((done, total)))
    assert len(judged) == 20 and seen == [(20, 20)]
    assert {one.source for one in judged} == {"dev"} and {one.half for one in judged} == {0, 1}
    assert sum(map(len, halves(judged))) == 20
    for one in judged:
        assert one.signals["probability"] == pytest.approx(math.exp(one.log_probability))
        assert one.signals["weakest step"] >= one.signals["probability"] * (1 - 1e-9)
    with pytest.raises(DataError, match="calibrate on dev"):
        judge(solver, "test")


def test_a_calibrated_model_says_so_and_scales_its_confidence(solver, run):
    text = "what is the sum of 3 and 4 ?"
    before = Solver.load(run).solve(text)
    assert not before.calibrated and "not calibrated" in str(before)
    found = calibrate(drawn(2.0, 500), drawn(2.0, 500), goal=0.7)
    assert found.safe is not None
    place = write_calibration(run, found)
    state = read_checkpoint(place).state
    assert (state["temperature"], state["threshold"]) == (found.temperature, found.safe.threshold)
    after = Solver.load(run).solve(text)
    assert after.calibrated and "not calibrated" not in str(after)
    assert after.program == before.program
    assert after.confidence == pytest.approx(before.confidence ** (1 / found.temperature))


def test_a_run_in_training_is_left_alone(run):
    found = calibrate(drawn(2.0, 500), drawn(2.0, 500))
    with locked(run), pytest.raises(CheckpointError, match="in use"):
        write_calibration(run, found)
    assert "temperature" not in read_checkpoint(run / "checkpoints" / "best").state


@pytest.mark.parametrize("wrong", [0, -1.0, "warm", [1.0]])
def test_a_temperature_that_is_none_is_refused(run, wrong):
    place = run / "checkpoints" / "best"
    checkpoint = read_checkpoint(place)
    write_checkpoint(
        place, Checkpoint(checkpoint.tensors, {**checkpoint.state, "temperature": wrong}, checkpoint.texts)
    )
    with pytest.raises(CheckpointError, match="expected a number above 0"):
        Solver.load(run)
