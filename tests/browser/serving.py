"""Two models that learned for a moment, a server for them, a browser, and axe-core."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parents[1]
EXAMPLES = TESTS.parent / "examples"
CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
TASK = "Given an array of numbers a and a number b, add b to every element of a."


def save(folder: Path, name: str, domain: str, examples: list) -> Path:
    """A model as training would leave it."""
    from test_web import MODEL, make_solver
    from tpn2f.checkpoint import Checkpoint, write_checkpoint
    from tpn2f.config import Config, DataConfig
    from tpn2f.solver import setting

    solver = make_solver(domain, examples)
    state, texts = setting(Config(name, DataConfig(domain), MODEL), solver.codec)
    place = folder / name
    write_checkpoint(place / "checkpoints" / "best", Checkpoint({"model": solver.model.state_dict()}, state, texts))
    return place


@contextmanager
def served(folder: Path, *arguments: str) -> Iterator[str]:
    """The address of a server that runs meanwhile."""
    command = [sys.executable, "-m", "tpn2f", "serve", *arguments, "--port", "0", "--no-open"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=folder) as server:
        assert server.stdout
        yield server.stdout.readline().strip()
        server.terminate()


@pytest.fixture(scope="session")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Two models of one domain and one of another."""
    sys.path.insert(0, str(TESTS))
    from tpn2f.domain import Example, load_domain
    from tpn2f.program import Program, read_tree

    folder = tmp_path_factory.mktemp("runs")
    toy = list(load_domain("arithmetic").examples("train"))
    task = Example(load_domain("algolisp").read(TASK), Program.from_tree(read_tree("(map a (partial1 b +))")))
    places = [
        save(folder, "arithmetic", "arithmetic", toy[:200]),
        save(folder, "arithmetic-2", "arithmetic", toy[200:300]),
        save(folder, "algolisp", "algolisp", [task]),
    ]
    with served(folder, *(part for place in places for part in ("--model", str(place)))) as address:
        yield address


@pytest.fixture(scope="session")
def own_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A domain of somebody's own: the first of the examples."""
    sys.path.insert(0, str(TESTS))
    from tpn2f.domain import load_domain

    folder = tmp_path_factory.mktemp("own")
    name = str(next(path for path in sorted(EXAMPLES.glob("*.py")) if "FunctionDomain(" in path.read_text()))
    place = save(folder, "own", name, list(load_domain(name).examples("train"))[:100])
    with served(folder, "--model", str(place), "--domain", name) as address:
        yield address


@pytest.fixture(scope="session")
def browser() -> Iterator:
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    if CHROMIUM is None:
        pytest.skip("there is no chromium")
    with sync_api.sync_playwright() as playwright:
        # Chromium refuses its sandbox to root, as which containers run.
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def page(browser, url: str) -> Iterator:
    """A fresh page that must not meet a script error, nor break its own security policy."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    context.set_default_timeout(60_000)
    page = context.new_page()
    troubles: list[str] = []
    page.on("pageerror", lambda error: troubles.append(str(error)))
    page.on(
        "console",
        lambda message: (
            troubles.append(message.text)
            if message.type == "error" and "Failed to load resource" not in message.text
            else None
        ),
    )
    page.goto(url, timeout=120_000)
    page.wait_for_selector("#examples button", timeout=120_000)
    yield page
    context.close()
    assert troubles == []


@pytest.fixture(scope="session")
def axe(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The text of axe-core: of the file that AXE names, else installed by npm into a folder of its own."""
    named = os.environ.get("AXE")
    if named:
        return Path(named).read_text(encoding="utf-8")
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("there is no npm to install axe-core with, and AXE names no file")
    folder = tmp_path_factory.mktemp("axe")
    command = [npm, "install", "--silent", "--no-save", "--prefix", str(folder), "axe-core@4"]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    path = folder / "node_modules" / "axe-core" / "axe.min.js"
    if not path.exists():
        pytest.skip(f"npm could not install axe-core: {done.stderr.strip()[-200:]}")
    return path.read_text(encoding="utf-8")
