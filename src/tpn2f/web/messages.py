"""The requests and responses of the API, with their bounds: what the OpenAPI description says."""

from __future__ import annotations

import math
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, field_validator

from tpn2f.trust.verdict import State

MAX_CHARACTERS = 8_000
MAX_BEAM = 10
MAX_VALUES = 26
MAX_DEPTH = 6
"""How deeply the lists and objects of a value may be nested."""
MAX_PROGRAM = 4_000
MAX_OPTIONS = 2_000
MAX_MANY = 32
"""The most questions of one request."""
MAX_CASES = 20
"""The most sets of values that a program is run on in one request."""


class Message(BaseModel):
    """What all messages share: unknown fields are refused, and nothing is turned into another type."""

    model_config = ConfigDict(extra="forbid", strict=True)


def check_plain(values: dict[str, Any]) -> dict[str, Any]:
    """Finite numbers, texts that are Unicode, lists and objects of these."""
    pending = [(value, 0) for value in (*values, *values.values())]
    while pending:
        value, depth = pending.pop()
        if isinstance(value, list | dict):
            if depth == MAX_DEPTH:
                raise ValueError(f"a value is nested deeper than {MAX_DEPTH}")
            inner = (*value, *value.values()) if isinstance(value, dict) else value
            pending.extend((part, depth + 1) for part in inner)
        elif isinstance(value, str):
            # A lone surrogate is valid in JSON, but no text.
            if any("\ud800" <= character <= "\udfff" for character in value):
                raise ValueError("a text is not valid Unicode")
        elif isinstance(value, float) and not math.isfinite(value):
            raise ValueError("a number is not finite")
    return values


class Asking(Message):
    """What is asked, and what comes with it."""

    question: str = Field(min_length=1, max_length=MAX_CHARACTERS, examples=["What is 15 percent of 80?"])
    options: str | None = Field(
        default=None,
        max_length=MAX_OPTIONS,
        description="Answers to choose from, where the language has questions with options.",
        examples=["a ) 12 , b ) 15"],
    )
    values: dict[str, Any] = Field(
        default_factory=dict,
        max_length=MAX_VALUES,
        description="Values of arguments by name, where the question only introduces them, as in AlgoLisp.",
        examples=[{"a": [3, 1, 2]}],
    )

    @field_validator("values")
    @classmethod
    def values_are_plain(cls, values: dict[str, Any]) -> dict[str, Any]:
        return check_plain(values)


class Manner(Message):
    """By whom and how questions are answered."""

    model: str | None = Field(
        default=None, max_length=100, description="A name from /api/models; without it, the first model."
    )
    beam: int = Field(
        default=0, ge=0, le=MAX_BEAM, description="How many hypotheses the search keeps; 1 is greedy, 0 as usual."
    )
    guess_below: float | None = Field(
        default=None, ge=0, le=1, strict=False, description="Below this confidence it is a guess; else as measured."
    )
    abstain: bool = Field(default=False, description="Whether a guess is no answer.")


class Ask(Asking, Manner):
    """A question for a model."""


class AskMany(Manner):
    """Several questions for a model, answered in short."""

    questions: list[Asking] = Field(min_length=1, max_length=MAX_MANY)


class TryCase(Message):
    """Values to run a program on, and what it should give."""

    values: dict[str, Any] = Field(max_length=MAX_VALUES, examples=[{"a": [3, 1, 2]}])
    expected: Any = Field(default=None, description="What the program should give; none where that is not known.")

    @field_validator("values")
    @classmethod
    def values_are_plain(cls, values: dict[str, Any]) -> dict[str, Any]:
        return check_plain(values)

    @field_validator("expected")
    @classmethod
    def expected_is_plain(cls, expected: Any) -> Any:
        return check_plain({"expected": expected})["expected"]


class Rerun(Message):
    """A program that was written before, to be run on other values. No model is asked."""

    question: str = Field(min_length=1, max_length=MAX_CHARACTERS)
    program: str = Field(min_length=1, max_length=MAX_PROGRAM, examples=["reverse(a)"])
    model: str | None = Field(default=None, max_length=100)
    cases: list[TryCase] = Field(min_length=1, max_length=MAX_CASES)
    trace: int = Field(default=0, ge=0, lt=MAX_CASES, description="The case whose run is shown call by call.")


class Look(Ask):
    """A question to look into, with the program that the model writes for it or with another one."""

    program: str | None = Field(
        default=None, max_length=MAX_PROGRAM, description="A program in place of the model's own: add(n0, n1)."
    )


class Refusal(BaseModel):
    """Why a request was not answered, in one sentence."""

    error: str


class Word(BaseModel):
    """A word of the question as the model reads it."""

    text: str = Field(description="As the person wrote it, where that is known.")
    space: bool = Field(description="Whether there is a space before it.")
    name: str | None = Field(description="What programs call it, where it is a value or an argument: n0.")
    known: bool = Field(description="Whether training had it.")


class InputField(BaseModel):
    """A value that the question gives, or an argument that it introduces."""

    name: str
    kind: str
    value: str | None = Field(description="As a person writes it; none where a value is still needed.")
    needed: bool = Field(description="Whether the question names only a type, so that `values` has to give a value.")


class Tuple(BaseModel):
    """A relational tuple."""

    relation: str
    arguments: list[str]


class SumPart(BaseModel):
    """A piece of a calculation."""

    text: str
    name: str = Field(description="The argument whose value it is: n0, #1; empty for signs and the result.")


class WorkedStep(BaseModel):
    """What a tuple's arguments are worth and what comes out, as a person writes numbers."""

    values: list[str]
    result: str
    text: str = Field(description="Both in the language's own signs: 60 / 100 = 0.6.")
    parts: list[SumPart] = Field(description="The same in pieces, which say where each number comes from.")
    words: str = Field(description="What the step does, in words; empty where the language has none for it.")


