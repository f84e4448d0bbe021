"""Says a program in words: chooses phrases that fit their places, names the arguments, and puts the text in its frame.

Which phrase fits is counted, not known: a phrase is chosen after the word that it follows, and a word before a hole
after what fills the hole, so that `the head of a` and `the head among even values of a` come out right. Arguments get
letters as in the data: every part counts from `a`, and where two parts share a letter the later one takes another.
"""

from __future__ import annotations

import itertools
import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from tpn2f.domains.algolisp.generation.frames import Frame, write_frame
from tpn2f.domains.algolisp.generation.grammar import Rule, TextGrammar, share
from tpn2f.domains.algolisp.generation.skeletons import fill, is_hole
from tpn2f.domains.algolisp.generation.synonyms import BAR
from tpn2f.errors import DataError
from tpn2f.program import Tree

LETTERS = "abcdefghijklmnopqrtuvwxyz"
"""Names of arguments; `s` is never one."""
UNSEEN = 0.01
"""The share of what was never seen next to each other."""


@dataclass(eq=False, slots=True)
class Argument:
    """An argument of a program to be."""

    type: str


@dataclass(eq=False, slots=True)
class Draft:
    """A program to be: a skeleton and what fills its holes."""

    skeleton: Tree
    parts: dict[str, Draft | Argument]


@dataclass(frozen=True, slots=True)
class Task:
    """A program with its text. The arguments are those of the draft, with their letters."""

    words: tuple[str, ...]
    tree: Tree
    names: dict[Argument, str]


@dataclass(slots=True)
class _Said:
    """A part in words: the clauses that go before, and the words at every mention."""

    rule: Rule | None
    words: list[str]
    clauses: list[str] = field(default_factory=list)


class NoMoreLetters(DataError):
    """A program with more arguments and names than there are letters."""


