"""The command line under fire: signals, devices that are full, terminals that can show little, texts that attack."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from conftest import Run
from test_cli import assert_fails
from tpn2f.cli import learn
from tpn2f.cli.answer import print_json
from tpn2f.cli.console import Terminal, bearing, visible
from tpn2f.cli.learn import _stopping
from tpn2f.cli.terminal import check_targets
from tpn2f.domain import Splits, load_domain
from tpn2f.errors import DataError
from tpn2f.metrics import Group, Report


def shell(
    *words: str, stdout: int | io.IOBase = subprocess.PIPE, **environment: str
) -> subprocess.CompletedProcess[str]:
    """A command in a process of its own, because terminals and streams belong to a process."""
    return subprocess.run(
        [sys.executable, "-m", "tpn2f", *words],
        stdout=stdout,
        stderr=subprocess.PIPE,
        check=False,
        text=True,
        errors="replace",
        env={**os.environ, **environment},
    )


# Signals


class Work:
    stop = False


@pytest.fixture
def signals() -> Iterator[None]:
    """As in a terminal: whoever starts the tests in the background, or with nohup, has some of them ignored."""
    usual = {signal.SIGINT: signal.default_int_handler, signal.SIGTERM: signal.SIG_DFL, signal.SIGHUP: signal.SIG_DFL}
    before = {number: signal.signal(number, handler) for number, handler in usual.items()}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.usefixtures("signals")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_stops_in_good_order_and_is_remembered(number: int) -> None:
    before = [signal.getsignal(one) for one in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)]
    work = Work()
    with _stopping(work) as heard:  # type: ignore[arg-type]
        os.kill(os.getpid(), number)
        assert work.stop and heard == [number]
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)
    assert [signal.getsignal(one) for one in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)] == before


def test_a_signal_that_is_ignored_stays_ignored() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        work = Work()
        with _stopping(work) as heard:  # type: ignore[arg-type]
            os.kill(os.getpid(), signal.SIGHUP)
            assert not work.stop and heard == []
    finally:
        signal.signal(signal.SIGHUP, before)


@pytest.mark.parametrize("code", [0, 130, 143, 129])
def test_train_exits_with_the_signal_that_stopped_it(tpn2f: Run, monkeypatch: pytest.MonkeyPatch, code: int) -> None:
    monkeypatch.setattr(learn, "train_run", lambda *arguments: code)
    assert tpn2f("train", "arithmetic").code == code


@pytest.mark.usefixtures("signals")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_tune_exits_with_the_signal_that_stopped_it(tpn2f: Run, monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    monkeypatch.setattr("tpn2f.cli.display.show_tuning", lambda *arguments: os.kill(os.getpid(), number))
    search = "training.learning_rate=log 1e-3 1e-2"
    outcome = tpn2f("tune", "arithmetic", "--search", search, "--set", "data.limit=5")
    assert outcome.code == 128 + number and "run the same command to continue" in outcome.err


# Outputs that fail


def test_a_full_device_is_one_line() -> None:
    with Path("/dev/full").open("w") as full:
        done = shell("version", stdout=full)
    assert done.returncode == 2
    assert done.stderr == "tpn2f: the output cannot be written: No space left on device\n"


def test_long_work_goes_on_without_its_output() -> None:
    with Path("/dev/full").open("w") as full:
        console = Terminal(file=full)
        with pytest.raises(OSError, match="No space left"):
            console.print("lost")
        with bearing(console):
            console.print("lost as well")
        assert not console.lenient
        os.dup2(os.open(os.devnull, os.O_WRONLY), full.fileno())


def test_a_target_is_checked_before_the_work(tpn2f: Run, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("precious")
    inside = file / "inside"
    commands = [
        ("evaluate", "--model", "nobody", "--save", inside),
        ("evaluate", "--model", "nobody", "--output", inside),
        ("calibrate", "nobody", "--output", inside),
        ("explain", "x", "--model", "nobody", "--output", inside),
        ("export", "nobody", inside),
        ("bundle", "nobody", "mine", "--to", inside),
        ("data", "check", "nobody", "--output", inside),
        ("data", "vectors", "nobody", inside),
        ("train", "arithmetic", "--folder", inside),
    ]
    for command in commands:
        assert_fails(tpn2f(*command), "cannot write", str(inside))
    assert file.read_text() == "precious"


def test_a_target_that_is_there_is_not_touched(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("precious")
    check_targets(file, None, tmp_path / "new" / "other.json")
    assert file.read_text() == "precious" and list((tmp_path / "new").iterdir()) == []
    with pytest.raises(DataError, match="cannot write"):
        check_targets(tmp_path)


@pytest.mark.parametrize("option", ["--save", "--output"])
def test_scores_are_shown_even_if_they_cannot_be_kept(
    tpn2f: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, option: str
) -> None:
    """The disk becomes full between the check and the end."""
    report = Report("scores of a long night", (Group("all", 3, {}),))

    def full(*arguments: object) -> None:
        raise DataError(f"cannot write {tmp_path}: No space left on device")

    solver = SimpleNamespace(domain=load_domain("arithmetic"))
    monkeypatch.setattr("tpn2f.solver.Solver.load", lambda *arguments: solver)
    monkeypatch.setattr("tpn2f.evaluation.evaluate_model", lambda *arguments, **more: (report, [], []))
    monkeypatch.setattr("tpn2f.evaluation.write_predictions", full)
    monkeypatch.setattr("tpn2f.cli.score.write", full)
    outcome = tpn2f("evaluate", "--model", tmp_path, option, tmp_path / "kept.json")
    assert outcome.code == 2 and "scores of a long night" in outcome.out
    assert outcome.err.count("\n") == 1 and "No space left on device" in outcome.err


# Terminals


@pytest.mark.parametrize("columns", ["0", "999999999999", "²", "-5", "1"])
def test_a_terminal_of_any_width_shows_something(columns: str) -> None:
    done = shell("run", "add(n0,n1)", "-q", "3 and 4", COLUMNS=columns, LINES=columns)
    assert (done.returncode, done.stderr) == (0, "") and done.stdout.replace("\n", "").endswith("= 7")


def test_a_terminal_that_knows_few_letters_gets_question_marks() -> None:
    done = shell("run", "multiply(n0,n1)", "-q", "3 and 4", PYTHONIOENCODING="ascii")
    assert (done.returncode, done.stderr) == (0, "") and "3 ? 4 = 12" in done.stdout


@pytest.mark.parametrize(("encoding", "expected"), [("ascii", r"\u00d7"), ("utf-8", "×")])
def test_json_is_whole_in_every_encoding(monkeypatch: pytest.MonkeyPatch, encoding: str, expected: str) -> None:
    stream = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    monkeypatch.setattr(sys, "stdout", stream)
    print_json({"text": "× \x1b[2J \x9b2J \x7f"})
    text = stream.buffer.getvalue().decode(encoding)  # type: ignore[attr-defined]
    assert text == '{"text": "' + expected + r" \u001b[2J \u009b2J \u007f" + '"}\n'


HOSTILE = "a\x1b[2Jb\x9b31mc\x07d\x7fe\u202ef\ud800g"


def test_nothing_that_others_wrote_controls_the_terminal() -> None:
    stream = io.StringIO()
    console = Terminal(file=stream, force_terminal=True, color_system="standard", width=200)
    console.print(f"[bold]{HOSTILE}[/] two\nlines\tand tabs")
    shown = stream.getvalue().replace("\x1b[1m", "").replace("\x1b[0m", "")
    assert shown.startswith(visible(HOSTILE.replace("\x07", ""))), "rich itself leaves out the bell"
    assert "\ufffd" in visible(HOSTILE) and not set(visible(HOSTILE)) & set("\x1b\x9b\x07\x7f\u202e\ud800")
    assert visible("two\nlines\tand × ü 数") == "two\nlines\tand × ü 数"


def test_errors_and_programs_of_others_are_harmless(tpn2f: Run) -> None:
    hostile = "\x1b[2J\x9b31m"
    for words in (["run", f"add{hostile}(n0)"], ["run", "add(n0)", "--domain", hostile], [f"--{hostile}"], [hostile]):
        outcome = tpn2f(*words)
        assert outcome.code == 2
        assert not {"\x1b[2J", "\x9b"} & {part for part in ("\x1b[2J", "\x9b") if part in outcome.out + outcome.err}


def test_an_endless_error_is_cut(tpn2f: Run) -> None:
    outcome = tpn2f("run", "add(" * 20_000)
    assert_fails(outcome)
    assert len(outcome.err) < 2_200


# Numbers and addresses that nothing can hold


@pytest.mark.usefixtures("arithmetic_examples")
def test_a_limit_of_twenty_digits_is_all() -> None:
    splits = Splits(load_domain("arithmetic"))
    assert splits.take("dev", 10**20) == splits.take("dev") != []


@pytest.mark.parametrize("source", ["http://[", "http://[::1", "https://\ud800", "http://a b/", "://", "http://"])
def test_an_address_that_is_none_is_one_line(tpn2f: Run, tmp_path: Path, source: str) -> None:
    assert_fails(tpn2f("data", "get", "algolisp", "--into", tmp_path / "data", "--source", source), "cannot be reached")


def test_bytes_that_are_no_text_can_be_asked(tpn2f: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"caf\xe9 3\n"), encoding="utf-8"))
    assert_fails(tpn2f("explain", "--model", "nobody"), "there is no model nobody")


def test_a_value_is_read_up_to_a_size(tpn2f: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tpn2f.cli.terminal.MOST_INPUT", 1_000)
    assert_fails(tpn2f("run", "reverse(a)", "-i", "a=@/dev/zero", "-d", "algolisp"), "more than 1,000 characters")


# Names of domains


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("json", "a module of Python"),
        ("random", "a module of Python"),
        ("class", "no word of Python"),
        ("lambda", "no word of Python"),
        ("torch", "an installed package"),
        ("walk", "a word of the file"),
        ("example", "a word of the file"),
    ],
)
def test_a_domain_hides_nothing(tpn2f: Run, nowhere: Path, name: str, reason: str) -> None:
    assert_fails(tpn2f("domain", "new", name), reason)
    assert list(nowhere.iterdir()) == []
