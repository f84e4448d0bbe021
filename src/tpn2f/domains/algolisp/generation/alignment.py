"""Which words of an AlgoLisp text say which part of its program: learned from the records themselves.

A record is reduced from the inside out: where a part of the program is a skeleton and the text holds one of its phrases
about the same arguments, both are replaced by one token, `{_0}`. What is left in the end, one skeleton and the words
around its arguments, is a phrase of that skeleton. Where one inner part stays unknown but the phrase around it is
known, the words in the gap are the part's. Each pass over the records knows the phrases of the pass before, with the
synonyms that they show. Meaning is checked by what a phrase speaks of: exactly the arguments of its part.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from tpn2f.domains.algolisp.generation.frames import ASK
from tpn2f.domains.algolisp.generation.skeletons import (
    Inventory,
    calls,
    generalise,
    holes_of,
    is_expression,
    is_hole,
    replace,
)
from tpn2f.domains.algolisp.generation.synonyms import BAR, Phrase, Synonyms, expressions, find_synonyms, rewrite
from tpn2f.program import Tree

PASSES = 3
MAX_STATES = 40
"""Partly reduced states that are looked at for one record."""
WIDTH = 3
"""Reductions that are followed from one state: the longest ones."""
NAME = "{x}"
"""A name that a phrase gives itself: `define {x} as ...`."""

_atoms = re.compile(r"\{\w+\}").findall


@dataclass(frozen=True)
class Node:
    """A part of a program with the words that say it."""

    skeleton: Tree
    phrase: Phrase
    parts: Mapping[str, Node | str]
    """Hole -> a part, or an argument such as `{a}`."""
    name: str | None
    """The token of the name that the phrase gives itself, such as `{e}`."""
    before: tuple[tuple[str, bool], ...]
    """For every mention the word before it, and whether `the` stands between."""


@dataclass(frozen=True)
class Pattern:
    """A phrase of a skeleton, ready to be looked for."""

    skeleton: Tree
    phrase: Phrase
    clauses: re.Pattern[str] | None
    proper: re.Pattern[str]
    whole: re.Pattern[str]
    """The phrase as a whole body, after other clauses."""
    required: frozenset[str]
    """Words that a text must hold: a quick test."""


@dataclass
class Aligner:
    """The phrases of an inventory's skeletons, as far as they are learned."""

    inventory: Inventory
    counts: dict[Tree, Counter[Phrase]] = field(default_factory=lambda: defaultdict(Counter))
    """Skeleton -> its phrases in the records' own words, with the number of records."""
    synonyms: list[Synonyms] = field(default_factory=list)
    patterns: dict[Tree, dict[Phrase, Pattern]] = field(default_factory=dict)
    _words: dict[str, str] = field(default_factory=dict)
    """The regular expressions of the synonyms."""
    _short: dict[tuple[Tree, Phrase], Phrase] = field(default_factory=dict)

    def learn(
        self,
        records: Sequence[tuple[Tree, Phrase]],
        passes: int = PASSES,
        progress: Callable[[int, int], None] = lambda done, total: None,
    ) -> None:
        """Learns from programs with marked arguments and bodies of frames. Small programs teach the large ones."""
        order = sorted(range(len(records)), key=lambda index: (len(str(records[index][0])), index))
        for turn in range(passes):
            counts: dict[Tree, Counter[Phrase]] = defaultdict(Counter)
            for done, index in enumerate(order):
                for skeleton, phrase in self._lessons(*records[index]):
                    counts[skeleton][phrase] += 1
                    self._add(skeleton, phrase)
                if done % 100 == 0:
                    progress(turn * len(order) + done, passes * len(order))
            self.counts = counts
            self.synonyms = find_synonyms(counts.items())
            self.rebuild({skeleton: list(phrases) for skeleton, phrases in counts.items()})

    def rebuild(self, phrases: Mapping[Tree, Sequence[Phrase]]) -> None:
        """Forgets all patterns but these phrases'."""
        self.patterns = {}
        self._short = {}
        self._words = expressions(self.synonyms)
        for skeleton, group in phrases.items():
            for phrase in group:
                self._add(skeleton, phrase)

    def shorten(self, skeleton: Tree, phrase: Phrase) -> Phrase:
        """A skeleton's phrase in the classes of synonyms."""
        key = (skeleton, phrase)
        if key not in self._short:
            self._short[key] = rewrite(phrase, self.synonyms, skeleton)
        return self._short[key]

    def _add(self, skeleton: Tree, phrase: Phrase) -> None:
        short = self.shorten(skeleton, phrase)
        known = self.patterns.setdefault(skeleton, {})
        if short not in known:
            known[short] = _compile(skeleton, short, self._words)

    def _lessons(self, tree: Tree, body: Phrase) -> list[tuple[Tree, Phrase]]:
        """The phrases that a record shows, if it can be reduced, or the one that stands in its gap."""
        ends: list[_State] = []
        for state in self._states(tree, body):
            skeleton, arguments = generalise(state.tree)
            if skeleton in self.inventory:
                phrase = _phrase_of(state.text, arguments)
                if phrase is not None:
                    return [(skeleton, phrase), *((node.skeleton, node.phrase) for node in state.nodes.values())]
            if state.is_end:
                ends.append(state)
        for state in ends:
            gaps = set(self._gaps(state))
            if len(gaps) == 1:
                return list(gaps)
        return []

    def parse(self, tree: Tree, body: Phrase) -> Node | None:
        """The record's derivation in phrases that are known, None if there is none within the bounds of the search."""
        for state in self._states(tree, body):
            skeleton, arguments = generalise(state.tree)
            words = frozenset(state.text.split())
            for pattern in self.patterns.get(skeleton, {}).values():
                if not pattern.required <= words:
                    continue
                found = pattern.whole.fullmatch(state.text)
                if found is None or found["before"] or not _speaks_of(found, arguments):
                    continue
                phrase = _phrase_of(state.text, arguments)
                if phrase is None:
                    continue
                ask = next(word for word in state.text.split() if word.startswith(ASK))
                article = f" {ask} the " in state.text and not state.text.endswith(f" {ask} the ")
                before = ((_word_before(ask), article),)
                parts = {f"{{{index}}}": state.nodes.get(atom, atom) for index, atom in enumerate(arguments)}
                return Node(skeleton, phrase, parts, found.groupdict().get("x"), before)
        return None

    def _states(self, tree: Tree, body: Phrase) -> Iterator[_State]:
        """The states that a record can be reduced to, those with the longest phrases first."""
        start = _State(tree, f" {' '.join(word.replace(' ', '_') for word in body)} ", {})
        seen = {(start.tree, start.text)}
        pending = [start]
        for _ in range(MAX_STATES):
            if not pending:
                return
            state = pending.pop()
            part, following = self._reductions(state)
            state.is_end = part is None
            yield state
            if part is not None:
                # The words may be there by chance: the last resort is to leave the part as it is.
                pending.append(_State(state.tree, state.text, state.nodes, state.left | {part}))
            for _, after in following[-WIDTH:]:
                if (after.tree, after.text) not in seen:
                    seen.add((after.tree, after.text))
                    pending.append(after)

    def _reductions(self, state: _State) -> tuple[Tree | None, list[tuple[int, _State]]]:
        """The first part that some phrase of the text says, and the ways to reduce it, the longest phrase last."""
        atoms = set(holes_of(state.tree))
        words = frozenset(state.text.split())
        for part in dict.fromkeys(calls(state.tree)):
            if part == state.tree or part in state.left or not is_expression(part):
                continue
            skeleton, arguments = generalise(part)
            found = [
                reduced
                for pattern in self.patterns.get(skeleton, {}).values()
                if pattern.required <= words
                and (reduced := _reduce(state, part, pattern, arguments, atoms)) is not None
            ]
            if found:
                return part, sorted(found, key=lambda pair: pair[0])
        return None, []

    def _gaps(self, state: _State) -> Iterator[tuple[Tree, Phrase]]:
        """What one unknown part may be called, from the known phrases of the skeleton around it."""
        words = frozenset(state.text.split())
        for skeleton, parts in self.inventory.derivations(state.tree):
            unknown = [hole for hole, part in parts.items() if not isinstance(part, str)]
            if len(unknown) != 1:
                continue
            part = parts[unknown[0]]
            inner, arguments = generalise(part)
            others = {str(part) for part in parts.values() if isinstance(part, str)} - set(arguments)
            for pattern in self.patterns.get(skeleton, {}).values():
                if NAME in pattern.phrase or unknown[0] not in pattern.phrase or not pattern.required <= words:
                    continue
                group = f"h{unknown[0][1:-1]}"
                found = _with_gap(pattern.whole, group).fullmatch(state.text)
                if found is None or any(
                    found[f"h{hole[1:-1]}"] != part for hole, part in parts.items() if hole != unknown[0]
                ):
                    continue
                gap = f"{found['before']} {ASK} {found[group]} "
                if others & set(_atoms(gap)):
                    continue
                if inner not in self.inventory:
                    yield from self._gaps(_State(part, gap, {}))
                elif (phrase := _phrase_of(gap, arguments)) is not None:
                    yield inner, phrase


