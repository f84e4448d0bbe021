"""Makes a grammar of AlgoLisp from records: skeletons from programs, phrases from texts, counts from both.

It reads the examples that it is given and nothing else. `measure_coverage` asks the other way round: how many records
of another split could the grammar have made?
"""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from tpn2f.domain import Example
from tpn2f.domains.algolisp.generation.alignment import PASSES, Aligner, Node
from tpn2f.domains.algolisp.generation.frames import (
    ASK,
    NO_ARTICLES,
    Articles,
    Frame,
    UnknownFrame,
    learn_articles,
    read_frame,
)
from tpn2f.domains.algolisp.generation.grammar import ARGUMENT, LEVELS, Rule, Span, TextGrammar, TextShape
from tpn2f.domains.algolisp.generation.skeletons import Inventory, fill, find_skeletons, mark_arguments
from tpn2f.domains.algolisp.generation.synonyms import Phrase, Synonyms, rewrite
from tpn2f.domains.lisp.types import infer
from tpn2f.errors import DataError
from tpn2f.program import Program, Tree

MIN_RECORDS = 2
"""A phrase that fewer records show is left out, where its skeleton has others."""


@dataclass(frozen=True)
class _Record:
    """What is learned from: a program with marked arguments, its text out of its frame, and its inputs."""

    tree: Tree
    frame: Frame
    types: Mapping[str, str]
    inputs: Sequence[Mapping[str, object]]
    label: str


def induce(
    examples: Iterable[Example],
    progress: Callable[[str, int, int], None] = lambda stage, done, total: None,
    passes: int = PASSES,
) -> TextGrammar:
    """The grammar of these examples."""
    progress("skeletons", 0, 1)
    records = _read(examples)
    inventory = find_skeletons((record.tree, record.label) for record in records)
    aligner = Aligner(inventory)
    aligner.learn(
        [(record.tree, record.frame.body) for record in records],
        passes,
        lambda done, total: progress("phrases", done, total),
    )
    aligner.rebuild(_well_known(aligner))
    parsed: list[tuple[_Record, Node]] = []
    for done, record in enumerate(records):
        node = aligner.parse(record.tree, record.frame.body)
        if node is not None:
            parsed.append((record, node))
        if done % 100 == 0:
            progress("counts", done, len(records))
    if not parsed:
        raise DataError("no record has a program and words that describe it; the grammar would be empty")
    return _count(parsed, aligner.synonyms)


def _read(examples: Iterable[Example]) -> list[_Record]:
    taken = [(example, {name: str(kind) for name, kind in example.problem.bindings.items()}) for example in examples]
    if not taken:
        raise DataError("there are no records to learn a grammar from")
    articles = learn_articles((example.problem.words, types) for example, types in taken if _frame(example, types))
    records = []
    for example, types in taken:
        frame = _frame(example, types, articles)
        if frame is not None:
            tree = mark_arguments(example.program.to_tree(), types)
            inputs = [test.inputs for test in example.answer.tests]  # type: ignore[attr-defined]
            records.append(_Record(tree, frame, types, inputs, example.answer.template))  # type: ignore[attr-defined]
    return records


def _frame(example: Example, types: Mapping[str, str], articles: Articles = NO_ARTICLES) -> Frame | None:
    try:
        return read_frame(example.problem.words, types, articles)
    except UnknownFrame:
        return None


def _well_known(aligner: Aligner) -> dict[Tree, list[Phrase]]:
    """The phrases without those that hardly any record shows: most of these come from words that fit by chance."""
    kept: dict[Tree, list[Phrase]] = {}
    for skeleton, phrases in aligner.counts.items():
        totals: Counter[Phrase] = Counter()
        for phrase, count in phrases.items():
            totals[aligner.shorten(skeleton, phrase)] += count
        bar = min(MIN_RECORDS, max(totals.values()))
        kept[skeleton] = [p for p in phrases if totals[aligner.shorten(skeleton, p)] >= bar]
    return kept