class Wording:
    """Says drafts in the phrases of a grammar; all chance comes from one source."""

    def __init__(self, grammar: TextGrammar, chance: random.Random) -> None:
        self._grammar = grammar
        self._chance = chance
        self._before: dict[Tree, Counter[str]] = {}
        for skeleton, rules in grammar.rules.items():
            counts = self._before[skeleton] = Counter()
            for rule in rules:
                counts.update({word: sum(pair) for word, pair in rule.before.items()})

    def say(self, draft: Draft) -> Task:
        """A text for the draft."""
        tokens: dict[object, str] = {}
        said: dict[object, _Said] = {}
        asks = self._grammar.asks
        weights = [count * self._fit(draft, ask[1:].rpartition(" ")[2]) for ask, count in asks.items()]
        ask = self._chance.choices(list(asks), weights)[0]
        words = self._mention(draft, ask[1:].rpartition(" ")[2], said, tokens)
        body = [*said[draft].clauses, ask, *words]
        letters = self._letters(draft, said)
        names = {tokens[key]: f"{{{letter}}}" for key, letter in letters.items() if key in tokens}
        arguments = {key: letter for key, letter in letters.items() if isinstance(key, Argument)}
        frame = self._frame(draft, arguments, tuple(names.get(word, word) for word in body))
        return Task(tuple(write_frame(frame)), _tree(draft, arguments), arguments)

    def _mention(
        self, part: Draft | Argument, before: str, said: dict[object, _Said], tokens: dict[object, str]
    ) -> list[str]:
        """The words of a part at one of its mentions, which are the same at all of them but for `the`."""
        if isinstance(part, Argument):
            return [tokens.setdefault(part, f"{{{len(tokens)}}}")]
        if part not in said:
            said[part] = self._phrase(part, before, said, tokens)
        rule = said[part].rule
        assert rule is not None
        without, with_it = rule.before.get(before) or _usual_article(rule)
        article = self._chance.random() * (without + with_it) < with_it
        return ["the", *said[part].words] if article else said[part].words

    def _phrase(self, draft: Draft, before: str, said: dict[object, _Said], tokens: dict[object, str]) -> _Said:
        rules = self._grammar.rules[draft.skeleton]
        rule = self._chance.choices(rules, [self._weight(rule, draft, before) for rule in rules])[0]
        clauses: list[str] = []
        words: list[str] = []
        for place, token in enumerate(rule.phrase):
            following = rule.phrase[place + 1] if place + 1 < len(rule.phrase) else ""
            if token == BAR:
                clauses, words = words, []
            elif token == "{x}":
                words.append(tokens.setdefault((draft, "name"), f"{{{len(tokens)}}}"))
            elif is_hole(token):
                last = words[-1] if words else (before if place > rule.phrase.index(BAR) else ",")
                words += self._mention(draft.parts[token], "{}" if is_hole(last) else last, said, tokens)
            else:
                words += self._words(token, draft.parts.get(following))
        inner = []
        for index in self._grammar.shapes[draft.skeleton].order:
            part = draft.parts[f"{{{index}}}"]
            inner += said[part].clauses if part in said else []
        return _Said(rule, words, [*inner, *([",", *clauses] if clauses else [])])

    def _words(self, token: str, following: Draft | Argument | None) -> list[str]:
        """A word, or a member of its class of synonyms, one that fits what follows."""
        if not token.startswith("<"):
            return [token]
        members = self._grammar.words[token]
        weights = [
            (count + UNSEEN) * (1.0 if following is None else self._fit(following, member[-1]))
            for member, count in members.items()
        ]
        member = self._chance.choices(list(members), weights)[0]
        return [
            word
            for place, inner in enumerate(member)
            for word in self._words(inner, following if place == len(member) - 1 else None)
        ]

    def _fit(self, part: Draft | Argument, word: str) -> float:
        """How usual it is that a mention of the part follows the word; a class of synonyms may be any of its words."""
        if word.startswith("<"):
            members = self._grammar.words[word]
            return sum(count * self._fit(part, member[-1]) for member, count in members.items()) / members.total()
        if isinstance(part, Argument):
            return share(self._grammar.mentions[part.type], word) + UNSEEN
        return share(self._before[part.skeleton], word) + UNSEEN

    def _weight(self, rule: Rule, draft: Draft, before: str) -> float:
        fit = sum(rule.before.get(before, ())) / sum(map(sum, rule.before.values())) if rule.before else 1.0
        first = rule.phrase[rule.phrase.index(BAR) + 1]
        if first in draft.parts:
            # What is really said after the word is the beginning of the part.
            fit *= self._fit(draft.parts[first], before)
        fit += UNSEEN
        for word, hole in itertools.pairwise(rule.phrase):
            part = draft.parts.get(hole)
            if isinstance(part, Argument) and word != BAR and not is_hole(word) and not self._is_seen(part.type, word):
                # `even digits of a` is said, `even a` is not.
                fit *= UNSEEN
        return rule.count * fit

    def _is_seen(self, kind: str, word: str) -> bool:
        """Whether an argument of the type was ever mentioned after the word; without any count, it was."""
        if word.startswith("<"):
            return any(self._is_seen(kind, member[-1]) for member in self._grammar.words[word])
        counts = self._grammar.mentions[kind]
        return not counts or counts[word] > 0

    def _letters(self, part: Draft | Argument, said: dict[object, _Said]) -> dict[object, str]:
        """Letters for the arguments of a part and for the names that its phrases give, counted from `a`."""
        if isinstance(part, Argument):
            return {part: "a"}
        used: dict[object, str] = {}
        for index in self._grammar.shapes[part.skeleton].order:
            theirs = self._letters(part.parts[f"{{{index}}}"], said)
            taken, blocked = set(used.values()), {*used.values(), *theirs.values()}
            for key, letter in sorted(theirs.items(), key=lambda item: item[1]):
                used[key] = _free(blocked) if letter in taken else letter
                blocked.add(used[key])
        rule = said[part].rule
        if rule is not None and "{x}" in rule.phrase:
            used[part, "name"] = _free(set(used.values()))
        return used

    def _frame(self, draft: Draft, names: dict[Argument, str], body: tuple[str, ...]) -> Frame:
        arguments = list(_arguments(draft, self._grammar))
        met = tuple(dict.fromkeys(argument.type for argument in arguments))
        orders = self._grammar.orders.get(met) or Counter({met: 1})
        introduced = self._chance.choices(list(orders), list(orders.values()))[0]
        groups: list[tuple[str, tuple[str, ...]]] = []
        unnamed: dict[str, str] = {}
        for kind in introduced if set(introduced) == set(met) else met:
            letters = tuple(names[argument] for argument in arguments if argument.type == kind)
            named, without = self._grammar.unnamed.get(kind, (1.0, 0.0))
            if len(letters) == 1 and self._chance.random() * (named + without) < without:
                unnamed[letters[0]] = kind
                letters = ()
            groups.append((kind, letters))
        # Two arrays without a name, of numbers and of strings, would both be `the given array`.
        if len([kind for kind in unnamed.values() if kind.endswith("[]")]) > 1:
            back = {kind: name for name, kind in unnamed.items()}
            groups = [(kind, letters or (back[kind],)) for kind, letters in groups]
            unnamed = {}
        openings = self._grammar.openings
        opening = self._chance.choices(list(openings), list(openings.values()))[0]
        return Frame(opening, tuple(groups), unnamed, body)


def _usual_article(rule: Rule) -> tuple[float, float]:
    """How often a phrase has no `the` and has one, apart from questions, which almost always have it."""
    pairs = [pair for word, pair in rule.before.items() if word not in ("is", "are")]
    return (sum(pair[0] for pair in pairs), sum(pair[1] for pair in pairs)) if pairs else (1.0, 0.0)


def _free(taken: set[str]) -> str:
    for letter in LETTERS:
        if letter not in taken:
            return letter
    raise NoMoreLetters("a program has more arguments than there are letters")


def _arguments(part: Draft | Argument, grammar: TextGrammar) -> Iterator[Argument]:
    """The arguments of a draft, in the order in which a text introduces them."""
    if isinstance(part, Argument):
        yield part
        return
    for index in grammar.shapes[part.skeleton].order:
        yield from _arguments(part.parts[f"{{{index}}}"], grammar)


def _tree(part: Draft | Argument, names: dict[Argument, str]) -> Tree:
    if isinstance(part, Argument):
        return names[part]
    return fill(part.skeleton, {hole: _tree(inner, names) for hole, inner in part.parts.items()})
