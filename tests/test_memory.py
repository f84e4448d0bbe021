"""retrieval+model: candidates of two origins, weights that are fitted on dev, and a name of its own."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
import torch

from conftest import Run
from tpn2f.codec import Codec
from tpn2f.config import Config
from tpn2f.domain import Example, Problem, Splits
from tpn2f.domains.arithmetic import Arithmetic
from tpn2f.errors import ConfigError, DataError
from tpn2f.evaluation import Mode, evaluate_model
from tpn2f.memory import Mixture, Recalled, fit_mixture, recall
from tpn2f.memory import answers as answering
from tpn2f.memory.mixture import MERITS, merits
from tpn2f.memory.recall import fits
from tpn2f.model import ModelConfig
from tpn2f.opinions import force
from tpn2f.program import Program
from tpn2f.retrieval import Retrieval
from tpn2f.search import Candidate
from tpn2f.solver import Solver, make_model
from tpn2f.vocabulary import NONE

DOMAIN = Arithmetic()
ADD, SUBTRACT, DIVIDE, TWICE = map(
    Program.parse, ("add(n0, n1)", "subtract(n0, n1)", "divide(n0, n1)", "add(n0, n1) | multiply(#0, n2)")
)


def problem(text: str, **bindings: float) -> Problem:
    return Problem(tuple(text.split()), bindings)


@pytest.fixture(scope="module", params=["tpr", "lstm"])
def solver(request: pytest.FixtureRequest) -> Solver:
    """A model that has learned nothing, with either decoder."""
    codec = Codec.build(DOMAIN.examples("train"))
    torch.manual_seed(0)
    small = ModelConfig(
        n_fillers=7, d_filler=4, n_roles=5, d_role=3, d_word=6, d_relation=3, d_argument=4, d_position=3
    )
    config = Config(model=replace(small, d_symbol=5, d_hidden=8, decoder=request.param))
    return Solver(DOMAIN, codec, make_model(config, codec).eval())


# Neighbours


def test_neighbours_come_nearest_first_with_the_shares_of_their_programs() -> None:
    pairs = [("a b c", ADD), ("a b c", SUBTRACT), ("a b c", ADD), ("a b", DIVIDE), ("x y", TWICE)]
    found = Retrieval(Example(problem(text), program) for text, program in pairs).nearest([problem("a b c")], 2)
    (first, second) = found[0]
    assert first.similarity == pytest.approx(1.0) and list(first.programs.items()) == [(ADD, 2 / 3), (SUBTRACT, 1 / 3)]
    assert 0 < second.similarity < 1 and list(second.programs) == [DIVIDE]


def test_there_are_no_more_neighbours_than_texts() -> None:
    memory = Retrieval([Example(problem("a b"), ADD)])
    assert len(memory.nearest([problem("q"), problem("a b")], 9)[0]) == 1
    assert memory.nearest([problem("q")], 9)[0][0].similarity == 0.0
    assert memory.nearest([], 3) == []


# Candidates


def test_forced_decoding_is_what_search_would_say_of_the_same_symbols(
    solver: Solver, arithmetic_examples: Callable[[str], list[Example]]
) -> None:
    examples = arithmetic_examples("dev")[:8]
    scores = force(solver.model, solver.codec, [(example.problem, example.program) for example in examples])
    assert scores == pytest.approx([write(solver, example) for example in examples], abs=1e-4)


@torch.no_grad()
def write(solver: Solver, example: Example) -> float:
    """The log-probability of a program, symbol by symbol, as search would come to it."""
    codec, model, total = solver.codec, solver.model, 0.0
    state = model.start(model.encode(*codec.batch_words([example.problem])))
    for relation, *arguments in codec.encode_program(example.program):
        given = [codec.argument_symbol(a) for a in arguments if solver.grammar.slots_filled or a != NONE]
        # A tuple decoder fills the slots of the end, too.
        for symbol in (relation, *given):
            total += model.log_probabilities(state)[0, symbol].item()
            state = model.feed(state, torch.tensor([symbol]))
    return total


def test_a_program_of_another_problem_must_fit_this_one() -> None:
    two = DOMAIN.read("what is the sum of 3 and 4 ?")
    assert fits(DOMAIN, ADD, two)
    assert not fits(DOMAIN, TWICE, two), "there is no n2"
    assert not fits(DOMAIN, Program(), two)


def test_candidates_of_both_origins_are_joined(solver: Solver) -> None:
    text = "what is the sum of 3 and 4 ?"
    asked = DOMAIN.read(text)
    other = Problem((*asked.words, "now"), asked.bindings)
    memory = Retrieval([Example(asked, ADD), Example(asked, ADD), Example(asked, TWICE), Example(other, DIVIDE)])
    written = [[Candidate(SUBTRACT, -1.0, -1.0), Candidate(DIVIDE, -2.0, -2.0), Candidate(None, -3.0, -3.0)]]
    (found,) = recall(memory, solver, [asked], written, 2)
    by = {one.program: one for one in found}
    assert by.keys() == {SUBTRACT, DIVIDE, ADD}
    assert by[SUBTRACT].similarity == by[SUBTRACT].votes == 0.0
    assert by[ADD].share == 2 / 3 and by[ADD].similarity == pytest.approx(1.0)
    assert 0 < by[DIVIDE].votes < by[ADD].votes < 1
    assert [by[p].log_probability for p in by] == pytest.approx(
        force(solver.model, solver.codec, [(asked, p) for p in by]), abs=1e-5
    )


def test_without_any_candidate_the_empty_program_stands_in(solver: Solver) -> None:
    asked = DOMAIN.read("what is the sum of 3 and 4 ?")
    memory = Retrieval([Example(problem("far away"), TWICE)])
    (found,) = recall(memory, solver, [asked], [[Candidate(None, -1.0, -1.0)]], 1)
    assert [one.program for one in found] == [Program()]


# The mixture


def questions(count: int = 300) -> tuple[list[list[Recalled]], list[Program]]:
    """The right one is the nearest in nine of ten cases, whatever the model says."""
    random = np.random.default_rng(1)
    made, gold = [], []
    for _ in range(count):
        near = [
            Recalled(ADD, -random.exponential(3), 0.95, 1.0, 0.6),
            Recalled(SUBTRACT, -random.exponential(3), 0.5, 1.0, 0.4),
        ]
        made.append(near)
        gold.append(near[int(random.random() < 0.1)].program)
    return made, gold


def test_what_tells_right_from_wrong_gets_the_weight() -> None:
    made, gold = questions()
    mixture = fit_mixture(made, gold)
    right = sum(mixture.choose(one).program == program for one, program in zip(made, gold))
    assert right >= 0.89 * len(made)
    told = mixture.told()
    assert told.keys() == set(MERITS) and abs(told["log_probability"]) < 0.2


def test_the_fit_is_where_the_gradient_is_zero() -> None:
    """Checked by finite differences of a likelihood written again."""
    made, gold = questions(60)
    weights = np.asarray(fit_mixture(made, gold).weights)
    deviation = np.concatenate([merits(one) for one in made]).std(0)
    deviation[deviation < 1e-9] = 1.0  # here the share, which is the same for all

    def likelihood(w: np.ndarray) -> float:
        total = -0.5 * float(((w * deviation) ** 2).sum())
        for one, program in zip(made, gold):
            scores = merits(one) @ w
            total += scores[[c.program for c in one].index(program)] - np.logaddexp.reduce(scores)
        return total

    for place in range(len(MERITS)):
        step = np.eye(len(MERITS))[place] * 1e-4
        assert likelihood(weights + step) - likelihood(weights - step) == pytest.approx(0.0, abs=1e-6)


def test_merits_that_separate_perfectly_do_not_run_away() -> None:
    made = [[Recalled(ADD, -1.0, 1.0, 1.0, 1.0), Recalled(SUBTRACT, -40.0)] for _ in range(50)]
    mixture = fit_mixture(made, [ADD] * 50)
    assert np.isfinite(mixture.weights).all() and mixture.choose(made[0]).program == ADD


def test_nothing_to_learn_from_is_told() -> None:
    alone = [[Recalled(ADD, -1.0)], [Recalled(ADD, -1.0), Recalled(SUBTRACT, -1.0)]]
    with pytest.raises(DataError, match="no question has a right candidate and a wrong one"):
        fit_mixture(alone, [ADD, DIVIDE])


def test_a_weight_on_one_merit_chooses_by_it() -> None:
    one, other = Recalled(ADD, -1.0, 0.2), Recalled(SUBTRACT, -5.0, 0.9)
    assert Mixture((1.0, 0.0, 0.0, 0.0)).choose([one, other]).program == ADD
    assert Mixture((0.0, 1.0, 0.0, 0.0)).choose([one, other]).program == SUBTRACT


# Scoring


def test_it_is_scored_under_a_name_of_its_own(solver: Solver) -> None:
    report, _, _ = evaluate_model(solver, "test", "tiny", Mode(2, memory=3), limit=60)
    alone, _, _ = evaluate_model(solver, "test", "tiny", Mode(2), limit=60)
    assert report.title == "arithmetic test: retrieval+model: tiny (beam 2, memory 3)"
    assert report.facts["mode"] == "beam 2, memory 3" and report.facts["memory"] == 3
    told = report.facts["mixture"]
    assert isinstance(told, dict) and told["fitted_on"] == "dev" and told["fitted_examples"] == 300
    # The model knows nothing, its memory does.
    assert report.whole.metrics["strict"].value > alone.whole.metrics["strict"].value + 0.2
    json.loads(report.to_json())


def test_each_half_of_dev_is_answered_by_the_weights_of_the_other(
    solver: Solver, monkeypatch: pytest.MonkeyPatch
) -> None:
    fitted: list[list[Program]] = []
    original = fit_mixture

    def spy(made: list, gold: list) -> Mixture:
        fitted.append(list(gold))
        return original(made, gold)

    monkeypatch.setattr(answering, "fit_mixture", spy)
    report, examples, _ = evaluate_model(solver, "dev", "tiny", Mode(2, memory=3), limit=80)
    gold = [example.program for example in examples]
    assert fitted == [gold[0::2], gold[1::2]]
    assert report.facts["mixture"]["fitted_on"] == "the other half of dev"  # type: ignore[index]


def test_test_is_never_fitted_on(solver: Solver, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []
    original = Splits.take
    monkeypatch.setattr(
        Splits, "take", lambda self, split, limit=0: (read.append(split), original(self, split, limit))[1]
    )
    evaluate_model(solver, "test", "tiny", Mode(2, memory=3), limit=20)
    assert read.count("test") == 1 and {"train", "dev"} <= set(read)


def test_what_cannot_be_combined_is_refused(solver: Solver, tpn2f: Run) -> None:
    with pytest.raises(ConfigError, match="memory chooses among candidates itself"):
        evaluate_model(solver, "dev", "tiny", Mode(2, guided=True, memory=3))
    told = tpn2f("evaluate", "--domain", "arithmetic", "--memory", "3")
    assert told.code == 2 and "--memory works only with a model" in told.err
    assert Mode(5, memory=5).suffix == "-beam5-memory5"
