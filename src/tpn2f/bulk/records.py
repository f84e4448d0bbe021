"""Questions as files hold them, and answers as files get them: plain records, one a question. Knows no model."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass

from tpn2f.solution import Question, Solution
from tpn2f.wording import clean

FIELDS = ("question", "text")
"""The names under which a record may have its text."""
READ = ("id", *FIELDS, "options", "inputs")
"""The fields of a record that are read."""
ANSWER = {
    "answer": "text",
    "reply": "text",
    "option": "text",
    "program": "text",
    "steps": "texts",
    "confidence": "number",
    "guess": "truth",
    "doubts": "texts",
    "abstained": "truth",
    "refused": "truth",
    "error": "text",
}
"""What there is to say of a question, and of what kind it is in a table."""
COLUMNS = {"row": "count", "id": "text", "question": "text", **ANSWER}
"""The fields of an answer: which question of the file it is, from 1, the id that the question came with, the rest."""
Row = dict[str, object]


@dataclass(frozen=True, slots=True)
class Unread:
    """A line that cannot be read as a question."""

    reason: str


_starts_object = re.compile(r'\s*\{\s*["}]').match


def parse_line(text: str, only_json: bool = False) -> object:
    """A line as a record: a text or, if it starts as an object does, what JSON says; Unread where it says nothing.

    `{1, 2, 3} is a set` is a text like any other.
    """
    if not only_json and not _starts_object(text):
        return text.strip()
    try:
        return json.loads(text.strip())
    except (ValueError, RecursionError) as error:
        return Unread(f"not valid JSON: {error}")


def read_record(record: object) -> Question | Unread:
    """A question as a text, or as an object: `question` or `text`, `options`, `inputs`."""
    if isinstance(record, Unread):
        return record
    if not isinstance(record, Mapping):
        return Unread(f"expected a JSON object with `question`, got {type(record).__name__}")
    found = [name for name in FIELDS if isinstance(record.get(name), str)]
    if not found:
        return Unread("expected a JSON object with the text field `question` or `text`")
    inputs, options = record.get("inputs"), record.get("options")
    if inputs is not None and not isinstance(inputs, dict):
        return Unread(f"`inputs` is {type(inputs).__name__}; expected an object of values by name")
    if isinstance(options, dict):
        options = [value for _, value in sorted(options.items())]
    if isinstance(options, list):
        options = [clean(str(option)) for option in options]
    elif isinstance(options, str):
        options = clean(options)
    elif options is not None:
        return Unread(f"`options` is {type(options).__name__}; expected text or a list of texts")
    return Question(clean(record[found[0]]), inputs or {}, options)


def read_line(text: str, only_json: bool = False) -> Question | Unread:
    """A question as plain text or as JSON."""
    record = parse_line(text, only_json)
    return Question(clean(text)) if isinstance(record, str) and not only_json else read_record(record)


def add_given(asked: Question | Unread, inputs: Mapping[str, object], options: str | None) -> Question | Unread:
    """A question with the defaults that hold for all questions; its own values take precedence."""
    if isinstance(asked, Unread):
        return asked
    return Question(asked.text, {**inputs, **asked.inputs}, asked.options or options)


def name_of(record: object) -> object:
    """The id that a record came with, if any."""
    found = record.get("id") if isinstance(record, Mapping) else None
    return found if isinstance(found, str | int | float) else None


def describe(solution: Solution, abstain_below: float = 0.0) -> Row:
    """What there is to say of an answered question: the fields of `ANSWER`."""
    told = solution.program is not None and solution.confidence >= abstain_below
    return {
        "answer": None if solution.error or not told else solution.plain_value,
        "reply": solution.reply if told else "",
        "option": solution.chosen.label if solution.chosen is not None and told else None,
        "program": str(solution.program) if told else None,
        "steps": [sum_ for sum_, _ in solution.worded_steps] if told else [],
        "confidence": round(solution.confidence, 4),
        "guess": solution.guess,
        "doubts": list(solution.doubts),
        "abstained": solution.program is not None and not told,
        "refused": solution.refused,
        "error": solution.error,
    }


def describe_unread(reason: str) -> Row:
    """The same of a record that is no question."""
    empty = {"text": None, "texts": [], "number": 0.0, "truth": False}
    return {**{name: empty[kind] for name, kind in ANSWER.items()}, "reply": "", "error": reason}


def is_answered(row: Mapping[str, object]) -> bool:
    """Whether a question got a program; one that was refused or could not be read did not."""
    return bool(row.get("program")) or row.get("abstained") in (True, "true")
