"""Plain-language problems to formal programs that run: TP-N2F, whole.

`Solver` brings torch with it, so it is loaded when it is first asked for.
"""

from importlib.metadata import version
from typing import TYPE_CHECKING

from tpn2f.domain import Domain, Example, Problem, Signature, load_domain
from tpn2f.errors import N2FError
from tpn2f.functions import FunctionDomain
from tpn2f.program import Program, RelationalTuple
from tpn2f.solution import Question, Solution

if TYPE_CHECKING:
    from tpn2f.solver import Solver

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
__version__ = version("tpn2f")


def __getattr__(name: str) -> object:
    if name == "Solver":
        from tpn2f.solver import Solver

        return Solver
    raise AttributeError(f"module 'tpn2f' has no attribute {name!r}")
