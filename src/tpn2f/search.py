"""From a model to programs: greedy and beam search over `encode`, `start`, `log_probabilities` and `feed`.

A problem is encoded once, and its row leaves as soon as its program ends. With a `Grammar` only well-formed programs
can come out: the right number of arguments, references to earlier tuples, names that the problem has, types where the
language has them. Probabilities are then those of the model among the symbols that are allowed, so that those of all
well-formed programs sum to one. Without a grammar the model is on its own, and may spell nonsense.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from tpn2f.codec import Codec
from tpn2f.domain import ANY, Problem, Signature
from tpn2f.model import Model, State
from tpn2f.program import Program, reference
from tpn2f.vocabulary import END, NONE, SPECIALS


class Candidate(NamedTuple):
    """A program that search came to."""

    program: Program | None
    """None when the symbols spell no program, which a grammar excludes."""
    log_probability: float
    score: float
    """The log-probability divided by length to the power of the length penalty: what candidates are ranked by."""


@dataclass(frozen=True, slots=True)
class Progress:
    """How far each row's program is: what the grammar needs to know of it."""

    relation: Int[Tensor, "rows"]
    """The relation whose arguments are being written; END before a relation is chosen."""
    position: Int[Tensor, "rows"]
    """How many slots of the tuple are filled: 0 means that a relation is next."""
    count: Int[Tensor, "rows"]
    """How many tuples are complete."""
    available: Bool[Tensor, "rows n_arguments"]
    """Which arguments may be used at all."""
    types: Int[Tensor, "rows n_arguments"]
    """The type of every argument; that of a reference is the type of its tuple's result."""

    def select(self, rows: Int[Tensor, "chosen"]) -> Progress:
        return Progress(
            self.relation[rows], self.position[rows], self.count[rows], self.available[rows], self.types[rows]
        )


