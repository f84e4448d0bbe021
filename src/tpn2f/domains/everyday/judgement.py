"""What makes sense: whether a text asks anything, and whether an answer can be one to what it asks."""

from __future__ import annotations

import re
from collections.abc import Mapping

from tpn2f.domain import Problem
from tpn2f.domains.everyday.sense import counts_things
from tpn2f.errors import NotAQuestion
from tpn2f.program import Program

DOUBT_WORDS: Mapping[str, str] = {
    "part of a thing": "it asks how many, but the answer is not a whole number",
    "percent as a number": "a percentage of the question is used like a plain number",
    "more left than there was": "it asks what is left, but the answer is larger than every number",
    "total below a part": "it asks for a total, but the answer is smaller than a number of the question",
}
REACH = 8
"""How many words from the end what is wanted may stand."""
EXAMPLE = 'such as "A shirt costs $40 and is 25% off. What do I pay?"'


def _set_of(words: str) -> frozenset[str]:
    return frozenset(words.split())


_LEFT = _set_of("left remain remaining remains")
_TOTAL = _set_of("total altogether sum combined")
_ASKING = _set_of(
    "? how what which who whose when where why find calculate compute determine evaluate solve give tell convert "
    "express estimate simplify add subtract multiply divide work count share split compare much many % fraction "
    "percent percentage sum product difference quotient average mean ratio total remainder lcm hcf gcd factorial root "
    "square probability volume area perimeter circumference altogether profit loss"
)
_TELLING = _set_of(
    "is are am was were has have had 's 'm 've bought buys sold sells gave gives ate eats took takes went goes lost "
    "found made makes wants likes said"
)
"""Verbs of sentences that tell something. A note such as `117 feet in yards` has none, and asks nevertheless."""
_WANTED = _set_of("cost price avg whats weight plus minus")
_OPEN_END = _set_of("is are was were be = : equals equal to of by in then approximately")
_SIGN = re.compile(r"[-+*/^=×÷]")


def doubtful(problem: Problem, program: Program, value: object) -> frozenset[str]:
    """The names of what is doubtful about an answer, of `DOUBT_WORDS`."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return frozenset()
    words = frozenset(problem.words)
    largest = max((abs(number) for number in problem.bindings.values() if isinstance(number, float)), default=0.0)
    hundred = any(step.relation == "percent" or "const_100" in step.arguments for step in program)
    found = {
        "part of a thing": abs(value - round(value)) > 1e-6 and counts_things(problem),
        "percent as a number": "%" in words and not hundred,
        "more left than there was": bool(words & _LEFT) and value > largest,
        "total below a part": bool(words & _TOTAL) and value < largest,
    }
    return frozenset(name for name, there in found.items() if there)


def check_asked(problem: Problem) -> None:
    """Raises NotAQuestion for a text that has no number or asks nothing."""
    if not problem.bindings:
        raise NotAQuestion(
            f"there is no number in this text, so there is nothing to compute; ask with numbers, {EXAMPLE}"
        )
    words = [word for word in problem.words if word not in (".", ",", ";", "!", '"', "'")]
    asks = any(word in _ASKING or _SIGN.fullmatch(word) for word in words) or words[-1] in _OPEN_END
    # People also end with what they want to know: `..., avg per file`.
    asks = asks or not _WANTED.isdisjoint(words[-REACH:])
    plain = [word for word in words if word not in problem.bindings]
    if not asks and ((len(plain) < 2 and len(problem.bindings) < 2) or not _TELLING.isdisjoint(words)):
        raise NotAQuestion(f"this text does not ask anything; end it with a question, {EXAMPLE}")
