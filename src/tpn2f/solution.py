"""What a model makes of one question, and how that reads: in a terminal, in a notebook, as JSON. Knows no model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Any

from tpn2f.domain import Chosen, Problem, Step
from tpn2f.errors import ProgramSyntaxError
from tpn2f.program import Program, write_tree
from tpn2f.wording import cut, format_step, format_value, json_value

LONGEST = 600
"""The most characters of a question that are repeated."""
MOST_WORDS = 12
"""The most unknown words that are named."""


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
    threshold: float | None = None
    """Below this confidence an answer is a guess, as calibration found; None where no confidence was enough."""
    notes: tuple[str, ...] = ()
    """What else to know before one trusts the answer."""
    notation: Mapping[str, str] = field(default_factory=dict, repr=False)
    """How the language writes its relations, from the domain."""

    @property
    def answer(self) -> str:
        """The value as a person writes it; empty when there is none."""
        return "" if self.error else format_value(self.value)

    @property
    def certainty(self) -> str:
        """How sure the answer is, in words."""
        doubt = "" if self.calibrated else ", not calibrated"
        return f"{'a guess, ' if self.guess else ''}confidence {self.confidence:.2f}{doubt}"

    @property
    def guess(self) -> bool:
        """Whether the model is known to be wrong too often at this confidence. Without calibration nothing is known."""
        return self.calibrated and (self.threshold is None or self.confidence < self.threshold)

    def lines(self, abstain_below: float = 0.0) -> Iterator[tuple[str, str]]:
        """What there is to say, line by line, each with its kind. Below that confidence no answer is given."""
        if self.text:
            yield "question", cut(self.text, LONGEST)
        if self.unknown:
            yield "note", f"words that training did not have: {_name_some(self.unknown)}"
        for note in self.notes:
            yield "note", note
        sure = self.certainty
        if self.program is None:
            yield "error", self.error
            return
        if self.confidence < abstain_below:
            yield "note", f"no answer: {sure} is below {abstain_below:g}"
            return
        yield "program", str(self.program)
        for number, step in enumerate(self.steps):
            yield "step", f"#{number}  {format_step(step, self.notation)}"
        if not self.steps and (tree := _tree(self.program)):
            yield "step", tree
        yield ("error", f"{self.error}  ({sure})") if self.error else ("answer", f"= {self.answer}  ({sure})")
        if self.chosen is not None:
            hint = "" if self.chosen.exact else "  (the nearest; the answer itself is not among the options)"
            yield "option", f"option {self.chosen}{hint}"
        for other in self.alternatives:
            worth = other.error or format_value(other.value)
            yield "alternative", f"or  {other.program} = {worth}  ({other.confidence:.2f})"

    def __str__(self) -> str:
        return "\n".join(line if kind == "question" else f"  {line}" for kind, line in self.lines())

    def _repr_html_(self) -> str:
        """For notebooks. Everything that a person or a model wrote is escaped."""
        marks = {"question": "<b>{}</b>", "answer": "<b>{}</b>", "error": "<span style='color:#b00020'>{}</span>"}
        marks |= {"note": "<i>{}</i>", "program": "<code>{}</code>", "step": "<code>{}</code>"}
        rows = (marks.get(kind, "{}").format(escape(line)) for kind, line in self.lines())
        return f"<div style='line-height:1.6'>{'<br>'.join(rows)}</div>"

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
            }
            for step in self.steps
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
            "option": self.chosen.label if self.chosen is not None and shown else None,
            "confidence": round(self.confidence, 4),
            "calibrated": self.calibrated,
            "guess": self.guess,
            "abstained": abstained,
            "error": self.error,
            "unknown": list(self.unknown),
            "notes": list(self.notes),
            "alternatives": others if shown else [],
        }


def _name_some(words: Sequence[str]) -> str:
    shown = ", ".join(cut(word, 30) for word in words[:MOST_WORDS])
    return shown if len(words) <= MOST_WORDS else f"{shown} and {len(words) - MOST_WORDS:,} more"


def _tree(program: Program) -> str:
    try:
        return write_tree(program.to_tree())
    except ProgramSyntaxError:
        return ""
