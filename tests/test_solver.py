"""The solver: text in, worked solution out, honest about what it does not know."""

from copy import copy
from dataclasses import replace

import pytest
import torch

from tpn2f.checkpoint import Checkpoint, write_checkpoint
from tpn2f.choosing import BY_OPTION
from tpn2f.codec import Codec
from tpn2f.config import Config, DataConfig
from tpn2f.domain import Example, load_domain
from tpn2f.errors import CheckpointError, DataError
from tpn2f.model import ModelConfig
from tpn2f.model.evaluating import evaluating
from tpn2f.pretrained import bundled_models, find_model
from tpn2f.program import Program
from tpn2f.search import Candidate
from tpn2f.solution import Question
from tpn2f.solver import Solver, make_model, setting
from tpn2f.trust.belief import Belief

MODEL = ModelConfig(
    n_fillers=7, d_filler=4, n_roles=5, d_role=3, d_word=6, d_relation=3, d_argument=4, d_position=3, d_symbol=5
)
CONFIG = Config("tiny", DataConfig("arithmetic"), MODEL)


@pytest.fixture(scope="module")
def solver() -> Solver:
    domain = load_domain("arithmetic")
    codec = Codec.build(list(domain.examples("train"))[:200])
    torch.manual_seed(0)
    return Solver(domain, codec, make_model(CONFIG, codec).eval())


def checkpoint(solver: Solver) -> Checkpoint:
    state, texts = setting(replace(CONFIG, model=solver.model.config), solver.codec)
    return Checkpoint({"model": solver.model.state_dict()}, state, texts)


@pytest.mark.parametrize("grounded", [False, True])
def test_a_saved_solver_answers_as_before(solver, tmp_path, grounded):
    if grounded:
        config = replace(CONFIG, model=replace(MODEL, grounded=True))
        solver = Solver(solver.domain, solver.codec, make_model(config, solver.codec).eval())
    write_checkpoint(tmp_path / "best", checkpoint(solver))
    again = Solver.load(tmp_path / "best")
    assert again.model.config.grounded == grounded
    problems = [example.problem for example in list(solver.domain.examples("dev"))[:20]]
    assert again.predict(problems) == solver.predict(problems)
    assert again.predict(problems, width=3) == solver.predict(problems, width=3)


def test_answers_come_in_the_order_of_the_questions(solver):
    problems = [example.problem for example in list(solver.domain.examples("dev"))[:20]]
    done: list[int] = []
    together = solver.predict(problems, batch_size=7, progress=done.append)
    assert done == [7, 14, 20]
    assert [c[0].program for c in together] == [solver.predict([problem])[0][0].program for problem in problems]


def test_a_solution_is_worked_and_names_unknown_words(solver):
    problem = solver.domain.read("multiply 6 by 7 zwurbel")
    right = Candidate(Program.parse("multiply(n0, n1) | square(#0)"), -0.5, -0.5)
    solution = solver.work(problem, [right])
    assert solution.value == 1764
    assert [step.result for step in solution.steps] == [42, 1764]
    assert solution.error == ""
    assert "zwurbel" in solution.unknown and "n0" not in solution.unknown
    known = solver.work(solver.domain.read("multiply 6 by 7"), [right])
    assert known.confidence == pytest.approx(0.6065, abs=1e-4)
    assert solution.confidence < known.confidence, "a new word may change it all"


def test_a_program_that_fails_is_an_error_and_no_exception(solver):
    problem = solver.domain.read("divide 6 by 0")
    solution = solver.work(problem, [Candidate(Program.parse("divide(n0, n1)"), -0.5, -0.5)])
    assert solution.value is None and "step 0, divide(n0, n1)" in solution.error
    assert solver.work(problem, [Candidate(None, -0.5, -0.5)]).error == "the model wrote no program"


