"""AlgoLisp's language: the table of `programs.py`, the specification against the fast evaluator, limits, types."""

from __future__ import annotations

import copy
import math
import sys
import threading
from collections.abc import Callable
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from programs import ENDLESS, FACTORIAL, PROGRAMS, A, Exceeds, Fails
from tpn2f.domains.lisp import language as lisp
from tpn2f.domains.lisp.check import FORMS, FUNCTIONS
from tpn2f.domains.lisp.language import compile_tree, evaluate
from tpn2f.domains.lisp.machine import BUILTINS, CONSTANTS, MachineLimits
from tpn2f.domains.lisp.types import LispTypeError, coarse, format_type, function_type, infer, parse_type
from tpn2f.errors import ExecutionError, LimitError
from tpn2f.program import MAX_DEPTH, Tree, read_tree

TYPES = {"a": "int[]", "b": "int", "c": "int[]", "s": "string", "w": "string[]"}
SMALL = MachineLimits(steps=400, depth=60, length=30, characters=40, bits=70)


def run(tree: Tree | list, values: dict, limits: MachineLimits = lisp.DEFAULT_LIMITS) -> object:
    return compile_tree(tree, values).run(values, limits)


@pytest.mark.parametrize("evaluator", [run, evaluate], ids=["compiled", "specification"])
@pytest.mark.parametrize(("text", "expected"), PROGRAMS)
def test_the_table(evaluator, text: str, expected: object) -> None:
    values = copy.deepcopy(A)
    tree = read_tree(text)
    if isinstance(expected, Fails | Exceeds):
        with pytest.raises(LimitError if isinstance(expected, Exceeds) else ExecutionError) as caught:
            evaluator(tree, values)
        assert expected.words in str(caught.value)
        assert isinstance(expected, Exceeds) == isinstance(caught.value, LimitError)
    else:
        value = evaluator(tree, values)
        assert value == expected
        assert type(value) is type(expected)
    assert values == A


def test_the_table_has_every_function() -> None:
    used = {word for text, _ in PROGRAMS for word in text.replace("(", " ").replace(")", " ").split()}
    assert set(FUNCTIONS) | set(FORMS) <= used


# Random programs


def random_tree(random: Random, depth: int, local: tuple[str, ...] = ()) -> Tree:
    """A tree that is right in names and numbers of arguments, mostly wrong in types."""
    if depth <= 0 or random.random() < 0.2:
        words = [*TYPES, *TYPES, *CONSTANTS, *random.sample(sorted(FUNCTIONS), 8), *local * 4]
        return random.choice(words)
    form = random.choice([*FUNCTIONS, *FORMS, "map", "filter", "reduce", "lambda1", "lambda2", "if"])
    if local and random.random() < 0.1:
        form = "self"
    if form == "lambda1":
        names: tuple[str, ...] = ("arg1", "self")
        names += ("arg2",) if "arg2" in local else ()
        return (form, random_tree(random, depth - 1, names))
    if form == "lambda2":
        return (form, random_tree(random, depth - 1, ("arg1", "arg2", "self")))
    arity = FUNCTIONS[form].arity if form in FUNCTIONS else FORMS.get(form, random.randint(1, 2))
    return (form, *[random_tree(random, depth - 1, local) for _ in range(arity)])