@dataclass
class _State:
    """A record, partly reduced: what is left of the program and of the text, and what the tokens stand for."""

    tree: Tree
    text: str
    nodes: dict[str, Node]
    left: frozenset[Tree] = frozenset()
    """Parts that are left as they are."""
    is_end: bool = False


def _reduce(
    state: _State, part: Tree, pattern: Pattern, arguments: Sequence[str], atoms: set[str]
) -> tuple[int, _State] | None:
    """The state with a part and its phrase replaced by one token, and the length of the phrase."""
    text, start, name = state.text, 0, None
    clause = ""
    if pattern.clauses is not None:
        found = next((found for found in pattern.clauses.finditer(text) if _speaks_of(found, arguments)), None)
        if found is None:
            return None
        name = found.groupdict().get("x")
        clause, start = found[0], found.start()
        text = text[:start] + text[found.end() :]
    mentions = [
        found
        for found in pattern.proper.finditer(text, start)
        if _speaks_of(found, arguments) and (name is None or found.groupdict().get("x", name) == name)
    ]
    if not mentions or name in atoms:
        return None
    token = f"{{_{len(state.nodes)}}}"
    pieces: list[str] = []
    before: list[tuple[str, bool]] = []
    end = 0
    for found in mentions:
        pieces += [text[end : found.start()], token]
        before.append((_word_before(text[: found.start()]), found["the"] is not None))
        end = found.end()
    text = "".join([*pieces, text[end:]])
    tree = replace(state.tree, part, token)
    left, mentioned = set(holes_of(tree)), set(_atoms(text))
    # What is gone from the program must be gone from the text, and the other way round.
    if not left <= mentioned or (atoms - left) & mentioned or (name is not None and name in mentioned):
        return None
    first = mentions[0]
    words = first[0].strip()[4:] if first["the"] else first[0].strip()
    phrase = _phrase_of(f"{clause} {ASK} {words} ", arguments)
    if phrase is None:
        return None
    parts = {f"{{{index}}}": state.nodes.get(atom, atom) for index, atom in enumerate(arguments)}
    node = Node(pattern.skeleton, phrase, parts, name, tuple(before))
    return len(clause) + len(words), _State(tree, text, {**state.nodes, token: node}, state.left)


