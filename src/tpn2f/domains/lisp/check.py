"""The static check of a Lisp tree: what may stand where, and what running it once will cost.

Names must exist where they are used and calls must have the right number of arguments; types are left to `types`. The
evaluators of `language` run only trees that passed, and take their costs and hoisted calls from the `Plan`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import no_type_check

from tpn2f.domains.lisp import arrays, scalars  # noqa: F401 (they fill the table)
from tpn2f.domains.lisp.machine import BUILTINS, CALL_LEVELS, CONSTANTS, Function
from tpn2f.errors import ExecutionError, LimitError
from tpn2f.program import MAX_DEPTH, MAX_NODES, Tree

FORMS = {"if": 3, "lambda1": 1, "lambda2": 1}
"""What is written like a call but evaluates its arguments itself, with the number of arguments."""
LOCALS = ("arg1", "arg2", "self")
"""The names that a lambda binds."""
LAMBDAS = {"lambda1": frozenset({"arg1", "self"}), "lambda2": frozenset(LOCALS)}
"""The forms that make functions, with the names that they bind."""

FUNCTIONS: dict[str, Function] = {
    row.name: Function(row.name, row.run.__code__.co_argcount - 1, row.run, plain="(" not in row.type)
    for row in BUILTINS.values()
}
"""Every built-in function as a value. Those whose type mentions a function may call it, so they are not plain."""

_is_number = re.compile(r"-?[0-9]{1,100}").fullmatch


@dataclass(frozen=True, slots=True)
class Scope:
    """Which local names a place in a tree may use, and how many arguments its `self` takes."""

    locals: frozenset[str] = frozenset()
    arity: int = 0

    def inside(self, form: str) -> Scope:
        return Scope(self.locals | LAMBDAS[form], len(LAMBDAS[form]) - 1)


@dataclass(frozen=True, slots=True)
class Shape:
    """What running a tree once costs, the bodies of its lambdas left out."""

    nodes: int
    """Its calls and words."""
    levels: int
    """The deepest place where it may call a function that is not plain: what stays open while that one runs."""
    free: frozenset[str] = frozenset()
    """The local names that it takes from around it."""


_WORD = Shape(1, 0)


@dataclass(frozen=True, slots=True)
class Plan:
    """What `check` found out about a tree: the shape of it and of the lambdas' bodies in it, by `id`."""

    whole: Shape
    bodies: dict[int, Shape]
    once: dict[int, int]
    """Calls inside of lambdas that use no local name, by `id`, numbered: their value is computed once per run."""


def constant(word: str) -> tuple[object, str] | None:
    """The value and the type of a word that is a constant: those of the language, other integers, quoted texts."""
    if word in CONSTANTS:
        return CONSTANTS[word]
    if _is_number(word):
        return int(word), "int"
    if word.startswith('"') and word.endswith('"') and len(word) > 1:
        return re.sub(r"\\(.)", r"\1", word[1:-1]), "string"
    return None


@no_type_check
def check(tree: Tree | list, names: Iterable[str]) -> Plan:
    """What both evaluators need to know of a tree; raises ExecutionError if it cannot run.

    Names must exist where they are used and calls must have the right number of arguments. Types are not looked at.
    """
    known = frozenset(names)
    bodies: dict[int, Shape] = {}
    once: dict[int, int] = {}
    nodes = 0

    def visit(node: Tree | list, scope: Scope, depth: int) -> Shape:
        nonlocal nodes
        nodes += 1
        if nodes > MAX_NODES or depth > MAX_DEPTH:
            raise LimitError(f"the tree has more than {MAX_NODES} nodes or is over the depth limit, {MAX_DEPTH}")
        if isinstance(node, str):
            return _check_word(node, scope, known)
        if not isinstance(node, tuple | list) or not node or not isinstance(node[0], str):
            raise ExecutionError("a call must begin with the name of a function")
        form, parts = node[0], node[1:]
        function = FUNCTIONS.get(form)
        arity = function.arity if function else scope.arity if form == "self" else FORMS.get(form, 0)
        if not arity:
            raise ExecutionError(f"there is no function {form[:40]!r} here")
        if len(parts) != arity:
            raise ExecutionError(f"{form} takes {arity} argument(s); got {len(parts)}")
        inner_scope = scope.inside(form) if form in LAMBDAS else scope
        inner = [visit(part, inner_scope, depth + 1) for part in parts]
        free = frozenset().union(*[shape.free for shape in inner])
        if inner_scope.locals and (free or form in LAMBDAS):
            for place, (part, shape) in enumerate(zip(parts, inner)):
                if not shape.free and not isinstance(part, str):
                    once.setdefault(id(part), len(once))
                    inner[place] = Shape(shape.nodes, shape.levels + 1 if shape.levels else 0)
        if form in LAMBDAS:
            bodies[id(parts[0])] = inner[0]
            return Shape(1, 0, free - LAMBDAS[form])
        own = 1 if form == "self" else CALL_LEVELS if function and not function.plain else 0
        below = max(shape.levels for shape in inner)
        return Shape(
            1 + sum(shape.nodes for shape in inner),
            max(own, below + 1 if below else 0),
            free | {"self"} if form == "self" else free,
        )

    return Plan(visit(tree, Scope(), 1), bodies, once)


def _check_word(word: str, scope: Scope, names: frozenset[str]) -> Shape:
    if word in LOCALS:
        if word not in scope.locals:
            raise ExecutionError(f"{word} is used outside of a lambda that binds it")
        return Shape(1, 0, frozenset({word}))
    if word not in FUNCTIONS and word not in names and constant(word) is None:
        have = ", ".join(sorted(names)) or "none"
        raise ExecutionError(f"there is no argument or function {word[:40]!r} (the arguments are {have})")
    return _WORD