def typed_tree(random: Random, wanted: str, depth: int, local: dict[str, str]) -> Tree:
    """A tree of a wanted type, built from the table of types."""
    leaves = {
        "int": ["0", "1", "2", "10", "b"],
        "bool": ["true", "false"],
        "string": ["s", '"z"', '" "'],
        "int[]": ["a", "c"],
        "string[]": ["w"],
    }[wanted] + [name for name, type in local.items() if type == wanted] * 3
    if depth <= 0 or random.random() < 0.15:
        return random.choice(leaves)

    def grow(type: str) -> Tree:
        return typed_tree(random, type, depth - 1, local)

    def function(arguments: list[str], result: str) -> Tree:
        form = f"lambda{len(arguments)}"
        return (form, typed_tree(random, result, depth - 1, {**local, **dict(zip(["arg1", "arg2"], arguments))}))

    element = random.choice(["int", "string"])
    two = random.choice(["+", "-", "*", "/", "%", "min"])
    # Functions, so that only the chosen one is grown.
    kinds: list[Callable[[], Tree]] = [
        lambda: ("if", grow("bool"), grow(wanted), grow(wanted)),
        lambda: ("reduce", grow(f"{element}[]"), grow(wanted), function([wanted, element], wanted)),
    ]
    if wanted.endswith("[]"):
        kinds += [
            lambda: ("map", grow(f"{element}[]"), function([element], wanted[:-2])),
            lambda: ("filter", grow(wanted), function([wanted[:-2]], "bool")),
            lambda: (random.choice(["sort", "reverse", "tail"]), grow(wanted)),
        ]
    elif wanted != "bool":
        kinds += [
            lambda: ("head", grow(f"{wanted}[]")),
            lambda: ("invoke1", function([element], wanted), grow(element)),
        ]
    own: dict[str, list[Callable[[], Tree]]] = {
        "int": [lambda: (two, grow("int"), grow("int")), lambda: ("strlen", grow("string"))],
        "bool": [lambda: (random.choice(["<", "=="]), grow(element), grow(element)), lambda: ("!", grow("bool"))],
        "string": [
            lambda: ("str_concat", grow("string"), grow("string")),
            lambda: ("str_index", grow("int"), grow("string")),
        ],
        "int[]": [lambda: ("digits", grow("int")), lambda: ("range", grow("int"), grow("int"))],
        "string[]": [lambda: ("str_split", grow("string"), grow("string"))],
    }
    return random.choice(kinds + own[wanted])()


def outcome(evaluator, tree: Tree, limits: MachineLimits) -> object:
    try:
        return evaluator(tree, A, limits)
    except ExecutionError as error:
        return type(error), str(error)


@pytest.mark.parametrize("limits", [MachineLimits(), SMALL], ids=["default", "small"])
@given(seed=st.integers(0, 2**32))
def test_the_fast_evaluator_is_the_specification(limits: MachineLimits, seed: int) -> None:
    random = Random(seed)
    for tree in (random_tree(random, 6), typed_tree(random, random.choice(["int", "int[]", "string"]), 4, {})):
        assert outcome(run, tree, limits) == outcome(evaluate, tree, limits)


@given(seed=st.integers(0, 2**32))
def test_well_typed_programs_never_meet_a_value_of_the_wrong_kind(seed: int) -> None:
    random = Random(seed)
    wanted = random.choice(["int", "bool", "string", "int[]", "string[]"])
    tree = typed_tree(random, wanted, 4, {})
    assert infer(tree, TYPES, wanted) == wanted
    try:
        value = run(tree, A)
    except ExecutionError as error:
        assert " takes " not in str(error), tree
        return
    kinds = {"int": int, "bool": bool, "string": str, "int[]": list, "string[]": list}
    assert type(value) is kinds[wanted]


@given(seed=st.integers(0, 2**32))
def test_nothing_but_execution_errors_and_no_change_of_the_input(seed: int) -> None:
    tree = random_tree(Random(seed), 8)
    values = copy.deepcopy(A)
    first = outcome(run, tree, SMALL)
    assert outcome(run, tree, SMALL) == first
    assert values == A


# Limits


@pytest.mark.parametrize(
    ("text", "limits", "words"),
    [
        ("(+ 1 (+ 1 1))", MachineLimits(steps=4), "more than 4 steps"),
        ("(len a)", MachineLimits(length=2), "2 elements"),
        ("(strlen s)", MachineLimits(characters=5), "5 characters"),
        ("(+ 2 2)", MachineLimits(bits=2), "2 bits"),
        ("(abs b)", MachineLimits(bits=2), "2 bits"),
        (f"(invoke1 {FACTORIAL} 10)", MachineLimits(depth=20), "depth limit, 20"),
        ("(digits 1000000000)", MachineLimits(length=3), "3 elements"),
        ("(append a 1)", MachineLimits(length=3), "3 elements"),
        ('(str_split s " ")', MachineLimits(length=3, characters=99), "3 elements"),
    ],
)
def test_each_limit_can_be_set_and_is_named(text: str, limits: MachineLimits, words: str) -> None:
    tree = read_tree(text)
    for evaluator in (run, evaluate):
        with pytest.raises(LimitError, match=words):
            evaluator(tree, A, limits)
    assert run(tree, A) == evaluate(tree, A)