class Grammar:
    """Which symbols may come next. Made from a domain's tables and a codec; holds no model."""

    def __init__(
        self,
        relations: Mapping[str, Signature],
        constants: Mapping[str, str],
        codec: Codec,
        slots_filled: bool,
        longest: int | None = None,
    ) -> None:
        """`slots_filled`: whether every tuple is written with all its positions, NONE included, as a tuple decoder
        does; a flat decoder writes only the arguments that there are. Programs of `longest` tuples are made to end."""
        self.codec = codec
        self.slots_filled = slots_filled
        self.longest = longest if longest is not None else 2 * codec.longest
        names = {ANY: 0}
        signatures = [relations.get(relation) for relation in codec.relations.tokens]
        for signature in signatures:
            for name in (*signature.arguments, signature.result) if signature else ():
                names.setdefault(name, len(names))
        for name in constants.values():
            names.setdefault(name, len(names))
        self._type_ids = names
        same = torch.eye(len(names), dtype=torch.bool)
        same[0, :] = same[:, 0] = True
        self._fits = same
        """[expected, given]: whether a type is accepted; `any` fits all and accepts all."""
        self._arity = torch.tensor([signature.arity if signature else 0 for signature in signatures])
        self._known = torch.tensor([signature is not None for signature in signatures])
        self._known &= self._arity <= codec.n_positions
        self._result = torch.tensor([names[signature.result] if signature else 0 for signature in signatures])
        self._expected = torch.zeros(len(signatures), codec.n_positions, dtype=torch.long)
        for place, signature in enumerate(signatures):
            for position, name in enumerate(signature.arguments[: codec.n_positions] if signature else ()):
                self._expected[place, position] = names[name]
        arguments = codec.arguments.tokens
        self._constant = torch.tensor([argument in constants for argument in arguments])
        self._constant_type = torch.tensor([names[constants.get(argument, ANY)] for argument in arguments])
        self._reference = torch.full((self.longest + 1,), NONE)
        for place, argument in enumerate(arguments):
            target = reference(argument)
            if target is not None and target <= self.longest:
                self._reference[target] = place

    def start(self, names: Sequence[Mapping[str, str]]) -> Progress:
        """Before the first symbol of problems that offer these names, by type."""
        rows = len(names)
        available = self._constant.repeat(rows, 1)
        types = self._constant_type.repeat(rows, 1)
        for row, offered in enumerate(names):
            for name, kind in offered.items():
                if name in self.codec.arguments:
                    place = self.codec.arguments.id(name)
                    available[row, place] = True
                    types[row, place] = self._type_ids.get(kind, 0)
        zero = torch.zeros(rows, dtype=torch.long)
        return Progress(torch.full((rows,), END), zero, zero.clone(), available, types)

    def allowed(self, progress: Progress) -> Bool[Tensor, "rows n_symbols"]:
        """Which joint symbols may come next, for every row."""
        n_relations = len(self.codec.relations)
        mask = torch.zeros(len(progress.position), self.codec.n_symbols, dtype=torch.bool)
        opening = progress.position == 0
        if opening.any():
            mask[opening, :n_relations] = self._relations(progress.select(opening.nonzero().squeeze(1)))
        inside = ~opening
        if inside.any():
            mask[inside, n_relations:] = self._arguments(progress.select(inside.nonzero().squeeze(1)))
        return mask

    def feed(self, progress: Progress, symbols: Int[Tensor, "rows"]) -> Progress:
        """After the chosen symbols."""
        opening = progress.position == 0
        relation = torch.where(opening, symbols, progress.relation)
        position = progress.position + 1
        slots = self.codec.n_positions if self.slots_filled else self._arity[relation]
        complete = (position > slots) & (relation != END)
        available, types = progress.available, progress.types
        if complete.any():
            available, types = available.clone(), types.clone()
            rows = complete.nonzero().squeeze(1)
            places = self._reference[progress.count[rows].clamp(max=self.longest)]
            there = places != NONE
            available[rows[there], places[there]] = True
            types[rows[there], places[there]] = self._result[relation[rows[there]]]
        count = progress.count + complete
        return Progress(relation, torch.where(complete, 0, position), count, available, types)

    def _relations(self, progress: Progress) -> Bool[Tensor, "rows n_relations"]:
        """Relations for each of whose positions there is something to put; the end once there is a tuple."""
        # given[row, type]: whether an argument of that type is available.
        given = torch.zeros(len(progress.count), len(self._type_ids), dtype=torch.bool)
        given.scatter_(1, torch.where(progress.available, progress.types, 0), progress.available)
        given[:, 0] = (progress.available & (progress.types == 0)).any(1)
        servable = (given[:, None, :] & self._fits).any(2)
        filled = servable[:, self._expected]  # rows, relations, positions
        beyond = torch.arange(self.codec.n_positions) >= self._arity[:, None]
        mask = (filled | beyond).all(2) & self._known
        mask &= (progress.count < self.longest)[:, None]
        mask[:, : len(SPECIALS)] = False
        mask[:, END] = (progress.count > 0) | ~mask.any(1)
        return mask

    def _arguments(self, progress: Progress) -> Bool[Tensor, "rows n_arguments"]:
        """What fits the position: available and of the right type, or NONE behind the last argument."""
        place = (progress.position - 1).clamp(max=self.codec.n_positions - 1)
        expected = self._expected[progress.relation, place]
        mask = progress.available & self._fits[expected[:, None], progress.types]
        done = progress.position > self._arity[progress.relation]
        mask[done] = False
        mask[:, NONE] = done
        return mask


@torch.no_grad()
def greedy(
    model: Model,
    codec: Codec,
    problems: Sequence[Problem],
    grammar: Grammar | None = None,
    names: Sequence[Mapping[str, str]] = (),
    longest: int | None = None,
) -> list[Candidate]:
    """The most probable symbol at every step. `names` are what the problems offer, needed with a grammar."""
    state = _start(model, codec, problems)
    progress = grammar.start(names) if grammar else None
    rows = torch.arange(len(problems))  # which problem a live row belongs to
    written: list[list[int]] = [[] for _ in problems]
    totals = torch.zeros(len(problems), dtype=torch.double)
    for _ in range(_most_symbols(codec, grammar, longest)):
        best, symbols = _log_probabilities(model, state, grammar, progress).max(1)
        totals[rows] += best.double()
        for row, symbol in zip(rows.tolist(), symbols.tolist()):
            written[row].append(symbol)
        live = (symbols != END).nonzero().squeeze(1)
        if not len(live):
            break
        if len(live) < len(rows):
            rows, symbols = rows[live], symbols[live]
            state = state.select(live.to(_device(model)))
            progress = progress.select(live) if progress else None
        state = model.feed(state, symbols.to(_device(model)))
        progress = grammar.feed(progress, symbols) if grammar and progress else None
    return [_candidate(codec, symbols, total, 0.0) for symbols, total in zip(written, totals.tolist())]


