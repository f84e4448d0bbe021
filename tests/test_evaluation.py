"""Evaluation: systems without weights, prediction files, the splits a model may have seen, and the facts kept."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest
import torch

from conftest import unchecked
from test_mathqa import DAMAGED, RECORD, write
from tpn2f.codec import Codec
from tpn2f.config import Config
from tpn2f.domain import Example, Roles, known_splits
from tpn2f.domains.algolisp import AlgoLisp
from tpn2f.domains.arithmetic import Arithmetic
from tpn2f.domains.mathqa import MathQA
from tpn2f.errors import ConfigError, DataError
from tpn2f.evaluation import (
    SYSTEMS,
    Mode,
    digest,
    evaluate_file,
    evaluate_model,
    evaluate_system,
    read_predictions,
    write_predictions,
)
from tpn2f.model import ModelConfig
from tpn2f.program import Program
from tpn2f.search import Candidate
from tpn2f.solver import Solver, make_model

DOMAIN = Arithmetic()


class WithoutTrain(Arithmetic):
    """A domain that has to do without its training file."""

    splits = ("train", "dev", "test", "dev-train", "dev-valid")

    def examples(self, split: str) -> Iterable[Example]:
        if split == "train":
            raise DataError("there is no train")
        return super().examples({"dev-train": "train", "dev-valid": "dev"}.get(split, split))

    def roles(self) -> Roles:
        return Roles("dev-train", "dev-valid")


pytestmark = pytest.mark.usefixtures("arithmetic_examples")


@pytest.fixture
def dev(arithmetic_examples: Callable[[str], list[Example]]) -> list[Example]:
    return arithmetic_examples("dev")


# Systems


@pytest.mark.parametrize("system", SYSTEMS)
def test_systems_are_scored(system: str) -> None:
    with unchecked():
        report = evaluate_system(DOMAIN, "dev", system)
    strict = report.whole.metrics["strict"].value
    assert report.title == f"arithmetic dev: {system}"
    assert report.whole.count == 300
    assert strict == {"gold": 1.0, "empty": 0.0}.get(system, strict)
    if system == "retrieval":
        seen, unseen = (group.metrics["strict"].value for group in report.groups[1:3])
        assert 0.3 < strict < 1 and seen > unseen


def test_the_facts_name_what_was_scored(dev: list[Example]) -> None:
    facts = evaluate_system(DOMAIN, "dev", "gold", limit=10).facts
    assert {key: facts[key] for key in ("domain", "split", "system", "trained_on")} == {
        "domain": "arithmetic",
        "split": "dev",
        "system": "gold",
        "trained_on": "train",
    }
    assert facts["examples_sha256"] == digest(dev[:10])


def test_a_limit_takes_the_first_examples() -> None:
    assert evaluate_system(DOMAIN, "dev", "gold", limit=7).whole.count == 7


def test_what_is_not_there_is_a_data_error(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no system is called 'oracle'; there are retrieval, gold, empty"):
        evaluate_system(DOMAIN, "dev", "oracle")
    with pytest.raises(DataError, match="arithmetic has no split 'no'"):
        evaluate_system(DOMAIN, "no", "gold")
    with pytest.raises(DataError, match="does not exist"):
        evaluate_system(MathQA(tmp_path), "dev", "gold")


def test_retrieval_learns_from_train_alone() -> None:
    """Otherwise it would have every program of dev by heart."""
    with unchecked():
        report = evaluate_system(DOMAIN, "dev", "retrieval")
        groups = {group.name: group.metrics["strict"].value for group in report.groups}
    assert groups["template unseen in train"] < 0.5


# Splits


def test_without_a_training_split_nothing_is_scored(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"train.json does not exist"):
        evaluate_system(write(tmp_path, [RECORD]), "dev", "gold")


@pytest.mark.parametrize(
    ("domain", "split", "expected"),
    [
        (DOMAIN, "test", ["train", "dev"]),
        (DOMAIN, "dev", ["train"]),
        (DOMAIN, "train", ["dev"]),
        (WithoutTrain(), "test", ["dev-train", "dev-valid"]),
        (WithoutTrain(), "dev-valid", ["dev-train"]),
    ],
)
def test_what_a_model_may_have_seen(domain: Arithmetic, split: str, expected: list[str]) -> None:
    assert known_splits(domain, split) == expected


def test_the_stand_in_is_named_in_the_report() -> None:
    report = evaluate_system(WithoutTrain(), "test", "gold", limit=50)
    assert report.facts["trained_on"] == "dev-train"
    assert "template unseen in dev-train and dev-valid" in {group.name for group in report.groups}


@pytest.mark.parametrize("split", ["train", "dev"])
def test_records_that_were_left_out_are_still_listed_after_an_evaluation(tmp_path: Path, split: str) -> None:
    write(tmp_path, [RECORD, *(record for record, _ in DAMAGED)], "train")
    domain = write(tmp_path, [RECORD, DAMAGED[0][0]], "dev")
    evaluate_system(domain, split, "gold")
    assert {name: len(lines) for name, lines in domain.skipped.items()} == {"train": len(DAMAGED), "dev": 1}


# Files


def test_a_prediction_file_is_scored_like_a_system(tmp_path: Path, dev: list[Example]) -> None:
    path = tmp_path / "predictions.jsonl"
    write_predictions(path, dev, [example.program for example in dev])
    report = evaluate_file(DOMAIN, "dev", path)
    assert report.whole == evaluate_system(DOMAIN, "dev", "gold").whole
    assert report.notes == ()
    assert report.facts["system"] == "predictions.jsonl"


def test_predictions_that_are_no_programs_count_as_wrong_and_are_told(tmp_path: Path, dev: list[Example]) -> None:
    path = tmp_path / "predictions.jsonl"
    lines = [{"program": str(dev[0].program)}, {"program": None}, {"program": "add(n0"}, {"program": 3}]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    report = evaluate_file(DOMAIN, "dev", path, limit=4)
    assert report.whole.metrics["strict"].value == 0.25
    assert report.notes == ("3 predictions are not programs, the first on line 2",)


def test_written_predictions_are_read_back(tmp_path: Path, dev: list[Example]) -> None:
    predictions = [Program.parse('f("a, b")'), None, Program(), Program.parse("été(π)")]
    write_predictions(tmp_path / "file", dev, predictions)
    assert read_predictions(tmp_path / "file")[0] == predictions
    first = json.loads((tmp_path / "file").read_text().splitlines()[0])
    assert first == {"id": "dev:0", "program": 'f("a, b")'}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "is empty"),
        ("{", "line 1: expected a JSON object with the field `program`"),
        ('{"program": ""}\n[]\n', "line 2: expected a JSON object"),
        ('{"program": ""}\n{"answer": 3}\n', "line 2: expected a JSON object"),
        ('{"program": ""}\n\n', "line 2: expected a JSON object"),
        ("[" * 100_000, "line 1: expected a JSON object"),
        ('{"program": ""}\n', "has 1 predictions, but arithmetic dev has 300"),
    ],
)
def test_a_damaged_prediction_file_is_a_data_error(tmp_path: Path, content: str, message: str) -> None:
    path = tmp_path / "predictions.jsonl"
    path.write_text(content)
    with pytest.raises(DataError, match=r"predictions\.jsonl") as caught:
        evaluate_file(DOMAIN, "dev", path)
    assert message in str(caught.value)


def test_a_missing_prediction_file_is_a_data_error(tmp_path: Path) -> None:
    for path in (tmp_path / "absent", tmp_path):
        with pytest.raises(DataError, match="is not a file"):
            evaluate_file(DOMAIN, "dev", path)


def test_the_digest_tells_texts_and_programs_apart(dev: list[Example]) -> None:
    digests = {digest(dev), digest(dev[1:]), digest(reversed(dev)), digest([])}
    assert len(digests) == 4
    assert digest(dev) == digest(Arithmetic().examples("dev"))


@pytest.fixture(scope="module")
def solver() -> Solver:
    """A model that has learned nothing."""
    codec = Codec.build(DOMAIN.examples("train"))
    torch.manual_seed(0)
    config = Config(
        model=ModelConfig(
            n_fillers=7, d_filler=4, n_roles=5, d_role=3, d_word=6, d_relation=3, d_argument=4, d_position=3, d_symbol=5
        )
    )
    return Solver(DOMAIN, codec, make_model(config, codec).eval())


@pytest.mark.parametrize(
    ("options", "mode"),
    [
        ({}, "greedy"),
        ({"width": 3}, "beam 3"),
        ({"masked": False}, "greedy, no masks"),
        ({"width": 3, "guided": True}, "beam 3, execution-guided"),
        ({"typed": False}, "greedy"),
    ],
)
def test_a_model_is_scored_and_its_mode_is_named(solver: Solver, tmp_path: Path, options: dict, mode: str) -> None:
    told: list[tuple[int, int]] = []
    report, examples, predictions = evaluate_model(
        solver, "dev", "tiny", mode=Mode(**options), limit=20, progress=lambda done, total: told.append((done, total))
    )
    assert report.facts["mode"] == mode and f"tiny ({mode})" in report.title
    assert told[-1] == (20, 20)
    assert report.whole.count == len(examples) == len(predictions) == 20
    if mode == "beam 3, execution-guided":
        assert all(prediction is not None for prediction in predictions)
    path = tmp_path / "predictions.jsonl"
    write_predictions(path, examples, predictions)
    again = evaluate_file(DOMAIN, "dev", path, limit=20)
    assert again.groups == report.groups


def test_how_fast_and_how_long(solver: Solver) -> None:
    report, _, _ = evaluate_model(solver, "dev", "tiny", limit=20)
    facts = report.facts
    assert isinstance(facts["records_a_second"], float) and facts["records_a_second"] > 0
    assert 0 <= facts["decoding_cpu_share"] <= 1  # type: ignore[operator]
    assert facts["scoring_cpu_seconds"] >= 0  # type: ignore[operator]
    assert any("examples per second" in note for note in report.notes)


def test_the_longest_program_solved_is_told(dev: list[Example]) -> None:
    longest = max(dev, key=lambda example: len(example.program))
    solved = evaluate_system(DOMAIN, "dev", "gold").facts["longest_solved"]
    assert solved == {"tuples": len(longest.program), "written": len(longest.program), "id": longest.id}
    assert evaluate_system(DOMAIN, "dev", "empty", limit=20).facts["longest_solved"] is None


# Search with tests that are shown. A model that has learned nothing, but whose beam is known.

RECORDS = [
    {
        "text": ["given", "a", "number", "a", ",", "add", "one"],
        "short_tree": ["+", "a", "1"],
        "args": {"a": "int"},
        "return_type": "int",
        # Doubling is right for the first test, and the second tells it from adding one.
        "tests": [{"input": {"a": a}, "output": a + 1} for a in (1, 2, 3, 4)],
        "nodes": ["x"],
    },
    {
        "text": ["given", "a", "number", "a", ",", "double", "it"],
        "short_tree": ["*", "a", "2"],
        "args": {"a": "int"},
        "return_type": "int",
        "tests": [{"input": {"a": a}, "output": 2 * a} for a in (1, 2, 3, 4)],
        "nodes": ["x"],
    },
]
BEAM = ("*(a, 2)", "+(a, 1)", "-(a, 1)")


@pytest.fixture
def known_beam(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Solver:
    """A solver of AlgoLisp that has the same candidates for every problem."""
    for split in ("train", "dev"):
        lines = "".join(json.dumps(record) + "\n" for record in RECORDS)
        (tmp_path / f"metaset3.{split}.jsonl").write_text(lines)
    domain = AlgoLisp(tmp_path)
    codec = Codec.build(domain.examples("dev"))
    solver = Solver(domain, codec, make_model(Config(), codec).eval())
    candidates = [Candidate(Program.parse(text), -float(place), -float(place)) for place, text in enumerate(BEAM)]
    monkeypatch.setattr(Solver, "predict", lambda self, problems, width, *_, **__: [candidates[:width]] * len(problems))
    return solver


@pytest.mark.parametrize(
    ("tests", "width", "expected"),
    [
        # One test does not tell doubling from adding one: the best candidate passes it for both.
        (1, 3, ["*(a, 2)", "*(a, 2)"]),
        (2, 3, ["+(a, 1)", "*(a, 2)"]),
        (2, 2, ["+(a, 1)", "*(a, 2)"]),
        (0, 3, ["*(a, 2)", "*(a, 2)"]),
    ],
)
def test_the_first_candidate_that_passes_is_taken(
    known_beam: Solver, tests: int, width: int, expected: list[str]
) -> None:
    report, _, predictions = evaluate_model(known_beam, "dev", "tiny", Mode(width=width, tests=tests))
    assert list(map(str, predictions)) == expected
    mode = f"beam {width}, {tests} tests shown" if tests else f"beam {width}"
    assert report.facts["mode"] == mode and f"({mode})" in report.title
    assert report.facts.get("tests_shown") == (tests or None)
    assert report.facts["well_typed"] == 2 and "2 of 2 programs type-check" in report.notes


def test_the_tests_that_were_shown_do_not_count(known_beam: Solver, monkeypatch: pytest.MonkeyPatch) -> None:
    """A program that is right for the shown test alone earns nothing, and one that fails it may still earn half."""
    report, _, _ = evaluate_model(known_beam, "dev", "tiny", Mode(width=3, tests=1))
    # Doubling passes one of the four tests of adding one, and none of the three that are left.
    assert report.whole.metrics["acc"].value == 0.5
    plain, _, _ = evaluate_model(known_beam, "dev", "tiny", Mode(width=3))
    assert plain.whole.metrics["acc"].value == 0.5
    judged: list[int] = []
    original = AlgoLisp.credits
    monkeypatch.setattr(
        AlgoLisp,
        "credits",
        lambda self, program, example: (judged.append(len(example.answer.tests)), original(self, program, example))[1],
    )
    evaluate_model(known_beam, "dev", "tiny", Mode(width=3, tests=3))
    assert judged == [1, 1]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"width": 1, "tests": 1}, "use --beam"),
        ({"width": 3, "tests": 1, "guided": True}, "without --guided"),
        ({"width": 3, "tests": 4}, "dev:0 has 4 tests; showing 4 needs more than 4"),
    ],
)
def test_tests_that_cannot_be_shown_are_refused(known_beam: Solver, options: dict, message: str) -> None:
    with pytest.raises((ConfigError, DataError), match=message):
        evaluate_model(known_beam, "dev", "tiny", Mode(**options))


def test_a_domain_without_tests_says_so(solver: Solver) -> None:
    with pytest.raises(ConfigError, match="the examples of arithmetic have no tests"):
        evaluate_model(solver, "dev", "tiny", Mode(width=2, tests=3))


# Search with the options of a question.


@pytest.fixture
def pens(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Solver:
    """A solver of MathQA that has the same candidates for every problem: their values are 1203, 3000, 7.5."""
    write(tmp_path, [RECORD], "train")
    # The second question has options that no program reads.
    domain = write(tmp_path, [RECORD, {**RECORD, "options": "a ) 7.5"}])
    codec = Codec.build(domain.examples("train"))
    solver = Solver(domain, codec, make_model(Config(), codec).eval())
    texts = ("add(n0, n1)", "multiply(n1, n2)", "multiply(n0, n2)")
    candidates = [Candidate(Program.parse(text), -2.0 * place, -2.0 * place) for place, text in enumerate(texts)]
    monkeypatch.setattr(Solver, "predict", lambda self, problems, width, *_, **__: [candidates[:width]] * len(problems))
    return solver


def test_the_best_candidate_that_gives_an_option_is_taken(pens: Solver) -> None:
    report, _, predictions = evaluate_model(pens, "dev", "tiny", Mode(width=3, options=True))
    # Of the two that give an option the better one, although the gold letter is that of the other.
    assert list(map(str, predictions)) == ["multiply(n1, n2)", "add(n0, n1)"]
    assert report.facts["mode"] == "beam 3, options shown" and "(beam 3, options shown)" in report.title
    assert any("options of each question shown" in note for note in report.notes)
    _, _, plain = evaluate_model(pens, "dev", "tiny", Mode(width=3))
    assert list(map(str, plain)) == ["add(n0, n1)", "add(n0, n1)"]


def test_an_option_does_not_outweigh_everything(pens: Solver, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(MathQA, "option_margin", 1.9)
    _, _, predictions = evaluate_model(pens, "dev", "tiny", Mode(width=3, options=True))
    assert str(predictions[0]) == "add(n0, n1)"


@pytest.mark.parametrize("other", [{"width": 1}, {"width": 3, "guided": True}, {"width": 3, "tests": 1}])
def test_options_cannot_be_shown_with_another_help(pens: Solver, other: dict) -> None:
    with pytest.raises(ConfigError, match="search with options takes the best candidate of a beam that gives one"):
        evaluate_model(pens, "dev", "tiny", Mode(options=True, **other))


def test_a_domain_without_options_says_so(solver: Solver) -> None:
    with pytest.raises(ConfigError, match="arithmetic has no questions with options"):
        evaluate_model(solver, "dev", "tiny", Mode(width=2, options=True))


def test_types_can_be_left_out_and_the_mode_says_so(known_beam: Solver) -> None:
    report, _, _ = evaluate_model(known_beam, "dev", "tiny", Mode(typed=False))
    assert report.facts["mode"] == "greedy, no types"
