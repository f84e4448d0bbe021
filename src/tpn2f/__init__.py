"""Plain-language problems to formal programs that run: TP-N2F, whole.

`Solver` brings torch with it, so it is loaded when it is first asked for.
"""

from typing import TYPE_CHECKING

from tpn2f.domain import Domain as Domain
from tpn2f.domain import Example as Example
from tpn2f.domain import Problem as Problem
from tpn2f.domain import Signature as Signature
from tpn2f.domain import load_domain as load_domain
from tpn2f.errors import N2FError as N2FError
from tpn2f.functions import FunctionDomain as FunctionDomain
from tpn2f.program import Program as Program
from tpn2f.program import RelationalTuple as RelationalTuple
from tpn2f.solution import Question as Question
from tpn2f.solution import Solution as Solution

if TYPE_CHECKING:
    from tpn2f.solver import Solver as Solver


def __getattr__(name: str) -> object:
    if name == "Solver":
        from tpn2f.solver import Solver

        return Solver
    raise AttributeError(f"module 'tpn2f' has no attribute {name!r}")