def _word_before(text: str) -> str:
    """The last word of a text: of a question its own last word, `{}` for a part."""
    word = text.rstrip().rpartition(" ")[2]
    if word.startswith(ASK):
        return word[1:].rpartition("_")[2]
    return "{}" if is_hole(word) else word


def _speaks_of(found: re.Match[str], arguments: Sequence[str]) -> bool:
    groups = found.groupdict()
    return all(groups.get(f"h{index}", argument) == argument for index, argument in enumerate(arguments))


def _phrase_of(text: str, arguments: Sequence[str]) -> Phrase | None:
    """The phrase in ` , clause , clause ?ask words `: its arguments numbered, None if it speaks of others or too few.

    One other token is the name that it gives itself.
    """
    clauses, _, proper = text.partition(f" {ASK}")
    words = proper.split()[0 if proper.startswith(" ") else 1 :]
    words = words[1:] if words[:1] == ["the"] else words
    before = clauses.strip().removeprefix(",").split()
    tokens = (*before, BAR, *words)
    numbers = {argument: f"{{{index}}}" for index, argument in enumerate(arguments)}
    others = {word for word in tokens if is_hole(word)} - numbers.keys()
    if not words or len(others) > 1 or not numbers.keys() <= set(tokens):
        return None
    numbers |= dict.fromkeys(others, NAME)
    return tuple(numbers.get(word, word) for word in tokens)


def _compile(skeleton: Tree, phrase: Phrase, words: Mapping[str, str]) -> Pattern:
    bar = phrase.index(BAR)
    clauses, proper = phrase[:bar], phrase[bar + 1 :]
    clause = f" , {_expression(clauses, words)}" if clauses else ""
    return Pattern(
        skeleton,
        phrase,
        re.compile(rf"{clause}(?= , | \{ASK})") if clauses else None,
        re.compile(rf"(?<= )(?P<the>the )?{_expression(proper, words)}(?= )"),
        re.compile(rf"(?P<before>.*?){_expression((*clauses, BAR, *proper), words, clause)}"),
        frozenset(word for word in phrase if word[0] not in "{<" and word != BAR),
    )


def _expression(tokens: Sequence[str], words: Mapping[str, str], clause: str = "") -> str:
    """The regular expression of a phrase, its holes as named groups."""
    pieces: list[str] = []
    seen: set[str] = set()
    for token in tokens:
        if token == BAR:
            pieces = [f" , {' '.join(pieces)}" if clause else "", rf"\{ASK}\S*(?: the)?"]
        elif is_hole(token):
            group = "x" if token == NAME else f"h{token[1:-1]}"
            pieces.append(f"(?P={group})" if group in seen else rf"(?P<{group}>\{{\w+\}})")
            seen.add(group)
        else:
            pieces.append(words.get(token) or re.escape(token))
    if BAR in tokens:
        return f"{pieces[0]} {' '.join(pieces[1:])} "
    return " ".join(pieces)


_gaps: dict[tuple[str, str], re.Pattern[str]] = {}


def _with_gap(whole: re.Pattern[str], group: str) -> re.Pattern[str]:
    """The expression of a whole body with any words in a hole."""
    key = (whole.pattern, group)
    if key not in _gaps:
        _gaps[key] = re.compile(whole.pattern.replace(rf"(?P<{group}>\{{\w+\}})", rf"(?P<{group}>\S.*?)"))
    return _gaps[key]
