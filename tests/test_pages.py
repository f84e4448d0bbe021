"""The pages are true: what README.md and docs/ tell people to type is run, and gives what is printed there."""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import shutil
import subprocess
import sys
import time
import tomllib
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

import pytest

from conftest import FILES, Outcome, Run, unchecked
from pages import (
    PAGES,
    ROOT,
    Block,
    Command,
    blocks,
    commands,
    inline_commands,
    is_whole,
    matches,
    parse,
    resembles,
    steps,
)
from tpn2f.config import load_config

TINY = ["--set", "training.epochs=1", "--set", "training.evaluate_examples=20", "--set", "data.limit=60"]
SMALLER = {
    ("train",): TINY,
    ("tune",): ["--trials", "1", *TINY],
    ("evaluate",): ["--limit", "20"],
    ("calibrate",): ["--limit", "40"],
}
"""What is added to commands that would take long: what comes after them needs only what they leave behind."""

PARSED = {("data", "get"), ("data", "check"), ("data", "generate"), ("reproduce",), ("bundle",), ("results",)}
"""Commands that fetch, read whole data sets or write into the repository: their words are checked, tests of their own
run them."""

RUN = {"console", "python"}
SHOWN = {
    "text",
    "bash",
    "json",
    "toml",
    "yaml",
    "html",
    "css",
    "mermaid",
    "math",
    "bibtex",
    "dockerfile",
    "javascript",
    "csv",
}
PASSED_OVER = {"cd", "source", ".", "git", "export", "sbatch", "srun", "docker"}
"""What a shell does around the commands; it leaves nothing behind that a later command needs."""

EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
TARGETS = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
NO_DATA = re.compile("no data for|has no data")


