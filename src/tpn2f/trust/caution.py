"""Words that training did not have, and what they may do to an answer.

A model reads a word that it never met as a word like any other: `switch off the hall` becomes what it knows best, with
the hall switched on. Where the texts that confidence was fitted on have no such words, as when a generator made them
all, nothing can be learned about them there. Then these weights are used, which were set and not fitted.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

PRIORS: Mapping[str, float] = {"new words": -12.0, "turning words": -4.0}
"""What a signal adds to the log-odds of an answer where too few answers had it to learn that: for the share of new
words, and for every new word that may turn a text around."""
RARE = 30
"""From so many answers with a signal on, its weight is learned from them."""


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
