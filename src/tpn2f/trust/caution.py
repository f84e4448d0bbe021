"""Words that training did not have, and what they may do to an answer.

A model reads a word that it never met as a word like any other: `switch off the hall` becomes what it knows best, with
the hall switched on. Where the texts that confidence was fitted on have no such words, as when a generator made them
all, nothing can be learned about them there. Then a confidence is lowered by rules that were set and not fitted.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping

SUREST = 0.99
"""The most that a confidence counts where something speaks against it of which nothing was learned."""
RARE = 30
"""From so many answers with a signal on, what it means is learned from them."""
RULES: Mapping[str, Callable[[float], float]] = {
    # Any new word may be the one that counts; a text of many is hardly understood.
    "new words": lambda share: 3.0 * (share > 0) + 4.0 * share,
    "turning words": lambda count: 3.0 * count,
}
"""What a signal takes from the log-odds of an answer where nothing was learned about it."""


def cautious(confidence: float, signals: Mapping[str, float]) -> float:
    """A confidence to which nothing was learned of these signals, by the rules for them; never higher than before."""
    against = math.fsum(rule(signals.get(name, 0.0)) for name, rule in RULES.items())
    if against == 0 or confidence <= 0:
        return confidence
    sure = min(confidence, SUREST)
    total = math.log(sure / (1 - sure)) - against
    return min(confidence, 1 / (1 + math.exp(-total)) if total > -700 else 0.0)


def _set_of(words: str) -> frozenset[str]:
    return frozenset(words.split())


_HARMLESS = _set_of("please kindly thanks thank hello hi hey ok okay now just could would can you a an the my our")
_TURNING = _set_of(
    "not no never none neither nor cannot without except but unless instead rather only until stop cancel undo undone "
    "off out down back less fewer minus opposite reverse reversed wrong false skip ignore avoid forget remove against"
)


def may_matter(words: Iterable[str]) -> tuple[str, ...]:
    """The words that may change what a text means: all but polite ones and signs."""
    return tuple(word for word in words if word not in _HARMLESS and any(map(str.isalnum, word)))


def may_turn(words: Iterable[str]) -> tuple[str, ...]:
    """The words that may turn a text around: `not`, `off`, `without`, `don't`."""
    return tuple(word for word in words if word in _TURNING or word.endswith(("n't", "n’t")))