class RankedProgram(BaseModel):
    """A program that the search came to, run."""

    program: str | None
    tuples: list[Tuple]
    tree: str | None = Field(description="The program as one expression; none if that would be too large.")
    steps: list[WorkedStep] = Field(description="One per tuple, where the language runs step by step.")
    answer: str | None = Field(description="What the program gives, as a person writes it.")
    reply: str | None = Field(description="The same rounded, with its unit where the question says it: $12.50.")
    value: Any = Field(description="What the program gives, as JSON; none if JSON cannot hold it exactly.")
    error: str = Field(description="Why there is no answer; empty when there is one.")
    confidence: float = Field(description="How probable it is that the answer is right.")


class KnownQuestion(BaseModel):
    """The training question that is most like the one that was asked."""

    text: str
    similarity: float = Field(description="From 0 to 1, the same words.")


class VerdictMessage(BaseModel):
    """How far to trust an answer, for people."""

    state: State = Field(description="sure, guess, none, or open: a program that needs values to run.")
    words: str = Field(description="The same in words: I cannot answer this.")
    chance: str = Field(description="How often such answers are right; empty where that is not known.")
    why: list[str]


class ChosenOption(BaseModel):
    """The option that fits the answer best."""

    label: str
    text: str
    exact: bool = Field(description="Whether it is the answer but for rounding, not just the nearest option.")


class Solved(RankedProgram):
    """The best candidate, the question as the model reads it, and the other candidates."""

    verdict: VerdictMessage
    option: ChosenOption | None = Field(description="Where there were options to choose from.")
    guess_below: float = Field(description="Below this confidence an answer was called a guess.")

    model: str
    domain: str
    words: list[Word]
    rest: str = Field(description="What the person wrote after the last word.")
    inputs: list[InputField]
    unknown: list[str] = Field(description="Words that training did not have.")
    notes: list[str] = Field(description="What else to know before trusting the answer.")
    calibrated: bool = Field(description="Whether confidence agrees with how often the model is right on dev.")
    guess: bool = Field(description="Whether the model is known to be wrong too often at this confidence.")
    doubts: list[str] = Field(description="What speaks against the answer, in plain words.")
    nearest: KnownQuestion | None = Field(description="The nearest question that the model learned from.")
    alternatives: list[RankedProgram]
    milliseconds: float


class Row(BaseModel):
    """The answer to one of many questions, in short."""

    question: str
    state: State
    answer: str = Field(description="As a person says it; empty where there is none to trust.")
    option: str
    confidence: float
    why: str
    program: str
    nearest: str


class Rows(BaseModel):
    """The answers to many questions, in their order."""

    rows: list[Row]
    milliseconds: float


class RanCase(BaseModel):
    """What a program gives for some values."""

    answer: str | None
    error: str
    passed: bool | None = Field(description="Whether it gave what was expected; none where nothing was.")


class TracedCall(BaseModel):
    """What one call of a program gave in a run, the first times that it was reached."""

    values: list[str]
    count: int
    failed: bool


class Reran(BaseModel):
    """What a program gives, case by case, and one of the runs call by call."""

    cases: list[RanCase]
    calls: list[TracedCall] = Field(description="One a call, in the order in which the tree is written.")


class Choice(BaseModel):
    """A filler or a role, and how much a word selects it."""

    number: int
    weight: float


class Explained(BaseModel):
    """What the model sees in a question."""

    model: str
    words: list[Word]
    rest: str
    structured: bool = Field(description="Whether the model has fillers and roles at all.")
    fillers: list[list[Choice]] = Field(description="A word's fillers with a weight above 0.1, the heaviest first.")
    roles: list[list[Choice]]
    program: str | None
    tuples: list[Tuple]
    attention: list[list[float]] = Field(description="One row per tuple: how much it attends to every word.")
    milliseconds: float


class Suggestion(BaseModel):
    """A question to try."""

    question: str
    kind: str = Field(default="", description="What sort of question it is, for people.")
    values: dict[str, Any] = {}
    tests: list[TryCase] = Field(default=[], description="Other values for it, and what the program should give then.")


class Shelf(BaseModel):
    """What the explorer has ready for a domain."""

    title: str
    questions: list[Suggestion] = []


class ModelCard(BaseModel):
    """A model that the server has."""

    name: str
    title: str = Field(description="What its questions are called, for people.")
    domain: str
    encoder: str
    decoder: str
    parameters: int
    words: int
    relations: int
    worked: bool = Field(description="Whether the domain's programs run step by step.")
    traced: bool = Field(description="Whether the domain's programs are nested calls whose values can be shown.")
    options: bool = Field(description="Whether the domain's questions may have options to choose from.")
    inputs: list[InputField] = Field(description="Values that its questions need beside the text.")
    guess_below: float = Field(description="Below this confidence its answers are called guesses.")
    examples: list[Suggestion]


class Models(BaseModel):
    """What there is to ask, and how much may be asked."""

    models: list[ModelCard]
    max_words: int
    max_characters: int
    max_beam: int
    max_many: int
    max_body: int


class Point(BaseModel):
    """A relation on the map."""

    relation: str
    count: int = Field(description="How many tuples it was averaged over.")
    x: float
    y: float
    clusters: dict[str, int] = Field(description="Its cluster for every number of clusters.")


class RelationMapMessage(BaseModel):
    """The unbinding vectors of relations on two principal components, with k-means clusters."""

    model: str
    source: str = Field(description="What the vectors were averaged over.")
    explained: list[float] = Field(description="The part of the variance that each of the two axes has.")
    points: list[Point]


class ServerHealth(BaseModel):
    """That the server is alive."""

    status: str
    version: str
    models: list[str]
    pending: int
