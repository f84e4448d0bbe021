"""What a model remembers of its training texts: some questions with their programs, and which short runs of words there
were.

The questions are evidence beside an answer: the nearest one is shown, and the programs of near ones are candidates. The
runs of words, hashed into a field of bits, say how familiar a text is; the field holds all training texts and cannot be
read back. Nothing is learned here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from hashlib import blake2b
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tpn2f.domain import Problem
from tpn2f.program import Program
from tpn2f.trust.nearest import Nearest
from tpn2f.wording import clean

MOST_QUESTIONS = 20_000
MOST_BYTES = 4_000_000
"""How much text is kept, programs included: with these bounds a model stays small."""
LONGEST = 400
"""The most characters of a question that is kept: a longer one is no use as evidence."""
LONGEST_PROGRAM = 400
"""The most characters of a program that is kept."""
BITS = 1 << 22
"""The bits of the field: half a mebibyte."""
PROBES = 2
"""How many bits a run of words has."""
RUN = 3
"""How many words a run has."""
VALUE = "#"
"""What stands for every value of a text."""

_WORD = re.compile(r"[^\W\d_]+|\d[\d.,:/]*")


class Learned(NamedTuple):
    """What a model learned from."""

    text: str
    """Empty if it is not to be kept."""
    problem: Problem
    program: Program | None = None
    source: str = ""
    """The sources of texts share the room that there is."""


class Recalled(NamedTuple):
    """The program of a training question that is like another text."""

    program: str
    similarity: float


class Memory:
    """What is known. Made by `remember`, or from what a checkpoint holds."""

    def __init__(self, questions: Sequence[str], field: NDArray[np.uint8], programs: Sequence[str] = ()) -> None:
        """`programs` are those of the questions, an empty text where one has none."""
        self.questions, self.field = tuple(questions), field
        self.programs = tuple(programs) or ("",) * len(self.questions)
        self._bits = field.tobytes()  # single bytes are found faster here than in an array
        self._index = _Index(self.questions)

    def familiarity(self, problem: Problem) -> float:
        """The share of a problem's runs of words that occurred in training."""
        runs = runs_of_words(problem)
        return sum(self._holds(run) for run in runs) / len(runs)

    def unknown(self, problem: Problem) -> tuple[str, ...]:
        """The words of a problem that no training text had."""
        words = (word for word in problem.words if word not in problem.bindings)
        return tuple(word for word in dict.fromkeys(words) if not self._holds(word))

    def _holds(self, run: str) -> bool:
        bits = self._bits
        return all(bits[place >> 3] >> (place & 7) & 1 for place in _places(run, 8 * len(bits)))

    def nearest(self, text: str) -> Nearest | None:
        """The question most like a text; None where none has a telling word in common."""
        return next((Nearest(self.questions[place], near) for place, near in self._closest(text, 1)), None)

    def recall(self, text: str, count: int) -> list[Recalled]:
        """The programs of the questions most like a text, nearest first, each once."""
        found: dict[str, float] = {}
        for place, near in self._closest(text, count):
            found.setdefault(self.programs[place], near)
        return [Recalled(program, near) for program, near in found.items() if program]

    def _closest(self, text: str, count: int) -> list[tuple[int, float]]:
        return self._index.closest(text, count) if self.questions else []

    @classmethod
    def parse(cls, lines: Sequence[str], field: NDArray[np.uint8]) -> Memory:
        """From what `lines` gave."""
        pairs = [line.partition("\t") for line in lines]
        return cls([question for question, _, _ in pairs], field, [program for _, _, program in pairs])

    def lines(self) -> list[str]:
        """A line for every question: its text, and its program after a tab."""
        return [f"{one}\t{program}" if program else one for one, program in zip(self.questions, self.programs)]


