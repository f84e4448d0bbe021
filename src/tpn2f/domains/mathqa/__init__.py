"""MathQA: the domain, its operations, options, words and published scorer."""

from tpn2f.domains.mathqa.domain import MathQA

__all__ = ["MathQA"]