@pytest.mark.parametrize("setting", [{"steps": 0}, {"bits": 10**6}, {"depth": 10**4}])
def test_limits_that_would_not_be_safe_are_refused(setting: dict[str, int]) -> None:
    with pytest.raises(ValueError, match=r"limits|at most"):
        MachineLimits(**setting)


def test_deep_recursion_is_the_same_however_deep_the_caller_is() -> None:
    """The frames that the depth limit allows are there even for a caller who has used almost all of Python's stack."""
    deep = read_tree(f"(invoke1 {FACTORIAL} 150)")
    endless = read_tree(f"(invoke1 {ENDLESS} 0)")

    def descend(levels: int) -> list[object]:
        if levels:
            return descend(levels - 1)
        return [outcome(evaluator, tree, MachineLimits()) for tree in (deep, endless) for evaluator in (run, evaluate)]

    room = sys.getrecursionlimit() - 300
    assert descend(room) == descend(0)
    assert descend(0)[0] == math.factorial(150)


def test_the_deepest_nesting_of_calls_stays_below_python_s_own_limit() -> None:
    """Trees whose bodies are as deep as allowed, called through every function that calls functions."""
    deep_body: Tree = ("self", "arg1")
    for _ in range(MAX_DEPTH - 10):
        deep_body = ("+", "1", deep_body)
    texts = [
        ENDLESS,
        "(lambda1 (head (map a self)))",
        "(lambda1 (len (filter a self)))",
        "(lambda1 (reduce a 0 (lambda2 (invoke1 (partial0 arg1 (lambda2 (self arg1 arg2))) arg2))))",
        "(lambda1 (invoke1 (combine self self) arg1))",
        "(lambda1 (invoke1 (partial0 self (lambda2 (invoke1 arg1 arg2))) 1))",
        "(lambda1 (invoke1 (partial1 self map) a))",
        "(lambda1 (reduce (append (array-new int) self) a map))",
        "(lambda1 (reduce (append (array-new int) (combine self self)) a map))",
    ]
    trees = [("lambda1", deep_body), *map(read_tree, texts)]
    errors: list[object] = []

    def attempt() -> None:
        for function in trees:
            for evaluator in (run, evaluate):
                errors.append(outcome(evaluator, ("invoke1", function, "0"), MachineLimits()))

    thread = threading.Thread(target=attempt)
    thread.start()
    thread.join()
    assert len(errors) == 2 * len(trees)
    for error in errors:
        assert error == (LimitError, "the program's calls nest deeper than the depth limit, 700 levels")


def test_a_thousand_nested_ranges_end_at_once() -> None:
    for levels, words in ((60, "steps"), (1000, "depth limit, 128")):
        tree: Tree = ("range", "arg1", "1000")
        for _ in range(levels):
            tree = ("map", ("range", "0", "1000"), ("lambda1", tree))
        for evaluator in (run, evaluate):
            with pytest.raises(LimitError, match=words):
                evaluator(("map", "a", ("lambda1", tree)), A)


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (None, "NoneType"),
        ({1: 2}, "dict"),
        (math.nan, "float"),
        ([1, object()], "object"),
        ([0] * 20_000, "10000 elements"),
        ("x" * 20_000, "10000 characters"),
        (1 << 5000, "4096 bits"),
        ([1, 1 << 5000], "4096 bits"),
        ([[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]], "nested"),
    ],
)
def test_values_from_outside_are_checked(value: object, words: str) -> None:
    for evaluator in (run, evaluate):
        with pytest.raises(ExecutionError, match=words):
            evaluator(("if", "true", "x", "x"), {"x": value})


def test_tuples_are_arrays_and_a_missing_value_is_named() -> None:
    assert run(("reverse", "x"), {"x": (1, 2)}) == [2, 1]
    with pytest.raises(ExecutionError, match="argument x has no value"):
        compile_tree(("len", "x"), ["x"]).run({})


