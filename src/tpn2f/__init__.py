"""Plain-language problems to formal programs that run: TP-N2F, whole.

`Solver` brings torch with it, so it is loaded when it is first asked for; so is what most commands never use.
"""

from typing import TYPE_CHECKING

from tpn2f.domain import Domain, Example, Problem, Signature, load_domain
from tpn2f.errors import N2FError
from tpn2f.program import Program, RelationalTuple
from tpn2f.solution import Question, Solution

if TYPE_CHECKING:
    from tpn2f.functions import FunctionDomain
    from tpn2f.solver import Solver

    __version__: str

__all__ = [
    "Domain",
    "Example",
    "FunctionDomain",
    "N2FError",
    "Problem",
    "Program",
    "Question",
    "RelationalTuple",
    "Signature",
    "Solution",
    "Solver",
    "load_domain",
]


def __getattr__(name: str) -> object:
    if name == "Solver":
        from tpn2f.solver import Solver

        return Solver
    if name == "FunctionDomain":
        from tpn2f.functions import FunctionDomain

        return FunctionDomain
    if name == "__version__":
        from importlib.metadata import version

        return version("tpn2f")
    raise AttributeError(f"module 'tpn2f' has no attribute {name!r}")
