"""From a question to the API's answer: reads, asks the solver, puts solutions into messages. Knows no HTTP."""

from __future__ import annotations

import math
import re
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, replace

from tpn2f.domain import Problem, Reading, ReadsWithInputs
from tpn2f.errors import DataError, ProgramSyntaxError
from tpn2f.explain import explain_question
from tpn2f.program import Program, write_tree
from tpn2f.search import Candidate as Found
from tpn2f.solution import Question, Solution
from tpn2f.solver import Solver, without_model
from tpn2f.web.messages import (
    Choice,
    Explained,
    InputField,
    KnownQuestion,
    RankedProgram,
    Solved,
    Tuple,
    Word,
    WorkedStep,
)
from tpn2f.wording import clean, format_value

MAX_ANSWER = 2_000
"""The longest answer that is written out, in characters."""
MAX_ELEMENTS = 1_000
"""The most elements of a value that is given as JSON."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A question that is read and ready to be decoded with others."""

    text: str
    reading: Reading
    width: int

    @property
    def problem(self) -> Problem:
        return self.reading.problem


def read_asked(solver: Solver, text: str, values: Mapping[str, object], width: int, max_words: int) -> Asked:
    """Raises DataError for a question that cannot be read."""
    asked = Asked(clean(text), solver.read(Question(text, values)), width or solver.usual_width)
    if len(asked.problem.words) > max_words:
        raise DataError(f"the question has {len(asked.problem.words):,} words; at most {max_words:,} are read")
    for name in asked.reading.values:
        if name not in asked.problem.bindings:
            there = ", ".join(asked.problem.bindings) or "none"
            raise DataError(f"values: the question has no argument {name[:20]!r} (it has {there})")
    return asked


def solve_together(solver: Solver, name: str, questions: Sequence[Asked]) -> list[Solved]:
    """The messages for some questions; those of the same width are decoded in one batch."""
    solved: dict[int, Solved] = {}
    for width in dict.fromkeys(asked.width for asked in questions):
        places = [place for place, asked in enumerate(questions) if asked.width == width]
        found = solver.candidates([questions[place].reading for place in places], width)
        solved.update((place, _solved(solver, name, questions[place], ranked)) for place, ranked in zip(places, found))
    return [solved[place] for place in range(len(questions))]


def _solved(solver: Solver, name: str, asked: Asked, found: Sequence[Found]) -> Solved:
    best = solver.best_of(asked.reading.valued, found)
    ranked = [best, *(candidate for candidate in found if candidate is not best)]
    first = solver.work(asked.reading.valued, ranked, asked.text)
    others = (solver.work(asked.reading.valued, [candidate], asked.text) for candidate in ranked[1:])
    # How sure each is depends on all of them.
    known = zip(others, first.alternatives)
    solutions = [first, *(replace(other, confidence=alternative.confidence) for other, alternative in known)]
    if asked.reading.program is not None:
        solutions = [without_model(solution) for solution in solutions]
    candidates = [_candidate(solution) for solution in solutions]
    words, rest = spell(asked.text, asked.problem, solver.codec.words)
    return Solved(
        model=name,
        domain=solver.domain.name,
        words=words,
        rest=rest,
        inputs=_inputs(solver, asked.reading),
        unknown=list(dict.fromkeys(word.text for word in words if not word.known)),
        notes=list(solutions[0].notes),
        calibrated=solutions[0].calibrated,
        guess=solutions[0].guess,
        doubts=list(solutions[0].doubts),
        nearest=_known(solutions[0]),
        alternatives=candidates[1:],
        milliseconds=0.0,
        **dict(candidates[0]),
    )


def _known(solution: Solution) -> KnownQuestion | None:
    if solution.nearest is None:
        return None
    return KnownQuestion(text=solution.nearest.text, similarity=round(solution.nearest.similarity, 4))


def explain(solver: Solver, name: str, asked: Asked, program: str | None = None) -> Explained:
    """The message about the inside of a question. Raises DataError or ProgramSyntaxError for a bad program."""
    given = Program.parse(program) if program is not None else None
    if given is not None and not given.tuples:
        raise DataError("the program is empty")
    seen = explain_question(solver, asked.problem, asked.width, given)
    words, rest = spell(asked.text, asked.problem, solver.codec.words)
    return Explained(
        model=name,
        words=words,
        rest=rest,
        structured=seen.has_roles,
        fillers=[_choices(word) for word in seen.fillers],
        roles=[_choices(word) for word in seen.roles],
        program=None if seen.program is None else str(seen.program),
        tuples=_tuples(seen.program),
        attention=[[round(weight, 4) for weight in row] for row in seen.attention],
        milliseconds=0.0,
    )


