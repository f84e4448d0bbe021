"""Reading a question and running a program, as every domain may do it."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from tpn2f.domain.offers import ChecksValues, ComputesDirectly, ReadsWithInputs, offered
from tpn2f.domain.protocol import ANY, Domain, Example, Problem, Signature, Step
from tpn2f.errors import ExecutionError
from tpn2f.program import Program, reference


@dataclass(frozen=True, slots=True)
class Reading:
    """A question that was read, and the values that were given beside it."""

    problem: Problem
    """What the text itself says: an argument that it only introduces has a type in place of a value."""
    values: Mapping[str, object]
    program: Program | None = None
    """The program that the text itself is, as `2 + 2` is one; None for most texts, which a model has to understand."""

    @property
    def seen(self) -> Problem:
        """The problem as a model sees it: types rather than values, where the text has them."""
        return replace(self.problem, bindings={**self.values, **self.problem.bindings})

    @property
    def valued(self) -> Problem:
        """The problem as the executor needs it."""
        return replace(self.problem, bindings={**self.problem.bindings, **self.values})


def read_question(domain: Domain, text: str, inputs: Mapping[str, object] | None = None) -> Reading:
    """A person's sentence with the values that are given beside it, by name. Raises DataError."""
    given = dict(inputs or {})
    if (together := offered(domain, ReadsWithInputs)) is not None:
        return Reading(together.read_with(text, given), {})
    direct = offered(domain, ComputesDirectly)
    if direct is not None and not given and (found := direct.compute(text)):
        program, problem = found
        return Reading(problem, {}, program)
    problem = domain.read(text)
    if (checking := offered(domain, ChecksValues)) is not None:
        checking.check_values(problem, given)
    return Reading(problem, given)


def read_problem(domain: Domain, text: str, inputs: Mapping[str, object] | None = None) -> Problem:
    """The same as the executor needs it: with the values."""
    return read_question(domain, text, inputs).valued


def check_types(program: Program, relations: Mapping[str, Signature], names: Mapping[str, str]) -> None:
    """Raises an ExecutionError for the first tuple whose relation, arity, words, references or types are wrong.

    `names` gives the type of every word that is not a reference. `any` fits every type.
    """
    if not program.tuples:
        raise ExecutionError("the program is empty")
    results: list[str] = []
    for index, step in enumerate(program.tuples):
        where = f"step {index}, {step if len(str(step)) < 200 else step.relation}"
        signature = relations.get(step.relation)
        if signature is None:
            raise ExecutionError(f"{where}: there is no relation {step.relation}{_nearest(step.relation, relations)}")
        if len(step.arguments) != signature.arity:
            raise ExecutionError(
                f"{where}: {step.relation}{signature} takes {signature.arity} arguments, got {len(step.arguments)}"
            )
        for argument, expected in zip(step.arguments, signature.arguments):
            target = reference(argument)
            if target is None and argument not in names:
                known = ", ".join(names) or "none"
                raise ExecutionError(f"{where}: there is no {argument} (there are {known})")
            if target is not None and target >= index:
                raise ExecutionError(f"{where}: {argument} does not point to an earlier step")
            given = names[argument] if target is None else results[target]
            if given != expected and ANY not in (given, expected):
                raise ExecutionError(f"{where}: {argument} is of the type {given}; expected {expected}")
        results.append(signature.result)


def _nearest(word: str, known: Iterable[str]) -> str:
    near = difflib.get_close_matches(word, known, 1)
    return f"; did you mean {near[0]}?" if near else ""


def run_steps(
    program: Program,
    functions: Mapping[str, Callable[..., object]],
    values: Mapping[str, object],
    constants: Mapping[str, object] | None = None,
) -> tuple[Step, ...]:
    """Runs a program tuple by tuple with a table of functions; an error names the tuple.

    `values` are the problem's own words, `constants` those of the language; a reference is neither. The functions
    are trusted, their arguments are not: whatever a function raises becomes an ExecutionError. Nothing here bounds the
    time of one function.
    """
    if not program.tuples:
        raise ExecutionError("the program is empty")
    steps: list[Step] = []
    for index, step in enumerate(program.tuples):
        where = f"step {index}, {step}"
        function = functions.get(step.relation)
        if function is None:
            raise ExecutionError(f"{where}: there is no relation {step.relation}")
        arguments = tuple(_value(word, steps, values, constants or {}, where) for word in step.arguments)
        try:
            result = function(*arguments)
        except ExecutionError as error:
            raise type(error)(f"{where}: {error}") from error
        except Exception as error:
            raise ExecutionError(f"{where}: {str(error) or type(error).__name__}") from error
        steps.append(Step(step, arguments, result))
    return tuple(steps)


def _value(
    word: str, steps: Sequence[Step], values: Mapping[str, object], constants: Mapping[str, object], where: str
) -> object:
    target = reference(word)
    if target is None:
        if word in values:
            return values[word]
        if word in constants:
            return constants[word]
        raise ExecutionError(f"{where}: the problem has no {word} (it has {', '.join(values) or 'none'})")
    if target >= len(steps):
        raise ExecutionError(f"{where}: {word} does not point to an earlier step")
    return steps[target].result


def diagnose_value(domain: Domain, example: Example) -> str | None:
    """`Domain.diagnose` where the answer is the value of the program."""
    if domain.is_solved(example.program, example):
        return None
    try:
        domain.execute(example.program, example.problem)
    except ExecutionError:
        return "the program does not run"
    return "the value is not the answer"
