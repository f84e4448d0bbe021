"""The command line: help that reads well, results, and one clear line for everything that a user can get wrong."""

from __future__ import annotations

import io
import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer

from conftest import Outcome, Run
from test_mathqa import DAMAGED, RECORD, write
from tpn2f import cli


def commands(group: object, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], object]]:
    """Every command with the words that call it, groups before their members."""
    yield path, group
    for name, command in getattr(group, "commands", {}).items():
        yield from commands(command, (*path, name))


COMMANDS = list(commands(typer.main.get_command(cli.app)))


def assert_fails(outcome: Outcome, *expected: str) -> None:
    """One line on standard error that says what is wrong, nothing on standard output, exit code 2."""
    assert outcome.code == 2
    assert outcome.out == ""
    assert outcome.err.endswith("\n") and outcome.err.count("\n") == 1, outcome.err
    assert outcome.err.startswith("tpn2f: ")
    for text in expected:
        assert text in outcome.err


# Help


def test_these_commands_exist() -> None:
    names = {" ".join(path) for path, _ in COMMANDS}
    assert {"version", "run", "demo", "evaluate", "data", "data show", "data check", "data get"} <= names


@pytest.mark.parametrize(
    ("path", "command"), COMMANDS, ids=lambda value: " ".join(value) if isinstance(value, tuple) else ""
)
def test_help_reads_well(tpn2f: Run, path: tuple[str, ...], command) -> None:
    first = (command.help or "").strip().splitlines()[0]
    assert first.endswith((".", ":")) and first[0].isupper() and len(first) > 20
    outcome = tpn2f(*path, "--help")
    assert outcome.code == 0 and outcome.err == ""
    assert "Usage: tpn2f" in outcome.out and first[:40] in outcome.out
    for parameter in command.params:
        if parameter.name != "help":
            assert parameter.help and parameter.help[0].isupper() | parameter.help.startswith("math"), parameter.name


def test_no_arguments_show_help(tpn2f: Run) -> None:
    outcome = tpn2f()
    assert "Usage: tpn2f" in outcome.out + outcome.err


