"""Generated records: they run, they are new, they repeat for a seed, and what was learned from them gives them back."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from pathlib import Path

import pytest
from typer.testing import CliRunner

from algolisp_toy import toy_rows, write_rows
from conftest import unchecked
from tpn2f.cli import app
from tpn2f.domain import load_domain, split_roles
from tpn2f.domains.algolisp import AlgoLisp
from tpn2f.domains.algolisp.generation.generator import Generator, example_hash, generate, program_hash
from tpn2f.domains.algolisp.generation.grammar import TextGrammar
from tpn2f.domains.algolisp.generation.induction import induce, measure_coverage
from tpn2f.domains.lisp.language import evaluate
from tpn2f.domains.lisp.types import infer
from tpn2f.errors import DataError


@pytest.fixture
def toy(tmp_path: Path) -> TextGrammar:
    return TextGrammar.load(write_rows(tmp_path / "toy.jsonl", toy_rows()))


def records(grammar: TextGrammar, count: int, seed: int = 0) -> list[dict]:
    generator = Generator(grammar, seed)
    with unchecked():
        return [generator.record() for _ in range(count)]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A dev and a test file that the toy grammar has made."""
    folder = tmp_path_factory.mktemp("made")
    toy = TextGrammar.load(write_rows(folder / "toy.jsonl", toy_rows()))
    write_rows(folder / "algolisp" / "metaset3.dev.jsonl", records(toy, 200, seed=1))
    write_rows(folder / "algolisp" / "metaset3.test.jsonl", records(toy, 20, seed=2))
    return folder / "algolisp"


