"""Two opinions: what either model wrote is scored by both, as forced decoding says, and ranked by the mean."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from tpn2f.checkpoint import Checkpoint, write_checkpoint
from tpn2f.codec import Codec
from tpn2f.config import Config, DataConfig
from tpn2f.domain import load_domain
from tpn2f.errors import CheckpointError
from tpn2f.model import ModelConfig
from tpn2f.opinions import UNWRITTEN, add_recalled, force, join_opinions, spells
from tpn2f.program import Program
from tpn2f.search import Candidate
from tpn2f.solver import Solver, make_model, setting
from tpn2f.trust.memory import Learned, Memory, remember, told

MODEL = ModelConfig(
    n_fillers=7, d_filler=4, n_roles=5, d_role=3, d_word=6, d_relation=3, d_argument=4, d_position=3, d_symbol=5
)
CONFIG = Config("tiny", DataConfig("arithmetic"), MODEL)


def make_solver(seed: int, count: int) -> Solver:
    domain = load_domain("arithmetic")
    codec = Codec.build(list(domain.examples("train"))[:count])
    torch.manual_seed(seed)
    return Solver(domain, codec, make_model(CONFIG, codec).eval())


@pytest.fixture(scope="module")
def pair() -> tuple[Solver, Solver]:
    return make_solver(0, 200), make_solver(1, 120)


def both(pair: tuple[Solver, Solver]):
    return tuple((solver.model, solver.codec) for solver in pair)


def test_every_candidate_has_the_opinion_of_both(pair):
    problems = [example.problem for example in list(pair[0].domain.examples("dev"))[:6]]
    found, others = (solver.predict(problems, 3) for solver in pair)
    joined = join_opinions(*both(pair), problems, found, others)
    for problem, own, other, candidates in zip(problems, found, others, joined):
        programs = [one.program for one in candidates]
        assert len(programs) == len(set(programs)) and set(programs) == {one.program for one in (*own, *other)}
        means = [(one.log_probability + one.second) / 2 for one in candidates]
        assert means == sorted(means, reverse=True) and means == [one.score for one in candidates]
        for one in candidates:
            if spells(pair[1].codec, one.program):
                assert one.second == pytest.approx(force(*both(pair)[1], [(problem, one.program)])[0], abs=1e-4)
            else:
                assert one.second == UNWRITTEN
        kept = {one.program: one.log_probability for one in own}
        assert all(one.log_probability == kept[one.program] for one in candidates if one.program in kept)


def test_what_a_model_has_no_symbols_for_is_as_good_as_impossible_for_it(pair):
    problem = pair[0].domain.read("add 3 and 4")
    strange = Program.parse("fly(n0, n1)")
    assert not spells(pair[0].codec, strange) and not spells(pair[0].codec, Program.parse("add(n0, moon)"))
    own = [Candidate(Program.parse("add(n0, n1)"), -1.0, -1.0)]
    others = [Candidate(strange, -0.1, -0.1, recalled=0.9), Candidate(None, -5, -5)]
    (joined,) = join_opinions(*both(pair), [problem], [own], [others])
    assert [one.program for one in joined] == [own[0].program, strange]
    assert joined[1] == Candidate(strange, UNWRITTEN, UNWRITTEN, UNWRITTEN, UNWRITTEN, recalled=0.9)
    (lost,) = join_opinions(*both(pair), [problem], [[Candidate(None, -1.0, -1.0)]], [[Candidate(None, -1.0, -1.0)]])
    assert [(one.program, one.second) for one in lost] == [(None, UNWRITTEN)]


def test_what_the_second_model_says_is_told_with_how_well_it_knows_such_texts(pair):
    first, second = make_solver(0, 200), make_solver(1, 120)
    example, stranger = list(first.domain.examples("dev"))[:2]
    first.second = second
    first.memory = remember([Learned(stranger.text, stranger.problem, stranger.program)])
    second.memory = remember([Learned(example.text, example.problem, example.program)])
    found = first.answered(example.problem, first.propose([example.problem], 3)[0])
    lead = 1 - first.memory.familiarity(example.problem)
    assert all(one.lead == pytest.approx(lead) and 0 <= one.second_agreement <= 1 for one in found)
    with_value = {one.value: one.second_agreement for one in found if one.value is not None}
    assert sum(with_value.values()) <= 1 + 1e-9
    second.memory = None
    assert {one.lead for one in first.answered(example.problem, first.propose([example.problem], 3)[0])} == {0.0}


def test_only_a_beam_is_joined(pair):
    one, other = pair
    problems = [example.problem for example in list(one.domain.examples("dev"))[:3]]
    asked = make_solver(0, 200)
    asked.second = other
    assert asked.propose(problems, 1) == asked.predict(problems, 1)
    assert all(found.second is None for found in asked.predict(problems, 3)[0])
    assert all(found.second is not None for found in asked.propose(problems, 3)[0])
    solution = asked.solve("What is 3 plus 4?", width=3)
    assert solution.program is not None


def test_programs_of_near_questions_are_candidates_with_the_opinion_of_the_model(pair):
    solver = make_solver(0, 200)
    (example, other) = list(solver.domain.examples("dev"))[:2]
    memory = remember([Learned(one.text, one.problem, one.program) for one in (example, other)])
    (found,) = solver.predict([example.problem], 3)
    (joined,) = add_recalled(solver.model, solver.codec, solver.domain, memory, [example.problem], [found])
    assert [one.score for one in joined] == sorted((one.score for one in joined), reverse=True)
    assert {one.program for one in found} <= {one.program for one in joined}
    (known,) = (one for one in joined if one.program == example.program)
    assert known.recalled == pytest.approx(1.0)
    if example.program not in [one.program for one in found]:
        expected = force(solver.model, solver.codec, [(example.problem, example.program)])[0]
        assert known.log_probability == known.weakest == pytest.approx(expected, abs=1e-5)
    solver.memory = memory
    assert example.program in [one.program for one in solver.propose([example.problem], 3)[0]]
    assert solver.propose([example.problem], 1) == solver.predict([example.problem], 1)


@pytest.mark.parametrize("program", ["fly(n0, n1)", "add(n0, n7)", "add(n0, #3)", "add(n0", "add(n0)"])
def test_a_program_that_does_not_fit_is_not_recalled(pair, program):
    problem = pair[0].domain.read("What is 3 plus 4?")
    memory = Memory([told(problem)], np.zeros(8, dtype=np.uint8), [program])
    own = [Candidate(Program.parse("add(n0, n1)"), -1.0, -1.0)]
    assert add_recalled(*both(pair)[0], pair[0].domain, memory, [problem], [own]) == [own]


def test_what_only_the_second_model_recalls_says_so(pair):
    problem = pair[0].domain.read("What is 3 plus 4?")
    recalled = Candidate(Program.parse("add(n0, n1)"), -1.0, -1.0, recalled=0.7)
    own = [Candidate(Program.parse("subtract(n0, n1)"), -1.0, -1.0)]
    (joined,) = join_opinions(*both(pair), [problem], [own], [[recalled]])
    assert {str(one.program): one.recalled for one in joined} == {"add(n0, n1)": 0.7, "subtract(n0, n1)": 0.0}


@pytest.mark.parametrize("name", ["../other", "no-such-model", 7, "", "mathqa"])
def test_a_checkpoint_can_only_name_a_bundled_model_of_its_domain(pair, tmp_path, name):
    state, texts = setting(replace(CONFIG, model=pair[0].model.config), pair[0].codec)
    saved = Checkpoint({"model": pair[0].model.state_dict()}, {**state, "second": name}, texts)
    write_checkpoint(tmp_path / "best", saved)
    with pytest.raises(CheckpointError, match="second model"):
        Solver.load(tmp_path / "best")