# Errors


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A folder with train and dev of MathQA, one record each, and files that are wrong in several ways."""
    folder = tmp_path / "mathqa"
    write(folder, [RECORD], "train")
    write(folder, [RECORD], "dev")
    write(folder, "[]", "test")
    write(folder, "[{", "challenge_test")
    (folder / "empty.jsonl").write_text("")
    (folder / "wrong.jsonl").write_text("{}\n")
    return folder


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("data show mathqa", ["no data for mathqa: looked in", "tpn2f data get mathqa", "--data DIR"]),
        ("data show mathqa --data {data}/absent", ["absent/dev.json does not exist"]),
        ("data show mathqa --data {data} --split tests", ["no split 'tests'; it has train, dev, test, challenge_test"]),
        ("data show mathqa --data {data} --split test", ["test.json", "got an empty list"]),
        ("data show mathqa --data {data} --split challenge_test", ["challenge_test.json is not valid JSON"]),
        ("data show mathqa --data {data} --start 5", ["mathqa dev has no example 5"]),
        ("data show mathqua", ["no domain is called 'mathqua'; installed are"]),
        ("data show absent.py:Name", ["absent.py is not a file"]),
        ("data check mathqa --data {data}/absent", ["mathqa has no data"]),
        ("data check mathqa --data {data} --split test", ["got an empty list"]),
        ("data get letters", ["letters"]),
        ("evaluate --data {data}/absent", ["absent/dev.json does not exist"]),
        ("evaluate --data {data} --split tests", ["no split 'tests'"]),
        ("evaluate --options", ["--options works only with a model: name one with --model"]),
        ("evaluate --data {data} --system oracle", ["no system is called 'oracle'; there are retrieval, gold, empty"]),
        ("evaluate --data {data} --predictions {data}/absent", ["absent is not a file"]),
        ("evaluate --data {data} --predictions {data}/empty.jsonl", ["empty.jsonl is empty"]),
        ("evaluate --data {data} --predictions {data}/wrong.jsonl", ["wrong.jsonl, line 1: expected a JSON object"]),
        ("run add(n0,n1", ["position 9: expected ',' or ')'"]),
        ("run (add", ["position 4: expected 1 closing bracket"]),
        ("run add(n0,n1) -q 3", ["step 0, add(n0, n1): the problem has no n1 (it has n0)"]),
        ("run divide(n0,const_0) -q 3", ["the problem has no const_0"]),
        ("run divide(n0,n1) -q 3_0", ["step 0, divide(n0, n1): division by zero"]),
        ("run add(n0,n1) -i n0", ["--input 'n0': expected name=value"]),
        ("run add(n0,n1) -i =3", ["--input '=3': expected name=value"]),
        ("run add(n0,n1) -i n0=three", ["--input n0: 'three' is not JSON", "texts need quotes"]),
        ('run add(n0,n1) -i n0="three" -i n1=1', ["n0 is str, not a number"]),
        ("run add(n0,n1) -d nothing", ["no domain is called 'nothing'"]),
    ],
)
def test_what_a_user_can_get_wrong_is_one_line(tpn2f: Run, data: Path, command: str, expected: list[str]) -> None:
    words = [word.replace("_", " ") if word == "3_0" else word.format(data=data) for word in command.split()]
    assert_fails(tpn2f(*words), *expected)


def test_deeply_nested_input_is_one_line(tpn2f: Run) -> None:
    assert_fails(tpn2f("run", "add(n0,n1)", "-i", "n0=" + "[" * 100_000), "is not JSON")


def test_a_report_that_cannot_be_written_is_one_line(tpn2f: Run, data: Path) -> None:
    place = data / "dev.json" / "report.json"
    outcome = tpn2f("evaluate", "--data", data, "--system", "gold", "--output", place)
    assert outcome.code == 2
    assert f"tpn2f: cannot write {place}" in outcome.err


@pytest.mark.parametrize(
    "words", [("frobnicate",), ("evaluate", "--frobnicate"), ("evaluate", "--limit", "-1"), ("run",)]
)
def test_wrong_usage_shows_the_usage_and_leaves_with_2(tpn2f: Run, words: tuple[str, ...]) -> None:
    outcome = tpn2f(*words)
    assert outcome.code == 2
    assert outcome.out == ""
    assert "Usage: tpn2f" in outcome.err and "Traceback" not in outcome.err


def test_an_interruption_is_quiet(tpn2f: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("tpn2f.cli.answer.load_domain", interrupt)
    outcome = tpn2f("run", "add(n0,n1)", "-q", "3 and 4")
    assert (outcome.code, outcome.out, outcome.err) == (130, "", "tpn2f: stopped\n")


# Results


def test_version(tpn2f: Run) -> None:
    assert tpn2f("version").out.startswith("tpn2f 0.")


def test_run_shows_the_steps(tpn2f: Run) -> None:
    outcome = tpn2f("run", "add(n0,n2)|divide(n1,const_100)|divide(#0,#1)", "-q", "20 from 60% of it is 1,088.")
    assert outcome.code == 0
    assert outcome.out.splitlines() == [
        "  #0  add(n0, n2) = 20 + 1088 = 1108",
        "  #1  divide(n1, const_100) = 60 / 100 = 0.6",
        "  #2  divide(#0, #1) = 1108 / 0.6 = 1846.67",
        "  = 1846.67",
    ]


def test_run_takes_values_by_name_and_trees(tpn2f: Run) -> None:
    outcome = tpn2f("run", "(divide (add n0 n1) const_2)", "-i", "n0=3", "-i", "n1=4")
    assert outcome.out.splitlines()[-1] == "  = 3.5"


def test_run_speaks_other_languages(tpn2f: Run) -> None:
    program = "(reduce (filter a (lambda1 (== (% arg1 2) 0))) 0 +)"
    outcome = tpn2f("run", program, "-d", "algolisp", "-i", "a=[3, 8, 12]")
    assert outcome.code == 0, outcome.err
    assert outcome.out.splitlines() == [f"  {program}", "  a = [3, 8, 12]", "  = 20"]


@pytest.mark.parametrize("program", ["(partial0 1 +)", "(lambda1 (+ arg1 1))"])
def test_a_function_as_a_result_is_shown_or_refused(tpn2f: Run, program: str) -> None:
    outcome = tpn2f("run", program, "-d", "algolisp")
    assert outcome.code in (0, 2)
    assert outcome.out if outcome.code == 0 else outcome.err.startswith("tpn2f: ")


def test_hostile_programs_are_one_line(tpn2f: Run) -> None:
    outcome = tpn2f("run", "(pow 1000000000 1000000000)", "-d", "algolisp")
    assert outcome.code == 2
    assert outcome.err.startswith("tpn2f: ") and outcome.err.count("\n") == 1


def test_evaluate_prints_a_table_and_writes_json(tpn2f: Run, data: Path, tmp_path: Path) -> None:
    place = tmp_path / "new" / "report.json"
    outcome = tpn2f("evaluate", "--data", data, "--system", "gold", "--output", place)
    assert outcome.code == 0
    assert outcome.out.startswith("mathqa dev: gold\n") and "template seen in train" in outcome.out
    assert json.loads(place.read_text())["facts"]["split"] == "dev"
    as_json = tpn2f("evaluate", "--data", data, "--system", "gold", "--json")
    assert json.loads(as_json.out)["groups"] == json.loads(place.read_text())["groups"]


def test_evaluate_scores_a_file(tpn2f: Run, data: Path) -> None:
    (data / "mine.jsonl").write_text(json.dumps({"program": "multiply(n2, n0)"}) + "\n")
    outcome = tpn2f("evaluate", "--data", data, "--predictions", data / "mine.jsonl", "--json")
    metrics = json.loads(outcome.out)["groups"][0]["metrics"]
    assert (metrics["strict"]["value"], metrics["commutative"]["value"]) == (0.0, 1.0)


def test_show_prints_texts_as_they_are(tpn2f: Run, data: Path) -> None:
    write(data, [{**RECORD, "Problem": "a ratio a:b:c of 3 and :smile: is [bold] 4 [/bold] and 5"}], "dev")
    outcome = tpn2f("data", "show", "mathqa", "--data", data)
    assert "dev:0  a ratio a:b:c of 3 and :smile: is [bold] 4 [/bold] and 5" in outcome.out
    assert "#0  multiply(n0, n2) = 3 × 5 = 15" in outcome.out
    assert "the program gives the answer" in outcome.out, "7.5 is the nearest option"


@pytest.mark.usefixtures("arithmetic_examples")
def test_show_starts_where_it_is_told(tpn2f: Run) -> None:
    outcome = tpn2f("data", "show", "arithmetic", "--start", 4, "--count", 2)
    assert "dev:4 " in outcome.out and "dev:5 " in outcome.out and "dev:6 " not in outcome.out


def test_check_prints_tables_and_json(tpn2f: Run, data: Path, tmp_path: Path) -> None:
    outcome = tpn2f("data", "check", "mathqa", "--data", data, "--output", tmp_path / "health.json", "--list")
    assert outcome.code == 0
    for text in (
        "mathqa: contents",
        "what leaks",
        "dev in train",
        "unavailable: test: ",
        "unavailable: challenge_test: ",
    ):
        assert text in outcome.out
    as_json = tpn2f("data", "check", "mathqa", "--data", data, "--json")
    assert json.loads(as_json.out) == json.loads((tmp_path / "health.json").read_text())


def test_records_that_were_left_out_are_no_secret(tpn2f: Run, data: Path) -> None:
    write(data, [*(record for record, _ in DAMAGED), RECORD], "dev")
    check = tpn2f("data", "check", "mathqa", "--data", data, "--split", "dev")
    assert check.out.count("left out: dev.json, record ") == len(DAMAGED)
    for command in (("data", "show", "mathqa"), ("evaluate", "--system", "gold")):
        outcome = tpn2f(*command, "--data", data)
        assert outcome.code == 0
        assert outcome.err.count("left out: dev.json, record ") == 3
        assert f"left out: {len(DAMAGED) - 3} more records of dev" in outcome.err


def test_ids_of_doubtful_records_are_listed(tpn2f: Run, data: Path) -> None:
    write(data, [RECORD, {**RECORD, "correct": "e"}], "dev")
    outcome = tpn2f("data", "check", "mathqa", "--data", data, "--split", "dev", "--list")
    assert "dev, the gold option is not a number: dev:1" in outcome.out


def test_the_demo_runs(tpn2f: Run) -> None:
    outcome = tpn2f("demo")
    assert outcome.code == 0, outcome.err
    for text in ("= $30  (", "= 140 pages  (", "= 36  (", "= 720", "= 40", "(pow 1000000000 1000000000)"):
        assert text in outcome.out


@pytest.mark.parametrize("command", [[sys.executable, "-m", "tpn2f"], [str(Path(sys.executable).parent / "tpn2f")]])
def test_the_program_runs_from_a_shell(command: list[str], tmp_path: Path) -> None:
    done = subprocess.run(
        [*command, "run", "add(n0,n1)", "-q", "3 and 4"], cwd=tmp_path, check=False, capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.endswith("= 7\n")
    failed = subprocess.run([*command, "run", "add(n0"], cwd=tmp_path, check=False, capture_output=True, text=True)
    assert failed.returncode == 2 and failed.stdout == "" and failed.stderr.count("\n") == 1


@pytest.fixture(scope="module")
def run_directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model that was trained for a moment."""
    folder = tmp_path_factory.mktemp("runs")
    sizes = {"n_fillers": 7, "d_filler": 4, "n_roles": 5, "d_role": 3, "d_word": 6, "d_symbol": 5}
    model = "\n".join(f"{name} = {size}" for name, size in sizes.items())
    text = f'name = "tiny"\n[data]\ndomain = "arithmetic"\nlimit = 50\n[model]\n{model}\n[training]\nepochs = 1\n'
    (folder / "tiny.toml").write_text(text)
    command = [sys.executable, "-m", "tpn2f", "train", str(folder / "tiny.toml"), "--folder", str(folder / "tiny")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "finished: best dev" in done.stdout
    return folder / "tiny"


def test_a_trained_model_solves_and_is_scored(tpn2f: Run, run_directory: Path, tmp_path: Path) -> None:
    solved = tpn2f("solve", "What is 3 plus 4 frobs?", "--model", run_directory, "--alternatives", "1")
    assert solved.code == 0, solved.err
    assert "frobs" in solved.out and "confidence" in solved.out and "  or  " in solved.out
    saved = tmp_path / "predictions.jsonl"
    scored = tpn2f("evaluate", "--model", run_directory, "--limit", "10", "--save", saved)
    assert scored.code == 0, scored.err
    assert "arithmetic dev: tiny (greedy)" in scored.out
    assert len(saved.read_text().splitlines()) == 10


def test_solve_reads_standard_input(tpn2f: Run, run_directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("add 1 and 2\n\nadd 3 and 4\n"))
    solved = tpn2f("solve", "--model", run_directory)
    assert solved.code == 0, solved.err
    assert solved.out.count("confidence") == 2


def test_solve_without_a_model_or_a_question_is_one_line(
    tpn2f: Run, run_directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tpn2f.pretrained.PRETRAINED", run_directory / "none")
    assert_fails(tpn2f("solve", "1 plus 1"), "no model is bundled for everyday (there is none yet)", "--model")
    assert_fails(tpn2f("solve", "1 plus 1", "-d", "algolisp"), "no model is bundled for algolisp")
    assert_fails(tpn2f("solve", "", "--model", run_directory), "empty")
    assert_fails(tpn2f("solve", "1", "--model", run_directory / "nothing"), "there is no model")
    assert_fails(tpn2f("solve", "1", "--model", run_directory, "--options", "a ) 1"), "no questions with options")
    assert_fails(tpn2f("solve", "1", "--file", "x", "--model", run_directory), "expected only one of the two")
    assert_fails(tpn2f("solve", "--file", "x", "--model", run_directory), "cannot read x")


def test_solve_on_a_terminal_without_a_question_says_what_to_do(
    tpn2f: Run, run_directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True)
    assert_fails(tpn2f("solve", "--model", run_directory), "there is no question", "--file")


def test_solve_goes_on_behind_broken_lines(tpn2f: Run, run_directory: Path, tmp_path: Path) -> None:
    lines = ['{"question": "add 1 and 2"}', '{"question": ', '{"text": " "}', "", '{"text": "add \\ud800 3 and 4"}']
    (tmp_path / "questions.jsonl").write_text("\n".join(lines))
    outcome = tpn2f("solve", "--file", tmp_path / "questions.jsonl", "--model", run_directory, "--json")
    assert outcome.code == 1
    records = [json.loads(line) for line in outcome.out.splitlines()]
    assert [record["question"] for record in records] == ["add 1 and 2", "", "", "add \ufffd 3 and 4"]
    assert [bool(record.get("program")) for record in records] == [True, False, False, True]
    told = outcome.err.splitlines()
    assert [line.split(":")[1].strip() for line in told] == ["questions.jsonl, line 2", "questions.jsonl, line 3"]


def test_solve_holds_answers_back(tpn2f: Run, run_directory: Path) -> None:
    outcome = tpn2f("solve", "add 1 and 2", "--model", run_directory, "--abstain-below", "1")
    assert outcome.code == 0 and "no answer: confidence" in outcome.out and "step 1" not in outcome.out


def test_the_program_is_shown_on_request(tpn2f: Run, run_directory: Path) -> None:
    words = ("solve", "add 1 and 2", "--model", run_directory)
    assert "#0" not in tpn2f(*words).out
    assert "#0" in tpn2f(*words, "--program").out


def test_what_is_no_question_is_refused_in_one_line(tpn2f: Run, tmp_path: Path) -> None:
    refused = tpn2f("solve", "hello")
    assert (refused.code, refused.out, refused.err.count("\n")) == (1, "", 1)
    assert refused.err.startswith("tpn2f: there is no number in this text")
    record = json.loads(tpn2f("solve", "I have 3 apples.", "--json").out)
    assert record["refused"] and "does not ask anything" in record["error"]
    place = tmp_path / "questions.txt"
    place.write_text("hello\n2+2\n")
    mixed = tpn2f("solve", "--file", place)
    assert mixed.code == 1 and "= 4" in mixed.out and "line 1: there is no number" in mixed.err
    assert_fails(tpn2f("solve", "2+2", "--file", place), "both as arguments and with --file")


def test_solve_keeps_what_it_printed_when_it_is_stopped(
    tpn2f: Run, run_directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Stopped:
        def __iter__(self) -> Iterator[str]:
            yield "add 1 and 2\n"
            raise KeyboardInterrupt

        def isatty(self) -> bool:
            return False

    monkeypatch.setattr(sys, "stdin", Stopped())
    outcome = tpn2f("solve", "--model", run_directory)
    assert outcome.code == 130 and "confidence" in outcome.out and outcome.err.endswith("tpn2f: stopped\n")


@pytest.mark.parametrize(
    "text", ["word " * 2_000, "数 を 足す 😀 \u200d", "\x1b]0;owned\x07 5 plus 6", "<b>[bold]5[/bold]"]
)
def test_solve_answers_or_refuses_strange_texts_in_words(tpn2f: Run, run_directory: Path, text: str) -> None:
    outcome = tpn2f("solve", text, "--model", run_directory)
    assert outcome.code in (0, 2) and "Traceback" not in outcome.err
    assert "\x1b" not in outcome.out and "\x07" not in outcome.out
    assert "confidence" in outcome.out or outcome.err.startswith("tpn2f: ")


def test_calibrate_measures_and_writes(tpn2f: Run, run_directory: Path, tmp_path: Path) -> None:
    place = tmp_path / "confidence.json"
    words = ("calibrate", run_directory, "--limit", 40, "--dry", "--output", place)
    outcome = tpn2f(*words)
    assert outcome.code == 0, outcome.err
    assert "expected calibration error" in outcome.out and "called a guess" in outcome.out
    trust = json.loads(place.read_text())["trust"]
    assert {one["source"] for one in trust["left_out"]} == {"half 1", "half 2"}
    assert set(trust["belief"]["names"]) <= {*trust["belief"]["names"], "familiar"} and trust["together"]["count"] == 40
    assert (
        sum(part["count"] for part in json.loads(place.read_text())["after"])
        == json.loads(place.read_text())["reported"]
    )
    assert_fails(tpn2f("calibrate", run_directory, "--split", "test"), "calibrate on dev")
    assert_fails(tpn2f("calibrate", run_directory, "--measure", "--split", "test"), "calibrate it first")


def test_a_calibrated_model_is_measured_on_test(tpn2f: Run, run_directory: Path, tmp_path: Path) -> None:
    copied = shutil.copytree(run_directory / "checkpoints" / "best", tmp_path / "model")
    assert tpn2f("calibrate", copied, "--limit", 40).code == 0
    before = (copied / "state.json").read_bytes()
    place = tmp_path / "confidence.json"
    measured = tpn2f("calibrate", copied, "--measure", "--split", "test", "--limit", 30, "--output", place)
    assert measured.code == 0 and "of these right" in measured.out, measured.err
    told = json.loads(place.read_text())
    assert [(one["source"], one["count"]) for one in told["sources"]] == [("test", 30), ("all", 30)]
    assert (copied / "state.json").read_bytes() == before


def test_export_writes_files(tpn2f: Run, run_directory: Path, tmp_path: Path) -> None:
    pytest.importorskip("onnx", reason="the extra `export` is not installed")
    outcome = tpn2f("export", run_directory, tmp_path / "onnx")
    assert outcome.code == 0 and "encoder.onnx" in outcome.out and (tmp_path / "onnx" / "step.onnx").is_file()


# A domain of one's own


def test_a_domain_is_begun_checked_and_shown(tpn2f: Run, nowhere: Path) -> None:
    made = tpn2f("domain", "new", "rover")
    assert made.out.splitlines() == ["written: rover.py", "written: test_rover.py", "next: tpn2f domain check rover.py"]
    assert_fails(tpn2f("domain", "new", "rover"), "rover.py and test_rover.py exists already", "--force")
    assert tpn2f("domain", "new", "rover", "--force").code == 0
    checked = tpn2f("domain", "check", "rover.py")
    assert (checked.code, checked.err) == (0, "nothing is wrong\n")
    assert checked.out.startswith("rover: 3 relations, 2 constants\nexamples: train ")
    shown = tpn2f("domain", "show", "rover.py:rover")
    assert "  walk(moves: list[text], steps: number) -> list[text]  so many steps forward" in shown.out


def test_a_wrong_domain_is_told_in_plain_words(tpn2f: Run, nowhere: Path) -> None:
    tpn2f("domain", "new", "rover")
    text = (nowhere / "rover.py").read_text()
    (nowhere / "rover.py").write_text(text.replace('("turn", program, side)', '("turn", program)'))
    checked = tpn2f("domain", "check", "rover.py")
    assert checked.code == 1
    assert "takes 2 arguments, got 1" in checked.out and "error" in checked.out
    listed = json.loads(tpn2f("domain", "check", "rover.py", "--json").out)
    assert {"note", "error"} <= {finding["level"] for finding in listed}
    (nowhere / "rover.py").write_text(text.replace("steps: int", "steps"))
    assert_fails(tpn2f("domain", "check", "rover.py"), "walk: steps has no annotation")
    assert_fails(tpn2f("domain", "check", "absent.py"), "absent.py is not a file")
    assert_fails(tpn2f("domain", "new", "My Robot"), "cannot be the name of a domain")


def test_a_value_may_come_from_a_file(tpn2f: Run, nowhere: Path) -> None:
    (nowhere / "a.json").write_text("[3, 4]")
    (nowhere / "b.txt").write_text("3")
    outcome = tpn2f("run", "(reduce a 0 +)", "-d", "algolisp", "-i", "a=@a.json")
    assert outcome.out.splitlines()[-1] == "  = 7"
    assert_fails(tpn2f("run", "add(n0,n0)", "-i", "n0=@b.txt"), "n0 is str, not a number")
    assert_fails(tpn2f("run", "add(n0,n0)", "-i", "n0=@absent"), "--input n0: cannot read absent")
