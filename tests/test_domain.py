"""Loading domains through the one door, finding data, and running programs step by step."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path

import pytest

from test_architecture import STANDS_ON
from tpn2f.domain import Domain, Problem, Step, cache_folder, data_folder, domain_names, load_domain, run_steps
from tpn2f.domain import loading as domain_module
from tpn2f.errors import DataError, DomainError, ExecutionError, LimitError
from tpn2f.program import Program

TINY = '''
"""A domain of one relation."""

from dataclasses import dataclass

from tpn2f import Example, Problem, Program, Signature


@dataclass(frozen=True)
class Answer:
    value: int


class Tiny:
    name = "tiny"
    splits = ("train",)
    relations = {"twice": Signature(("number",), "number")}
    constants = {"one": "number"}

    def __init__(self, data):
        self.data = data

    def examples(self, split):
        return [Example(self.read("x"), Program.parse("twice(one)"), Answer(2), "x", "train:0")]

    def names(self, problem):
        return {}

    def read(self, text):
        return Problem((text,))

    def execute(self, program, problem):
        return 2

    def is_solved(self, program, example):
        return True

    def credits(self, program, example):
        return {"execution": 1.0}

    def diagnose(self, example):
        return None

    def subsets(self, example):
        return ()


class Half:
    name = "half"
    splits = ()

    def __init__(self, data):
        pass


class Greedy:
    def __init__(self, data, more):
        pass


number = 3
'''


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    path = tmp_path / "tiny_domain.py"
    path.write_text(TINY)
    return path


# Loading


def test_the_built_in_domains_are_installed() -> None:
    assert {"arithmetic", "mathqa", "algolisp"} <= set(domain_names())


@pytest.mark.parametrize("name", ["arithmetic", "mathqa", "algolisp"])
def test_a_domain_is_loaded_by_name(name: str) -> None:
    domain = load_domain(name)
    assert domain.name == name
    assert isinstance(domain, Domain)


def test_a_domain_is_loaded_by_file_and_is_given_the_folder(tiny: Path) -> None:
    domain = load_domain(f"{tiny}:Tiny", "some/folder")
    assert domain.name == "tiny"
    assert isinstance(domain, Domain)
    assert domain.data == "some/folder"  # type: ignore[attr-defined]
    assert next(iter(domain.examples("train"))).program == Program.parse("twice(one)")


def test_a_domain_is_loaded_by_module(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(tiny.parent)
    assert load_domain("tiny_domain:Tiny").name == "tiny"
    assert load_domain("tpn2f.domains.mathqa.domain:MathQA").name == "mathqa"


def test_an_unknown_name_lists_the_installed_ones() -> None:
    with pytest.raises(DomainError, match=r"no domain is called 'mathq'; installed are .*mathqa") as caught:
        load_domain("mathq")
    for name in domain_names():
        assert name in str(caught.value)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("{folder}/missing.py:Tiny", "missing.py is not a file"),
        ("{file}:Missing", "has no class 'Missing'"),
        ("{file}:number", "has no class 'number'"),
        ("{file}:Tiny.name", "has no class 'Tiny.name'"),
        ("{file}:", "has no class ''"),
        ("{file}:Half", "is not a domain: it has no relations, constants, examples, names, read, execute"),
        ("{file}:Greedy", r"Greedy\(data\) cannot be called"),
        ("{folder}/broken.py:Tiny", "loading .*broken.py failed: SyntaxError"),
        ("{folder}/raising.py:Tiny", "loading .*raising.py failed: ZeroDivisionError"),
        ("no.such.module:Tiny", "loading no.such.module failed: ModuleNotFoundError"),
        (":Tiny", "loading  failed: ValueError"),
        (":", "failed"),
        ("", "no domain is called ''"),
    ],
)
def test_what_cannot_be_loaded_is_one_domain_error(tiny: Path, spec: str, message: str) -> None:
    (tiny.parent / "broken.py").write_text("class Tiny(:\n")
    (tiny.parent / "raising.py").write_text("1 / 0\n")
    with pytest.raises(DomainError, match=message):
        load_domain(spec.format(folder=tiny.parent, file=tiny))


def test_an_installed_domain_that_cannot_be_imported_is_a_domain_error(monkeypatch: pytest.MonkeyPatch) -> None:
    point = EntryPoint("ghost", "no.such.module:Ghost", domain_module.ENTRY_POINTS)
    monkeypatch.setattr(domain_module, "entry_points", lambda group: [point])
    with pytest.raises(DomainError, match=r"ghost: loading no.such.module:Ghost failed: ModuleNotFoundError"):
        load_domain("ghost")


# Data


@pytest.mark.parametrize("name", ["arithmetic", "mathqa", "algolisp"])
def test_a_built_in_domain_is_removed_by_deleting_its_files_and_its_entry_point(name: str, tmp_path: Path) -> None:
    package = tmp_path / "tpn2f"
    shutil.copytree(Path(domain_module.__file__).parents[1], package, ignore=shutil.ignore_patterns("__pycache__"))
    # With a domain go those that stand on it.
    gone = {name, *(other for other, below in STANDS_ON.items() if name in below)}
    for place in [place for one in gone for place in package.glob(f"domains/{one}*")]:
        shutil.rmtree(place) if place.is_dir() else place.unlink()
    assert not list(package.glob(f"domains/*{name}*"))
    others = [point for point in entry_points(group=domain_module.ENTRY_POINTS) if point.name not in gone]
    about = tmp_path / "tpn2f-0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Name: tpn2f\nVersion: 0\n")
    lines = [f"{point.name} = {point.value}" for point in others]
    (about / "entry_points.txt").write_text("\n".join([f"[{domain_module.ENTRY_POINTS}]", *lines]))
    program = (
        "import tpn2f.cli, tpn2f.cli.demo, tpn2f.publish.reproduce, tpn2f.web.app\n"
        "from tpn2f.domain import domain_names, load_domain\n"
        "print(tpn2f.__file__, *[load_domain(name).name for name in domain_names()])"
    )
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=environment, check=False)
    assert done.stdout.split() == [str(package / "__init__.py"), *sorted(point.name for point in others)], done.stderr


def test_data_is_looked_for_in_the_usual_places_in_order(nowhere: Path) -> None:
    places = [nowhere / "data", cache_folder()]
    for place in reversed(places):
        (place / "letters").mkdir(parents=True)
        assert data_folder("letters").resolve() == (place / "letters").resolve()


def test_missing_data_names_the_places_and_the_remedies(nowhere: Path) -> None:
    with pytest.raises(DataError, match="no data for letters") as caught:
        data_folder("letters")
    message = str(caught.value)
    for expected in ("data/letters", str(cache_folder()), "tpn2f data get letters"):
        assert expected in message
    assert "--data" in message and "TPN2F_DATA" in message


def test_a_folder_that_is_told_wins(nowhere: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (nowhere / "data" / "letters").mkdir(parents=True)
    (nowhere / "mine" / "letters").mkdir(parents=True)
    assert data_folder("letters", "mine") == Path("mine/letters")
    assert data_folder("letters", nowhere / "mine" / "letters") == nowhere / "mine" / "letters"
    monkeypatch.setenv("TPN2F_DATA", "mine")
    assert data_folder("letters") == Path("mine/letters")
    assert data_folder("letters", "data") == Path("data/letters")
    # A folder that does not exist is kept, so that the error names it and not another.
    assert data_folder("letters", "absent") == Path("absent")


def test_the_cache_follows_the_desktop_standard(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_folder() == tmp_path / "tpn2f"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache_folder() == tmp_path / ".cache" / "tpn2f"


# Steps


def _limit(value: float) -> float:
    raise LimitError(f"{value:g} is too much")


FUNCTIONS = {"add": lambda a, b: a + b, "invert": lambda a: 1 / a, "limit": _limit, "mute": lambda: next(iter(()))}
CONSTANTS = {"const_1": 1.0}
VALUES = {"n0": 3.0, "n1": 0.0}


def test_steps_keep_arguments_and_results() -> None:
    program = Program.parse("add(n0, const_1) | add(#0, #0)")
    first, second = program.tuples
    assert run_steps(program, FUNCTIONS, VALUES, CONSTANTS) == (
        Step(first, (3.0, 1.0), 4.0),
        Step(second, (4.0, 4.0), 8.0),
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the program is empty"),
        ("subtract(n0, n1)", "step 0, subtract(n0, n1): there is no relation subtract"),
        ("add(n0, n1) | add(#0, n4)", "step 1, add(#0, n4): the problem has no n4 (it has n0, n1)"),
        ("add(#0, n0)", "step 0, add(#0, n0): #0 does not point to an earlier step"),
        ("add(n0, n1) | add(#0, #2)", "step 1, add(#0, #2): #2 does not point to an earlier step"),
        ("add(n0, #01)", "step 0, add(n0, #01): the problem has no #01 (it has n0, n1)"),
        ("invert(n1)", "step 0, invert(n1): float division by zero"),
        ("mute()", "step 0, mute(): StopIteration"),
    ],
)
def test_an_error_names_the_step(text: str, message: str) -> None:
    with pytest.raises(ExecutionError, match=f"^{re.escape(message)}$"):
        run_steps(Program.parse(text), FUNCTIONS, VALUES, CONSTANTS)


def test_a_wrong_number_of_arguments_is_an_execution_error() -> None:
    with pytest.raises(ExecutionError, match=r"step 0, add\(n0\): .*argument"):
        run_steps(Program.parse("add(n0)"), FUNCTIONS, VALUES, CONSTANTS)


def test_the_kind_of_an_error_survives() -> None:
    with pytest.raises(LimitError, match=r"step 0, limit\(n0\): 3 is too much"):
        run_steps(Program.parse("limit(n0)"), FUNCTIONS, VALUES, CONSTANTS)


def test_a_problem_without_names_says_so() -> None:
    with pytest.raises(ExecutionError, match=r"no n0 \(it has none\)"):
        run_steps(Program.parse("invert(n0)"), FUNCTIONS, Problem(("x",)).bindings, CONSTANTS)
