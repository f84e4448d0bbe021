"""The frame of an AlgoLisp text: how it opens, which arguments it introduces, how it names them, and how it asks.

    you are given an array of numbers and a number b , | what is | the first b elements of the given array

What stands between is the body. In a body that is taken out of its frame every argument is a token such as `{a}`, and
so is every name that the text gives to something itself. Reading and writing are each other's inverse. What the body
means is not known here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from tpn2f.errors import DataError

OPENINGS = (("you", "are", "given"), ("given",), ("consider",))
ASKS = (
    *(("your", "task", "is", "to", "find"), ("your", "task", "is", "to", "compute")),
    *(("what", "is"), ("what", "are"), ("find",), ("compute",)),
)
QUESTIONS = (("for", "how", "many"), ("on", "how", "many"), ("how", "many"))
"""Words that ask by themselves: the body begins with them, and nothing asks before."""
NOUNS = {
    "int": ("a number", "numbers", "number"),
    "string": ("a string", "strings", "string"),
    "int[]": ("an array of numbers", "arrays of numbers", "array"),
    "string[]": ("an array of strings", "arrays of strings", "array"),
}
"""Type -> how one argument is introduced, how several are, and what `the given ...` calls it."""
ASK = "?"
"""The token of a body at which the asking words were: `?find`, `?what is`, or `?` alone."""


@dataclass(frozen=True, slots=True)
class Frame:
    """A text taken apart."""

    opening: str
    groups: tuple[tuple[str, tuple[str, ...]], ...]
    """Types and names, in the order of the text. A group without a name is one argument, `the given ...`."""
    unnamed: Mapping[str, str]
    """Arguments that the text gives no name, with their types."""
    body: tuple[str, ...]
    """`, clause , clause ?ask phrase`, with arguments and names as `{a}`."""


class UnknownFrame(DataError):
    """A text that is not made as the data's texts are."""


@dataclass(frozen=True, slots=True)
class Articles:
    """Where `a` is an article and not the name of an argument."""

    before: frozenset[str] = frozenset()
    """Words after which no argument ever stands: `becomes a single digit number`."""
    after: frozenset[tuple[str, ...]] = frozenset()
    """Pairs of words: `is a prefix of`."""


NO_ARTICLES = Articles()


def read_frame(words: Sequence[str], types: Mapping[str, str], articles: Articles = NO_ARTICLES) -> Frame:
    """Takes a text out of its frame."""
    opening = next((opening for opening in OPENINGS if tuple(words[: len(opening)]) == opening), None)
    if opening is None:
        raise UnknownFrame(f"the text begins with {' '.join(words[:3])!r}")
    groups, place = _read_groups(words, len(opening))
    named = {name for _, names in groups for name in names}
    unnamed: dict[str, str] = {}
    for kind, names in groups:
        if not names:
            left = [name for name, type in types.items() if type == kind and name not in named]
            if len(left) != 1:
                raise UnknownFrame(f"the text leaves {len(left)} arguments of the type {kind} without a name")
            unnamed[left[0]] = kind
    introduced = {name: kind for kind, names in groups for name in names} | unnamed
    if introduced != dict(types):
        raise UnknownFrame("the text introduces other arguments than the program has")
    body = _mark_ask(_mark_names(words[place + 1 :], unnamed, articles))
    return Frame(" ".join(opening), tuple(groups), unnamed, body)


def _read_groups(words: Sequence[str], place: int) -> tuple[list[tuple[str, tuple[str, ...]]], int]:
    groups: list[tuple[str, tuple[str, ...]]] = []
    while True:
        for kind, (single, plural, _) in NOUNS.items():  # noqa: B007 (the kind of the noun that is found)
            one, many = tuple(single.split()), tuple(plural.split())
            if tuple(words[place : place + len(one)]) == one:
                place += len(one)
                names = (words[place],) if place < len(words) and _is_name(words[place]) else ()
                place += len(names)
                break
            if tuple(words[place : place + len(many)]) == many:
                names, place = _read_names(words, place + len(many))
                break
        else:
            raise UnknownFrame(f"an argument is introduced by {' '.join(words[place : place + 3])!r}")
        groups.append((kind, names))
        if words[place : place + 1] and words[place] == "and":
            place += 1
        elif words[place : place + 1] and words[place] == ",":
            return groups, place
        else:
            raise UnknownFrame("no comma follows the arguments")


