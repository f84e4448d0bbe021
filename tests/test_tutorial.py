"""The tutorial is true: its file is short, its commands run in order, and what they print is what the page shows."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGE = (ROOT / "docs" / "add_a_domain.md").read_text(encoding="utf-8")
(CODE,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
SESSIONS = re.findall(r"```console\n(.*?)```", PAGE, re.DOTALL)
# The page's training is for people; here the commands after it only need a model.
SHORT = ["--set", "training.epochs=1", "--set", "data.limit=60"]


def steps() -> list[tuple[list[str], str]]:
    """The commands of the page, each with what it is shown to print."""
    found: list[tuple[list[str], str]] = []
    for line in "".join(SESSIONS).splitlines():
        if line.startswith("$ "):
            found.append((shlex.split(line[2:]), ""))
        else:
            found[-1] = (found[-1][0], found[-1][1] + line + "\n")
    return found


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A fresh clone, as far as the page needs one, with the page's file."""
    shutil.copytree(ROOT / "configs", tmp_path / "configs")
    (tmp_path / "lights.py").write_text(CODE)
    return tmp_path


def run(place: Path, words: list[str]) -> subprocess.CompletedProcess[str]:
    assert words[0] == "tpn2f"
    return subprocess.run(
        [sys.executable, "-m", *words], cwd=place, capture_output=True, text=True, check=False, env=quiet()
    )


def quiet() -> dict[str, str]:
    return {**os.environ, "COLUMNS": "200"}


def test_the_domain_is_short() -> None:
    assert len(CODE.splitlines()) <= 40


def test_the_page_goes_from_check_to_web_page() -> None:
    assert [words[1] for words, _ in steps()] == ["domain", "run", "train", "evaluate", "solve", "serve"]


def test_the_commands_run_in_order_and_print_what_the_page_shows(place: Path) -> None:
    for words, shown in steps():
        if words[1] == "serve":
            continue
        done = run(place, words + (SHORT if words[1] == "train" else []))
        assert done.returncode == 0, (words, done.stderr)
        if shown:
            assert done.stdout + done.stderr == shown
        else:
            assert done.stdout
    assert (place / "runs" / "lights" / "checkpoints" / "best").is_dir()
    assert_web_page(place, next(words for words, _ in steps() if words[1] == "serve"))


def assert_web_page(place: Path, words: list[str]) -> None:
    command = [sys.executable, "-m", *words, "--port", "0", "--no-open"]
    with subprocess.Popen(command, cwd=place, stdout=subprocess.PIPE, text=True, env=quiet()) as server:
        try:
            assert server.stdout is not None
            address = server.stdout.readline().strip()
            assert re.fullmatch(r"http://127\.0\.0\.1:\d+/?", address)
            assert "<title>" in fetch(address)
        finally:
            server.terminate()


def fetch(address: str) -> str:
    """The page, once the server that has printed its address is ready."""
    for _ in range(600):
        try:
            with urllib.request.urlopen(address, timeout=60) as answer:
                return answer.read().decode()
        except OSError:
            time.sleep(0.1)
    raise AssertionError("the server never answered")
