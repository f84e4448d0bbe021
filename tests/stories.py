"""A few of the written stories: all of them take long to read where every call is checked. The slow tests read all."""

from functools import cache

from tpn2f.domains.everyday.generation.templates import ProblemKind
from tpn2f.domains.everyday.generation.written import FOLDER, read_written

FEW = ("groups", "school", "short")


@cache
def few_stories() -> tuple[ProblemKind, ...]:
    """The questions of some files."""
    texts = {theme: (FOLDER / f"{theme}.txt").read_text(encoding="utf-8") for theme in FEW}
    return tuple(kind for theme, text in texts.items() for kind in read_written(text, theme))
