"""A program that was written before, run on other values and against tests. No model is asked; knows no HTTP."""

from __future__ import annotations

from tpn2f.domain import TracesRuns
from tpn2f.errors import DataError, ExecutionError, N2FError
from tpn2f.program import Program, read_tree
from tpn2f.solver import Solver
from tpn2f.web.answers import Asked, read_asked, shorten
from tpn2f.web.messages import RanCase, Reran, Rerun, TracedCall, TryCase
from tpn2f.wording import format_value


def run_again(solver: Solver, rerun: Rerun, max_words: int) -> Reran:
    """The program on every case. Raises ProgramSyntaxError or DataError for what is no program or no question."""
    program = read_program(rerun.program)
    read_asked(solver, rerun.question, {}, 1, max_words)
    cases, calls = [], []
    for place, case in enumerate(rerun.cases):
        try:
            asked = read_asked(solver, rerun.question, case.values, 1, max_words)
        except N2FError as error:
            cases.append(RanCase(answer=None, error=str(error), passed=_missed(case)))
            continue
        cases.append(_run(solver, program, asked, case))
        if place == rerun.trace and isinstance(solver.domain, TracesRuns):
            calls = _calls(solver.domain, program, asked)
    return Reran(cases=cases, calls=calls)


def read_program(text: str) -> Program:
    """A program in either of its two forms."""
    program = Program.from_tree(read_tree(text)) if text.lstrip().startswith("(") else Program.parse(text)
    if not program.tuples:
        raise DataError("the program is empty")
    return program


def _run(solver: Solver, program: Program, asked: Asked, case: TryCase) -> RanCase:
    try:
        value = solver.domain.execute(program, asked.reading.valued)
    except ExecutionError as error:
        return RanCase(answer=None, error=str(error), passed=_missed(case))
    passed = None if case.expected is None else _same(value, case.expected)
    return RanCase(answer=shorten(format_value(value)), error="", passed=passed)


def _calls(domain: TracesRuns, program: Program, asked: Asked) -> list[TracedCall]:
    try:
        found = domain.trace(program, asked.reading.valued)
    except ExecutionError:
        return []
    return [TracedCall(values=list(part.values), count=part.count, failed=part.failed) for part in found]


def _missed(case: TryCase) -> bool | None:
    """What a run without a value says of a test."""
    return None if case.expected is None else False


def _same(value: object, expected: object) -> bool:
    """Equal, and not just as True equals 1."""
    return isinstance(value, bool) == isinstance(expected, bool) and value == expected
