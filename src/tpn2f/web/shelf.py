"""The models that a server answers with, by name. Loaded once in every process that serves."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tpn2f.errors import DataError
from tpn2f.functions import FunctionDomain
from tpn2f.functions.isolation import isolate
from tpn2f.pretrained import bundled_models
from tpn2f.solver import Solver


def load_models(
    places: Sequence[str], data: Path | None = None, domain: str | None = None, trust: bool = False
) -> dict[str, Solver]:
    """The models under short names: the name of the run directory, with a number if it occurs twice."""
    wanted = places or bundled_models()
    if not wanted:
        raise DataError("name a trained model with --model, such as runs/arithmetic; none is bundled")
    solvers: dict[str, Solver] = {}
    for place in wanted:
        parts = [part for part in Path(place).resolve().parts if part not in ("checkpoints", "best", "last")]
        name = unused = parts[-1] if parts else "model"
        number = 2
        while unused in solvers:
            unused, number = f"{name}-{number}", number + 1
        solver = Solver.load(place, data, domain, trust)
        if isinstance(solver.domain, FunctionDomain):
            # A function that never comes back must not take the server with it.
            solver.domain = isolate(solver.domain)
        solvers[unused] = solver
    return solvers
