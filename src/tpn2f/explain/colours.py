"""The colours of fillers and roles, the same in the terminal, in pictures and in pages."""

from __future__ import annotations

import colorsys
from collections.abc import Iterable, Sequence
from typing import Literal

from tpn2f.explain import QuestionMap, Selection

Kind = Literal["role", "filler"]
_COLOURS = 24


def selected(question: QuestionMap, kind: Kind) -> tuple[Selection, ...]:
    """What every word selects of a kind; nothing for a plain LSTM encoder."""
    return question.roles if kind == "role" else question.fillers


def palette(maps: Sequence[QuestionMap], kind: Kind) -> dict[int, str]:
    """A colour for every number that the words of some questions select, the heaviest first; 24, then over again."""
    weights: dict[int, float] = {}
    for question in maps:
        for word in selected(question, kind):
            for number, weight in word:
                weights[number] = weights.get(number, 0.0) + weight
    return colour_all(sorted(weights, key=lambda number: (-weights[number], number)))


def colour_all(numbers: Iterable[int]) -> dict[int, str]:
    """Colours that black letters can stand on, a golden angle apart, so that neighbours in the order differ most."""
    found: dict[int, str] = {}
    for number in dict.fromkeys(numbers):
        place = len(found) % _COLOURS
        hue, lightness = (place * 0.381966 + 0.56) % 1, (0.80, 0.74, 0.86)[place % 3]
        parts = colorsys.hls_to_rgb(hue, lightness, 0.62 if place % 2 else 0.5)
        found[number] = "#" + "".join(f"{round(255 * part):02x}" for part in parts)
    return found


def faded(colour: str, weight: float) -> str:
    """The colour on white paper, fainter for a smaller weight; never so faint that it cannot be seen."""
    strength = 0.3 + 0.7 * min(max(weight, 0.0), 1.0)
    parts = (int(colour[place : place + 2], 16) for place in (1, 3, 5))
    return "#" + "".join(f"{round(255 - strength * (255 - part)):02x}" for part in parts)


def tag(selection: Selection) -> str:
    """All numbers of a selection and the weight of the first: `14 24  .74`."""
    if not selection:
        return "–"
    weight = f"{selection[0][1]:.2f}"
    return f"{' '.join(str(number) for number, _ in selection)}  {weight.removeprefix('0')}"
