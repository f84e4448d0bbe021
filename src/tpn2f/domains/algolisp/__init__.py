"""AlgoLisp: the domain, its reader, and the generator of further records."""

from tpn2f.domains.algolisp.domain import AlgoLisp

__all__ = ["AlgoLisp"]