@dataclass
class Reader:
    """Somebody who follows a page: types its commands, runs its code and compares, in a folder of their own."""

    folder: Path
    tpn2f: Run
    names: dict[str, object] = field(default_factory=lambda: {"__name__": "__main__"})
    servers: contextlib.ExitStack = field(default_factory=contextlib.ExitStack)
    address: str = ""

    def follow(self, step: Block | Command) -> None:
        if isinstance(step, Command):
            if is_whole(step, self.folder):
                self.type(step)
        elif step.said == "file":
            (self.folder / step.value).write_text(step.text, encoding="utf-8")
        elif step.said == "part of":
            assert step.text.strip() in self.tpn2f(*shlex.split(step.value)[1:]).out
        elif step.said != "not run" and step.language == "console":
            for command in commands(step):
                self.type(command)
        elif step.said != "not run" and step.language == "python":
            self.run_python(step)
        elif step.said != "not run" and step.language == "bash":
            # A script for a scheduler, which is not here: the commands in it are checked.
            for text in re.findall(r"tpn2f [^&|;\n]+", re.sub(r"\\\n\s*", "", step.text)):
                parse(shlex.split(text))

    def run_python(self, block: Block) -> None:
        """Runs a block; what it prints is what its comments behind `print` say."""
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(block.text, f"line {block.line}", "exec"), self.names)  # noqa: S102
        expected = re.findall(r"^ *print\(.*\)  # (.*)$", block.text, re.MULTILINE)
        if expected:
            assert matches("\n".join(expected), printed.getvalue()), printed.getvalue()

    def type(self, command: Command) -> None:
        words = command.words
        # Settings of the environment before a command change how it runs, not what it prints.
        while words and re.fullmatch(r"[A-Z_0-9]+=.*", words[0]):
            words = words[1:]
        if not words or words[0] in PASSED_OVER:
            return
        if words[0] == "tpn2f" and not {"|", ">", "<", "&&", ";"} & set(words):
            self.call(words, command.shown)
        elif words[0] == "make":
            assert {word for word in words[1:] if "=" not in word} <= set(TARGETS)
        elif words[0] in ("pip", "pipx", "uv"):
            wanted = {name for extras in re.findall(r"\[([\w,]+)\]", command.text) for name in extras.split(",")}
            assert wanted <= set(EXTRAS)
        elif words[0] == "torchrun":
            parse(words[words.index("tpn2f") :])
        else:
            self.shell(command)

    def call(self, words: list[str], shown: str) -> None:
        words = words[:-1] if words[-1] == "&" else words
        path = parse(words)
        if path in PARSED or reads_much(path, words):
            return
        if path == ("serve",):
            self.serve(words)
            return
        smaller = SMALLER.get(path, [])
        with unchecked():
            done = self.tpn2f(*words[1:], *smaller)
        if done.code and NO_DATA.search(done.err) and "TPN2F_DATA" not in os.environ:
            return
        self.compare(done, shown, resembles if smaller else matches)

    def shell(self, command: Command) -> None:
        """Runs a command of another program as it stands; questions to a server go to the one of this page."""
        text = re.sub(r"(http://)?(localhost|127\.0\.0\.1):\d+/?", self.address, command.text)
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        environment = {**os.environ, "PATH": path, "PYTHONPATH": os.pathsep.join(sys.path)}
        ran = subprocess.run(
            ["bash", "-c", text], cwd=self.folder, env=environment, capture_output=True, text=True, check=False
        )
        self.compare(Outcome(ran.returncode, ran.stdout, ran.stderr), command.shown, matches)

    def compare(self, done: Outcome, shown: str, same: Callable[[str, str], bool]) -> None:
        assert done.code == 0, done.err
        if shown.strip():
            assert any(same(shown, text) for text in (done.out, done.out + done.err, done.err + done.out)), (
                f"printed:\n{done.out}{done.err}\nshown:\n{shown}"
            )

    def serve(self, words: list[str]) -> None:
        """Starts the server of a page, and looks at what a browser would get."""
        command = [sys.executable, "-m", *words, "--port", "0", "--no-open"]
        server = self.servers.enter_context(
            subprocess.Popen(command, cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        )
        self.servers.callback(server.terminate)
        assert server.stdout is not None
        self.address = server.stdout.readline().strip().rstrip("/") + "/"
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+/", self.address)
        assert "<title>" in fetch(self.address)


def reads_much(path: tuple[str, ...], words: list[str]) -> bool:
    """Whether a command would read a whole training split first; its config is read all the same."""
    if path in (("train",), ("tune",)):
        settings = [word for before, word in pairwise(words) if before == "--set"]
        return load_config(Path(words[2]), settings).data.domain in FILES and "--domain" not in words
    return path == ("evaluate",) and "--model" not in words


def fetch(address: str) -> str:
    """The page, once the server that has printed its address is ready."""
    for _ in range(600):
        try:
            with urllib.request.urlopen(address, timeout=60) as answer:
                return answer.read().decode()
        except OSError:
            time.sleep(0.1)
    raise AssertionError("the server never answered")


@pytest.fixture
def reader(nowhere: Path, tpn2f: Run, monkeypatch: pytest.MonkeyPatch) -> Iterator[Reader]:
    """A reader in a folder with what pages need of a clone, and the data where this machine has it."""
    for name in ("configs", "examples"):
        shutil.copytree(ROOT / name, nowhere / name, ignore=shutil.ignore_patterns("__pycache__"))
    if DATA:
        monkeypatch.setenv("TPN2F_DATA", DATA)
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.syspath_prepend(nowhere)
    here = Reader(nowhere, tpn2f)
    with here.servers:
        yield here


DATA = os.environ.get("TPN2F_DATA")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_what_a_page_tells_to_type_works_and_gives_what_it_shows(page: Path, reader: Reader) -> None:
    for step in steps(page.read_text(encoding="utf-8")):
        try:
            reader.follow(step)
        except Exception as error:
            raise AssertionError(f"{page.name}, line {step.line}: {error}") from error


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_command_in_the_text_exists_with_its_options(page: Path) -> None:
    for command in inline_commands(page.read_text(encoding="utf-8")):
        parse(command.words, mention=True)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_block_says_what_it_is(page: Path) -> None:
    for block in blocks(page.read_text(encoding="utf-8")):
        where = f"{page.name}, line {block.line}"
        script = block.language == "bash" and block.text.startswith("#!")
        assert script or block.language in RUN | SHOWN, f"{where}: expected console for commands, text for output"
        if block.language not in RUN and block.said != "file":
            assert not re.search(r"^(\$|tpn2f) ", block.text, re.MULTILINE), f"{where}: use a console block"


def test_what_is_not_run_has_its_reason(record_property: Callable[[str, object], None]) -> None:
    reasons = {
        f"{page.name}, line {block.line}": block.value
        for page in PAGES
        for block in blocks(page.read_text(encoding="utf-8"))
        if block.said == "not run"
    }
    record_property("not run", reasons)
    assert all(len(reason.split()) >= 2 for reason in reasons.values()), reasons


def test_every_link_leads_to_a_file() -> None:
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#\s]+)\)", page.read_text(encoding="utf-8")):
            if not target.startswith(("http", "mailto:")):
                # The page of commands is made while the site is built.
                assert (page.parent / target).exists() or target == "cli.md", (page.name, target)


def test_every_module_that_a_page_names_is_there() -> None:
    for page in PAGES:
        for tree in re.findall(r"```text\nsrc/tpn2f/\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL):
            for name in re.findall(r"(?:^ *|  )([a-z]+(?:\.py|/))(?= )", tree, re.MULTILINE):
                assert (ROOT / "src" / "tpn2f" / name).exists(), name


# The tutorial


def test_the_tutorial_is_short_and_goes_from_an_empty_file_to_a_web_page() -> None:
    page = (ROOT / "docs" / "add_a_domain.md").read_text(encoding="utf-8")
    (file,) = [block for block in blocks(page) if block.said == "file"]
    assert len(file.text.splitlines()) <= 40
    typed = [command.words[1] for block in blocks(page) if block.language == "console" for command in commands(block)]
    assert typed == ["domain", "run", "train", "evaluate", "calibrate", "solve", "solve", "domain", "serve"]


# The rules themselves


def test_what_is_shown_is_compared() -> None:
    assert matches("a ... c\n", "a bb c\n") and matches("a\n...\nb", "a\n1\n2\nb\n") and matches("a\n...\nb", "a\nb\n")
    assert not matches("a", "b") and not matches("a\nb", "a\n") and not matches("a ... c", "a\nc")
    assert resembles("loss 1.25\n", "first\nloss  0.75\n") and not resembles("loss 1.25\n", "cost 1.25\n")


def test_blocks_and_commands_are_found() -> None:
    page = "<!-- not run: needs a cluster -->\n```console\n$ a \\\n  b  # c\nd\n$ e\n```\n| x | `tpn2f run x` |\n"
    first, second = steps(page)
    assert isinstance(first, Block) and (first.said, first.value) == ("not run", "needs a cluster")
    assert [(command.words, command.shown) for command in commands(first)] == [(["a", "b"], "d\n"), (["e"], "")]
    assert isinstance(second, Command) and second.text == "tpn2f run x"


@pytest.mark.parametrize("words", ["tpn2f frob", "tpn2f run --frob", "tpn2f solve x --beam none", "tpn2f run"])
def test_a_wrong_command_is_found(words: str) -> None:
    with pytest.raises(AssertionError):
        parse(words.split())