def test_solve_reads_and_answers_any_text(solver):
    solution = solver.solve("What is 3 plus 4?", width=3)
    assert solution.program is not None
    assert len(solution.alternatives) == 2
    assert solution.alternatives[0].confidence <= solution.confidence
    with pytest.raises(DataError, match="empty"):
        solver.solve("  ")


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda c: c.texts.pop("words.txt"), r"no vocabulary words\.txt"),
        (lambda c: c.state.pop("config"), "no 'config'"),
        (lambda c: c.state["config"]["model"].update(future=1), r"there is no model\.future"),
        (lambda c: c.state["config"]["model"].update(n_roles=6), "has the shape"),
        (lambda c: c.tensors.clear(), "has no"),
    ],
)
def test_a_checkpoint_that_does_not_fit_is_refused_in_one_line(solver, tmp_path, spoil, message):
    made = checkpoint(solver)
    spoiled = Checkpoint(dict(made.tensors), dict(made.state), dict(made.texts))
    spoil(spoiled)
    write_checkpoint(tmp_path / "best", spoiled)
    with pytest.raises((CheckpointError, Exception), match=message) as caught:
        Solver.load(tmp_path / "best")
    assert "\n" not in str(caught.value)


def test_one_broken_question_does_not_spoil_the_others(solver):
    texts = ["What is 3 plus 4?", "  ", Question("Add 5 and 6.", options="a ) 1"), "Double 4."]
    first, empty, unasked, last = solver.solve_all(texts, batch_size=2)
    assert empty.program is None and "empty" in empty.error
    assert unasked.program is None and "no questions with options" in unasked.error
    assert first == solver.solve("What is 3 plus 4?") and last == solver.solve("Double 4.")


@pytest.mark.parametrize(
    ("options", "program", "label"),
    [
        ("a ) 7 , b ) 5 , c ) 12", "add(n0, n1)", "a"),
        # The best program gives 7; an option that is a less probable value is preferred to none at all.
        ("a ) 1 , b ) 12 , c ) 100", "multiply(n0, n1)", "b"),
        # 81 would be an option, but is far less probable than the first.
        ("a ) 81 , b ) 90 , c ) 100", "add(n0, n1)", "a"),
    ],
)
def test_options_have_a_say_in_what_a_beam_finds(monkeypatch, options, program, label):
    domain = load_domain("mathqa")
    example = Example(domain.read("what is 3 and 4 ?"), Program.parse("add(n0, n1)"))
    codec = Codec.build([example])
    beam = [("add(n0, n1)", -0.1), ("multiply(n0, n1)", -3.0), ("power(n0, n1)", -3.2)]
    candidates = [Candidate(Program.parse(text), score, score) for text, score in beam]
    solver = Solver(domain, codec, make_model(CONFIG, codec).eval())
    monkeypatch.setattr(solver, "predict", lambda problems, width, *more, **rest: [candidates[:width]])
    solution = solver.solve("What is 3 and 4?", width=3, options=options)
    assert str(solution.program) == program and solution.chosen is not None and solution.chosen.label == label
    assert len(solution.alternatives) == 2
    assert (BY_OPTION in solution.notes) == (program != "add(n0, n1)")
    # Greedy search has nothing else to offer.
    assert str(solver.solve("What is 3 and 4?", options=options).program) == "add(n0, n1)"


def test_solutions_come_as_soon_as_their_batch_is_done(solver):
    asked = []

    def questions():
        for text in ("Add 1 and 2.", "Add 3 and 4.", "Add 5 and 6."):
            asked.append(text)
            yield text

    solved = solver.solve_all(questions(), batch_size=1)
    next(solved)
    assert len(asked) == 1


def test_very_long_texts_do_not_go_together(solver, monkeypatch):
    monkeypatch.setattr("tpn2f.solver.MOST_WORDS", 12)
    problems = [solver.domain.read(f"add {number} and {number} and then {number}") for number in range(4)]
    done: list[int] = []
    solver.predict(problems, progress=done.append)
    assert done == [1, 2, 3, 4]


def test_a_question_without_values_or_known_words_is_told(solver):
    solution = solver.solve("quel est le total \x1b[m")
    assert "the question has no values to work with" in solution.notes
    assert any("its confidence means little here" in note for note in solution.notes)
    assert "\x1b" not in str(solution)


