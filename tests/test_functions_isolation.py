"""Functions in a process of their own: the same answers, and one that cannot be interrupted harms nobody."""

from __future__ import annotations

import os
from collections.abc import Iterator
from enum import Enum

import pytest

from tpn2f.domain import HasSteps, ReadsWithInputs, load_domain
from tpn2f.errors import DataError, ExecutionError, LimitError
from tpn2f.functions import FunctionDomain, Limits
from tpn2f.functions.isolation import IsolatedFunctions, Shown, isolate
from tpn2f.program import Program
from tpn2f.wording import format_value

lamps = FunctionDomain("lamps", "For tests.", limits=Limits(seconds=0.2))


class Room(Enum):
    hall = "hall"
    cellar = "cellar"


@lamps.relation
def twice(number: float, room: Room) -> float:
    """a number, twice"""
    return 2 * number if room is Room.hall else number


@lamps.relation
def forever(number: float) -> float:
    """a call into C that never looks up"""
    return float(sum(range(10**13))) + number


@lamps.relation
def ending(number: float) -> float:
    """the end of the process"""
    os._exit(int(number))


@lamps.relation
def process() -> float:
    """the number of the process"""
    return float(os.getpid())


class Closure:
    """A value that cannot leave its process."""

    def __init__(self) -> None:
        self.call = lambda: 0

    def __str__(self) -> str:
        return "a closure"


@lamps.relation
def closure() -> Closure:
    """what cannot be sent"""
    return Closure()


@lamps.mention("w", "slow[a-z]+")
def slow_word(text: str) -> float:
    return float(sum(range(10**13)))


@lamps.generator(count=20)
def orders(random):
    while True:
        yield f"light {random.randint(1, 10**6)} times in {random.choice('abcdefghij')}", ("twice", 3, Room.hall)


@pytest.fixture
def isolated() -> Iterator[IsolatedFunctions]:
    made = isolate(lamps())
    assert isinstance(made, IsolatedFunctions)
    yield made
    made._child.close()


def test_a_process_of_their_own_changes_no_answer(isolated):
    here = lamps()
    problem = isolated.read("light 21 lamps")
    assert problem == here.read("light 21 lamps")
    program = Program.parse("twice(n0, hall) | twice(#0, cellar)")
    assert isolated.steps(program, problem) == here.steps(program, problem)
    assert isolated.execute(program, problem) == 42
    assert isinstance(isolated, HasSteps) and isinstance(isolated, ReadsWithInputs)
    assert isolated.relations == here.relations and isolated.names(problem) == here.names(problem)
    assert isolated.execute(Program.parse("process()"), problem) != os.getpid()


def test_what_cannot_be_interrupted_is_killed_and_the_next_program_runs(isolated):
    problem = isolated.read("light 21 lamps")
    for _ in range(2):
        with pytest.raises(LimitError, match=r"longer than 0\.2 s, and could not be interrupted"):
            isolated.execute(Program.parse("forever(n0)"), problem)
        assert isolated.execute(Program.parse("twice(n0, hall)"), problem) == 42
    with pytest.raises(LimitError):
        isolated.read("light slowly")
    assert isolated.read("light 5").bindings == {"n0": 5}


def test_a_process_that_ends_is_an_error_of_its_program(isolated):
    problem = isolated.read("light 3")
    with pytest.raises(ExecutionError, match="ended unexpectedly"):
        isolated.execute(Program.parse("ending(n0)"), problem)
    assert isolated.execute(Program.parse("twice(n0, hall)"), problem) == 6


def test_errors_come_back_as_they_are(isolated):
    problem = isolated.read("light 3")
    with pytest.raises(ExecutionError, match=r"step 0, twice\(n7, hall\): there is no n7"):
        isolated.execute(Program.parse("twice(n7, hall)"), problem)
    with pytest.raises(DataError, match="lamps has no input 'x'"):
        isolated.read_with("light 3", {"x": 1})
    with pytest.raises(DataError, match="lamps has no split 'nothing'"):
        isolated.examples("nothing")


def test_what_cannot_be_sent_is_its_text(isolated):
    found = isolated.execute(Program.parse("closure()"), isolated.read("light 3"))
    assert isinstance(found, Shown) and format_value(found) == "a closure"


def test_serve_isolates_functions_and_nothing_else(monkeypatch):
    from tpn2f.solver import Solver
    from tpn2f.web.shelf import load_models

    class Loaded(Solver):
        def __init__(self, place: str, *rest: object) -> None:
            self.domain = lamps() if place == "mine" else load_domain("arithmetic")

    monkeypatch.setattr("tpn2f.solver.Solver.load", Loaded)
    found = load_models(["mine", "other"], None)
    mine = found["mine"].domain
    assert isinstance(mine, IsolatedFunctions) and type(found["other"].domain).__name__ == "Arithmetic"
    mine._child.close()
