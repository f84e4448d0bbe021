"""From a question to the API's answer: reads, asks the solver, puts solutions into messages. Knows no HTTP."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from tpn2f.domain import HasOptions, Problem, Reading, ReadsWithInputs
from tpn2f.errors import DataError, NotAQuestion, ProgramSyntaxError
from tpn2f.explain import explain_question
from tpn2f.program import Program, read_tree, write_tree
from tpn2f.search import Candidate as Found
from tpn2f.solution import Question, Solution
from tpn2f.solver import NO_VALUES, Solver, without_model
from tpn2f.trust.verdict import Verdict, judge
from tpn2f.web.messages import (
    Ask,
    Choice,
    ChosenOption,
    Explained,
    InputField,
    KnownQuestion,
    RankedProgram,
    Solved,
    SumPart,
    Tuple,
    VerdictMessage,
    WorkedStep,
)
from tpn2f.web.spelling import spell
from tpn2f.wording import clean, format_value, sum_parts

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
    options: str | None = None
    guess_below: float | None = None
    """Below this confidence an answer is called a guess; None for the model's own threshold."""
    abstain: bool = False
    """Whether a guess is no answer."""

    @property
    def problem(self) -> Problem:
        return self.reading.problem


def read_ask(solver: Solver, ask: Ask, max_words: int) -> Asked:
    """Raises DataError or ConfigError for a question that cannot be read."""
    options = clean(ask.options or "") or None
    asked = read_asked(solver, ask.question, ask.values, ask.beam, max_words, options)
    return replace(asked, guess_below=ask.guess_below, abstain=ask.abstain)


def read_asked(
    solver: Solver, text: str, values: Mapping[str, object], width: int, max_words: int, options: str | None = None
) -> Asked:
    """Raises DataError or ConfigError for a question that cannot be read."""
    reading = solver.read(Question(text, values, options))
    asked = Asked(clean(text), reading, width or solver.usual_width, options)
    if len(asked.problem.words) > max_words:
        raise DataError(f"the question has {len(asked.problem.words):,} words; at most {max_words:,} are read")
    for name in asked.reading.values:
        if name not in asked.problem.bindings:
            there = ", ".join(asked.problem.bindings) or "none"
            raise DataError(f"values: the question has no argument {name[:20]!r} (it has {there})")
    return asked


def refuse_program(text: str, languages: Mapping[str, Collection[str]]) -> None:
    """Raises NotAQuestion for a text that is a program of one of these languages, which are sets of relations."""
    stripped = text.strip()
    try:
        tree = read_tree(stripped) if stripped.startswith("(") else None
        names = {tree[0]} if isinstance(tree, tuple) and isinstance(tree[0], str) else set()
        if tree is None and stripped.endswith(")"):
            names = {step.relation for step in Program.parse(stripped)}
    except ProgramSyntaxError:
        return
    for title, relations in languages.items():
        if names and names <= set(relations):
            raise NotAQuestion(f"this is a program already, in the language of {title}; ask for what it does in words")


def solve_together(solver: Solver, name: str, questions: Sequence[Asked]) -> list[Solved]:
    """The messages for some questions; those of the same width are decoded in one batch."""
    solved: dict[int, Solved] = {}
    for width in dict.fromkeys(asked.width for asked in questions):
        places = [place for place, asked in enumerate(questions) if asked.width == width]
        found = solver.candidates([questions[place].reading for place in places], width)
        solved.update((place, _solved(solver, name, questions[place], ranked)) for place, ranked in zip(places, found))
    return [solved[place] for place in range(len(questions))]


def _solved(solver: Solver, name: str, asked: Asked, found: Sequence[Found]) -> Solved:
    problem = asked.reading.valued
    best = _best(solver, problem, asked.options, found)
    ranked = [best, *(candidate for candidate in found if candidate is not best)]
    first = solver.work(problem, ranked, asked.text)
    others = (solver.work(problem, [candidate], asked.text) for candidate in ranked[1:])
    # How sure each is depends on all of them.
    known = zip(others, first.alternatives)
    solutions = [first, *(replace(other, confidence=alternative.confidence) for other, alternative in known)]
    if asked.reading.program is not None:
        solutions = [without_model(solution) for solution in solutions]
    first = solutions[0]
    if asked.guess_below is not None:
        first = replace(first, guess_below=asked.guess_below)
    candidates = [_candidate(solution) for solution in solutions]
    words, rest = spell(asked.text, asked.problem, solver.codec.words)
    inputs = _inputs(solver, asked.reading)
    passed_over = solver.why_taken(problem, found, best, bool(asked.options))
    return Solved(
        model=name,
        domain=solver.domain.name,
        words=words,
        rest=rest,
        inputs=inputs,
        unknown=list(dict.fromkeys(word.text for word in words if not word.known)),
        notes=[*first.notes, *passed_over],
        calibrated=first.calibrated,
        guess=first.guess,
        guess_below=first.guess_below,
        doubts=list(first.doubts),
        nearest=_known(first),
        verdict=_verdict(solver, asked, first, inputs),
        option=_option(solver, asked.options, first),
        alternatives=candidates[1:],
        milliseconds=0.0,
        **dict(candidates[0]),
    )


def _best(solver: Solver, problem: Problem, options: str | None, found: Sequence[Found]) -> Found:
    if options is not None:
        return solver.best_by_options(problem, found, options)
    return solver.best_of(problem, found)


def _verdict(solver: Solver, asked: Asked, solution: Solution, inputs: Sequence[InputField]) -> VerdictMessage:
    if asked.reading.program is not None and not solution.error:
        verdict = Verdict("sure", "", solution.notes)
    else:
        verdict = judge(
            solution.confidence,
            solution.calibrated,
            solution.guess_below,
            solution.doubts,
            solution.error,
            [field.name for field in inputs if field.needed and field.value is None],
            at_home=solver.belief is None,
            abstain=asked.abstain,
            nothing=NO_VALUES in solution.notes,
        )
    return VerdictMessage(state=verdict.state, words=verdict.words, chance=verdict.chance, why=list(verdict.why))


def _option(solver: Solver, options: str | None, solution: Solution) -> ChosenOption | None:
    if options is None or solution.error or not isinstance(solver.domain, HasOptions):
        return None
    chosen = solver.domain.choose(solution.value, options)
    return None if chosen is None else ChosenOption(label=chosen.label, text=chosen.text, exact=chosen.exact)


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


def _candidate(solution: Solution) -> RankedProgram:
    steps = [
        WorkedStep(
            values=[shorten(format_value(value)) for value in step.values],
            result=shorten(format_value(step.result)),
            text=text,
            parts=[SumPart(text=part, name=name) for part, name in sum_parts(step, solution.notation)],
            words=words,
        )
        for step, (text, words) in zip(solution.steps, solution.worded_steps)
    ]
    return RankedProgram(
        program=None if solution.program is None else str(solution.program),
        tuples=_tuples(solution.program),
        tree=_tree(solution.program),
        steps=steps,
        answer=None if solution.error else shorten(format_value(solution.value)),
        reply=None if solution.error else shorten(solution.reply),
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
        shown = None if given is None and name not in reading.values else shorten(format_value(given))
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


def shorten(text: str) -> str:
    """The text, or the beginning of a long one."""
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
