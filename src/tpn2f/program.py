"""Programs as the paper writes them: straight-line sequences of relational tuples.

    add(n0, n1) | divide(#0, const_2)

`#k` is the value of tuple k; every other argument is a word of the domain's language. A program can also be written as
a tree, `(divide (add n0 n1) const_2)`: one tuple per call, children before parents, left to right, nothing shared.

Parsing is bounded and never recurses, so that a hostile text costs an error and not the process. This module knows no
domain: it does not check that a relation exists, nor how many arguments it takes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tpn2f.errors import ProgramSyntaxError

MAX_TEXT = 100_000
"""The longest text that is parsed, in characters."""
MAX_TUPLES = 1_024
"""The longest program, in tuples."""
MAX_ARGUMENTS = 64
"""The most arguments one tuple may have."""
MAX_DEPTH = 128
"""The deepest tree that is read or built."""
MAX_NODES = 20_000
"""The largest tree, in calls and leaves: shared references can make a small program a huge tree."""

if TYPE_CHECKING:
    Tree = str | tuple["Tree", ...]
    """A leaf, or a call: (relation, child, child, ...)."""
else:
    # The run-time type checker of the tests cannot follow a type that names itself.
    Tree = str | tuple

# A word is anything without white space, brackets, commas and quotes, or a quoted text, as in the Lisp's `" "`.
_WORD = r'(?:"(?:[^"\\\n]|\\.)*"|[^\s()",]+)'
_match_word = re.compile(_WORD).match
_is_word = re.compile(_WORD).fullmatch
_is_reference = re.compile(r"#(?:0|[1-9][0-9]{0,5})").fullmatch
# Marks the end of a call while a tree is walked; no tree holds it.
_CLOSE = object()


@dataclass(frozen=True, slots=True)
class RelationalTuple:
    """A relation and its arguments: `add(n0, #1)`."""

    relation: str
    arguments: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for word in (self.relation, *self.arguments):
            if not _is_word(word):
                raise ProgramSyntaxError(f"{word!r} cannot be a word of a program: it needs quotes or has no letters")
        if self.relation.startswith('"'):
            raise ProgramSyntaxError(f"the relation {self.relation} is a quoted text; expected a name")
        if len(self.arguments) > MAX_ARGUMENTS:
            raise ProgramSyntaxError(
                f"{self.relation} has {len(self.arguments)} arguments; at most {MAX_ARGUMENTS} are read"
            )

    def __str__(self) -> str:
        return f"{self.relation}({', '.join(self.arguments)})"


@dataclass(frozen=True, slots=True)
class Program:
    """Relational tuples in the order in which they run. The last one is the result."""

    tuples: tuple[RelationalTuple, ...] = ()

    def __post_init__(self) -> None:
        if len(self.tuples) > MAX_TUPLES:
            raise ProgramSyntaxError(f"the program has {len(self.tuples)} tuples; at most {MAX_TUPLES} are read")

    def __str__(self) -> str:
        return " | ".join(map(str, self.tuples))

    def __len__(self) -> int:
        return len(self.tuples)

    def __iter__(self) -> Iterator[RelationalTuple]:
        return iter(self.tuples)

    @classmethod
    def parse(cls, text: str) -> Program:
        """Reads the text form; `parse(str(p)) == p`. One `|` after the last tuple is tolerated, as MathQA writes it."""
        return cls(tuple(_parse_tuples(text)))

    @classmethod
    def from_tree(cls, tree: Tree | list) -> Program:
        """One tuple per call, children before parents, left to right, no sharing; lists are taken for tuples."""
        return cls(tuple(_tuples_of_tree(tree)))

    def to_tree(self) -> Tree:
        """The tree of the last tuple, with every `#k` replaced by the tree of tuple k; unused tuples are left out."""
        if not self.tuples:
            raise ProgramSyntaxError("an empty program has no tree")
        trees: list[Tree] = []
        sizes: list[int] = []
        depths: list[int] = []
        for index, step in enumerate(self.tuples):
            children: list[Tree] = []
            size, depth = 1, 1
            for argument in step.arguments:
                target = reference(argument)
                if target is None:
                    children.append(argument)
                    size += 1
                    continue
                if target >= index:
                    raise ProgramSyntaxError(f"tuple {index}, {step}: {argument} does not point backwards")
                children.append(trees[target])
                size += sizes[target]
                depth = max(depth, depths[target] + 1)
            trees.append((step.relation, *children))
            sizes.append(size)
            depths.append(depth)
        # Sub-trees are shared objects up to here, so only a tree that is walked can be too large: check the result.
        if sizes[-1] > MAX_NODES or depths[-1] > MAX_DEPTH:
            raise ProgramSyntaxError(
                f"the tree has {_count(sizes[-1])} nodes and depth {depths[-1]}; "
                f"at most {MAX_NODES} nodes and depth {MAX_DEPTH} are built"
            )
        return trees[-1]


def reference(argument: str) -> int | None:
    """The k of an argument `#k`, or None for any other word."""
    return int(argument[1:]) if argument.startswith("#") and _is_reference(argument) else None


def read_tree(text: str) -> Tree:
    """Reads `(divide (add n0 n1) const_2)`, or a lone word; `read_tree(write_tree(t)) == t`."""
    _check_length(text)
    stack: list[list[Tree]] = []
    result: Tree | None = None
    position = _skip_space(text, 0)
    while position < len(text):
        if result is not None:
            raise _error(text, position, "expected the end of the text")
        if text[position] == "(":
            if stack and not stack[-1]:
                raise _error(text, position, "a call must begin with a relation, not with another call")
            if len(stack) >= MAX_DEPTH:
                raise _error(text, position, f"brackets are nested deeper than {MAX_DEPTH}")
            stack.append([])
            position += 1
        elif text[position] == ")":
            if not stack or not stack[-1]:
                raise _error(text, position, "expected a relation" if stack else "a bracket closes that was not opened")
            closed = tuple(stack.pop())
            position += 1
            if stack:
                stack[-1].append(closed)
            else:
                result = closed
        else:
            if stack and not stack[-1]:
                word, position = _take_relation(text, position)
            else:
                word, position = _take_word(text, position)
            if stack:
                stack[-1].append(word)
            else:
                result = word
        position = _skip_space(text, position)
    if stack:
        raise _error(text, position, f"expected {len(stack)} closing bracket(s)")
    if result is None:
        raise _error(text, position, "expected a program")
    return result


def write_tree(tree: Tree | list) -> str:
    """The text of a tree, as Lisp writes it; lists are taken for tuples. Refuses what `read_tree` would not read."""
    pieces: list[str] = []
    pending: list[object] = [tree]
    depth = nodes = 0
    while pending:
        node = pending.pop()
        if node is _CLOSE:
            pieces.append(")")
            depth -= 1
            continue
        if pieces and pieces[-1] != "(":
            pieces.append(" ")
        if isinstance(node, str):
            if not _is_word(node):
                raise ProgramSyntaxError(f"{node[:60]!r} cannot be a word of a program")
            # Every call has one relation and every other node is a leaf, so words count the nodes.
            nodes += 1
            if nodes > MAX_NODES:
                raise ProgramSyntaxError(f"the tree has more than {MAX_NODES} nodes")
            pieces.append(node)
        else:
            call = _check_call(node)
            depth += 1
            if depth > MAX_DEPTH:
                raise ProgramSyntaxError(f"the tree is deeper than {MAX_DEPTH}")
            pieces.append("(")
            pending.append(_CLOSE)
            pending.extend(reversed(call))
    text = "".join(pieces)
    _check_length(text)
    return text


def _parse_tuples(text: str) -> Iterator[RelationalTuple]:
    _check_length(text)
    position = _skip_space(text, 0)
    count = 0
    while position < len(text):
        if count == MAX_TUPLES:
            raise _error(text, position, f"a program has at most {MAX_TUPLES} tuples")
        relation, position = _take_relation(text, position)
        if text[position : position + 1] != "(":
            raise _error(text, position, f"expected '(' after the relation {relation}")
        arguments: list[str] = []
        position = _skip_space(text, position + 1)
        while text[position : position + 1] != ")" or arguments:
            argument, position = _take_word(text, position)
            arguments.append(argument)
            position = _skip_space(text, position)
            if text[position : position + 1] == ")":
                break
            if text[position : position + 1] != ",":
                raise _error(text, position, f"expected ',' or ')' after the argument {argument}")
            if len(arguments) == MAX_ARGUMENTS:
                raise _error(text, position, f"a tuple has at most {MAX_ARGUMENTS} arguments")
            position = _skip_space(text, position + 1)
        yield RelationalTuple(relation, tuple(arguments))
        count += 1
        position = _skip_space(text, position + 1)
        if position < len(text):
            if text[position] != "|":
                raise _error(text, position, "expected '|' between tuples")
            position = _skip_space(text, position + 1)


def _tuples_of_tree(tree: Tree | list) -> list[RelationalTuple]:
    if isinstance(tree, str):
        raise ProgramSyntaxError(f"the tree is the lone word {tree!r}; expected a call")
    tuples: list[RelationalTuple] = []
    # Each frame is a call being read: its node, the next child, and the arguments that its children became.
    frames = [_frame(tree)]
    while frames:
        node, children, arguments = frames[-1]
        child = next(children, _CLOSE)
        if child is _CLOSE:
            frames.pop()
            if len(tuples) == MAX_TUPLES:
                raise ProgramSyntaxError(f"the tree has more than {MAX_TUPLES} calls")
            if frames:
                frames[-1][2].append(f"#{len(tuples)}")
            tuples.append(RelationalTuple(node[0], tuple(arguments)))
        elif isinstance(child, str):
            if reference(child) is not None:
                raise ProgramSyntaxError(f"the leaf {child} is a reference; a tree has none")
            arguments.append(child)
        elif len(frames) == MAX_DEPTH:
            raise ProgramSyntaxError(f"the tree is deeper than {MAX_DEPTH}")
        else:
            frames.append(_frame(child))
    return tuples


def _frame(node: object) -> tuple[Sequence, Iterator, list[str]]:
    call = _check_call(node)
    return call, iter(call[1:]), []


def _check_call(node: object) -> Sequence:
    # The message names types only: the text of a hostile node may be endless, or too deep to be written.
    if not isinstance(node, tuple | list):
        raise ProgramSyntaxError(f"a tree holds words and calls only; got a value of type {type(node).__name__}")
    if not node or not isinstance(node[0], str) or node[0].startswith('"'):
        found = node[0][:60] if node and isinstance(node[0], str) else type(node[0]).__name__ if node else "nothing"
        raise ProgramSyntaxError(f"a call must begin with a relation; got {found}")
    return node


def _take_word(text: str, position: int) -> tuple[str, int]:
    match = _match_word(text, position)
    if match is None:
        raise _error(text, position, "expected a word")
    return match.group(), match.end()


def _take_relation(text: str, position: int) -> tuple[str, int]:
    word, end = _take_word(text, position)
    if word.startswith('"'):
        raise _error(text, position, "expected a relation, not a quoted text")
    return word, end


def _skip_space(text: str, position: int) -> int:
    while position < len(text) and text[position].isspace():
        position += 1
    return position


def _check_length(text: str) -> None:
    if len(text) > MAX_TEXT:
        raise ProgramSyntaxError(f"the text has {len(text)} characters; at most {MAX_TEXT} are read")


def _error(text: str, position: int, what: str) -> ProgramSyntaxError:
    """An error that shows the place: what was expected, the position, and what stands there."""
    found = repr(text[position : position + 20]) if position < len(text) else "the end"
    return ProgramSyntaxError(f"position {position}: {what}; found {found}")


def _count(number: int) -> str:
    """A count that may be astronomically large, in few characters."""
    return str(number) if number < 10**9 else "over 10^9"