def test_a_folder_that_only_shares_its_name_hides_no_bundled_model(solver, tmp_path, monkeypatch):
    write_checkpoint(tmp_path / "pretrained" / "toy", checkpoint(solver))
    monkeypatch.setattr("tpn2f.pretrained.PRETRAINED", tmp_path / "pretrained")
    (tmp_path / "toy").mkdir()
    monkeypatch.chdir(tmp_path)
    assert find_model("toy") == tmp_path / "pretrained" / "toy"
    with pytest.raises(
        CheckpointError, match=r"has no checkpoint: expected a run directory or a bundled model \(toy\)"
    ):
        find_model(tmp_path / "toy")


def test_without_a_name_the_default_bundled_model_answers(solver, tmp_path, monkeypatch):
    monkeypatch.setattr("tpn2f.pretrained.PRETRAINED", tmp_path)
    with pytest.raises(DataError, match=r"no model is bundled for everyday \(there is none yet\)"):
        Solver.load()
    write_checkpoint(tmp_path / "arithmetic", checkpoint(solver))
    assert Solver.load(domain="arithmetic").domain.name == "arithmetic"
    with pytest.raises(DataError, match=r"no model is bundled for everyday \(there is arithmetic\)"):
        Solver.load()
    write_checkpoint(tmp_path / "zoo", checkpoint(solver))
    monkeypatch.setattr("tpn2f.pretrained.DEFAULT_MODELS", ("zoo",))
    assert bundled_models() == ["zoo", "arithmetic"], "the default comes first"
    assert Solver.load().codec == solver.codec


def test_predicting_leaves_the_model_in_its_mode(solver):
    problem = solver.domain.read("add 3 and 4")
    for training in (True, False):
        solver.model.train(training)
        solver.predict([problem])
        assert solver.model.training == training
    solver.model.train()
    with pytest.raises(RuntimeError, match="while"), evaluating(solver.model):
        assert not solver.model.training and not torch.is_grad_enabled()
        raise RuntimeError("while it is used")
    assert solver.model.training and torch.is_grad_enabled()
    solver.model.eval()


def test_the_package_has_the_solver():
    import tpn2f

    assert tpn2f.__version__ and {"Solver", "Program", "load_domain"} <= set(tpn2f.__all__)
    for name in tpn2f.__all__:
        assert vars(tpn2f).get(name) is not None or name in ("Solver", "FunctionDomain")
    assert tpn2f.Solver is Solver
    with pytest.raises(AttributeError, match="no attribute 'Resolver'"):
        tpn2f.Resolver  # noqa: B018


def test_a_choice_of_calibration_ranks_the_candidates_that_make_sense(solver):
    everyday = Solver(load_domain("everyday"), solver.codec, solver.model, 1.0)
    problem = everyday.domain.read("Tom has 3 pens and 4 books. How many things are there?")
    programs = ["subtract(n0,n1)", "subtract(n1,n1)|add(n0,#0)", "add(n0,n1)"]
    candidates = [Candidate(Program.parse(text), -1.0 - place, 0.0) for place, text in enumerate(programs)]
    assert everyday.best_of(problem, candidates) is candidates[1], "below zero makes no sense"
    twice = Belief(("steps with one thing twice",), (0.0,), (1.0,), (-2.0,), 0.0)
    everyday.choice = twice
    assert everyday.best_of(problem, candidates) is candidates[2]
    assert everyday.best_of(problem, candidates[:1]) is candidates[0]


def test_alternatives_share_what_the_answer_leaves(solver):
    sure = copy(solver)
    sure.belief = Belief((), (), (), (), 1.0)
    problem = solver.domain.read("multiply 6 by 7")
    programs = ["multiply(n0, n1)", "add(n0, n1)", "subtract(n0, n1)"]
    candidates = [Candidate(Program.parse(text), -1.0, 0.0) for text in programs]
    solution = sure.work(problem, candidates)
    assert solution.confidence + sum(one.confidence for one in solution.alternatives) == pytest.approx(1)
    assert solution.alternatives[0].confidence == solution.alternatives[1].confidence < solution.confidence
