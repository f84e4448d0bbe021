"""Between symbols and tensors: three vocabularies, problems and programs as ids, batches of similar lengths.

Vocabularies come from training examples only. Joint symbols, which search
deals in, put arguments behind relations: relation r is symbol r, argument a is symbol n_relations + a.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from tpn2f.contextual.text import WordReader
from tpn2f.domain import Example, Problem
from tpn2f.errors import DataError, ProgramSyntaxError
from tpn2f.program import Program, RelationalTuple, reference
from tpn2f.vocabulary import END, NONE, PAD, SPECIALS, Vocabulary

MARKS = frozenset(".,?")
"""Signs that people write or leave out without a change of meaning."""


class Batch(NamedTuple):
    """Examples as tensors, padded to the longest of the batch. In the order of `Model.loss`."""

    words: Int[Tensor, "batch words"]
    word_counts: Int[Tensor, "batch"]
    tuples: Int[Tensor, "batch tuples slots"]
    tuple_counts: Int[Tensor, "batch"]
    weights: Float[Tensor, "batch"]
    contextual: Float[Tensor, "batch words d_contextual"] | None = None
    """A vector for every word, where the codec has a reader."""

    def to(self, device: torch.device | str) -> Batch:
        return Batch(*(None if part is None else part.to(device) for part in self))  # pyright: ignore[reportArgumentType]


class Texts(NamedTuple):
    """Problems as tensors, padded to the longest. In the order of `Model.encode`."""

    words: Int[Tensor, "batch words"]
    word_counts: Int[Tensor, "batch"]
    contextual: Float[Tensor, "batch words d_contextual"] | None = None

    def to(self, device: torch.device | str) -> Texts:
        return Texts(*(None if part is None else part.to(device) for part in self))  # pyright: ignore[reportArgumentType]


class Weighted(NamedTuple):
    """An example that stands for several equal ones."""

    example: Example
    weight: float


@dataclass(frozen=True, slots=True)
class Codec:
    """The vocabularies of a model, and what they turn into what."""

    words: Vocabulary
    relations: Vocabulary
    arguments: Vocabulary
    n_positions: int
    """The largest arity: every tuple has this many argument slots."""
    longest: int
    """The most tuples of a training program."""
    reader: WordReader | None = field(default=None, compare=False)
    """Gives words vectors that depend on the text, for models with `d_contextual`; no part of the vocabularies."""

    @classmethod
    def build(cls, examples: Iterable[Example], word_at_least: int = 1, more_words: Iterable[str] = ()) -> Codec:
        """The vocabularies of training examples. A word that is rarer than `word_at_least` is unknown, unless it is
        among `more_words`, which join."""
        examples = list(examples)
        steps = [step for example in examples for step in example.program]
        if not steps:
            raise DataError("there are no training examples to build vocabularies from")
        # A reference may be needed wherever a longer program has one: the numbers below the largest are all there.
        largest = max(
            (k for step in steps for word in step.arguments if (k := reference(word)) is not None), default=-1
        )
        every_reference = [f"#{k}" for k in range(largest + 1)]
        words = Vocabulary.count((word for example in examples for word in example.problem.words), word_at_least)
        return cls(
            words.extended(more_words),
            Vocabulary.count(step.relation for step in steps),
            Vocabulary.count([*every_reference, *(word for step in steps for word in step.arguments)]),
            max(len(step.arguments) for step in steps) or 1,
            max(len(example.program) for example in examples),
        )

    @property
    def n_symbols(self) -> int:
        return len(self.relations) + len(self.arguments)

    def argument_symbol(self, argument: int) -> int:
        """The joint symbol of an argument id."""
        return len(self.relations) + argument

    def argument_of_word(self) -> list[int]:
        """For every word the id of the argument that is the same token, such as n0; PAD for a word that is none."""
        names = {token: self.arguments.id(token) for token in self.arguments}
        return [PAD] * len(SPECIALS) + [names.get(token, PAD) for token in self.words]

    def encode_words(self, problem: Problem) -> list[int]:
        """Word ids. An empty text is one unknown word, so that every problem has a length."""
        return self.words.ids(problem.words) or [NONE]

    def encode_program(self, program: Program) -> list[list[int]]:
        """One row per tuple, the end tuple included: the relation's id, then an argument id or NONE per position."""
        rows = []
        for step in program:
            if len(step.arguments) > self.n_positions:
                raise DataError(
                    f"{step} has {len(step.arguments)} arguments; this codec has {self.n_positions} positions"
                )
            filling = [NONE] * (self.n_positions - len(step.arguments))
            rows.append([self.relations.id(step.relation), *self.arguments.ids(step.arguments), *filling])
        return [*rows, [END, *[NONE] * self.n_positions]]

    def batch(self, examples: Sequence[Weighted | Example], noise: float = 0.0, unmarked: float = 0.0) -> Batch:
        """Examples as one padded batch; an example that is not weighted counts once. The rest as in `disturb`."""
        weighted = [example if isinstance(example, Weighted) else Weighted(example, 1.0) for example in examples]
        heard = [self._hear(self.encode_words(example.problem), noise, unmarked) for example, _ in weighted]
        words, word_counts = _pad([words for words, _ in heard])
        contextual = self._contextual([example.problem for example, _ in weighted], [places for _, places in heard])
        programs = [torch.tensor(self.encode_program(example.program)) for example, _ in weighted]
        tuples = torch.nn.utils.rnn.pad_sequence(programs, batch_first=True, padding_value=PAD)
        tuple_counts = torch.tensor([len(program) for program in programs])
        weights = torch.tensor([weight for _, weight in weighted])
        return Batch(words, word_counts, tuples, tuple_counts, weights, contextual)

    def batch_words(self, problems: Sequence[Problem]) -> tuple[Int[Tensor, "batch words"], Int[Tensor, "batch"]]:
        """The words of problems, padded, and their counts."""
        return _pad([self.encode_words(problem) for problem in problems])

    def batch_texts(self, problems: Sequence[Problem]) -> Texts:
        """All that a model reads of problems: their words and, with a reader, contextual vectors."""
        words, counts = self.batch_words(problems)
        return Texts(words, counts, self._contextual(problems, [list(range(count)) for count in counts.tolist()]))

    def _contextual(
        self, problems: Sequence[Problem], places: Sequence[list[int]]
    ) -> Float[Tensor, "batch words d_contextual"] | None:
        """The contextual vectors of the given places of each problem, padded."""
        if self.reader is None:
            return None
        rows = [vectors[kept] for vectors, kept in zip(self.reader.read(problems), places)]
        return torch.nn.utils.rnn.pad_sequence(rows, batch_first=True)

    def disturb(self, words: list[int], noise: float, unmarked: float = 0.0) -> list[int]:
        """A text with errors: with the probability `noise` a word is unknown, left out or another one, equally likely.

        A full stop, comma or question mark is left out with the probability `unmarked`. Words that programs use as
        arguments, such as n0, stay as they are. Draws from torch's random numbers.
        """
        return self._hear(words, noise, unmarked)[0]

    def _hear(self, words: list[int], noise: float, unmarked: float) -> tuple[list[int], list[int]]:
        """The disturbed text, and for each of its words the place that it had: another word keeps the place's
        contextual vector."""
        if not noise and not unmarked:
            return words, list(range(len(words)))
        draws = torch.rand(len(words)).tolist()
        others = torch.randint(len(SPECIALS), max(len(self.words), len(SPECIALS) + 1), (len(words),)).tolist()
        heard: list[int] = []
        places: list[int] = []
        for place, (word, draw, other) in enumerate(zip(words, draws, others)):
            token = self.words[word]
            if token in MARKS and draw >= 1 - unmarked:
                continue
            if draw >= noise or token in self.arguments:
                heard.append(word)
            elif draw < noise / 3:
                heard.append(NONE)
            elif draw < noise * 2 / 3:
                heard.append(other)
            else:
                continue
            places.append(place)
        return (heard, places) if heard else (words, list(range(len(words))))

    def decode_symbols(self, symbols: Sequence[int]) -> Program | None:
        """The program that joint symbols spell: a relation begins a tuple, arguments follow, NONE is left out.

        None when they spell no program: an argument before any relation, or a special that is neither NONE nor END.
        """
        tuples: list[tuple[str, list[str]]] = []
        for symbol in symbols:
            if symbol == END:
                break
            if symbol < len(self.relations):
                if symbol < len(SPECIALS):
                    return None
                tuples.append((self.relations[symbol], []))
            else:
                argument = symbol - len(self.relations)
                if argument == NONE:
                    continue
                if argument < len(SPECIALS) or not tuples:
                    return None
                tuples[-1][1].append(self.arguments[argument])
        try:
            return Program(tuple(RelationalTuple(relation, tuple(arguments)) for relation, arguments in tuples))
        except ProgramSyntaxError:
            return None


