"""Many questions at once: each answered in short, as a row of a table. Knows no HTTP."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from tpn2f.errors import N2FError
from tpn2f.solver import Solver
from tpn2f.web.answers import Asked, read_ask, refuse_program
from tpn2f.web.messages import Ask, AskMany, Row, Solved
from tpn2f.wording import clean, cut

LONGEST = 500
"""The most characters of a question that a row repeats."""


def read_many(
    solver: Solver, many: AskMany, max_words: int, languages: Mapping[str, Collection[str]]
) -> list[Asked | Row]:
    """Each question ready to be decoded, or the row of one that is refused."""
    manner = many.model_dump(exclude={"questions"})
    found: list[Asked | Row] = []
    for one in many.questions:
        try:
            refuse_program(one.question, languages)
            found.append(read_ask(solver, Ask(**one.model_dump(), **manner), max_words))
        except N2FError as error:
            found.append(refused_row(one.question, str(error)))
    return found


def refused_row(question: str, why: str) -> Row:
    """The row of a question that has no answer."""
    text = cut(clean(question), LONGEST)
    return Row(question=text, state="none", answer="", option="", confidence=0.0, why=why, program="", nearest="")


def make_row(question: str, solved: Solved) -> Row:
    """The row of an answer. One that is not to be trusted at all is left out; its program is there."""
    shown = solved.verdict.state in ("sure", "guess")
    return Row(
        question=cut(question, LONGEST),
        state=solved.verdict.state,
        answer=(solved.reply or "") if shown else "",
        option=solved.option.label if shown and solved.option is not None else "",
        confidence=round(solved.confidence, 4),
        why="; ".join(solved.verdict.why),
        program=solved.program or "",
        nearest=solved.nearest.text if solved.nearest is not None else "",
    )
