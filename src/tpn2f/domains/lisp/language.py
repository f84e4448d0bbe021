"""AlgoLisp's language: runs a tree within limits. It holds no data and reads no text.

A tree is a call `(f, x, ...)` or a word: a constant, an argument of the program, a function as a value, or, inside of
a lambda, `arg1`, `arg2` and `self`, the function itself. Scope is lexical. `if`, `lambda1` and `lambda2` are forms;
everything else is a function of the table, with types in `types.py`.

`evaluate` is the specification: it walks the tree. `compile_tree` makes closures once that run many times faster; both
give the same values and the same errors, limits included, for every tree and input.

What recurses is marked `no_type_check`: its frames are counted, and the checks of tests would add to them.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from typing import Protocol, TypeVar, no_type_check

from tpn2f.domains.lisp.check import FUNCTIONS, LAMBDAS, LOCALS, Plan, check, constant
from tpn2f.domains.lisp.machine import BUILTINS, Function, Machine, MachineLimits, kind
from tpn2f.errors import ExecutionError, LimitError
from tpn2f.program import Tree

DEFAULT_LIMITS = MachineLimits()

_Result = TypeVar("_Result")
_Node = Callable[..., object]
"""A compiled tree: takes the machine, and what `arg1`, `arg2` and `self` are there."""
_UNKNOWN = object()


# --- the specification -----------------------------------------------------------------------------------------------


class Watch(Protocol):
    """Who looks on while a tree is walked. It changes nothing, and calls nothing of the tree."""

    def enter(self, node: Tree | list) -> None: ...

    def leave(self, node: Tree | list, bound: Mapping[str, object], result: object) -> None: ...


def evaluate(tree: Tree | list, values: Mapping[str, object], limits: MachineLimits = DEFAULT_LIMITS) -> object:
    """The value of a tree, by walking it: the specification of `compile_tree(tree, values).run(values)`."""
    return with_room(lambda: walk_tree(tree, values, limits))


@no_type_check
def walk_tree(
    tree: Tree | list, values: Mapping[str, object], limits: MachineLimits = DEFAULT_LIMITS, watch: Watch | None = None
) -> object:
    """The same, here and now: it needs room on Python's stack, which `with_room` gives."""
    plan = check(tree, values)
    m = Machine(limits)
    arguments = {name: m.accept(name, values[name]) for name in _used(tree, values)}
    found: dict[int, object] = {}

    def walk(node: Tree | list, bound: Mapping[str, object]) -> object:
        if isinstance(node, str):
            if node in bound:
                return bound[node]
            if node in FUNCTIONS:
                return FUNCTIONS[node]
            word = constant(node)
            return word[0] if word else arguments[node]
        if id(node) in found:
            return found[id(node)]
        if watch is not None:
            watch.enter(node)
        form = str(node[0])
        if form == "if":
            chosen = walk(node[1], bound)
            if type(chosen) is not bool:
                raise _no_condition(chosen)
            result = walk(node[2] if chosen else node[3], bound)
        elif form in LAMBDAS:
            result = close(form, node[1], bound)
        else:
            # A loop, because a comprehension would need a stack frame of its own.
            parts = []
            for part in node[1:]:
                parts.append(walk(part, bound))
            function = bound["self"] if form == "self" else FUNCTIONS[form]
            assert isinstance(function, Function)
            result = function.call(m, *parts)
        if id(node) in plan.once:
            found[id(node)] = result
        if watch is not None:
            watch.leave(node, bound, result)
        return result

    def close(form: str, body: Tree | list, bound: Mapping[str, object]) -> Function:
        shape = plan.bodies[id(body)]

        def call(m: Machine, *parts: object) -> object:
            m.enter(shape.nodes, shape.levels + 1)
            result = walk(body, {**bound, **dict(zip(LOCALS, parts)), "self": function})
            m.depth += shape.levels + 1
            return result

        function = Function(form, len(LAMBDAS[form]) - 1, call)
        return function

    m.enter(plan.whole.nodes, plan.whole.levels)
    return m.release(walk(tree, {}))


# --- the fast one ----------------------------------------------------------------------------------------------------


class Compiled:
    """A tree made ready to run many times."""

    __slots__ = ("_plan", "_run", "names")

    def __init__(self, run: _Node, names: tuple[str, ...], plan: Plan) -> None:
        self._run = run
        self._plan = plan
        self.names = names
        """The arguments that the tree uses."""

    def run(self, values: Mapping[str, object], limits: MachineLimits = DEFAULT_LIMITS) -> object:
        """The tree's value for these arguments. Raises ExecutionError and nothing else; `values` stay as they are."""
        try:
            return self._attempt(values, limits)
        except RecursionError:
            return with_room(lambda: self._attempt(values, limits))

    def _attempt(self, values: Mapping[str, object], limits: MachineLimits) -> object:
        m = Machine(limits)
        try:
            m.inputs = tuple([m.accept(name, values[name]) for name in self.names])
        except KeyError as error:
            raise ExecutionError(f"the argument {error.args[0]} has no value") from None
        m.found = [_UNKNOWN] * len(self._plan.once)
        m.enter(self._plan.whole.nodes, self._plan.whole.levels)
        return m.release(self._run(m, None, None, None))


