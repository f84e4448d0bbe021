"""The words of a question as the person wrote them, each beside the word that the model reads."""

from __future__ import annotations

import re
from collections.abc import Container

from tpn2f.domain import Problem
from tpn2f.web.messages import Word

REACH = 4
"""How many words may have been changed in a row."""
GAP = 40
"""The most characters that changed words may have taken."""

_match_numeral = re.compile(r"[0-9]{1,3}(?:,[0-9]{3})+(?![0-9])(?:\.[0-9]+)?|[0-9]+(?:\.[0-9]+)?|\.[0-9]+").match


def spell(text: str, problem: Problem, known: Container[str]) -> tuple[list[Word], str]:
    """The words as the person wrote them, and what follows the last one.

    Domains change letters, signs and numbers as they read: `Three` is n0, `%` is percent. What was changed is what
    stands in the text between the words that were not. Where too much was changed, the last of it goes to one word.
    """
    lower = text.lower()
    if len(lower) != len(text):
        # Some letters become two when they are made small.
        lower = text
    spans: list[tuple[int, int]] = []
    place, number = 0, 0
    while number < len(problem.words):
        place = _skip(text, place)
        end = _match(text, lower, place, problem, number)
        if end > place or (end == place and not problem.words[number]):
            spans.append((place, end))
            place, number = end, number + 1
            continue
        found = _resume(text, lower, place, problem, number)
        if found is None:
            # Nothing is found any more: what is left of the text is that of this word, and the others have none.
            spans += [(place, len(text)), *[(len(text), len(text))] * (len(problem.words) - number - 1)]
            place = len(text)
            break
        spans += _share(text, place, found[1], found[0] - number)
        number, place = found
    words = []
    for (start, end), word in zip(spans, problem.words):
        written = text[start:end].strip()
        space = bool(written) and start > 0 and (text[start - 1].isspace() or text[start].isspace())
        name = word if word in problem.bindings else None
        words.append(Word(text=written, space=space, name=name, known=word in known))
    return words, text[place:].strip()


def _skip(text: str, place: int) -> int:
    while place < len(text) and text[place].isspace():
        place += 1
    return place


def _match(text: str, lower: str, place: int, problem: Problem, number: int) -> int:
    """Where the word ends if it stands here, else -1."""
    word = problem.words[number]
    if lower.startswith(word, place):
        return place + len(word)
    if word in problem.bindings and (numeral := _match_numeral(text, place)):
        return numeral.end()
    return -1


def _resume(text: str, lower: str, place: int, problem: Problem, number: int) -> tuple[int, int] | None:
    """The next word that stands in the text again, and where; None if there is none near."""
    best: tuple[int, int, int] | None = None
    for later in range(number + 1, min(number + 1 + REACH, len(problem.words))):
        word = problem.words[later]
        for start in range(place, min(place + GAP, len(text))):
            # A word begins where another one cannot go on.
            inside = word[:1].isalnum() and start > 0 and text[start - 1].isalnum() and text[start].isalpha()
            if not text[start].isspace() and not inside and _match(text, lower, start, problem, later) > start:
                cost = (start - place) + 8 * (later - number)
                if best is None or cost < best[0]:
                    best = (cost, later, start)
                break
    return None if best is None else (best[1], best[2])


def _share(text: str, start: int, end: int, words: int) -> list[tuple[int, int]]:
    """The stretches of a changed part that its words get: one each where there are as many, else all to the first."""
    pieces = [(start + piece.start(), start + piece.end()) for piece in re.finditer(r"\S+", text[start:end])]
    if len(pieces) == words:
        return pieces
    return [(start, end), *[(end, end)] * (words - 1)]