def _pad(texts: Sequence[list[int]]) -> tuple[Int[Tensor, "batch words"], Int[Tensor, "batch"]]:
    rows = [torch.tensor(text) for text in texts]
    return torch.nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=PAD), torch.tensor(
        [len(text) for text in texts]
    )


def distinct(examples: Iterable[Weighted], power: float = 1.0) -> list[Weighted]:
    """Each (words, program) pair once, in order of first occurrence. One that occurs n times has the weight of its
    first occurrence times n to the given power."""
    counts: dict[tuple[tuple[str, ...], Program], list] = {}
    for example, weight in examples:
        counts.setdefault((example.problem.words, example.program), [example, weight, 0])[2] += 1
    return [Weighted(example, weight * count**power) for example, weight, count in counts.values()]


def batch_order(
    lengths: Sequence[tuple[int, int]], batch_size: int, seed: int, epoch: int, pool: int = 50
) -> list[list[int]]:
    """The batches of an epoch, as lists of places: random, but each of similar source and target lengths.

    A random permutation is cut into pools of `pool` batches; a pool is sorted by length and cut into batches, whose
    order is then random. A pure function of its arguments, so that training resumes within an epoch by counting.
    """
    random = np.random.default_rng([seed, epoch])
    order = random.permutation(len(lengths)).tolist()
    batches: list[list[int]] = []
    for start in range(0, len(order), pool * batch_size):
        chunk = sorted(order[start : start + pool * batch_size], key=lambda place: lengths[place])
        batches += [chunk[first : first + batch_size] for first in range(0, len(chunk), batch_size)]
    random.shuffle(batches)
    return batches