def test_words_of_the_language_win_over_arguments() -> None:
    assert run(("+", "1", "min1"), {"1": 7, "min1": 5}) == 6


# Types


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("(map a digits)", "int[][]"),
        ("(map a (partial0 b +))", "int[]"),
        ("(lambda2 (if arg1 arg2 arg2))", "(bool T -> T)"),
        ("(lambda1 (self arg1))", "(T -> U)"),
        ("(lambda2 (< arg1 arg2))", "(O O -> bool)"),
        ("(sort w)", "string[]"),
        ("(partial2 1 slice)", "(T[] int -> T[])"),
        ("(partial0 a slice)", "(int int -> int[])"),
        ("(combine ! <)", "(O O -> bool)"),
        ("(combine len digits)", "(int -> int)"),
        ("(reduce w 0 (lambda2 (+ arg1 (strlen arg2))))", "int"),
        ("(dict-keys (dict-insert (dict-new int int) 1 2))", "int[]"),
        ("(floor (sqrt b))", "int"),
        (f"(map a {FACTORIAL})", "int[]"),
    ],
)
def test_inference(text: str, expected: str) -> None:
    assert infer(read_tree(text), TYPES) == expected


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("(+ a 1)", r"in \(\+ a 1\): argument 1 is of type int\[\]; expected int"),
        ("(map a strlen)", r"in \(map a strlen\): argument 2 is of type \(string -> int\); expected"),
        ("(if b 1 2)", "argument 1 is of type int; expected bool"),
        ("(if true a b)", r"argument 3 is of type int; expected int\[\]"),
        ("(sort (map a digits))", "expected a number or a string"),
        ("(< a a)", "expected a number or a string"),
        ("(map a +)", "argument 2 is of type"),
        ("(partial0 1 square)", "expected a function of 2 or more arguments"),
        ("(partial0 1 strlen)", "expected a function of 2 or more arguments"),
        ("(partial1 s +)", "argument 1 is of type string; expected int"),
        ("(combine square b)", "argument 2 is of type int; expected a function"),
        ("(combine strlen square)", "argument 1 is of type"),
        ("(lambda1 (arg1 1))", "no function 'arg1'"),
        ("(lambda1 (invoke1 arg1 arg1))", "argument 2 is of type"),
        ("(reduce a 0 <)", "argument 3 is of type"),
    ],
)
def test_ill_typed_programs_are_named_with_the_call(text: str, words: str) -> None:
    with pytest.raises(ExecutionError, match=words):
        infer(read_tree(text), TYPES)


def test_a_wanted_result_is_checked() -> None:
    assert infer(read_tree("(head c)"), TYPES, "int") == "int"
    with pytest.raises(LispTypeError, match="the result is of type int; expected string"):
        infer(read_tree("(head c)"), TYPES, "string")


def test_types_that_share_their_parts_cost_little() -> None:
    """Each level doubles the type, (T -> T), so that it has 2^60 parts if it is written out."""
    tree: Tree = "0"
    for _ in range(60):
        tree = ("lambda1", ("if", "true", "arg1", tree))
    assert infer(("if", "true", tree, tree), {}).startswith("(((((((((... -> ...) -> (")


@pytest.mark.parametrize("text", ["int", "bool", "string[]", "int[][]", "(int -> bool)", "(T (T -> O) -> O[])[]"])
def test_types_survive_their_text(text: str) -> None:
    assert format_type(parse_type(text)) == text


@pytest.mark.parametrize(
    "text", ["", "float", "int int", "[]", "(int)", "(-> int)", "int[", "()", "(int -> )", "x" * 999]
)
def test_what_is_no_type_is_refused(text: str) -> None:
    with pytest.raises(ExecutionError, match="type"):
        parse_type(text)


def test_the_table_of_types_agrees_with_the_functions() -> None:
    for row in BUILTINS.values():
        assert len(function_type(row.type).arguments) == FUNCTIONS[row.name].arity
        assert row.doc.endswith(".")
        if row.commutative:
            left, right = map(coarse, function_type(row.type).arguments)
            assert left == right