def _count(parsed: Sequence[tuple[_Record, Node]], synonyms: Sequence[Synonyms]) -> TextGrammar:
    grammar = TextGrammar()
    grammar.openings.clear()
    grammar.asks.clear()
    uses: Counter[tuple[str, Phrase]] = Counter()
    seen: dict[tuple[tuple[Tree, str], str], list[Span]] = defaultdict(list)
    rules: dict[tuple[Tree, Phrase], Rule] = {}
    orders = _hole_orders(parsed)
    for record, root in parsed:
        grammar.roots[root.skeleton] += 1
        for node, level, path in walk(root):
            short = rewrite(node.phrase, synonyms, node.skeleton, uses)
            rule = rules.get((node.skeleton, short))
            if rule is None:
                rule = rules[node.skeleton, short] = Rule(node.skeleton, short, 0.0)
                shape = grammar.shapes.get(node.skeleton) or _shape(node, record.types, orders)
                grammar.add(rule, shape)
            rule.count += 1
            for word, article in node.before:
                rule.before.setdefault(word, [0.0, 0.0])[article] += 1 / len(node.before)
            for hole, part in node.parts.items():
                filler = part.skeleton if isinstance(part, Node) else ARGUMENT
                grammar.fillers[node.skeleton, hole, min(level, LEVELS - 1)][filler] += 1
                if isinstance(part, str):
                    below = (*path, (node.skeleton, hole))
                    _count_argument(grammar, record, node, hole, part[1:-1], below, seen)
        _count_frame(grammar, record, root, orders)
    for (place, kind), spans in seen.items():
        grammar.inputs[place][kind] = _usual_span(spans)
    for group in synonyms:
        members = Counter({member: float(uses[group.name, member]) for member in group.members})
        grammar.words[group.name] = members
    return grammar


def walk(
    node: Node, level: int = 0, path: tuple[tuple[Tree, str], ...] = ()
) -> Iterator[tuple[Node, int, tuple[tuple[Tree, str], ...]]]:
    """The nodes of a derivation with their levels and the holes above them."""
    yield node, level, path
    for hole, part in node.parts.items():
        if isinstance(part, Node):
            yield from walk(part, level + 1, (*path, (node.skeleton, hole)))


def tree_of(node: Node) -> Tree:
    """The program of a derivation."""
    parts = {hole: tree_of(part) if isinstance(part, Node) else part for hole, part in node.parts.items()}
    return fill(node.skeleton, parts)


def _shape(node: Node, types: Mapping[str, str], orders: Mapping[Tree, tuple[int, ...]]) -> TextShape:
    def unmark(tree: Tree) -> Tree:
        if isinstance(tree, str):
            return tree[1:-1] if tree.startswith("{") else tree
        return (tree[0], *map(unmark, tree[1:]))

    holes = [
        infer(unmark(tree_of(part)), types) if isinstance(part, Node) else types[part[1:-1]]
        for _, part in sorted(node.parts.items())
    ]
    order = orders.get(node.skeleton, tuple(range(len(holes))))
    return TextShape(infer(unmark(tree_of(node)), types), tuple(holes), order)


def _hole_orders(parsed: Iterable[tuple[_Record, Node]]) -> dict[Tree, tuple[int, ...]]:
    """Skeleton -> its holes in the order of the letters below them, where it is outermost: most records decide."""
    votes: dict[Tree, Counter[tuple[int, ...]]] = defaultdict(Counter)
    for _, root in parsed:
        firsts = [min(_letters_below(part)) for _, part in sorted(root.parts.items())]
        votes[root.skeleton][tuple(sorted(range(len(firsts)), key=firsts.__getitem__))] += 1
    return {skeleton: counts.most_common(1)[0][0] for skeleton, counts in votes.items()}


def _letters_below(part: Node | str) -> list[str]:
    if isinstance(part, str):
        return [part[1:-1]]
    return [letter for inner in part.parts.values() for letter in _letters_below(inner)]