def compile_tree(tree: Tree | list, names: Iterable[str]) -> Compiled:
    """Checks a tree for a program of these arguments and makes it ready to run. Raises ExecutionError."""
    return with_room(lambda: _compile(tree, frozenset(names)))


@no_type_check
def _compile(tree: Tree | list, names: frozenset[str]) -> Compiled:
    plan = check(tree, names)
    used = _used(tree, names)

    def build(node: Tree | list) -> _Node:
        if isinstance(node, str):
            return _word(node, used)
        form = str(node[0])
        parts = [build(part) for part in node[1:]]
        if form == "if":
            made = _if(*parts)
        elif form == "self":
            made = _self(*parts)
        elif form in LAMBDAS:
            shape = plan.bodies[id(node[1])]
            made = _lambda(form, parts[0], shape.nodes, shape.levels + 1)
        else:
            made = _call(BUILTINS[form].run, *parts)
        return _once(made, plan.once[id(node)]) if id(node) in plan.once else made

    return Compiled(build(tree), used, plan)


@no_type_check
def _once(node: _Node, place: int) -> _Node:
    def run(m: Machine, x: object, y: object, me: Function) -> object:
        value = m.found[place]
        if value is _UNKNOWN:
            value = m.found[place] = node(m, x, y, me)
        return value

    return run


def _word(word: str, used: tuple[str, ...]) -> _Node:
    if word == "arg1":
        return lambda m, x, y, me: x
    if word == "arg2":
        return lambda m, x, y, me: y
    if word == "self":
        return lambda m, x, y, me: me
    found = constant(word)
    if word in FUNCTIONS or found:
        value = found[0] if found else FUNCTIONS[word]
        return lambda m, x, y, me: value
    place = used.index(word)
    return lambda m, x, y, me: m.inputs[place]


@no_type_check
def _lambda(form: str, body: _Node, nodes: int, levels: int) -> _Node:
    def one(m: Machine, x: object, y: object, me: Function) -> Function:
        def call(m: Machine, x: object) -> object:
            m.steps -= nodes
            m.depth -= levels
            if m.steps < 0 or m.depth < 0:
                raise m.overdrawn()
            result = body(m, x, y, function)
            m.depth += levels
            return result

        function = Function(form, 1, call)
        return function

    def two(m: Machine, x: object, y: object, me: Function) -> Function:
        def call(m: Machine, x: object, y: object) -> object:
            m.steps -= nodes
            m.depth -= levels
            if m.steps < 0 or m.depth < 0:
                raise m.overdrawn()
            result = body(m, x, y, function)
            m.depth += levels
            return result

        function = Function(form, 2, call)
        return function

    return one if form == "lambda1" else two


@no_type_check
def _if(condition: _Node, then: _Node, otherwise: _Node) -> _Node:
    def run(m: Machine, x: object, y: object, me: Function) -> object:
        chosen = condition(m, x, y, me)
        if chosen is True:
            return then(m, x, y, me)
        if chosen is False:
            return otherwise(m, x, y, me)
        raise _no_condition(chosen)

    return run


def _self(first: _Node, second: _Node | None = None) -> _Node:
    if second is None:
        return lambda m, x, y, me: me.call(m, first(m, x, y, me))
    return lambda m, x, y, me: me.call(m, first(m, x, y, me), second(m, x, y, me))


def _call(function: Callable[..., object], *parts: _Node) -> _Node:
    """A call of a built-in function, written out by number of arguments: this is where the time goes."""
    if len(parts) == 1:
        (first,) = parts
        return lambda m, x, y, me: function(m, first(m, x, y, me))
    if len(parts) == 2:
        first, second = parts
        return lambda m, x, y, me: function(m, first(m, x, y, me), second(m, x, y, me))
    first, second, third = parts
    return lambda m, x, y, me: function(m, first(m, x, y, me), second(m, x, y, me), third(m, x, y, me))


# --- what both need --------------------------------------------------------------------------------------------------


def _no_condition(value: object) -> ExecutionError:
    return ExecutionError(f"if takes a boolean as its condition; got {kind(value)}")


def _used(tree: Tree | list, names: Iterable[str]) -> tuple[str, ...]:
    """The arguments that a tree mentions, in order."""
    words: set[str] = set()
    pending = [tree]
    while pending:
        node = pending.pop()
        if isinstance(node, str):
            words.add(node)
        else:
            pending.extend(node[1:])
    return tuple(sorted(name for name in words.intersection(names) if name not in FUNCTIONS and not constant(name)))


def with_room(work: Callable[[], _Result]) -> _Result:
    """Does work of bounded depth: here if the caller has left enough of Python's stack, else in a thread of its own."""
    try:
        return work()
    except RecursionError:
        pass
    outcome: list[_Result | BaseException] = []

    def attempt() -> None:
        try:
            outcome.append(work())
        except RecursionError:
            outcome.append(LimitError("the program's calls nest deeper than Python's own depth limit"))
        except BaseException as error:
            outcome.append(error)

    thread = threading.Thread(target=attempt, daemon=True)
    thread.start()
    thread.join()
    if isinstance(outcome[0], BaseException):
        raise outcome[0]
    return outcome[0]
