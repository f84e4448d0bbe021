"""What the tests share: where the data is, examples that are read once per process, calm settings for hypothesis."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

# Before torch is imported, and for the processes that tests start: the workers share the cores already.
os.environ.setdefault("OMP_NUM_THREADS", "1")

REPOSITORY = Path(__file__).resolve().parents[1]
# The data sets beside the repository, where a machine has them there: the product itself does not look there.
if (SHARED := REPOSITORY.parent / "shared" / "data").is_dir():
    os.environ.setdefault("TPN2F_DATA", os.fspath(SHARED))

import pytest
import torch
from hypothesis import settings
from jaxtyping import config

from tpn2f import cli
from tpn2f.domain import Example, data_folder
from tpn2f.domains.arithmetic import Arithmetic
from tpn2f.domains.mathqa import MathQA
from tpn2f.errors import DataError

FILES = {"mathqa": "dev.json", "algolisp": "metaset3.dev.jsonl*"}
"""A file that a folder must hold to be the data set."""

# The same cases on every machine, and no limit of time: what a test takes says nothing about what is right.
settings.register_profile("calm", deadline=None, derandomize=True)
settings.load_profile("calm")


@contextlib.contextmanager
def unchecked() -> Iterator[None]:
    """Without the checks of every call's types, which make tens of thousands of records nine times slower to read."""
    before = config.jaxtyping_disable
    config.update("jaxtyping_disable", True)
    try:
        yield
    finally:
        config.update("jaxtyping_disable", before)


@cache
def find_data(name: str) -> Path | str:
    """The folder of a data set, as seen from the repository, or the reason why it is not there."""
    with contextlib.chdir(REPOSITORY):
        try:
            folder = data_folder(name).resolve()
        except DataError as error:
            return str(error)
    return folder if any(folder.glob(FILES[name])) else f"no {FILES[name]} in {folder}"


def _found(name: str) -> Path:
    found = find_data(name)
    if isinstance(found, str):
        pytest.skip(found)
    return found


@pytest.fixture(autouse=True)
def small_numbers() -> Iterator[None]:
    """Training in this process rounds the smallest numbers to zero, for speed; the next test wants them back."""
    yield
    torch.set_flush_denormal(False)


@pytest.fixture(scope="session")
def mathqa_data() -> Path:
    """The folder of MathQA."""
    return _found("mathqa")


@pytest.fixture(scope="session")
def algolisp_data() -> Path:
    """The folder of AlgoLisp."""
    return _found("algolisp")


@pytest.fixture(scope="session")
def mathqa_examples(mathqa_data: Path) -> Callable[[str], list[Example]]:
    """The examples of a split of MathQA, read once per process."""
    domain = MathQA(mathqa_data)

    @cache
    def read(split: str) -> list[Example]:
        with unchecked():
            return list(domain.examples(split))

    return read


@pytest.fixture(scope="session")
def arithmetic_examples() -> Callable[[str], list[Example]]:
    """The examples of a split of Arithmetic, made once per process."""
    with unchecked():
        made = {split: list(Arithmetic().examples(split)) for split in Arithmetic.splits}
    return lambda split: made[split]


@pytest.fixture
def nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to work in, from which no data can be found."""
    inner = tmp_path / "work" / "here"
    inner.mkdir(parents=True)
    monkeypatch.chdir(inner)
    monkeypatch.delenv("TPN2F_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", os.fspath(tmp_path / "cache"))
    return inner


@dataclass(frozen=True)
class Outcome:
    code: int
    out: str
    err: str


Run = Callable[..., Outcome]


@pytest.fixture
def tpn2f(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], nowhere: Path) -> Run:
    """Runs a command as the shell would, in an empty folder without data."""

    monkeypatch.setenv("COLUMNS", "120")

    def run(*arguments: object) -> Outcome:
        monkeypatch.setattr(sys, "argv", ["tpn2f", *map(str, arguments)])
        code = 0
        try:
            cli.main()
        except SystemExit as leaving:
            code = leaving.code if isinstance(leaving.code, int) else int(leaving.code is not None)
        captured = capsys.readouterr()
        return Outcome(code, captured.out, captured.err)

    return run
