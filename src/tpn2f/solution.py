"""What a model makes of one question, and how that reads: in a terminal, in a notebook, as JSON. Knows no model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tpn2f.domain import Chosen, Problem, Step, Unit
from tpn2f.errors import N2FError, NotAQuestion, ProgramSyntaxError
from tpn2f.notebook import LONGEST, as_html
from tpn2f.program import Program, write_tree
from tpn2f.trust.nearest import Nearest
from tpn2f.trust.verdict import Verdict, judge
from tpn2f.wording import clean, cut, format_answer, format_step, format_sum, format_value, json_value

GUESS = 0.7
"""Below this confidence an answer is called a guess, where calibration did not find another threshold."""
TOLD = 0.15
"""Below this similarity the nearest known question tells nothing, and is not shown."""
SHORT = 160
"""The most characters of the nearest known question that are shown."""


@dataclass(frozen=True, slots=True)
class Question:
    """What a person asks: a text, and what may come with it."""

    text: str
    inputs: Mapping[str, object] = field(default_factory=dict)
    """Values that are given beside the text, by name."""
    options: str | Sequence[str] | None = None
    """Answers to choose from, as `a ) 38 , b ) 27` or one by one."""


@dataclass(frozen=True, slots=True)
class Alternative:
    """Another program that the search came to, and what it gives."""

    program: Program | None
    value: object
    confidence: float
    error: str


@dataclass(frozen=True, slots=True)
class Solution:
    """What a model makes of one problem."""

    problem: Problem
    program: Program | None
    value: object
    """What the program gives; None when it cannot be run."""
    steps: tuple[Step, ...]
    """The program worked tuple by tuple, where the language runs that way."""
    confidence: float
    """How probable it is that the program is the right one, as the model sees it."""
    error: str
    """Why there is no value; empty when there is one."""
    unknown: tuple[str, ...]
    """Words that training did not have."""
    alternatives: tuple[Alternative, ...] = ()
    text: str = ""
    """The question as it was asked."""
    chosen: Chosen | None = None
    """The option that fits best, where there were options."""
    calibrated: bool = False
    """Whether the confidence was made to agree with how often the model is right on dev."""
    notes: tuple[str, ...] = ()
    """What else to know before one trusts the answer."""
    notation: Mapping[str, str] = field(default_factory=dict, repr=False)
    """How the language writes its relations, from the domain."""
    guess_below: float = GUESS
    """Below this confidence the answer is called a guess."""
    doubts: tuple[str, ...] = ()
    """What speaks against the answer, in plain words."""
    nearest: Nearest | None = None
    """The training question that is most like this one, where the model carries some."""
    told: tuple[str, ...] = ()
    """What each step does, in words, where the domain can say it."""
    unit: Unit | None = None
    """What the answer is a number of, where the text says it."""
    refused: bool = False
    """Whether the text is no question for this language; `error` says why in friendly words."""
    at_home: bool = False
    """Whether the confidence was only measured on questions like those that the model learned from."""
    computed: bool = False
    """Whether the text was a program already, so that no model had to guess."""

    @property
    def answer(self) -> str:
        """The value as a person writes it; empty when there is none."""
        return "" if self.error else format_value(self.value)

    @property
    def plain_value(self) -> object:
        """The value if JSON can hold it, else its text."""
        return json_value(self.value)

    @property
    def reply(self) -> str:
        """The answer as a person says it, rounded and with its unit: `$12.50`; empty when there is none."""
        return "" if self.error else format_answer(self.value, self.unit)

    @property
    def certainty(self) -> str:
        """How sure the answer is, in words."""
        doubt = "" if self.calibrated else ", not calibrated"
        return f"{'a guess, ' if self.guess else ''}confidence {self.confidence:.2f}{doubt}"

    @property
    def guess(self) -> bool:
        """Whether the answer should not be trusted: a calibrated confidence below `guess_below`. Without calibration
        nothing is known."""
        return self.calibrated and self.confidence < self.guess_below

    @property
    def verdict(self) -> Verdict:
        """How far to trust the answer, in words, with why."""
        if self.computed and not self.error:
            return Verdict("sure", "", ())
        return judge(self.confidence, self.calibrated, self.guess_below, self.doubts, self.error, at_home=self.at_home)

    @property
    def worded_steps(self) -> list[tuple[str, str]]:
        """Each step as a calculation and in words, where the domain has any."""
        words = self.told or ("",) * len(self.steps)
        return [(format_sum(step, self.notation), said) for step, said in zip(self.steps, words)]

    def lines(self, abstain_below: float = 0.0, program: bool = False) -> Iterator[tuple[str, str]]:
        """What there is to say, line by line, each with its kind. Below that confidence no answer is given.

        With `program` also what the model wrote, and its tuples.
        """
        if self.text:
            yield "question", cut(self.text, LONGEST)
        for note in self.notes:
            yield "note", note
        sure = self.certainty
        if self.program is None:
            yield "error", self.error
            return
        if self.confidence < abstain_below:
            yield "note", f"no answer: {sure} is below {abstain_below:g}"
            return
        tree = self.tree
        if not (self.steps or tree):
            yield "program", str(self.program)
        worded = self.worded_steps
        width = max((len(sum_) for sum_, _ in worded), default=0)
        for number, (sum_, said) in enumerate(worded, 1):
            yield "step", f"step {number}:  {sum_.ljust(width)}   {said}".rstrip()
        if tree:
            yield "step", tree
        if program and (self.steps or tree):
            yield "program", str(self.program)
            for number, step in enumerate(self.steps):
                yield "tuple", f"#{number}  {format_step(step, self.notation)}"
        yield ("error", f"{self.error}  ({sure})") if self.error else ("answer", f"= {self.reply}  ({sure})")
        for doubt in self.doubts:
            yield "doubt", f"doubtful: {doubt}"
        if self.nearest is not None and self.near:
            yield "nearest", f"the nearest question that I know ({self.nearest.similarity:.2f}): {self.near}"
        if self.chosen is not None:
            hint = "" if self.chosen.exact else "  (the nearest; the answer itself is not among the options)"
            yield "option", f"option {self.chosen}{hint}"
        for other in self.alternatives:
            worth = other.error or format_value(other.value)
            yield "alternative", f"or  {other.program} = {worth}  ({other.confidence:.2f})"

    @property
    def near(self) -> str:
        """The nearest known question in short; empty where none is near enough to tell anything."""
        return "" if self.nearest is None or self.nearest.similarity < TOLD else cut(self.nearest.text, SHORT)

    @property
    def tree(self) -> str:
        """The program as one expression, where it does not run step by step; empty where it does."""
        return "" if self.steps or self.program is None else _tree(self.program)

    def __str__(self) -> str:
        return "\n".join(line if kind == "question" else f"  {line}" for kind, line in self.lines())

    def _repr_html_(self) -> str:
        """For notebooks, like the answer of the page."""
        return as_html(self)

    def to_json(self, abstain_below: float = 0.0) -> dict[str, Any]:
        """The same, for other programs. An answer that is held back is null."""
        abstained = self.program is not None and self.confidence < abstain_below
        shown = self.program is not None and not abstained
        steps = [
            {
                "tuple": str(step.tuple),
                "values": [json_value(value) for value in step.values],
                "result": json_value(step.result),
                "text": format_step(step, self.notation),
                "words": said,
            }
            for step, (_, said) in zip(self.steps, self.worded_steps)
        ]
        others = [
            {
                "program": str(other.program),
                "answer": None if other.error else json_value(other.value),
                "error": other.error,
                "confidence": round(other.confidence, 4),
            }
            for other in self.alternatives
        ]
        return {
            "question": self.text,
            "program": str(self.program) if shown else None,
            "steps": steps if shown else [],
            "answer": None if self.error or not shown else json_value(self.value),
            "reply": self.reply if shown else "",
            "option": self.chosen.label if self.chosen is not None and shown else None,
            "confidence": round(self.confidence, 4),
            "calibrated": self.calibrated,
            "guess": self.guess,
            "doubts": list(self.doubts),
            "nearest": None if self.nearest is None else self.nearest._asdict(),
            "abstained": abstained,
            "error": self.error,
            "refused": self.refused,
            "unknown": list(self.unknown),
            "notes": list(self.notes),
            "alternatives": others if shown else [],
        }


def _tree(program: Program) -> str:
    try:
        return write_tree(program.to_tree())
    except ProgramSyntaxError:
        return ""


def unread(question: Question, error: N2FError) -> Solution:
    """What there is to say of a question that cannot be read."""
    refused = isinstance(error, NotAQuestion)
    return Solution(Problem(()), None, None, (), 0.0, str(error), (), text=clean(question.text), refused=refused)
