"""What a domain offers for every answer, asked once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tpn2f.domain.offers import (
    DescribesSteps,
    DoubtsAnswers,
    HasSteps,
    JudgesAnswers,
    TellsUnits,
    doubts_of,
    notation_of,
)
from tpn2f.domain.protocol import Domain


@dataclass(frozen=True, slots=True)
class Offered:
    """None for what it does not offer. To ask an object for its offers takes longer than to use most of them."""

    judge: JudgesAnswers | None
    steps: HasSteps | None
    words: DescribesSteps | None
    units: TellsUnits | None
    doubter: DoubtsAnswers | None
    doubts: Mapping[str, str]
    notation: Mapping[str, str]

    @classmethod
    def by(cls, domain: Domain) -> Offered:
        return cls(
            domain if isinstance(domain, JudgesAnswers) else None,
            domain if isinstance(domain, HasSteps) else None,
            domain if isinstance(domain, DescribesSteps) else None,
            domain if isinstance(domain, TellsUnits) else None,
            domain if isinstance(domain, DoubtsAnswers) else None,
            doubts_of(domain),
            notation_of(domain),
        )
