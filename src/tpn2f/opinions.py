"""What a model holds of programs that it may not have written: those that a second model wrote, and those of training
questions that are like the one that is asked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from tpn2f.codec import Codec
from tpn2f.domain import Domain, Example, JudgesTypes, Problem, check_types
from tpn2f.errors import DataError, ExecutionError, ProgramSyntaxError
from tpn2f.model import Model
from tpn2f.model.evaluating import evaluating
from tpn2f.program import Program
from tpn2f.search import MOST_WORDS, Candidate
from tpn2f.trust.memory import Memory, told
from tpn2f.trust.signals import Heard, agreements

NEIGHBOURS = 5
"""How many known questions are looked at."""
NEAR = 0.8
"""Known questions that are less like it say nothing about a question."""
UNWRITTEN = -20.0
"""The opinion of a model that has no symbols for a program."""


def join_opinions(
    first: tuple[Model, Codec],
    second: tuple[Model, Codec],
    problems: Sequence[Problem],
    found: Sequence[Sequence[Candidate]],
    others: Sequence[Sequence[Candidate]],
) -> list[list[Candidate]]:
    """The candidates of both models for every problem, each with the log-probability of both, ranked by their mean.

    What only the second model wrote has no least certain symbol of the first: its whole log-probability stands for it.
    A program that one of the two has no symbols for is as good as impossible for that one, and stays a candidate.
    """
    pools: list[dict[Program, Candidate | None]] = []
    recalled = [{one.program: one.recalled for one in (*other, *own)} for own, other in zip(found, others)]
    for own, other in zip(found, others):
        pool: dict[Program, Candidate | None] = {one.program: one for one in own if one.program}
        for one in other:
            if one.program:
                pool.setdefault(one.program, None)
        pools.append(pool)
    new = [(place, program) for place, pool in enumerate(pools) for program, one in pool.items() if one is None]
    written = [(place, program) for place, program in new if spells(first[1], program)]
    scores = dict(zip(written, force(*first, [(problems[place], program) for place, program in written])))
    for place, program in new:
        score = scores.get((place, program), UNWRITTEN)
        pools[place][program] = Candidate(program, score, score, score, recalled=recalled[place][program])
    known = [(place, one) for place, pool in enumerate(pools) for one in pool.values() if one is not None]
    told = [(place, one) for place, one in known if one.program and spells(second[1], one.program)]
    asked = [(problems[place], one.program) for place, one in told if one.program]
    opinions = dict(zip(((place, one.program) for place, one in told), force(*second, asked)))
    joined: list[list[Candidate]] = [[] for _ in problems]
    for place, one in known:
        opinion = opinions.get((place, one.program), UNWRITTEN)
        joined[place].append(one._replace(second=opinion, score=(one.log_probability + opinion) / 2))
    return [
        sorted(both, key=lambda one: -one.score) or [one._replace(second=UNWRITTEN) for one in own]
        for both, own in zip(joined, found)
    ]


def heard(
    problem: Problem,
    candidates: Sequence[Candidate],
    values: Sequence[object],
    memory: Memory | None,
    memory_of_second: Memory | None,
) -> list[Heard]:
    """What a second model says of every candidate and its value, and how much better it knows such texts."""
    opinions = [candidate.second for candidate in candidates if candidate.second is not None]
    if len(opinions) < len(candidates):
        return [{"second": candidate.second} for candidate in candidates]
    lead = 0.0
    if memory is not None and memory_of_second is not None:
        lead = memory_of_second.familiarity(problem) - memory.familiarity(problem)
    shares = agreements(values, opinions)
    return [{"second": one, "second_agreement": share, "lead": lead} for one, share in zip(opinions, shares)]


def add_recalled(
    model: Model,
    codec: Codec,
    domain: Domain,
    memory: Memory,
    problems: Sequence[Problem],
    found: Sequence[Sequence[Candidate]],
) -> list[list[Candidate]]:
    """The candidates of a model and the programs of known questions like each problem, with the model's opinion of
    them. A program that is well-formed for another problem only is left out."""
    near = [_near_programs(codec, domain, memory, problem) for problem in problems]
    own = [{one.program for one in candidates} for candidates in found]
    new = [(place, program) for place, programs in enumerate(near) for program in programs if program not in own[place]]
    scores = force(model, codec, [(problems[place], program) for place, program in new])
    joined = [
        [one._replace(recalled=programs.get(one.program, 0.0) if one.program else 0.0) for one in candidates]
        for candidates, programs in zip(found, near)
    ]
    for (place, program), score in zip(new, scores):
        joined[place].append(Candidate(program, score, score, score, recalled=near[place][program]))
    return [sorted(candidates, key=lambda one: -one.score) for candidates in joined]


def _near_programs(codec: Codec, domain: Domain, memory: Memory, problem: Problem) -> dict[Program, float]:
    """Programs of known questions, each with how like its question is."""
    found: dict[Program, float] = {}
    for text, similarity in memory.recall(told(problem), NEIGHBOURS):
        if similarity < NEAR:
            continue
        try:
            program = Program.parse(text)
        except ProgramSyntaxError:
            continue
        if len(program) <= codec.longest and spells(codec, program) and fits(domain, program, problem):
            found[program] = similarity
    return found


def fits(domain: Domain, program: Program, problem: Problem) -> bool:
    """Whether a program that another problem had is well-formed for this one."""
    if isinstance(domain, JudgesTypes):
        return bool(program) and domain.is_well_typed(program, problem)
    names: Mapping[str, str] = {**domain.constants, **domain.names(problem)}
    try:
        check_types(program, domain.relations, names)
    except ExecutionError:
        return False
    return True


def spells(codec: Codec, program: Program) -> bool:
    """Whether a codec has all symbols of a program."""
    return all(
        step.relation in codec.relations
        and len(step.arguments) <= codec.n_positions
        and all(argument in codec.arguments for argument in step.arguments)
        for step in program
    )


def force(model: Model, codec: Codec, pairs: Sequence[tuple[Problem, Program]]) -> list[float]:
    """The log-probability of every program for its problem: the model is made to write it. No masks are used."""
    scores = [0.0] * len(pairs)
    for places in _batches(pairs, together=codec.reader is not None):
        examples = []
        for place in places:
            problem, program = pairs[place]
            if any(len(step.arguments) > codec.n_positions for step in program):
                raise DataError(f"{program} has more arguments than this model can write")
            examples.append(Example(problem, program))
        with evaluating(model):
            device = next(model.parameters()).device
            losses = model.loss(*codec.batch(examples).to(device)).per_example.tolist()
        for place, loss in zip(places, losses):
            scores[place] = -loss
    return scores


def _batches(pairs: Sequence[tuple[Problem, Program]], together: bool, size: int = 128) -> Iterator[list[int]]:
    """Places of pairs of similar lengths, fewer where texts are long. The programs of a problem stay `together` where
    reading a text twice is dear."""

    def length(place: int) -> tuple[int, int]:
        problem, program = pairs[place]
        return len(problem.words), 0 if together else len(program)

    order = sorted(range(len(pairs)), key=length)
    part: list[int] = []
    for place in order:
        if part and (len(part) == size or (len(part) + 1) * len(pairs[place][0].words) > MOST_WORDS):
            yield part
            part = []
        part.append(place)
    if part:
        yield part
