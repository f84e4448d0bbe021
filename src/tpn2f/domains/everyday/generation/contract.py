"""What every template must keep: each phrasing is told and read, and what is wrong with it is said in words."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from tpn2f.domains.everyday.generation.generator import (
    ToldText,
    draw_numbers,
    place_numbers,
    tell_story,
    tell_whole,
)
from tpn2f.domains.everyday.generation.quantities import Quantity
from tpn2f.domains.everyday.generation.stocks import Stocks, bundled_stocks
from tpn2f.domains.everyday.generation.telling import Telling
from tpn2f.domains.everyday.generation.templates import ProblemKind
from tpn2f.domains.everyday.reading import read
from tpn2f.errors import DataError

LEAST_PHRASINGS = 8


def faults(kind: ProblemKind, tellings: int = 2, stocks: Stocks | None = None) -> Iterator[str]:
    """Everything that is wrong with a kind, found by telling each of its phrasings several times."""
    many = len(kind.phrasings) + len(kind.asks)
    if many < LEAST_PHRASINGS and not kind.story:
        yield f"{kind.name}: {many} phrasings; at least {LEAST_PHRASINGS} are wanted"
    if bool(kind.asks) != bool(kind.orders):
        yield f"{kind.name}: `ask` and `orders` need each other"
    yield from _unused(kind)
    chance = random.Random(kind.name)
    try:
        for _ in range(tellings):
            quantities = draw_numbers(kind, chance)
            for draft in _drafts(kind, quantities, chance, stocks or bundled_stocks()):
                yield from _misread(kind, draft, quantities)
    except DataError as error:
        yield f"{kind.name}: {error}"


def _unused(kind: ProblemKind) -> Iterator[str]:
    if kind.orders or kind.story:
        return
    shown = {name for wording in kind.phrasings + kind.taught for name in wording.numbers}
    for name in set(kind.setting.sources) - shown - kind.needed - kind.setting.behind:
        yield f"{kind.name}: the number {name} is never used"
    for name in shown - kind.needed - kind.extra:
        yield f"{kind.name}: the number {name} is in the text but neither in the program nor marked as extra"


def _drafts(
    kind: ProblemKind, quantities: Mapping[str, Quantity], chance: random.Random, stocks: Stocks
) -> Iterator[ToldText]:
    def telling() -> Telling:
        return Telling(stocks, kind.setting.slots, quantities, chance)

    for wording in kind.phrasings + kind.taught:
        yield tell_whole(wording, telling())
    facts, asks = kind.setting.facts, kind.asks + kind.taught_asks
    for turn in range(max(len(asks), len(kind.orders))):
        order = kind.orders[turn % len(kind.orders)]
        chosen = {fact: facts[fact][turn % len(facts[fact])] for fact in order.facts}
        yield tell_story(order, chosen, asks[turn % len(asks)], telling())


def faults_of_facts(kind: ProblemKind, stocks: Stocks | None = None) -> Iterator[str]:
    """What is wrong with the sentences that the questions of a story share, each told alone."""
    chance = random.Random(kind.setting.name)
    quantities = draw_numbers(kind, chance)
    for wordings in kind.setting.facts.values():
        for wording in wordings:
            draft = tell_whole(wording, Telling(stocks or bundled_stocks(), kind.setting.slots, quantities, chance))
            yield from _misread(kind, draft, quantities, kind.needed)


def _misread(
    kind: ProblemKind, draft: ToldText, quantities: Mapping[str, Quantity], absent: frozenset[str] = frozenset()
) -> Iterator[str]:
    reading = read(draft.text)
    names = place_numbers(draft, reading, quantities)
    told = f"{kind.name}: {draft.text!r}"
    if names is None:
        values = {name: str(quantities[name].value) for name in draft.places}
        yield f"{told}: {values} are read as {[str(number.value) for number in reading.numbers]}"
        return
    if missing := kind.needed - set(names) - absent:
        yield f"{told}: {', '.join(sorted(missing))} of the program is not in the text"
    if len(reading.numbers) > len(names):
        places = [n for k, n in enumerate(reading.numbers) if f"n{k}" not in names.values()]
        strays = [draft.text[number.start : number.end] for number in places]
        if kind.story:  # "which one", "one of them", and coins that are only counted: as in any text
            strays = [stray for stray in strays if stray.lower() not in ("one", "quarters", "a quarter")]
        if strays:
            yield f"{told}: {', '.join(strays)} is read as a number but is no placeholder"


def repeated(kinds: Iterable[ProblemKind]) -> list[str]:
    """Whole phrasings that more than one kind has."""
    counts = Counter(
        source for kind in kinds for source in {wording.source for wording in kind.phrasings + kind.taught}
    )
    return [source for source, count in counts.items() if count > 1]
