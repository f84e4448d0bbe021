"""From a model to programs: greedy and beam search over `encode`, `start`, `log_probabilities` and `feed`.

A problem is encoded once, and its row leaves as soon as its program ends. With a grammar only well-formed programs
can come out: the right number of arguments, references to earlier tuples, names that the problem has, types where the
language has them. Probabilities are then those of the model among the symbols that are allowed, so that those of all
well-formed programs sum to one, or less where a type system lets symbols in that may come to nothing. Without a grammar
the model is on its own, and may spell nonsense.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from tpn2f.codec import Codec
from tpn2f.domain import Problem
from tpn2f.errors import DivergedError
from tpn2f.grammar import Masks
from tpn2f.model import Model, State
from tpn2f.program import Program
from tpn2f.vocabulary import END

MOST_WORDS = 50_000
"""The most words, padding included, that are read at once: what bounds memory."""
WAY_OUT = 24
"""How many tuples more a program may have that came to a dead end: twice as many as any way that is looked ahead."""


class Candidate(NamedTuple):
    """A program that search came to."""

    program: Program | None
    """None when the symbols spell no program, which a grammar excludes."""
    log_probability: float
    score: float
    """The log-probability divided by length to the power of the length penalty: what candidates are ranked by."""
    weakest: float = 0.0
    """The log-probability of the symbol that was least certain."""
    second: float | None = None
    """The log-probability that a second model gives it; None where none was asked."""
    recalled: float = 0.0
    """How like the question is the nearest training question that has this program; 0 where none that is near has."""


@torch.no_grad()
def greedy(
    model: Model,
    codec: Codec,
    problems: Sequence[Problem],
    grammar: Masks | None = None,
    names: Sequence[Mapping[str, str]] = (),
    longest: int | None = None,
) -> list[Candidate]:
    """The most probable symbol at every step. `names` are what the problems offer, needed with a grammar.

    A type system is not asked to look ahead, because most programs come to an end anyway. One that does not goes back
    to where it still could, and from there takes the most probable symbol after which it still can, on a way that is
    not long: a model that came to a dead end would wander.
    """
    written = _write(model, codec, problems, grammar, names, longest, [Written() for _ in problems], ahead=False)
    if grammar and grammar.dead_ends:
        lost = [place for place, one in enumerate(written) if one.symbols[-1:] != [END]]
        kept = [written[place].cut(grammar.hopeful(problems[place], written[place].symbols)) for place in lost]
        again = [problems[place] for place in lost], grammar, [names[place] for place in lost], longest
        for place, one in zip(lost, _write(model, codec, *again, kept, ahead=True) if lost else ()):
            written[place] = one
    return [
        _candidate(codec, one.symbols, sum(one.log_probabilities), 0.0, min(one.log_probabilities, default=0.0))
        for one in written
    ]


class Written(NamedTuple):
    """The symbols of a program so far, and their log-probabilities."""

    symbols: Sequence[int] = ()
    log_probabilities: Sequence[float] = ()

    def cut(self, length: int) -> Written:
        return Written(self.symbols[:length], self.log_probabilities[:length])


def _write(
    model: Model,
    codec: Codec,
    problems: Sequence[Problem],
    grammar: Masks | None,
    names: Sequence[Mapping[str, str]],
    longest: int | None,
    kept: Sequence[Written],
    ahead: bool,
) -> list[Written]:
    """The programs that begin with what is kept and go on with the most probable symbols, to the end or a dead end."""
    state = _start(model, codec, problems)
    progress: Any
    if ahead and grammar:
        begun = [sum(symbol < len(codec.relations) for symbol in one.symbols) for one in kept]
        progress = grammar.start(names, problems, [tuples + WAY_OUT for tuples in begun])
    else:
        progress = grammar.start(names, problems) if grammar else None
    rows = list(range(len(problems)))  # which problem a live row belongs to
    symbols = [list(one.symbols) for one in kept]
    scores = [list(one.log_probabilities) for one in kept]
    for step in range(_most_symbols(codec, grammar, longest)):
        free = [place for place, row in enumerate(rows) if len(symbols[row]) == step]
        if free:
            part, limits = state, progress
            if len(free) < len(rows):
                part = state.select(torch.tensor(free, device=_device(model)))
                limits = progress.select(torch.tensor(free)) if progress else None
            best = _log_probabilities(model, part, grammar, limits, ahead).max(1)
            for place, score, symbol in zip(free, best.values.tolist(), best.indices.tolist()):
                if score != -torch.inf:
                    symbols[rows[place]].append(symbol)
                    scores[rows[place]].append(score)
        live = [place for place, row in enumerate(rows) if len(symbols[row]) > step and symbols[row][step] != END]
        if not live:
            break
        if len(live) < len(rows):
            rows = [rows[place] for place in live]
            state = state.select(torch.tensor(live, device=_device(model)))
            progress = progress.select(torch.tensor(live)) if progress else None
        taken = torch.tensor([symbols[row][step] for row in rows])
        state = model.feed(state, taken.to(_device(model)))
        progress = grammar.feed(progress, taken) if grammar and progress else None
    return [Written(*pair) for pair in zip(symbols, scores)]


@torch.no_grad()
def beam(
    model: Model,
    codec: Codec,
    problems: Sequence[Problem],
    width: int,
    grammar: Masks | None = None,
    names: Sequence[Mapping[str, str]] = (),
    length_penalty: float = 0.0,
    longest: int | None = None,
) -> list[list[Candidate]]:
    """The best programs found with `width` hypotheses per problem, best first; at least one per problem.

    A hypothesis that ends takes its place in the beam with it, so that a beam of 1 is greedy search. With a type system
    hypotheses may come to a dead end and are dropped there; a problem for which none is left is searched greedily.
    """
    state = _start(model, codec, problems)
    progress: Any = grammar.start(names, problems) if grammar else None
    owners = list(range(len(problems)))  # which problem a live hypothesis belongs to
    written: list[list[int]] = [[] for _ in problems]
    totals = torch.zeros(len(problems), dtype=torch.double)
    weakest = [0.0] * len(problems)
    finished: list[list[Candidate]] = [[] for _ in problems]
    for _ in range(_most_symbols(codec, grammar, longest)):
        scores = totals[:, None] + _log_probabilities(model, state, grammar, progress, ahead=False).double()
        top = scores.topk(min(width, scores.shape[1]), 1)
        options: dict[int, list[tuple[float, int, int]]] = {}
        for row, (values, symbols) in enumerate(zip(top.values.tolist(), top.indices.tolist())):
            fitting = [(v, row, s) for v, s in zip(values, symbols) if v != -torch.inf]
            options.setdefault(owners[row], []).extend(fitting)
        before = totals.tolist()
        chosen: list[tuple[float, int, int]] = []
        for owner, hypotheses in options.items():
            # Equal scores keep the order of rows and symbols, as argmax does.
            hypotheses.sort(key=lambda hypothesis: -hypothesis[0])
            for total, row, symbol in hypotheses[: width - len(finished[owner])]:
                if symbol == END:
                    least = min(weakest[row], total - before[row])
                    finished[owner].append(_candidate(codec, [*written[row], END], total, length_penalty, least))
                else:
                    chosen.append((total, row, symbol))
        if not chosen:
            break
        rows = torch.tensor([row for _, row, _ in chosen])
        symbols = torch.tensor([symbol for _, _, symbol in chosen])
        totals = torch.tensor([total for total, _, _ in chosen], dtype=torch.double)
        written = [[*written[row], symbol] for _, row, symbol in chosen]
        weakest = [min(weakest[row], total - before[row]) for total, row, _ in chosen]
        owners = [owners[row] for _, row, _ in chosen]
        state = model.feed(state.select(rows.to(_device(model))), symbols.to(_device(model)))
        progress = grammar.feed(progress.select(rows), symbols) if grammar and progress else None
    else:
        for owner, symbols, total, least in zip(owners, written, totals.tolist(), weakest):
            finished[owner].append(_candidate(codec, symbols, total, length_penalty, least))
    if grammar and grammar.dead_ends:
        lost = [place for place, found in enumerate(finished) if not any(one.program for one in found)]
        again = [problems[place] for place in lost], grammar, [names[place] for place in lost], longest
        for place, one in zip(lost, greedy(model, codec, *again) if lost else ()):
            finished[place].append(one)
    # With a grammar, what was cut off or came to nothing goes behind every program.
    return [sorted(found, key=lambda one: (bool(grammar) and not one.program, -one.score)) for found in finished]


def first_accepted(
    candidates: Sequence[Candidate], accepts: Callable[[Program], bool], margin: float = math.inf
) -> Candidate:
    """The best candidate that is accepted, as it runs, passes tests or gives an option; the best of all if none is.

    What is less probable than the best of all by more than the `margin`, in log-probability, is not considered. Never
    to be reported as plain beam search, and never to be judged by the tests that it was chosen by.
    """
    least = candidates[0].log_probability - margin
    for candidate in candidates:
        if candidate.program and candidate.log_probability >= least and accepts(candidate.program):
            return candidate
    return candidates[0]


def batches(order: Sequence[int], problems: Sequence[Problem], batch_size: int, most_words: int) -> Iterator[list[int]]:
    """Places in batches; fewer of them where the texts are very long."""
    part: list[int] = []
    for place in order:
        if part and (len(part) == batch_size or (len(part) + 1) * len(problems[place].words) > most_words):
            yield part
            part = []
        part.append(place)
    if part:
        yield part


def _device(model: Model) -> torch.device:
    return next(model.parameters()).device


def _start(model: Model, codec: Codec, problems: Sequence[Problem]) -> State:
    return model.start(model.encode(*codec.batch_texts(problems).to(_device(model))))


def _log_probabilities(
    model: Model, state: State, grammar: Masks | None, progress: Any, ahead: bool = True
) -> Float[Tensor, "rows n_symbols"]:
    """Of the allowed symbols. The model may be on any device; choosing is done on the CPU.

    A type system takes its time, so it is asked about likely symbols only, if any of them fits. Without looking
    `ahead` it may come to a dead end, where all is -inf.
    """
    log_probabilities = model.log_probabilities(state).cpu()
    if log_probabilities.isnan().any():
        raise DivergedError("the model computes no numbers: its weights are too large, or damaged")
    if grammar is None or progress is None:
        return log_probabilities
    allowed = grammar.allowed(progress, log_probabilities, ahead)
    return log_probabilities.masked_fill(~allowed, -torch.inf).log_softmax(1).masked_fill(~allowed, -torch.inf)


def _most_symbols(codec: Codec, grammar: Masks | None, longest: int | None) -> int:
    """How many symbols are written at most before a program is cut off."""
    tuples = longest or (grammar.longest if grammar else 2 * codec.longest)
    return (tuples + 1) * (1 + codec.n_positions)


def _candidate(
    codec: Codec, symbols: Sequence[int], log_probability: float, length_penalty: float, weakest: float
) -> Candidate:
    ended = bool(symbols) and symbols[-1] == END
    program = codec.decode_symbols(symbols) if ended else None
    n_relations = len(codec.relations)
    length = sum(symbol < n_relations for symbol in symbols)
    return Candidate(program, log_probability, log_probability / max(length, 1) ** length_penalty, weakest)
