"""Running a program of relations that are Python functions: held to their annotations and to `Limits`.

The functions are trusted, their arguments are not. Whatever a function raises becomes the error of its step.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

from tpn2f.domain import Step, run_steps
from tpn2f.errors import DataError, ExecutionError, LimitError
from tpn2f.functions.budget import Limits, OutOfTime, limited, size_of
from tpn2f.functions.kinds import Kind
from tpn2f.program import Program


@dataclass(frozen=True, slots=True)
class Relation:
    """A function of the language with what its arguments and its result are checked by."""

    function: Callable[..., object]
    labels: tuple[str, ...]
    arguments: tuple[Kind, ...]
    result: Kind


def run_relations(
    program: Program, relations: Mapping[str, Relation], values: Mapping[str, object], limits: Limits
) -> tuple[Step, ...]:
    """Runs a program whose types were checked. Raises ExecutionError, or LimitError for what costs too much."""
    left = [limits.elements]
    functions = {step.relation: partial(_call, relations[step.relation], limits, left) for step in program}
    try:
        with limited(limits):
            return run_steps(program, functions, values)
    except OutOfTime as error:
        raise LimitError(f"the program took longer than {limits.seconds:g} s") from error


def message(error: Exception) -> str:
    """What an error says in one line; a ValueError is a function's own refusal and needs no name."""
    text = " ".join(str(error).split())[:200]
    refusal = text and isinstance(error, ValueError | DataError | ExecutionError)
    return text if refusal else f"{type(error).__name__}: {text}".rstrip(": ")


def _call(relation: Relation, limits: Limits, left: list[int], *values: object) -> object:
    arguments: list[object] = []
    for label, kind, value in zip(relation.labels, relation.arguments, values):
        try:
            arguments.append(kind.fit(value))
        except ValueError as error:
            raise ExecutionError(f"{label} is {error}") from error
    try:
        result = relation.result.fit(_run(relation.function, arguments))
        left[0] -= size_of(result, left[0])
    except OutOfTime as error:
        raise LimitError(f"it took longer than {limits.seconds:g} s") from error
    except MemoryError as error:
        raise LimitError(f"it needs more than {limits.memory >> 20:,} MiB of memory") from error
    except ValueError as error:
        raise ExecutionError(f"the result is {error}") from error
    if left[0] < 0:
        raise LimitError(f"the results have more than {limits.elements:,} elements")
    return result


def _run(function: Callable[..., object], arguments: list[object]) -> object:
    try:
        return function(*arguments)
    except MemoryError:
        raise
    except Exception as error:
        raise ExecutionError(message(error)) from error
    except SystemExit as error:
        raise ExecutionError("it tried to exit Python") from error