def _count_argument(
    grammar: TextGrammar,
    record: _Record,
    node: Node,
    hole: str,
    name: str,
    path: Iterable[tuple[Tree, str]],
    seen: dict[tuple[tuple[Tree, str], str], list[Span]],
) -> None:
    kind = record.types[name]
    values = [inputs[name] for inputs in record.inputs]
    for place in path:
        seen[place, kind].append(join_spans(values))
    for before, word in itertools.pairwise(node.phrase):
        if word == hole and before != "|" and not before.startswith("{"):
            grammar.mentions[kind][before] += 1


def join_spans(values: Sequence[object]) -> Span:
    """The span of some values of one type."""
    sizes = [len(value) for value in values if isinstance(value, list)] or [0]
    flat = [inner for value in values for inner in (value if isinstance(value, list) else [value])]
    numbers = [len(value) if isinstance(value, str) else int(str(value)) for value in flat] or [0]
    letters = {letter for value in flat if isinstance(value, str) for letter in value}
    return Span(min(numbers), max(numbers), min(sizes), max(sizes), "".join(sorted(letters)))


def _usual_span(spans: Sequence[Span]) -> Span:
    """What all but the most unusual records stay within: a tenth of them may be wider on each side."""
    cut = len(spans) // 10
    letters = {letter for span in spans for letter in span.letters}
    return Span(
        sorted(span.low for span in spans)[cut],
        sorted(span.high for span in spans)[-1 - cut],
        sorted(span.shortest for span in spans)[cut],
        sorted(span.longest for span in spans)[-1 - cut],
        "".join(sorted(letters)),
    )


def _count_frame(grammar: TextGrammar, record: _Record, root: Node, orders: Mapping[Tree, tuple[int, ...]]) -> None:
    frame = record.frame
    grammar.openings[frame.opening] += 1
    grammar.asks[next(word for word in frame.body if word.startswith(ASK))] += 1
    met = tuple(dict.fromkeys(record.types[name] for name in _in_order(root, orders)))
    grammar.orders[met][tuple(kind for kind, _ in frame.groups)] += 1
    for kind, names in frame.groups:
        if len(names) < 2:
            grammar.unnamed.setdefault(kind, [0.0, 0.0])[not names] += 1


def _in_order(part: Node | str, orders: Mapping[Tree, tuple[int, ...]]) -> list[str]:
    if isinstance(part, str):
        return [part[1:-1]]
    order = orders.get(part.skeleton, range(len(part.parts)))
    return [name for index in order for name in _in_order(part.parts[f"{{{index}}}"], orders)]


@dataclass(frozen=True, slots=True)
class Coverage:
    """How many records a grammar could have made."""

    records: int
    programs: int
    """Records whose program can be derived."""
    texts: int
    """Records whose program can be derived together with the words of the text."""
    distinct_programs: int
    derived_programs: int
    """Of the distinct programs, those that can be derived."""


def measure_coverage(grammar: TextGrammar, examples: Iterable[Example]) -> Coverage:
    """How many of the examples the grammar could have made."""
    inventory = Inventory(dict.fromkeys(grammar.shapes, 1))
    synonyms = [
        Synonyms(name, tuple(sorted(members, key=len, reverse=True)), frozenset())
        for name, members in grammar.words.items()
    ]
    aligner = Aligner(inventory, synonyms=synonyms)
    aligner.rebuild({skeleton: [rule.phrase for rule in rules] for skeleton, rules in grammar.rules.items()})
    taken = [(example, {name: str(kind) for name, kind in example.problem.bindings.items()}) for example in examples]
    articles = learn_articles((example.problem.words, types) for example, types in taken if _frame(example, types))
    derived: dict[Program, bool] = {}
    programs = texts = 0
    for example, types in taken:
        tree = mark_arguments(example.program.to_tree(), types)
        derived[example.program] = inventory.derives(tree)
        programs += derived[example.program]
        frame = _frame(example, types, articles)
        texts += derived[example.program] and frame is not None and aligner.parse(tree, frame.body) is not None
    return Coverage(len(taken), programs, texts, len(derived), sum(derived.values()))