def remember(learned: Iterable[Learned], bits: int = BITS) -> Memory:
    """The memory of training texts: of all of them their runs of words, of some of them text and program.

    Every source has an equal share of the room, and those that need less leave the rest to the others. Of a source the
    texts that are kept are spread evenly over all short ones. The same texts give the same memory.
    """
    runs: set[str] = set()
    seen: set[tuple[str, ...]] = set()
    short: dict[str, list[tuple[str, str]]] = {}
    for text, problem, program, source in learned:
        if problem.words in seen:
            continue
        seen.add(problem.words)
        runs.update(runs_of_words(problem))
        runs.update(word for word in problem.words if word not in problem.bindings)
        line = " ".join(clean(text).split())
        if line and len(line) <= LONGEST:
            told = str(program or "")
            short.setdefault(source, []).append((line, told if len(told) <= LONGEST_PROGRAM else ""))
    field = np.zeros(bits // 8, dtype=np.uint8)
    for place in (place for run in runs for place in _places(run, bits)):
        field[place >> 3] |= 1 << (place & 7)
    kept = _share(list(short.values()))
    return Memory([line for line, _ in kept], field, [program for _, program in kept])


def _share(sources: Sequence[Sequence[tuple[str, str]]]) -> list[tuple[str, str]]:
    """What is kept of every source."""
    kept: dict[int, list[tuple[str, str]]] = {}
    count, size = MOST_QUESTIONS, MOST_BYTES
    order = sorted(range(len(sources)), key=lambda place: _size(sources[place]))
    for done, place in enumerate(order):
        left = len(order) - done
        kept[place] = _spread(sources[place], count // left, size // left)
        count, size = count - len(kept[place]), size - _size(kept[place])
    return [one for place in range(len(sources)) for one in kept[place]]


def _spread(short: Sequence[tuple[str, str]], most: int, size: int) -> list[tuple[str, str]]:
    """Some of the texts, as many as may be kept, evenly."""
    count = min(len(short), most, int(size / _size(short) * len(short)) if short else 0)
    kept = [short[place * len(short) // count] for place in range(count)]
    # A spread over texts of unequal lengths may be a little too large.
    while _size(kept) > size:
        kept.pop()
    return kept


def _size(pairs: Iterable[tuple[str, str]]) -> int:
    """Bytes of lines with a text, a tab and a program."""
    return sum(len(line.encode()) + len(program.encode()) + 2 for line, program in pairs)


def told(problem: Problem) -> str:
    """The text of a problem, for who has nothing but its words: every value is 0."""
    return " ".join("0" if word in problem.bindings else word for word in problem.words)


def runs_of_words(problem: Problem) -> list[str]:
    """All runs of `RUN` words, values masked; a shorter text is one run."""
    words = [VALUE if word in problem.bindings else word for word in problem.words]
    return [" ".join(words[place : place + RUN]) for place in range(max(len(words) - RUN + 1, 1))]


def _places(run: str, bits: int) -> list[int]:
    told = blake2b(run.encode("utf-8", "replace"), digest_size=4 * PROBES).digest()
    return [int.from_bytes(told[4 * k : 4 * k + 4], "little") % bits for k in range(PROBES)]


class _Index:
    """Questions by their words and pairs of words, weighed by how rare these are (TF-IDF)."""

    def __init__(self, questions: Sequence[str]) -> None:
        self.questions = questions
        words = [_words(question) for question in questions]
        self.ids = {word: k for k, word in enumerate(dict.fromkeys(w for one in words for w in one))}
        # The same as `_keys` of every question, but for all at once: a model is loaded for one answer, too.
        ids = np.array([self.ids[word] for one in words for word in one], dtype=np.int64)
        owners = np.repeat(np.arange(len(words)), [len(one) for one in words])
        inside = owners[1:] == owners[:-1]
        neighbours = (((ids[:-1] + 1) << 32) + ids[1:] + 1)[inside]
        self.keys, places = np.unique(np.concatenate([ids, neighbours]), return_inverse=True)
        owners = np.concatenate([owners, owners[1:][inside]])
        # A word that stands twice in a question counts once.
        pairs = np.unique(places * len(words) + owners)
        self.owners = pairs % max(len(words), 1)
        counts = np.bincount(pairs // max(len(words), 1), minlength=len(self.keys))
        self.ends = counts.cumsum()
        self.starts = self.ends - counts
        self.weights = np.log((1 + len(questions)) / (1 + counts)) + 1
        squares = np.repeat(self.weights, counts) ** 2
        self.norms = np.sqrt(np.bincount(self.owners, squares, len(questions))) + 1e-12
        self.rarest = float(np.log(1 + len(questions)) + 1)

    def _keys(self, words: Sequence[str]) -> list[int]:
        """Numbers for words and pairs of neighbours; -1 has no question."""
        ids = [self.ids.get(word, -1) for word in words]
        pairs = (((a + 1) << 32) + b + 1 if a >= 0 and b >= 0 else -1 for a, b in pairwise(ids))
        return [*ids, *pairs]

    def closest(self, text: str, count: int) -> list[tuple[int, float]]:
        """The places of the questions most like a text, and how like they are, nearest first."""
        asked = _words(text)
        names = set(asked) | set(pairwise(asked))
        keys = np.unique(np.array(self._keys(asked), dtype=np.int64))
        places = np.searchsorted(self.keys, keys).clip(max=max(len(self.keys) - 1, 0))
        found = places[self.keys[places] == keys] if len(self.keys) else places[:0]
        if not len(found):
            return []
        scores = np.zeros(len(self.questions))
        for place in found:
            scores[self.owners[self.starts[place] : self.ends[place]]] += self.weights[place] ** 2
        new = (len(names) - len(found)) * self.rarest**2
        length = float(np.sqrt((self.weights[found] ** 2).sum() + new))
        scores /= self.norms * length
        if count == 1:
            order = [int(scores.argmax())]
        else:
            some = np.argpartition(-scores, min(count, len(scores) - 1))[:count]
            order = sorted(some.tolist(), key=lambda place: (-scores[place], place))
        return [(place, min(float(scores[place]), 1.0)) for place in order if scores[place] > 0]


def _words(text: str) -> list[str]:
    """Words in lower case, values masked."""
    return [VALUE if word[0].isdigit() else word for word in _WORD.findall(text.lower())]