def _read_names(words: Sequence[str], place: int) -> tuple[tuple[str, ...], int]:
    """`a , b and c`: the last `and` may also begin the next group."""
    names: list[str] = []
    while place < len(words) and _is_name(words[place]):
        names.append(words[place])
        place += 1
        more = tuple(words[place : place + 3])
        if len(more) < 3 or not _is_name(more[1]) or more[2] not in (",", "and") or more[0] not in (",", "and"):
            return tuple(names), place
        place += 1
        if more[0] == "and":
            return (*names, words[place]), place + 1
    raise UnknownFrame("several arguments have no names")


def _is_name(word: str) -> bool:
    # `s` is what the apostrophe of `element ' s value` leaves.
    return len(word) == 1 and word.isalpha() and word != "s"


def _mark_names(words: Sequence[str], unnamed: Mapping[str, str], articles: Articles) -> list[str]:
    mentions: dict[tuple[str, ...], str] = {("the", "given", NOUNS[kind][2]): name for name, kind in unnamed.items()}
    marked = [","]
    place = 0
    while place < len(words):
        word = words[place]
        mention = mentions.get((word, *words[place + 1 : place + 3]))
        if mention is not None:
            marked.append(f"{{{mention}}}")
            place += 3
            continue
        article = word == "a" and (
            "a" in unnamed or tuple(words[place + 1 : place + 3]) in articles.after or marked[-1] in articles.before
        )
        marked.append(f"{{{word}}}" if _is_name(word) and not article else word)
        place += 1
    return marked


def _mark_ask(body: list[str]) -> tuple[str, ...]:
    commas = [place for place, word in enumerate(body) if word == ","]
    asks = [
        (place, len(ask), f"{ASK}{' '.join(ask)}")
        for place in commas
        for ask in ASKS
        if tuple(body[place + 1 : place + 1 + len(ask)]) == ask
    ]
    if asks:
        place, length, token = max(asks)
        return (*body[:place], token, *body[place + 1 + length :])
    for place in commas:
        if any(tuple(body[place + 1 : place + 1 + len(words)]) == words for words in QUESTIONS):
            return (*body[:place], ASK, *body[place + 1 :])
    raise UnknownFrame("the text asks for nothing")


def learn_articles(texts: Iterable[tuple[Sequence[str], Mapping[str, str]]]) -> Articles:
    """Where `a` is an article, from texts in which no argument is called a."""
    before: set[str] = set()
    names: set[str] = set()
    after: set[tuple[str, ...]] = set()
    for words, types in texts:
        frame = read_frame(words, types)
        if "a" in frame.unnamed:
            body = frame.body
            for place in range(1, len(body)):
                if body[place] == "a":
                    before.add(body[place - 1].partition(ASK)[0])
                    after.add(body[place + 1 : place + 3])
                elif body[place].startswith("{"):
                    names.add(body[place - 1])
    # `what is a` asks for an argument.
    asking = {"", *(ask[-1] for ask in ASKS)}
    return Articles(frozenset(before - names - asking), frozenset(after))


def write_frame(frame: Frame) -> list[str]:
    """The text of a frame: the inverse of `read_frame`."""
    words = frame.opening.split()
    for number, (kind, names) in enumerate(frame.groups):
        words += ["and"] * (number > 0)
        words += NOUNS[kind][len(names) > 1].split()
        for place, name in enumerate(names):
            words += [("and" if place == len(names) - 1 else ",")] * (place > 0)
            words.append(name)
    for word in frame.body:
        if word.startswith(ASK):
            words += [",", *word[1:].split()]
        elif word.startswith("{"):
            kind = frame.unnamed.get(word[1:-1])
            words += [word[1:-1]] if kind is None else ["the", "given", NOUNS[kind][2]]
        else:
            words.append(word)
    return words