@torch.no_grad()
def beam(
    model: Model,
    codec: Codec,
    problems: Sequence[Problem],
    width: int,
    grammar: Grammar | None = None,
    names: Sequence[Mapping[str, str]] = (),
    length_penalty: float = 0.0,
    longest: int | None = None,
) -> list[list[Candidate]]:
    """The best programs found with `width` hypotheses a problem, best first; at least one a problem.

    A hypothesis that ends takes its place in the beam with it, so that a beam of 1 is greedy search.
    """
    state = _start(model, codec, problems)
    progress = grammar.start(names) if grammar else None
    owners = list(range(len(problems)))  # which problem a live hypothesis belongs to
    written: list[list[int]] = [[] for _ in problems]
    totals = torch.zeros(len(problems), dtype=torch.double)
    finished: list[list[Candidate]] = [[] for _ in problems]
    for _ in range(_most_symbols(codec, grammar, longest)):
        scores = totals[:, None] + _log_probabilities(model, state, grammar, progress).double()
        top = scores.topk(min(width, scores.shape[1]), 1)
        options: dict[int, list[tuple[float, int, int]]] = {}
        for row, (values, symbols) in enumerate(zip(top.values.tolist(), top.indices.tolist())):
            fitting = [(v, row, s) for v, s in zip(values, symbols) if v != -torch.inf]
            options.setdefault(owners[row], []).extend(fitting)
        chosen: list[tuple[float, int, int]] = []
        for owner, hypotheses in options.items():
            # Equal scores keep the order of rows and symbols, as argmax does.
            hypotheses.sort(key=lambda hypothesis: -hypothesis[0])
            for total, row, symbol in hypotheses[: width - len(finished[owner])]:
                if symbol == END:
                    finished[owner].append(_candidate(codec, [*written[row], END], total, length_penalty))
                else:
                    chosen.append((total, row, symbol))
        if not chosen:
            break
        rows = torch.tensor([row for _, row, _ in chosen])
        symbols = torch.tensor([symbol for _, _, symbol in chosen])
        totals = torch.tensor([total for total, _, _ in chosen], dtype=torch.double)
        written = [[*written[row], symbol] for _, row, symbol in chosen]
        owners = [owners[row] for _, row, _ in chosen]
        state = model.feed(state.select(rows.to(_device(model))), symbols.to(_device(model)))
        progress = grammar.feed(progress.select(rows), symbols) if grammar and progress else None
    else:
        for owner, symbols, total in zip(owners, written, totals.tolist()):
            finished[owner].append(_candidate(codec, symbols, total, length_penalty))
    return [sorted(candidates, key=lambda candidate: -candidate.score) for candidates in finished]


def execution_guided(candidates: Sequence[Candidate], runs: Callable[[Program], bool]) -> Candidate:
    """The best candidate that runs; the best of all if none does. Never to be reported as plain beam search."""
    for candidate in candidates:
        if candidate.program is not None and runs(candidate.program):
            return candidate
    return candidates[0]


def _device(model: Model) -> torch.device:
    return next(model.parameters()).device


def _start(model: Model, codec: Codec, problems: Sequence[Problem]) -> State:
    words, word_counts = codec.batch_words(problems)
    return model.start(model.encode(words.to(_device(model)), word_counts.to(_device(model))))


def _log_probabilities(
    model: Model, state: State, grammar: Grammar | None, progress: Progress | None
) -> Float[Tensor, "rows n_symbols"]:
    """Of the allowed symbols. The model may be on any device; choosing is done on the CPU."""
    log_probabilities = model.log_probabilities(state).cpu()
    if grammar is None or progress is None:
        return log_probabilities
    return log_probabilities.masked_fill(~grammar.allowed(progress), -torch.inf).log_softmax(1)


def _most_symbols(codec: Codec, grammar: Grammar | None, longest: int | None) -> int:
    """How many symbols are written at most before a program is cut off."""
    tuples = longest or (grammar.longest if grammar else 2 * codec.longest)
    return (tuples + 1) * (1 + codec.n_positions)


def _candidate(codec: Codec, symbols: Sequence[int], log_probability: float, length_penalty: float) -> Candidate:
    ended = bool(symbols) and symbols[-1] == END
    program = codec.decode_symbols(symbols) if ended else None
    length = sum(symbol < len(codec.relations) for symbol in symbols)
    return Candidate(program, log_probability, log_probability / max(length, 1) ** length_penalty)
