"""What a model remembers of its training texts: some questions with their programs, and which short runs of words there
were.

Questions that may be quoted are kept as text: the nearest one is shown beside an answer. Of others only hashes of their
words are kept. The programs of near questions of both kinds are candidates for an answer. The runs of words, hashed
into a field of bits, say how familiar a text is. No text can be read back from hashes. Nothing is learned here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from hashlib import blake2b
from typing import NamedTuple
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from tpn2f.domain import Problem
from tpn2f.program import Program
from tpn2f.trust.nearest import Nearest
from tpn2f.wording import clean

MOST_QUESTIONS = 6_000
MOST_BYTES = 1_200_000
"""How much text is kept, programs included: with these bounds a model stays small."""
MOST_HASHED = 40_000
MOST_KEYS = 2_000_000
"""How many questions are kept as hashes, and how many hashes in all."""
LONGEST = 300
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
    """Empty if it may not be quoted."""
    problem: Problem
    program: Program | None = None


class KnownProgram(NamedTuple):
    """The program of a training question that is like another text."""

    program: str
    similarity: float


class Hashes(NamedTuple):
    """Questions as hashes of their words and pairs of words, one after the other."""

    keys: NDArray[np.uint32]
    counts: NDArray[np.int64]
    """How many keys each question has."""


NONE = Hashes(np.zeros(0, np.uint32), np.zeros(0, np.int64))


class Memory:
    """What is known. Made by `remember`, or from what a checkpoint holds."""

    def __init__(
        self,
        questions: Sequence[str],
        field: NDArray[np.uint8],
        programs: Sequence[str] = (),
        hashed: Hashes = NONE,
    ) -> None:
        """`programs` are those of the questions, then those of the hashed ones; an empty text where one has none."""
        self.questions, self.field, self.hashed = tuple(questions), field, hashed
        self.programs = tuple(programs) or ("",) * (len(self.questions) + len(hashed.counts))
        self._bits = field.tobytes()  # single bytes are found faster here than in an array
        told = _hash_all([_words(question) for question in self.questions])
        # How rare a word is among the texts says best which of them is like another text.
        self._texts = self._all = _Index(*told)
        if len(hashed.counts):
            keys, counts = np.concatenate([told.keys, hashed.keys]), np.concatenate([told.counts, hashed.counts])
            self._all = _Index(keys, counts)

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
        """The question most like a text among those that may be quoted; None where none has a word in common."""
        found = self._texts.closest(text, 1)
        return next((Nearest(self.questions[place], near) for place, near in found), None)

    def recall(self, text: str, count: int) -> list[KnownProgram]:
        """The programs of the questions most like a text, nearest first, each once."""
        found: dict[str, float] = {}
        for place, near in self._all.closest(text, count):
            found.setdefault(self.programs[place], near)
        return [KnownProgram(program, near) for program, near in found.items() if program]

    @classmethod
    def parse(cls, lines: Sequence[str], field: NDArray[np.uint8], hashed: Hashes = NONE) -> Memory:
        """From what `lines` gave."""
        pairs = [line.partition("\t") for line in lines]
        questions = [question for question, tab, _ in pairs if question or not tab]
        return cls(questions, field, [program for _, _, program in pairs], hashed)

    def lines(self) -> list[str]:
        """A line for every question: its text, which a hashed one has not, and its program after a tab."""
        texts = (*self.questions, *("" for _ in self.hashed.counts))
        return [f"{text}\t{program}" if program else text for text, program in zip(texts, self.programs)]


def remember(learned: Iterable[Learned], bits: int = BITS) -> Memory:
    """The memory of training texts: of all of them their runs of words, of some of them text or hashes, and program.

    The texts that are kept are spread evenly over all short ones, those that are hashed over all that may not be
    quoted. The same texts give the same memory.
    """
    runs: set[str] = set()
    seen: set[tuple[str, ...]] = set()
    short: list[tuple[str, str]] = []
    hidden: list[tuple[list[str], str]] = []
    for text, problem, program in learned:
        if problem.words in seen:
            continue
        seen.add(problem.words)
        runs.update(runs_of_words(problem))
        runs.update(word for word in problem.words if word not in problem.bindings)
        line, program_text = " ".join(clean(text).split()), str(program or "")
        if len(program_text) > LONGEST_PROGRAM:
            program_text = ""
        if not line and program_text:
            hidden.append((_words(told(problem)), program_text))
        elif line and len(line) <= LONGEST:
            short.append((line, program_text))
    field = np.zeros(bits // 8, dtype=np.uint8)
    for place in (place for run in runs for place in _places(run, bits)):
        field[place >> 3] |= 1 << (place & 7)
    short, hidden = _spread(short), _spread_hashed(hidden)
    programs = [program for some in (short, hidden) for _, program in some]
    return Memory([line for line, _ in short], field, programs, _hash_all([words for words, _ in hidden]))


def _spread(short: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """Some of the texts, as many as may be kept, evenly."""

    def size(pairs: Sequence[tuple[str, str]]) -> int:
        return sum(len(line.encode()) + len(program.encode()) + 2 for line, program in pairs)

    count = min(len(short), MOST_QUESTIONS, int(MOST_BYTES / size(short) * len(short)) if short else 0)
    kept = [short[place * len(short) // count] for place in range(count)]
    # A spread over texts of unequal lengths may be a little too large.
    while size(kept) > MOST_BYTES:
        kept.pop()
    return kept


def _spread_hashed(hidden: Sequence[tuple[list[str], str]]) -> list[tuple[list[str], str]]:
    """Some of the questions that are kept as hashes, evenly."""
    keys = len(_hash_all([words for words, _ in hidden]).keys)
    count = min(len(hidden), MOST_HASHED, int(MOST_KEYS / keys * len(hidden)) if keys else 0)
    return [hidden[place * len(hidden) // count] for place in range(count)]


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

    def __init__(self, keys: NDArray[np.uint32], counts: NDArray[np.int64]) -> None:
        self.size = len(counts)
        self.keys, places = np.unique(keys, return_inverse=True)
        owners = np.repeat(np.arange(self.size), counts)
        order = np.argsort(places, kind="stable")
        self.owners = owners[order]
        found = np.bincount(places, minlength=len(self.keys))
        self.ends = found.cumsum()
        self.starts = self.ends - found
        self.weights = np.log((1 + self.size) / (1 + found)) + 1
        squares = self.weights[places] ** 2
        self.norms = np.sqrt(np.bincount(owners, squares, self.size)) + 1e-12
        self.rarest = float(np.log(1 + self.size) + 1)

    def closest(self, text: str, count: int) -> list[tuple[int, float]]:
        """The places of the questions most like a text, and how like they are, nearest first."""
        keys = _hash_all([_words(text)]).keys
        places = np.searchsorted(self.keys, keys).clip(max=max(len(self.keys) - 1, 0))
        found = places[self.keys[places] == keys] if len(self.keys) else places[:0]
        if not len(found):
            return []
        scores = np.zeros(self.size)
        for place in found:
            scores[self.owners[self.starts[place] : self.ends[place]]] += self.weights[place] ** 2
        new = (len(keys) - len(found)) * self.rarest**2
        length = float(np.sqrt((self.weights[found] ** 2).sum() + new))
        scores /= self.norms * length
        some = np.argpartition(-scores, min(count, len(scores)) - 1)[:count]
        order = sorted(map(int, some), key=lambda place: (-scores[place], place))
        return [(place, min(float(scores[place]), 1.0)) for place in order if scores[place] > 0]


def _hash_all(texts: Sequence[Sequence[str]]) -> Hashes:
    """Words and pairs of neighbours of every text as numbers; what stands twice in a text counts once."""
    single = {word: crc32(word.encode("utf-8", "replace")) for words in texts for word in words}
    words = np.array([single[word] for some in texts for word in some], dtype=np.uint64)
    owners = np.repeat(np.arange(len(texts), dtype=np.uint64), [len(some) for some in texts])
    inside = owners[1:] == owners[:-1]
    pairs = ((words[:-1] * np.uint64(0x9E3779B1) + words[1:]) & np.uint64(0xFFFFFFFF))[inside]
    both, owner = np.concatenate([words, pairs]), np.concatenate([owners, owners[1:][inside]])
    # A question and a key of it in one number, so that they are sorted by question.
    joined = np.unique(owner << np.uint64(32) | both)
    counts = np.bincount((joined >> np.uint64(32)).astype(np.int64), minlength=len(texts))
    return Hashes((joined & np.uint64(0xFFFFFFFF)).astype(np.uint32), counts.astype(np.int64))


def _words(text: str) -> list[str]:
    """Words in lower case, values masked."""
    return [VALUE if word[0].isdigit() else word for word in _WORD.findall(text.lower())]