@pytest.fixture
def data(tmp_path: Path, made: Path, toy: TextGrammar, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data folder of its own for every test, beside the grammar toy.jsonl; the cache is empty."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("TPN2F_DATA", raising=False)
    shutil.copytree(made, tmp_path / "data" / "algolisp")
    return tmp_path / "data"


def test_every_record_runs_and_has_its_type(toy: TextGrammar) -> None:
    for record in records(toy, 60):
        assert len(record["tests"]) == 10
        assert infer(record["short_tree"], record["args"]) == record["return_type"]
        for test in record["tests"]:
            assert test["input"].keys() == record["args"].keys()
            assert evaluate(record["short_tree"], test["input"]) == test["output"]


def test_a_seed_gives_the_same_records_and_no_text_twice(toy: TextGrammar) -> None:
    made = records(toy, 80)
    assert made == records(toy, 80)
    assert made != records(toy, 80, seed=1)
    assert max(Counter(" ".join(record["text"]) for record in made).values()) == 1


def test_forbidden_programs_are_not_made_under_any_name(toy: TextGrammar) -> None:
    made = records(toy, 80)
    forbidden = {program_hash(record["short_tree"], record["args"]) for record in made[:40]}
    generator = Generator(toy, 0, forbidden, [" ".join(record["text"]) for record in made])
    again = [generator.record() for _ in range(40)]
    assert not forbidden & {program_hash(record["short_tree"], record["args"]) for record in again}
    assert not {" ".join(r["text"]) for r in made} & {" ".join(r["text"]) for r in again}
    assert generator.rejected["stands in a split that is for judging"] > 0
    assert program_hash(["min", "a", "b"], "ab") == program_hash(["min", "c", "a"], "ac")
    assert program_hash(["min", "a", "b"], "ab") != program_hash(["min", "a", "a"], "a")


def test_a_grammar_that_is_used_up_says_so(tmp_path: Path) -> None:
    rows = [{"kind": "phrase", "program": "(len {0})", "type": "int", "holes": ["int[]"], "text": "size of {0}"}]
    grammar = TextGrammar.load(write_rows(tmp_path / "one.jsonl", [{**rows[0], "count": 1}]))
    generator = Generator(grammar, 0)
    with pytest.raises(DataError, match=r"no new record in 200 attempts.*a text that exists.*ask for fewer"):
        for _ in range(200):
            generator.record()


def test_programs_that_fail_or_give_nothing_are_given_up(tmp_path: Path) -> None:
    row = {"kind": "phrase", "type": "int", "holes": ["int"], "count": 1}
    bad = {**row, "program": "(/ {0} 0)", "text": "{0} shared among nobody"}
    good = {**row, "program": "(square {0})", "text": "the square of {0}"}
    grammar = TextGrammar.load(write_rows(tmp_path / "two.jsonl", [bad, good]))
    generator = Generator(grammar, 0)
    assert {record["short_tree"][0] for record in (generator.record() for _ in range(8))} == {"square"}
    assert generator.rejected["does not run on its inputs"] > 0


def test_the_split_reads_what_was_generated(data: Path, tmp_path: Path) -> None:
    domain = AlgoLisp(data)
    with pytest.raises(DataError, match=r"no generated data.*tpn2f data generate algolisp"):
        list(domain.examples("generated"))
    report = domain.generate(25, grammar=tmp_path / "toy.jsonl")
    assert report["output"] == str(tmp_path / "cache" / "tpn2f" / "algolisp" / "generated.jsonl")
    examples = list(domain.examples("generated"))
    assert len(examples) == report["records"] == 25
    assert all(domain.is_clean(example) for example in examples)
    judged = {example_hash(example) for split in ("dev-valid", "test") for example in domain.examples(split)}
    assert not judged & {example_hash(example) for example in examples}
    learned = {example.text for example in domain.examples("dev-train")}
    assert not learned & {example.text for example in examples}
    assert set(report["profiles"]) == {"dev-train", "generated"}
    assert report["coverage of dev-valid"]["records"] == sum(1 for _ in domain.examples("dev-valid"))


def test_nothing_is_left_when_it_stops_half_way(data: Path, tmp_path: Path) -> None:
    def stop(stage: str, done: int, total: int) -> None:
        if stage == "records" and done:
            raise KeyboardInterrupt

    output = tmp_path / "out" / "generated.jsonl"
    with pytest.raises(KeyboardInterrupt):
        generate(load_domain("algolisp", data), output, 60, 0, tmp_path / "toy.jsonl", stop)
    assert list(output.parent.iterdir()) == []


def test_without_test_data_nothing_is_generated(data: Path, tmp_path: Path) -> None:
    (data / "algolisp" / "metaset3.test.jsonl").unlink()
    with pytest.raises(DataError, match="no test data"):
        AlgoLisp(data).generate(5, grammar=tmp_path / "toy.jsonl")


def test_what_is_learned_from_records_gives_them_back(data: Path, tmp_path: Path) -> None:
    """The law of induction: the grammar of generated records derives them, and those it never saw."""
    domain = AlgoLisp(data)
    with unchecked():
        grammar = induce(domain.examples("dev-train"))
    grammar.save(tmp_path / "learned.jsonl")
    learned = TextGrammar.load(tmp_path / "learned.jsonl")
    for split, least in (("dev-train", 0.97), ("dev-valid", 0.8)):
        with unchecked():
            coverage = measure_coverage(learned, domain.examples(split))
        assert coverage.programs >= least * coverage.records, split
        assert coverage.texts >= least * coverage.records, split
    generator = Generator(learned, 0)
    original = TextGrammar.load(tmp_path / "toy.jsonl")
    for record in [generator.record() for _ in range(30)]:
        assert infer(record["short_tree"], record["args"]) == record["return_type"]
    # The letters and the order of the holes come back too.
    for skeleton in original.shapes.keys() & learned.shapes.keys():
        assert learned.shapes[skeleton] == original.shapes[skeleton]


def test_the_command(data: Path, tmp_path: Path) -> None:
    runner = CliRunner()
    output, report = tmp_path / "made.jsonl", tmp_path / "report.json"
    arguments = ["data", "generate", "algolisp", "--records", "12", "--data", str(data), "--output", str(output)]
    result = runner.invoke(app, [*arguments, "--grammar", str(tmp_path / "toy.jsonl"), "--report", str(report)])
    assert result.exit_code == 0, result.output
    assert "12 records are in" in result.output and "dev-train" in result.output
    assert len(output.read_text().splitlines()) == 12
    assert json.loads(report.read_text())["records"] == 12
    again = runner.invoke(app, [*arguments, "--grammar", str(tmp_path / "toy.jsonl"), "--json"])
    assert json.loads(again.stdout)["seed"] == 0
    refused = runner.invoke(app, ["data", "generate", "arithmetic"])
    assert isinstance(refused.exception, DataError) and "cannot generate" in str(refused.exception)


def test_a_training_file_is_used_where_there_is_one(data: Path) -> None:
    """Whoever has metaset3.train drops it in: nothing else changes."""
    domain = load_domain("algolisp", data)
    assert split_roles(domain).learn == "dev-train"
    dev = (data / "algolisp" / "metaset3.dev.jsonl").read_text().splitlines(keepends=True)
    (data / "algolisp" / "metaset3.train.jsonl").write_text("".join(dev[:7]))
    assert split_roles(domain).learn == "train"
    assert len(list(domain.examples("train"))) == 7