_match_numeral = re.compile(r"[0-9]{1,3}(?:,[0-9]{3})+(?![0-9])(?:\.[0-9]+)?|[0-9]+(?:\.[0-9]+)?|\.[0-9]+").match


def spell(text: str, problem: Problem, known: Container[str]) -> tuple[list[Word], str]:
    """The words as the person wrote them, and what follows the last one.

    Domains change letters, signs and numbers as they read. Where the words can no longer be found in the text one
    after another, they are shown as the model reads them.
    """
    found: list[tuple[str, bool]] = []
    lower = text.lower()
    place = 0
    for word in problem.words:
        start = place
        while place < len(text) and text[place].isspace():
            place += 1
        if lower.startswith(word, place):
            end = place + len(word)
        elif word in problem.bindings and (numeral := _match_numeral(text, place)):
            end = numeral.end()
        else:
            end = -1
        if end < 0 or len(lower) != len(text):
            return [_word(_plain(word, problem), True, word, problem, known) for word in problem.words], ""
        found.append((text[place:end], place > start))
        place = end
    words = [_word(shown, space, word, problem, known) for (shown, space), word in zip(found, problem.words)]
    return words, text[place:].strip()


def _plain(word: str, problem: Problem) -> str:
    value = problem.bindings.get(word)
    return format_value(value) if isinstance(value, int | float) else word


def _word(shown: str, space: bool, word: str, problem: Problem, known: Container[str]) -> Word:
    name = word if word in problem.bindings else None
    return Word(text=shown, space=space, name=name, known=word in known)


def _candidate(solution: Solution) -> RankedProgram:
    steps = [
        WorkedStep(
            values=[_shorten(format_value(value)) for value in step.values],
            result=_shorten(format_value(step.result)),
            text=text,
            words=words,
        )
        for step, (text, words) in zip(solution.steps, solution.worded_steps)
    ]
    return RankedProgram(
        program=None if solution.program is None else str(solution.program),
        tuples=_tuples(solution.program),
        tree=_tree(solution.program),
        steps=steps,
        answer=None if solution.error else _shorten(format_value(solution.value)),
        reply=None if solution.error else _shorten(solution.reply),
        value=None if solution.error else plain(solution.value),
        error=solution.error,
        confidence=solution.confidence,
    )


def _inputs(solver: Solver, reading: Reading) -> list[InputField]:
    kinds = solver.domain.names(reading.problem)
    inputs = []
    for name, value in reading.problem.bindings.items():
        # A freshly read question has text in place of a value only where it names a type.
        needed = isinstance(value, str) and not isinstance(solver.domain, ReadsWithInputs)
        given = reading.values.get(name, None if needed else value)
        kind = str(value) if needed else kinds.get(name, "")
        shown = None if given is None and name not in reading.values else _shorten(format_value(given))
        inputs.append(InputField(name=name, kind=kind, value=shown, needed=needed))
    return inputs


def _tuples(program: Program | None) -> list[Tuple]:
    return [Tuple(relation=step.relation, arguments=list(step.arguments)) for step in program or ()]


def _tree(program: Program | None) -> str | None:
    try:
        return None if program is None else write_tree(program.to_tree())
    except ProgramSyntaxError:
        return None


def _choices(selection: Sequence[tuple[int, float]]) -> list[Choice]:
    return [Choice(number=number, weight=round(weight, 4)) for number, weight in selection]


def _shorten(text: str) -> str:
    return text if len(text) <= MAX_ANSWER else f"{text[:MAX_ANSWER]}…"


def plain(value: object) -> object:
    """The value if JSON can hold it exactly and in short, else None."""
    pending = [value]
    seen = 0
    while pending:
        inner = pending.pop()
        seen += 1
        if isinstance(inner, list | tuple):
            pending.extend(inner)
        elif isinstance(inner, float):
            if not math.isfinite(inner):
                return None
        elif isinstance(inner, int):
            # Larger numbers would be rounded in JavaScript.
            if abs(inner) > 2**53:
                return None
        elif isinstance(inner, str):
            seen += len(inner) // 8
        elif inner is not None:
            return None
        if seen + len(pending) > MAX_ELEMENTS:
            return None
    return value
