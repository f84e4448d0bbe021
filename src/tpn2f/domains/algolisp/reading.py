"""Reads a person's task as AlgoLisp's data would have it: tokens, and the arguments that the text introduces.

It reads any text, also one that is not made as the data's texts are; `generation/frames.py` takes those apart exactly.
"""

from __future__ import annotations

import re

LETTERS = "abcdefghijklmnopqrstuvwxyz"


class TypeName(str):
    """The type of an argument that has no value yet, so that it cannot be taken for a string that is one."""

    __slots__ = ()


def introduced(words: tuple[str, ...]) -> dict[str, TypeName]:
    """The arguments that a text introduces, `given an array of numbers a and a number`, with their types.

    An argument without a name gets the first letter that is left over, as in the data. Without an introduction, the
    first mention of every name counts: `the sum of the numbers a and b`.
    """
    start = next((place + 1 for place, word in enumerate(words[:8]) if word in ("given", "consider")), None)
    groups: list[tuple[str, list[str]]] = []
    if start is not None:
        while (group := _read_group(words, start)) is not None:
            kind, names, start = group
            groups.append((kind, names))
    if not groups:
        for place in range(len(words)):
            group = _read_group(words, place)
            if group is not None and group[1]:
                groups.append(group[:2])
    # Letters that the text gives to something else are not free; a lone `a` may be the article.
    taken = {name for _, names in groups for name in names} | (set(words) - {"a"})
    free = iter([letter for letter in LETTERS if letter not in taken])
    bindings: dict[str, TypeName] = {}
    for kind, names in groups:
        for name in names or [next(free, "")]:
            bindings.setdefault(name, TypeName(kind))
    return {name: bindings[name] for name in sorted(bindings) if name}


_NOUNS = {
    "number": "int",
    "integer": "int",
    "string": "string",
    "word": "string",
    "array": "int[]",
    "list": "int[]",
}


def _read_group(words: tuple[str, ...], place: int) -> tuple[str, list[str], int] | None:
    """One kind of arguments with their names and the place behind them: `, arrays of numbers a , b and c`."""
    while place < len(words) and words[place] in (",", "and", "a", "an", "the", "two", "three", "some"):
        place += 1
    noun, plural = _noun(words, place)
    if noun is None:
        return None
    kind = _NOUNS[noun]
    place += 1
    if kind == "int[]" and words[place : place + 1] == ("of",):
        element, _ = _noun(words, place + 1)
        if element is None:
            return None
        kind = f"{_NOUNS[element]}[]"
        place += 2
    names: list[str] = []
    after = place
    while after < len(words) and (plural or not names):
        if words[after] in (",", "and") and names:
            after += 1
        elif len(words[after]) == 1 and words[after] in LETTERS and _noun(words, after + 1)[0] is None:
            names.append(words[after])
            after += 1
            place = after
            if words[after : after + 1] not in ((",",), ("and",)):
                break
        else:
            break
    return kind, names, place


def _noun(words: tuple[str, ...], place: int) -> tuple[str | None, bool]:
    word = words[place] if place < len(words) else ""
    if word in _NOUNS:
        return word, False
    return (word[:-1], True) if word.endswith("s") and word[:-1] in _NOUNS else (None, False)


def tokenise(text: str) -> list[str]:
    """Words and numbers, every other character by itself: the data's own way."""
    return re.findall(r"\w+|[^\w\s]", text)
