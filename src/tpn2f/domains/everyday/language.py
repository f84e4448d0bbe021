"""The language of everyday programs: MathQA's operations and constants, and the few that everyday texts need more."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from tpn2f.domain import Problem, Signature, Step, run_steps
from tpn2f.domains.everyday.constants import CONSTANTS
from tpn2f.domains.mathqa.domain import MathQA, constant_value
from tpn2f.domains.mathqa.operations import OPERATIONS, RELATIONS
from tpn2f.errors import ExecutionError
from tpn2f.program import Program

_MORE: Mapping[str, Callable[..., float]] = {"ceil": lambda a: float(math.ceil(a))}
_MORE_SIGNATURES = {"ceil": Signature(("number",), "number", doc="a rounded up")}

EVERYDAY_RELATIONS: Mapping[str, Signature] = {**RELATIONS, **_MORE_SIGNATURES}

_SPELLED = {constant_value(word): word for word in MathQA.constants}
EVERYDAY_CONSTANTS: Mapping[str, float] = {
    **{name: float(amount) for name, amount in CONSTANTS.items()},
    **{f"const_{amount:.10g}": amount for amount in _SPELLED if amount not in (math.pi, math.pi / 180)},
    "const_pi": math.pi,
    "const_deg_to_rad": math.pi / 180,
}
"""Every constant, in one spelling, with its value."""


def _checked(name: str, function: Callable[..., float]) -> Callable[..., float]:
    """The operation with its arity and its result checked, so that errors speak the language's words."""
    arity = EVERYDAY_RELATIONS[name].arity

    def run(*arguments: float) -> float:
        if len(arguments) != arity:
            raise ExecutionError(f"{name} takes {arity} argument(s), got {len(arguments)}")
        result = function(*arguments)
        if not math.isfinite(result):
            raise ExecutionError("the result is not finite")
        return result

    return run


_FUNCTIONS = {name: _checked(name, function) for name, function in {**OPERATIONS, **_MORE}.items()}


def steps(program: Program, problem: Problem) -> tuple[Step, ...]:
    """The program worked step by step; every result is a finite number. Raises ExecutionError and nothing else."""
    return run_steps(program, _FUNCTIONS, {**EVERYDAY_CONSTANTS, **_numbers(problem.bindings)})


def execute(program: Program, problem: Problem) -> float:
    """The value of the program."""
    return steps(program, problem)[-1].result  # type: ignore[return-value]


def _numbers(bindings: Mapping[str, object]) -> dict[str, object]:
    """The values as floats: whole numbers of Python would grow without bounds."""
    numbers: dict[str, object] = {}
    for name, amount in bindings.items():
        if isinstance(amount, bool) or not isinstance(amount, int | float):
            raise ExecutionError(f"{name} is {type(amount).__name__}, not a number")
        try:
            numbers[name] = float(amount)
        except OverflowError as error:
            raise ExecutionError(f"{name} is too large") from error
    return numbers
