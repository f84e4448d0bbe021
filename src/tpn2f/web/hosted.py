"""A model that is being served: its worker, its map, its card, and questions to try. Knows no HTTP."""

from __future__ import annotations

import asyncio
import json
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import islice
from pathlib import Path

from tpn2f.domain import HasOptions, HasSteps, TracesRuns, inputs_of, split_roles
from tpn2f.errors import N2FError
from tpn2f.solver import Solver
from tpn2f.web.answers import Asked, plain, solve_together
from tpn2f.web.batching import Batcher
from tpn2f.web.limits import ServerLimits
from tpn2f.web.messages import InputField, ModelCard, RelationMapMessage, Shelf, Solved, Suggestion
from tpn2f.web.relations import find_map

EXAMPLES = Path(__file__).parent / "examples.json"
LOOKED_AT = 300
"""How many examples of a domain are looked at to find some of every kind."""
MOST_SHOWN = 9
EACH = 2
"""How many questions of one kind are shown."""
LONGEST = 200
"""The longest question to try, in characters."""


class Hosted:
    """A model that is being served."""

    def __init__(self, name: str, solver: Solver, worker: ThreadPoolExecutor, limits: ServerLimits) -> None:
        self.name, self.solver = name, solver
        self.reader = ThreadPoolExecutor(1, "tpn2f-read")
        self.batcher: Batcher[Asked, Solved] = Batcher(
            partial(solve_together, solver, name), worker, limits.batch, limits.gather
        )
        self._map: asyncio.Task[RelationMapMessage] | None = None
        self._examples: asyncio.Task[list[Suggestion]] | None = None

    def map(self) -> asyncio.Task[RelationMapMessage]:
        """The map of relations, whose drawing starts on first demand."""
        if self._map is None:
            # Not in the worker: questions are answered meanwhile.
            self._map = asyncio.create_task(asyncio.to_thread(find_map, self.solver, self.name))
        return self._map

    def examples(self) -> asyncio.Task[list[Suggestion]]:
        """Questions to try from the domain itself, read on first demand."""
        if self._examples is None:
            self._examples = asyncio.create_task(asyncio.to_thread(domain_examples, self.solver))
        return self._examples

    def card(self, shelf: Shelf | None) -> ModelCard:
        config, codec = self.solver.model.config, self.solver.codec
        return ModelCard(
            name=self.name,
            title=shelf.title if shelf else self.solver.domain.name,
            domain=self.solver.domain.name,
            encoder=config.encoder,
            decoder=config.decoder,
            parameters=sum(parameter.numel() for parameter in self.solver.model.parameters()),
            # Iterating leaves out the specials, which are not words.
            words=len(list(codec.words)),
            relations=len(list(codec.relations)),
            worked=isinstance(self.solver.domain, HasSteps),
            traced=isinstance(self.solver.domain, TracesRuns),
            options=isinstance(self.solver.domain, HasOptions),
            guess_below=self.solver.guess_below,
            inputs=[
                InputField(name=name, kind=str(given.doc or given.kind.name), value=None, needed=True)
                for name, given in inputs_of(self.solver.domain).items()
            ],
            examples=shelf.questions if shelf else [],
        )


def load_examples() -> dict[str, Shelf]:
    """Questions to try, by domain. They are ours, and from no data set."""
    text = EXAMPLES.read_text(encoding="utf-8")
    return {domain: Shelf.model_validate(found) for domain, found in json.loads(text).items()}


def domain_examples(solver: Solver) -> list[Suggestion]:
    """Some questions of a domain's own examples, of several kinds; none where it has none."""
    domain = solver.domain
    roles = split_roles(domain)
    split = next((name for name in (roles.select, roles.learn) if name in domain.splits), None)
    given = inputs_of(domain)
    kinds: dict[str, list[Suggestion]] = {}
    try:
        for example in islice(domain.examples(split), LOOKED_AT) if split else ():
            if not example.program.tuples or not 0 < len(example.text) <= LONGEST:
                continue
            kind = example.program.tuples[-1].relation.replace("_", " ")
            values = {name: value for name, value in example.problem.bindings.items() if name in given}
            # A value that cannot be written cannot be tried.
            written = {name: value for name, value in values.items() if plain(value) is not None}
            found = kinds.setdefault(kind, [])
            if len(found) < EACH:
                found.append(Suggestion(question=example.text, kind=kind, values=written))
    except N2FError:
        return []
    return [one for found in kinds.values() for one in found][:MOST_SHOWN]
