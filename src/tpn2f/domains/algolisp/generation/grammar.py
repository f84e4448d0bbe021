"""A grammar that makes AlgoLisp tasks: phrases and the programs that they say, as data to read and to extend.

On disk a grammar is JSON lines. The rows that matter to a person are the phrases:

    {"kind": "phrase", "program": "(map {0} square)", "type": "int[]", "holes": ["int[]"], "order": [0],
     "text": "squares of <1> <0> {0}", "count": 12.5, "before": {"find": [9.0, 0.0], "is": [0.0, 3.5]}}

`{0}` is a hole, `<1>` one of the wordings of a row of kind `words`; a `text` with `|` has clauses before it, which come
ahead of the question and may name something, `{x}`. `before` counts the words that the phrase was seen after, without
and with `the`. A phrase with no `before` is taken to fit anywhere, so that a new row needs all fields but that.
The other rows say how often what stands in which hole, which inputs it was given, and how texts open and ask.

`induction` makes a grammar from records; `generator` makes records from a grammar.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TextIO

from tpn2f.domains.algolisp.generation.frames import ASK, ASKS, NOUNS, OPENINGS
from tpn2f.domains.algolisp.generation.skeletons import holes_of, is_hole
from tpn2f.domains.algolisp.generation.synonyms import BAR, Phrase
from tpn2f.domains.lisp.types import infer
from tpn2f.errors import DataError, ExecutionError, ProgramSyntaxError
from tpn2f.program import Tree, read_tree, write_tree

ARGUMENT = "argument"
"""What fills a hole that no program fills."""
LEVELS = 3
"""Levels of nesting that are counted apart; all deeper ones count as the last."""


@dataclass
class Rule:
    """One way to say a skeleton."""

    skeleton: Tree
    phrase: Phrase
    count: float = 1.0
    before: dict[str, list[float]] = field(default_factory=dict)
    """Word before a mention -> how often without and with `the`."""


@dataclass
class TextShape:
    """What a skeleton gives and takes."""

    type: str
    holes: tuple[str, ...]
    order: tuple[int, ...]
    """The order in which the arguments of its holes get their letters and are introduced."""


@dataclass
class Span:
    """The inputs that were seen for a type: numbers or lengths of texts, sizes of arrays, letters of texts."""

    low: int
    high: int
    shortest: int = 0
    longest: int = 0
    letters: str = ""

    def __and__(self, other: Span) -> Span:
        """What both allow; where they exclude each other, what the other one allows."""
        low, high = max(self.low, other.low), min(self.high, other.high)
        shortest, longest = max(self.shortest, other.shortest), min(self.longest, other.longest)
        letters = "".join(letter for letter in self.letters if letter in other.letters)
        return Span(
            *((low, high) if low <= high else (other.low, other.high)),
            *((shortest, longest) if shortest <= longest else (other.shortest, other.longest)),
            letters or other.letters,
        )


@dataclass
class TextGrammar:
    """Everything that a generator needs to know. Counts may be fractions."""

    shapes: dict[Tree, TextShape] = field(default_factory=dict)
    rules: dict[Tree, list[Rule]] = field(default_factory=lambda: defaultdict(list))
    words: dict[str, Counter[Phrase]] = field(default_factory=dict)
    """Class of synonyms -> its members."""
    roots: Counter[Tree] = field(default_factory=Counter)
    fillers: dict[tuple[Tree, str, int], Counter[Tree]] = field(default_factory=lambda: defaultdict(Counter))
    """Skeleton, hole and level -> what fills the hole."""
    inputs: dict[tuple[Tree, str], dict[str, Span]] = field(default_factory=lambda: defaultdict(dict))
    """Skeleton and hole -> type of an argument anywhere below -> its values."""
    openings: Counter[str] = field(default_factory=Counter)
    asks: Counter[str] = field(default_factory=Counter)
    orders: dict[tuple[str, ...], Counter[tuple[str, ...]]] = field(default_factory=lambda: defaultdict(Counter))
    """Types of the arguments as the program meets them -> as the text introduces them."""
    unnamed: dict[str, list[float]] = field(default_factory=dict)
    """Type -> how often the only argument of the type has a name, and how often it has none."""
    mentions: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    """Type -> the words that arguments of the type are mentioned after."""

    def __post_init__(self) -> None:
        self.openings = self.openings or Counter(" ".join(opening) for opening in OPENINGS)
        self.asks = self.asks or Counter(ASK + " ".join(ask) for ask in ASKS)

    def add(self, rule: Rule, shape: TextShape | None = None) -> None:
        """Adds a way to say a program; the first one of a skeleton brings its shape."""
        if rule.skeleton not in self.shapes:
            if shape is None:
                raise DataError(f"{write_tree(rule.skeleton)} has no types yet")
            self.shapes[rule.skeleton] = shape
        self.rules[rule.skeleton].append(rule)

    def save(self, path: Path) -> None:
        """Writes the grammar, the phrases first."""
        with whole_file(path) as file:
            for row in self._rows():
                file.write(json.dumps(row) + "\n")

    def _rows(self) -> Iterator[dict[str, Any]]:
        for skeleton, rules in self.rules.items():
            shape = self.shapes[skeleton]
            for rule in sorted(rules, key=lambda rule: (-rule.count, rule.phrase)):
                yield {
                    **{"kind": "phrase", "program": write_tree(skeleton), "type": shape.type},
                    **{"holes": list(shape.holes), "order": list(shape.order)},
                    **{"text": write_phrase(rule.phrase), "count": _short(rule.count)},
                    "before": {word: [_short(n) for n in counts] for word, counts in rule.before.items()},
                }
        for name, members in self.words.items():
            yield {
                **{"kind": "words", "name": name},
                "texts": {" ".join(member): _short(count) for member, count in members.items()},
            }
        for skeleton, count in self.roots.items():
            yield {"kind": "root", "program": write_tree(skeleton), "count": _short(count)}
        for (skeleton, hole, level), counts in self.fillers.items():
            for filler, count in counts.items():
                yield {
                    **{"kind": "filler", "program": write_tree(skeleton), "hole": hole, "level": level},
                    **{"filler": write_tree(filler), "count": _short(count)},
                }
        for (skeleton, hole), spans in self.inputs.items():
            for kind, span in spans.items():
                row = {"kind": "inputs", "program": write_tree(skeleton), "hole": hole, "type": kind}
                yield (
                    row
                    | {"values": [span.low, span.high], "sizes": [span.shortest, span.longest]}
                    | ({"letters": span.letters} if span.letters else {})
                )
        yield {"kind": "openings", "texts": {text: _short(count) for text, count in self.openings.items()}}
        yield {"kind": "asks", "texts": {text[1:]: _short(count) for text, count in self.asks.items()}}
        for types, orders in self.orders.items():
            for order, count in orders.items():
                yield {"kind": "order", "types": list(types), "introduced": list(order), "count": _short(count)}
        for kind, (named, without) in self.unnamed.items():
            yield {"kind": "names", "type": kind, "named": _short(named), "unnamed": _short(without)}
        for kind, words in self.mentions.items():
            yield {"kind": "mentions", "type": kind, "before": {word: _short(n) for word, n in words.items()}}

    @classmethod
    def load(cls, path: Path) -> TextGrammar:
        """Reads a grammar. Raises DataError with the line for a row that is wrong."""
        grammar = cls(openings=Counter({"": 0}), asks=Counter({"": 0}))
        try:
            lines = path.read_text(encoding="utf-8").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            raise DataError(f"the grammar {path} cannot be read: {error}") from error
        for number, line in enumerate(lines, start=1):
            if line.strip():
                try:
                    grammar._read_row(json.loads(line))
                except (ValueError, KeyError, TypeError, AttributeError, ProgramSyntaxError, DataError) as error:
                    what = f"the field {error} is missing" if isinstance(error, KeyError) else error
                    raise DataError(f"{path}, line {number}: {what}") from None
        grammar.openings, grammar.asks = +grammar.openings, +grammar.asks
        grammar.__post_init__()
        if not grammar.rules:
            raise DataError(f"the grammar {path} has no phrase")
        grammar.check(path)
        return grammar

    def _read_row(self, row: dict[str, Any]) -> None:
        kind = row["kind"]
        if kind == "phrase":
            self._read_phrase(row)
        elif kind == "words":
            self.words[row["name"]] = Counter({tuple(text.split()): float(n) for text, n in row["texts"].items()})
        elif kind == "root":
            self.roots[read_tree(row["program"])] += float(row["count"])  # type: ignore[assignment]
        elif kind == "filler":
            key = (read_tree(row["program"]), row["hole"], int(row["level"]))
            self.fillers[key][read_tree(row["filler"])] += float(row["count"])  # type: ignore[assignment]
        elif kind == "inputs":
            (low, high), (shortest, longest) = row["values"], row["sizes"]
            span = Span(int(low), int(high), int(shortest), int(longest), str(row.get("letters", "")))
            self.inputs[read_tree(row["program"]), row["hole"]][row["type"]] = span
        elif kind == "openings":
            self.openings.update({str(text): float(count) for text, count in row["texts"].items()})
        elif kind == "asks":
            self.asks.update({ASK + text: float(count) for text, count in row["texts"].items()})
        elif kind == "order":
            self.orders[tuple(row["types"])][tuple(row["introduced"])] += float(row["count"])  # type: ignore
        elif kind == "names":
            self.unnamed[row["type"]] = [float(row["named"]), float(row["unnamed"])]
        elif kind == "mentions":
            self.mentions[row["type"]].update({word: float(count) for word, count in row["before"].items()})
        else:
            raise DataError(f"a row of the kind {kind!r} is not known")

    def _read_phrase(self, row: dict[str, Any]) -> None:
        skeleton = read_tree(row["program"])
        holes = tuple(map(str, row["holes"]))
        order = tuple(map(int, row.get("order") or range(len(holes))))
        expected = tuple(f"{{{index}}}" for index in range(len(holes)))
        if tuple(sorted(holes_of(skeleton))) != expected or sorted(order) != list(range(len(holes))):
            raise DataError(f"{row['program']} needs {len(holes_of(skeleton))} holes, numbered from {{0}}")
        for kind in (*holes, row["type"]):
            if kind not in NOUNS and kind != "bool":
                raise DataError(f"the type {kind!r} is not known; expected bool, {', '.join(NOUNS)}")
        _check_types(skeleton, holes, row["type"])
        phrase = read_phrase(row["text"])
        if not set(expected) <= set(phrase) or {word for word in phrase if is_hole(word)} - {*expected, "{x}"}:
            raise DataError(f"the text {row['text']!r} does not mention every hole of {row['program']} and no other")
        before = {word: [float(n) for n in counts] for word, counts in row.get("before", {}).items()}
        self.add(Rule(skeleton, phrase, float(row["count"]), before), TextShape(row["type"], holes, order))

    def check(self, path: Path | str) -> None:
        """Raises DataError where a row speaks of something that no other row gives."""
        for rules in self.rules.values():
            for rule in rules:
                for word in rule.phrase:
                    if word.startswith("<") and word not in self.words:
                        raise DataError(f"{path}: {write_phrase(rule.phrase)!r} uses {word}, which no row gives")
        needed = {*self.roots, *(skeleton for skeleton, _, _ in self.fillers)}
        needed |= {filler for counts in self.fillers.values() for filler in counts if filler != ARGUMENT}
        for skeleton in needed:
            if skeleton not in self.rules:
                raise DataError(f"{path}: no row of the kind phrase says {write_tree(skeleton)}")


def _check_types(skeleton: Tree, holes: tuple[str, ...], kind: str) -> None:
    names = {f"{{{index}}}": f"h{index}" for index in range(len(holes))}

    def rename(node: Tree) -> Tree:
        return names.get(node, node) if isinstance(node, str) else (node[0], *map(rename, node[1:]))

    try:
        infer(rename(skeleton), dict(zip(names.values(), holes)), kind)
    except ExecutionError as error:
        raise DataError(f"{write_tree(skeleton)} does not give the type {kind}: {error}") from None


def write_phrase(phrase: Phrase) -> str:
    """`clauses | words`, or the words alone."""
    bar = phrase.index(BAR)
    return " ".join(phrase if bar else phrase[1:])


def read_phrase(text: str) -> Phrase:
    """The inverse of `write_phrase`."""
    words = tuple(text.split())
    return words if BAR in words else (BAR, *words)


def share(counts: Mapping[Any, float], key: object) -> float:
    """The part of the counts that a key has; 1 if nothing was counted."""
    total = sum(counts.values())
    return counts.get(key, 0.0) / total if total else 1.0


def _short(count: float) -> float:
    return round(float(count), 3)


@contextmanager
def whole_file(path: Path) -> Iterator[TextIO]:
    """A file under a temporary name that becomes the path when all is written, and is gone when it is not."""
    temporary = path.with_name(path.name + ".part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with temporary.open("w", encoding="utf-8") as file:
            yield file
        temporary.replace(path)
    except OSError as error:
        raise DataError(f"cannot write {path}: {error.strerror or error}") from error
    finally:
        temporary.unlink(missing_ok=True)
