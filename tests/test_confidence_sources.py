"""Confidence from signals: each source is judged by what was fitted without it, and what is stored is found again."""

import math
import random
from dataclasses import replace

import pytest
import torch

from tpn2f.checkpoint import Checkpoint, read_checkpoint, write_checkpoint
from tpn2f.codec import Codec
from tpn2f.confidence import Judged, calibrate, find_trust, halves, make_memory, measure_sources, write_calibration
from tpn2f.confidence.judging import is_right, source_of
from tpn2f.confidence.sources import NEVER, SLACK, guess_threshold, judged_outside
from tpn2f.config import Config, DataConfig
from tpn2f.domain import Example, Problem, Splits, load_domain
from tpn2f.errors import CheckpointError, DataError
from tpn2f.model import ModelConfig
from tpn2f.program import Program
from tpn2f.publish.bundle import halve
from tpn2f.setting import KNOWN, MEMORY
from tpn2f.solver import Solver, make_model, setting
from tpn2f.trust.memory import Learned, Memory, remember

MODEL = ModelConfig(
    n_fillers=7, d_filler=4, n_roles=5, d_role=3, d_word=6, d_relation=3, d_argument=4, d_position=3, d_symbol=5
)
CONFIG = Config("tiny", DataConfig("arithmetic"), MODEL)


def drawn(sources: dict[str, float], count: int = 400, seed: int = 1) -> list[Judged]:
    """Answers whose signal tells the chance of being right, shifted in each source by something no signal tells."""
    chance = random.Random(seed)
    judged = []
    for source, shift in sources.items():
        for _ in range(count):
            signal = chance.gauss(0, 3)
            right = chance.random() < 1 / (1 + math.exp(-signal - shift))
            judged.append(Judged(-1.0, right, {"signal": signal}, source, chance.randrange(2)))
    return judged


def test_a_signal_that_holds_everywhere_is_trusted_everywhere():
    trust = find_trust(drawn({"a": 0, "b": 0, "c": 0}, 2000), 0.85)
    assert [one.source for one in trust.left_out] == ["a", "b", "c"]
    for one in (*trust.left_out, trust.together):
        assert one.error < 0.07 and one.right >= 0.85 and one.coverage > 0.2
    assert trust.together.count == 6000 and 0.79 < trust.guess_below < 1


def test_a_source_of_its_own_kind_shows_in_its_row_only():
    trust = find_trust(drawn({"a": 0, "b": 0, "other": -6}), 0.85)
    errors = {one.source: one.error for one in trust.left_out}
    assert errors["other"] > 1.5 * max(errors["a"], errors["b"])


def test_no_source_is_judged_by_itself():
    """What a source says about itself changes its own row by nothing but its answers."""
    judged = drawn({"a": 0, "b": 0, "c": 0})
    turned = [one._replace(right=not one.right) if one.source == "a" else one for one in judged]
    before, after = (
        [found.log_probability for found in judged_outside(one) if found.source == "a"] for one in (judged, turned)
    )
    assert before == after
    one, other = (find_trust(one).left_out[0].accuracy for one in (judged, turned))
    assert one == pytest.approx(1 - other)


def test_there_is_one_threshold_for_all_sources():
    trust = find_trust(drawn({"a": 0, "b": 0, "c": 0}))
    assert {one.threshold for one in (*trust.left_out, trust.together)} == {trust.guess_below}
    kept = sum(one.coverage * one.count for one in trust.left_out)
    assert kept == pytest.approx(trust.together.coverage * trust.together.count)


def test_a_finished_belief_is_measured_as_it_is():
    judged = drawn({"a": 0, "b": -3}, 1000)
    belief = find_trust(drawn({"c": 0, "d": 0}, 1000)).belief
    a, b, whole = measure_sources(belief, judged, 0.8)
    assert (a.source, b.source, whole.source) == ("a", "b", "all") and whole.count == a.count + b.count
    assert a.error < 0.07 < b.error and a.threshold == 0.8
    sure = [one for one in judged if one.source == "a" and belief.confidence(one.signals) >= 0.8]
    assert a.coverage == len(sure) / 1000 and a.right == sum(one.right for one in sure) / len(sure)


def test_one_source_is_divided_into_halves():
    trust = find_trust(drawn({"dev": 0}))
    assert {one.source for one in trust.left_out} == {"half 1", "half 2"}
    with pytest.raises(DataError, match="two sources or two halves"):
        find_trust([Judged(-1.0, True, {"signal": 0.0}, "dev", 0)])


def test_a_threshold_is_never_far_below_its_goal_and_may_be_out_of_reach():
    sure = [Judged(math.log(0.3), True)] * 500
    assert guess_threshold(sure, 0.85) == 0.85 - SLACK
    assert guess_threshold([Judged(math.log(0.9), False)] * 50, 0.85) == NEVER


