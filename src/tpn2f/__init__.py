"""Plain-language problems to formal programs that run: TP-N2F, whole."""

from tpn2f.domain import Domain as Domain
from tpn2f.domain import Example as Example
from tpn2f.domain import Problem as Problem
from tpn2f.domain import Signature as Signature
from tpn2f.domain import load_domain as load_domain
from tpn2f.errors import N2FError as N2FError
from tpn2f.program import Program as Program
from tpn2f.program import RelationalTuple as RelationalTuple
