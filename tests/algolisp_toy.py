"""A small grammar of AlgoLisp, written by hand: what a person who extends the induced one would write."""

from __future__ import annotations

import json
from pathlib import Path

PHRASES = [
    ("(reverse {0})", "int[]", ["int[]"], "reverse of {0}"),
    ("(reverse {0})", "int[]", ["int[]"], "{0} written from the end"),
    ("(map {0} square)", "int[]", ["int[]"], "squares of <0> <1> {0}"),
    ("(map {0} square)", "int[]", ["int[]"], "square <0> <1> {0} | {0}"),
    ("(filter {0} is_prime)", "int[]", ["int[]"], "prime <0> <1> {0}"),
    ("(filter {0} (partial1 {1} <))", "int[]", ["int[]", "int"], "<0> <1> {0} that are smaller than {1}"),
    ("(slice {0} {1} {2})", "int[]", ["int[]", "int", "int"], "define {x} as <0> <1> {0} from {1} to {2} | {x}"),
    ("(head {0})", "int", ["int[]"], "first element <1> {0}"),
    ("(len {0})", "int", ["int[]"], "number of <0> <1> {0}"),
    ("(reduce {0} 0 +)", "int", ["int[]"], "sum of <0> <1> {0}"),
    ("(+ {0} {1})", "int", ["int", "int"], "value of {0} plus {1}"),
    ("(strlen {0})", "int", ["string"], "length of {0}"),
    ("(> {0} {1})", "bool", ["int", "int"], "if {0} is larger than {1}"),
]
WORDS = {"<0>": ["elements", "values"], "<1>": ["of", "in"]}


def toy_rows() -> list[dict]:
    """The rows of the grammar's file."""
    rows: list[dict] = [
        {"kind": "phrase", "program": program, "type": kind, "holes": holes, "text": text, "count": 4}
        for program, kind, holes, text in PHRASES
    ]
    rows += [{"kind": "words", "name": name, "texts": dict.fromkeys(texts, 1)} for name, texts in WORDS.items()]
    # Arguments are as likely as programs, so that texts stay short.
    for program, holes in {program: holes for program, _, holes, _ in PHRASES}.items():
        for hole in range(len(holes)):
            for level in range(3):
                row = {"kind": "filler", "program": program, "hole": f"{{{hole}}}", "level": level}
                rows.append({**row, "filler": "argument", "count": 1 + level})
    return sorted(rows, key=json.dumps)


def write_rows(path: Path, rows: list[dict]) -> Path:
    """A file of JSON lines."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path