def test_the_id_names_the_source():
    domain = load_domain("everyday")
    mixed = Example(Problem(("x",)), Program(()), id="dev:mawps-valid:12")
    assert source_of(domain, "dev", mixed) == "mawps-valid"
    assert source_of(domain, "generated-dev", replace(mixed, id="generated-dev:3:phrasing:ages/x")) == "generated-dev"
    assert source_of(domain, "dev", replace(mixed, id="17")) == "dev"


def test_a_near_option_is_not_a_right_answer():
    domain = load_domain("everyday")
    example = Example(domain.read("What is 3 plus 4?"), Program.parse("add(n0,n1)"), 7.0)
    assert is_right(domain, Program.parse("add(n0,n1)"), example)
    assert not is_right(domain, Program.parse("multiply(n0,n1)"), example)
    plain = load_domain("arithmetic")
    one = next(iter(plain.examples("dev")))
    assert is_right(plain, one.program, one), "a domain without a credit for answers says whether it is solved"


@pytest.fixture
def run(tmp_path):
    domain = load_domain("arithmetic")
    codec = Codec.build(Splits(domain).take("train", 60))
    torch.manual_seed(0)
    state, texts = setting(CONFIG, codec)
    weights = make_model(CONFIG, codec).state_dict()
    write_checkpoint(tmp_path / "run" / "checkpoints" / "best", Checkpoint({"model": weights}, state, texts))
    return tmp_path / "run"


def test_what_is_written_is_what_answers(run):
    before = Solver.load(run).solve("What is 3 plus 4?")
    judged = drawn({"a": 0, "b": 0})
    trust = find_trust(judged)
    text = "What is 5 plus 6?"
    memory = remember([Learned(text, load_domain("arithmetic").read(text))])
    place = write_calibration(run, calibrate(*halves(judged)), trust, memory)
    solver = Solver.load(run)
    assert solver.belief == trust.belief and solver.guess_below == trust.guess_below
    after = solver.solve("What is 3 plus 4?")
    assert after.program == before.program and after.calibrated
    assert after.confidence == trust.belief.confidence({}), "a belief that knows none of the signals says the usual"
    assert after.nearest is not None and after.nearest.text == text
    small = halve(read_checkpoint(place))
    assert small.tensors.keys() == {"model", MEMORY} and small.texts[KNOWN] == f"{text}\n"
    assert small.state["belief"] == trust.belief.to_json() and small.state["guess_below"] == trust.guess_below


def test_a_later_calibration_replaces_an_earlier_one(run):
    judged = drawn({"a": 0, "b": 0})
    found = calibrate(*halves(judged))
    write_calibration(run, found, find_trust(judged))
    write_calibration(run, found)
    state = read_checkpoint(run / "checkpoints" / "best").state
    assert "belief" not in state and "guess_below" not in state and state["temperature"] == found.temperature
    assert Solver.load(run).belief is None


def test_a_later_calibration_without_a_memory_forgets(run):
    judged = drawn({"a": 0, "b": 0})
    found, memory = calibrate(*halves(judged)), make_memory(load_domain("arithmetic"), "dev")
    write_calibration(run, found, find_trust(judged), memory)
    assert Solver.load(run).memory is not None
    write_calibration(run, found, find_trust(judged))
    checkpoint = read_checkpoint(run / "checkpoints" / "best")
    assert MEMORY not in checkpoint.tensors and KNOWN not in checkpoint.texts and Solver.load(run).memory is None


def test_a_memory_that_is_none_is_refused(run):
    place = run / "checkpoints" / "best"
    checkpoint = read_checkpoint(place)
    write_checkpoint(place, replace(checkpoint, tensors={**checkpoint.tensors, MEMORY: {"runs": torch.zeros(3, 2)}}))
    with pytest.raises(CheckpointError, match="expected a row of bytes"):
        Solver.load(run)


def test_only_quotable_texts_are_kept():
    class Licensed(type(load_domain("arithmetic"))):
        licences = {"ours": "MIT"}  # noqa: RUF012
        quotable = ("dev",)

    plain, licensed = (make_memory(domain, "dev*0.5") for domain in (load_domain("arithmetic"), Licensed()))
    assert isinstance(plain, Memory) and not plain.questions and licensed.questions
    assert not make_memory(Licensed(), "train").questions
    example = next(iter(load_domain("arithmetic").examples("dev")))
    assert plain.familiarity(example.problem) == 1.0


def test_a_memory_keeps_what_the_domain_says_in_place_of_a_split():
    class Remembering(type(load_domain("arithmetic"))):
        remembered = {"dev": "test"}  # noqa: RUF012

    memory = make_memory(Remembering(), "dev*0.5")
    other = make_memory(load_domain("arithmetic"), "test")
    assert memory.programs == other.programs != make_memory(load_domain("arithmetic"), "dev").programs
