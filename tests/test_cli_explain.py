"""`tpn2f explain`: readable on a terminal, whole in files, clear about what it cannot do."""

import io
import json
from dataclasses import replace
from pathlib import Path

import pytest

from conftest import Run
from test_cli import assert_fails
from test_explain import CONFIGS, QUESTION, make_solver
from tpn2f.checkpoint import Checkpoint, write_checkpoint
from tpn2f.config import Config, DataConfig
from tpn2f.explain import explain_question
from tpn2f.solver import setting


def save(system: str, place: Path) -> Path:
    solver = make_solver(CONFIGS[system])
    state, texts = setting(Config("tiny", DataConfig("arithmetic"), solver.model.config), solver.codec)
    write_checkpoint(place / system, Checkpoint({"model": solver.model.state_dict()}, state, texts))
    return place / system


@pytest.fixture(scope="module")
def models(tmp_path_factory) -> dict[str, Path]:
    place = tmp_path_factory.mktemp("models")
    return {system: save(system, place) for system in ("tpn2f", "lstm2lstm")}


def test_a_question_is_shown_with_roles_fillers_and_attention(tpn2f: Run, models):
    outcome = tpn2f("explain", QUESTION, "--model", models["tpn2f"])
    assert (outcome.code, outcome.err) == (0, "")
    seen = explain_question(make_solver(CONFIGS["tpn2f"]), QUESTION)
    lines = outcome.out.splitlines()
    assert lines[0] == QUESTION
    words = " ".join(line.removeprefix("words") for line in lines if line.startswith("words")).split()
    assert tuple(words) == seen.words
    assert any(line.startswith("roles") for line in lines) and any(line.startswith("fillers") for line in lines)
    assert seen.program is not None
    for place, step in enumerate(seen.program):
        assert f"#{place}  {step}" in outcome.out
    strips = [line.strip() for line in lines if "▏" in line]
    assert [len(strip) - 2 for strip in strips] == [len(seen.words)] * len(seen.program)


def test_json_is_the_same_numbers(tpn2f: Run, models):
    outcome = tpn2f("explain", QUESTION, "--model", models["tpn2f"], "--json", "--beam", "3")
    told = json.loads(outcome.out)
    expected = explain_question(make_solver(CONFIGS["tpn2f"]), QUESTION, 3).to_dict()
    assert told == {"questions": [{"question": QUESTION, **json.loads(json.dumps(expected))}], "analysis": None}


def test_a_model_is_shown_and_everything_is_written(tpn2f: Run, models, tmp_path: Path):
    folder = tmp_path / "new" / "folder"
    outcome = tpn2f(
        *("explain", QUESTION, "--model", models["tpn2f"], "--split", "dev"),
        *("--limit", 20, "--shuffles", 9, "--output", folder, "--format", "png,html,json"),
    )
    assert outcome.code == 0
    for text in ("words by filler", "words by role", "3 clusters of relations", "nearest relations", "H_TPR", "purity"):
        assert text in outcome.out
    names = {path.name for path in folder.iterdir()}
    assert {"explain.json", "explain.html", "roles.png", "fillers.png", "attention-1.png", "relations.png"} <= names
    assert not [name for name in names if name.endswith(".svg")]
    assert str(folder) in outcome.err and "explain.html" in outcome.err
    told = json.loads((folder / "explain.json").read_text())
    assert told["analysis"]["examples"] == 20 and told["questions"][0]["question"] == QUESTION
    assert (folder / "explain.html").read_text().startswith("<!doctype html>")


def test_a_plain_model_shows_attention_and_says_what_it_lacks(tpn2f: Run, models, tmp_path: Path):
    outcome = tpn2f(
        *("explain", QUESTION, "--model", models["lstm2lstm"], "--split", "dev", "--limit", 5),
        *("--output", tmp_path / "out", "--format", "svg,html"),
    )
    assert outcome.code == 0
    assert "no fillers and no roles" in outcome.out and "no tuples" in outcome.out and "▏" in outcome.out
    assert {path.name for path in (tmp_path / "out").iterdir()} == {"attention-1.svg", "explain.html"}


def test_markup_in_a_question_is_text(tpn2f: Run, models):
    outcome = tpn2f("explain", "[bold]3[/] plus 4 [/red] :smile:", "--model", models["tpn2f"])
    assert outcome.code == 0 and outcome.out.startswith("[bold]3[/] plus 4 [/red] :smile:\n")


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ([" "], "empty"),
        ([], "give a question, or --split dev"),
        ([QUESTION, "--format", "png"], "--output DIR"),
        (
            [QUESTION, "--output", "out", "--format", "gif"],
            "no format 'gif'; expected some of png, svg, pdf, html, json",
        ),
        ([QUESTION, "--output", "out", "--format", ","], "--format is empty"),
        (["--split", "nowhere"], "nowhere"),
        ([QUESTION, "--output", "/dev/null/x"], "cannot write"),
    ],
)
def test_mistakes_are_one_line(tpn2f: Run, models, monkeypatch, arguments, expected):
    monkeypatch.setattr("sys.stdin", io.StringIO())
    outcome = tpn2f("explain", *arguments, "--model", models["tpn2f"])
    # Whatever was shown before the files could not be written may stay.
    assert_fails(replace(outcome, out="") if "/dev/null/x" in arguments else outcome, expected)


def test_a_model_that_is_not_there_is_named(tpn2f: Run):
    assert_fails(tpn2f("explain", QUESTION, "--model", "no/such/model"), "no/such/model")


def test_questions_come_from_standard_input(tpn2f: Run, models, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.StringIO(f"{QUESTION}\n\n3 plus 4\n"))
    outcome = tpn2f("explain", "--model", models["tpn2f"], "--json")
    assert [found["question"] for found in json.loads(outcome.out)["questions"]] == [QUESTION, "3 plus 4"]
