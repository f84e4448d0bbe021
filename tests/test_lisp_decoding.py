"""Typed decoding of the Lisp: its types are those of `infer`, and whatever it lets be written comes to a good end."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import unchecked
from test_lisp import TYPES, random_tree, typed_tree
from tpn2f.codec import Codec
from tpn2f.domain import Problem
from tpn2f.domains.algolisp.domain import AlgoLisp, TypeName
from tpn2f.domains.lisp.check import FORMS, FUNCTIONS, constant
from tpn2f.domains.lisp.decoding.masks import LispTyping, Partial
from tpn2f.domains.lisp.decoding.terms import LOCAL_VALUES, Calculus, Value, ground_type, relation_type, word_type
from tpn2f.domains.lisp.machine import CONSTANTS
from tpn2f.domains.lisp.types import infer, value_type
from tpn2f.errors import ExecutionError
from tpn2f.program import Program, RelationalTuple, Tree, read_tree, reference

LANGUAGE = [*FUNCTIONS, *FORMS, "self"]
EVERY_WORD = [*TYPES, *CONSTANTS, *FUNCTIONS, "arg1", "arg2", "self"]
# A part of the language that has everything in it that types can do.
RELATIONS = [
    *(
        "+",
        "-",
        "len",
        "map",
        "filter",
        "reduce",
        "invoke1",
        "partial0",
        "partial1",
        "combine",
        "range",
        "sort",
        "tail",
    ),
    *("is_prime", "!", "if", "strlen", "lambda1", "lambda2", "self"),
]
WORDS = [
    *TYPES,
    "0",
    "1",
    "true",
    '""',
    "+",
    "is_prime",
    "strlen",
    "str_max",
    "str_concat",
    "!",
    "arg1",
    "arg2",
    "self",
]
BINDINGS = {name: TypeName(type) for name, type in TYPES.items()}
RESULTS = ["int", "bool", "string", "int[]", "string[]"]


def make_typing(relations=RELATIONS, words=WORDS, longest: int = 12, references: int = 40) -> LispTyping:
    return AlgoLisp().typing(relations, [*words, *(f"#{k}" for k in range(references))], 3, longest)


TYPING = make_typing()


@pytest.fixture(scope="module", autouse=True)
def fast() -> Iterator[None]:
    """These tests make millions of small calls."""
    with unchecked():
        yield


# The types of half-written programs are those of the specification


def value_of(calculus: Calculus, tree: Tree) -> int | None:
    """A tree typed from its leaves to its root, a call at a time."""
    if isinstance(tree, str):
        if tree in LOCAL_VALUES:
            return calculus.number(LOCAL_VALUES[tree])
        if tree in FUNCTIONS:
            return calculus.number(word_type(tree))
        found = constant(tree)
        return calculus.number(Value(found[1]) if found else ground_type(TYPES[tree]))
    call: int | None = calculus.number(relation_type(tree[0]))
    for part in tree[1:]:
        value = value_of(calculus, part)
        call = calculus.step(call, value) if call is not None and value is not None else None
    return call


def inferred(tree: Tree) -> str | None:
    try:
        return infer(tree, TYPES)
    except ExecutionError:
        return None


def write(term: object, names: dict[object, str]) -> str:
    """A term as `format_type` writes it."""
    if isinstance(term, int):
        return "O" if term % 2 else names.setdefault(term, "TUVWXYZ"[len(names)])
    if isinstance(term, str):
        return term
    assert isinstance(term, tuple)
    if term[0] == "[]":
        return f"{write(term[1], names)}[]"
    *arguments, result = (write(part, names) for part in term[1:])
    return f"({' '.join(arguments)} -> {result})"


@given(seed=st.integers(0, 2**32))
def test_whatever_has_a_type_here_has_it_by_inference(seed):
    """Random trees: few are well typed, but a wrong rule would be seen at once."""
    random = Random(seed)
    calculus = Calculus()
    for _ in range(20):
        tree = random_tree(random, 3)
        if isinstance(tree, str) or calls_of_self(tree) - {1}:
            continue
        value = value_of(calculus, tree)
        if value is not None and calculus.values[value].is_closed:
            assert write(calculus.values[value].type, {}) == inferred(tree), tree


def calls_of_self(tree: Tree) -> set[int]:
    """With how many arguments `self` is called; decoding only knows calls with one."""
    if isinstance(tree, str):
        return set()
    own = {len(tree) - 1} if tree[0] == "self" else set()
    return own.union(*map(calls_of_self, tree[1:]))


@given(seed=st.integers(0, 2**32))
def test_what_is_well_typed_has_a_type_here(seed):
    random = Random(seed)
    wanted = random.choice(RESULTS)
    tree = typed_tree(random, wanted, 4, {})
    calculus = Calculus()
    value = value_of(calculus, tree)
    assert value is not None
    assert calculus.values[value].is_closed
    assert write(calculus.values[value].type, {}) == wanted


@pytest.mark.parametrize(
    "text",
    [
        "(map a (lambda1 (+ arg1 b)))",
        "(map a (partial0 b -))",
        "(map a (partial1 b -))",
        "(reduce a 0 (lambda2 (+ arg1 arg2)))",
        "(reduce (map w strlen) 0 +)",
        "(filter a (combine ! (partial0 2 ==)))",
        "(invoke1 (lambda1 (if (<= arg1 1) 1 (* (self (- arg1 1)) arg1))) b)",
        "(reduce w s (lambda2 (if (> arg1 arg2) arg1 arg2)))",
        "(map a (lambda1 (reduce (range 0 arg1) 0 (lambda2 (+ arg1 arg2)))))",
        "(map (map a (partial0 a deref)) is_prime)",
        "(invoke1 (lambda1 (+ arg1 (len (filter a self)))) b)",
        "(map a (lambda1 (self arg1 arg1)))",
        "(+ arg1 1)",
        "(map a (partial0 b is_prime))",
        "(sort (map a is_prime))",
        "(combine 1 is_prime)",
        "(invoke1 (lambda1 (self s)) b)",
    ],
)
def test_the_rules_one_by_one(text):
    tree = read_tree(text)
    calculus = Calculus()
    value = None if calls_of_self(tree) - {1} else value_of(calculus, tree)
    closed = value is not None and calculus.values[value].is_closed
    assert (write(calculus.values[value].type, {}) if closed else None) == inferred(tree)


def test_types_do_not_grow_without_end():
    """Composing functions of functions doubles a type each time; it is refused, not built."""
    calculus = Calculus()
    tree: Tree = "combine"
    for _ in range(12):
        tree = ("combine", tree, "combine")
    value = value_of(calculus, tree)
    assert value is None or len(str(calculus.values[value])) < 2_000


# Whatever is written under the masks is a program


def options(typing: LispTyping, partial: Partial) -> list[str]:
    choices = typing.choices(partial)
    words = [*sorted(choices.relations), *sorted(choices.arguments)]
    return words + [f"#{k}" for k in typing.references(partial)] + ["END"] * choices.ends


def sample(typing: LispTyping, problem: Problem, choose: Callable[[list[str]], str]) -> Program:
    """A program of symbols that are chosen among those that are allowed."""
    partial = typing.start(problem)
    steps: list[tuple[str, list[str]]] = []
    while (word := choose(options(typing, partial))) != "END":
        if typing.choices(partial).begin:
            steps.append((word, []))
        else:
            steps[-1][1].append(word)
        after = typing.feed(partial, word)
        assert after is not None
        partial = after
    return Program(tuple(RelationalTuple(relation, tuple(arguments)) for relation, arguments in steps))


@settings(max_examples=3)
@given(st.data())
def test_a_word_on_its_own_is_allowed_as_it_is_among_all(data):
    problem = Problem(("x",), BINDINGS, data.draw(st.sampled_from([*RESULTS, ""])))
    partial = TYPING.start(problem)
    words = [*TYPING._relations, *TYPING._arguments, *BINDINGS]
    while True:
        among = set(options(TYPING, partial))
        assert TYPING.begins(partial) == TYPING.choices(partial).begin
        alone = {word for word in words if TYPING.allows(partial, word)} | (
            {"END"} if TYPING.allows(partial, None) else set()
        )
        assert alone == among
        word = data.draw(st.sampled_from(sorted(among)))
        if word == "END":
            return
        after = TYPING.feed(partial, word)
        assert after is not None
        partial = after


def assert_good(program: Program, problem: Problem, longest: int) -> None:
    """Short enough, in the order of trees, every value used once, and of the type that is asked for."""
    assert 1 <= len(program) <= longest
    assert Program.parse(str(program)) == program
    tree = program.to_tree()
    assert Program.from_tree(tree) == program
    infer(tree, problem.bindings, problem.result or None)


@settings(max_examples=25)
@given(st.data())
def test_random_programs_are_well_typed_and_come_to_an_end(data):
    problem = Problem(("x",), BINDINGS, data.draw(st.sampled_from([*RESULTS, ""])))
    longest = data.draw(st.integers(1, 4))
    program = sample(typing_of(longest), problem, lambda words: data.draw(st.sampled_from(words)))
    assert_good(program, problem, longest)


_TYPINGS: dict[int, LispTyping] = {}


def typing_of(longest: int) -> LispTyping:
    return _TYPINGS.setdefault(longest, make_typing(longest=longest))


@pytest.mark.parametrize("longest", [1, 2, 4, 6])
def test_uniform_samples_of_the_data_s_vocabulary(longest, algolisp_data):
    """A few; `benchmarks/typed_decoding.py` takes ten thousand."""
    domain = AlgoLisp(algolisp_data)
    examples = list(islice(domain.examples("dev"), 500))
    codec = Codec.build(examples)
    typing = domain.typing(list(codec.relations), list(codec.arguments), codec.n_positions, longest)
    random = Random(longest)
    for example in random.sample(examples, 15):
        assert_good(sample(typing, example.problem, random.choice), example.problem, longest)


@settings(max_examples=25)
@given(seed=st.integers(0, 2**32))
def test_any_vocabulary_and_any_budget_lead_to_an_end(seed):
    """Where the words do not suffice for any program the only choice is to end at once."""
    random = Random(seed)
    relations = random.sample(LANGUAGE, random.randint(1, 8))
    words = random.sample(EVERY_WORD, random.randint(1, 12))
    longest, references = random.randint(1, 6), random.randint(0, 8)
    typing = make_typing(relations, words, longest, references)
    problem = Problem(("x",), BINDINGS, random.choice([*RESULTS, ""]))
    program = sample(typing, problem, random.choice)
    if program.tuples:
        assert_good(program, problem, min(longest, references + 1))
    else:
        assert options(typing, typing.start(problem)) == ["END"]


# What is excluded, and when


def after(text: str, result: str = "int", typing: LispTyping = TYPING) -> Partial:
    """After the symbols of `f x y | g #0`; the last tuple may be incomplete."""
    partial: Partial | None = typing.start(Problem(("x",), BINDINGS, result))
    for word in text.replace("|", " ").split():
        assert partial is not None
        assert word in options(typing, partial), (text, word)
        partial = typing.feed(partial, word)
    assert partial is not None
    return partial


@pytest.mark.parametrize(
    ("text", "allowed", "excluded"),
    [
        ("", ["+", "len", "lambda1", "self"], ["END"]),
        ("+", ["b", "1", "arg1"], ["a", "s", "true", "+", "#0", "self"]),
        ("len a", ["END", "+", "range"], []),
        ("len a | +", ["#0", "1", "b"], ["#1", "a"]),
        # An earlier value must be taken before a later one, and all that came after it too.
        ("len a | len c | +", ["#0", "#1", "1"], ["s"]),
        ("len a | len c | + #0", ["#1"], ["#0", "1", "b"]),
        ("len a | len c | + #1", ["1", "b"], ["#0", "#1"]),
        # A value that waits must be used, a lambda must enclose its locals, the result must have its type.
        ("len a | len c", ["+"], ["END"]),
        ("+ arg1 1", ["lambda1", "lambda2", "-"], ["END"]),
        ("is_prime b", ["if", "!"], ["END"]),
        ("+ arg1 1 | lambda1 #0", ["map", "invoke1"], ["END"]),
        ("+ arg1 1 | lambda1 #0 | invoke1 #1", ["b", "1"], ["a", "s"]),
        # `self` takes what its lambda takes.
        ("self s | lambda1 #0 | invoke1 #1", ["s", '""'], ["b", "1"]),
        ("strlen arg1 | self arg1 | + #0 #1 | lambda1 #2 | invoke1 #3", ["s"], ["b", "1"]),
        ("map w", ["strlen"], ["is_prime", "+", "str_max"]),
        ("reduce w 0", [], ["+", "str_max"]),
        ("reduce w s", ["str_max", "str_concat"], ["+", "strlen"]),
        ("sort", ["a", "w", "arg1"], ["s", "1"]),
    ],
)
def test_what_may_come_next(text, allowed, excluded):
    partial = after(text)
    found = options(TYPING, partial)
    assert set(allowed) <= set(found)
    assert not set(excluded) & set(found)


def test_locals_are_offered_only_where_a_lambda_can_still_come():
    words = options(make_typing(longest=1), after("+", typing=make_typing(longest=1)))
    assert not {"arg1", "arg2", "self"} & set(words)
    three = make_typing(longest=3)
    assert "arg1" in options(three, after("+", typing=three))
    # Without lambdas in the vocabulary they are never offered.
    closed = make_typing([name for name in RELATIONS if not name.startswith("lambda")])
    assert not {"arg1", "arg2", "self"} & set(options(closed, after("+", typing=closed)))


def test_a_program_must_end_when_no_tuple_is_left():
    typing = make_typing(longest=2)
    partial = after("len a | + #0 1", typing=typing)
    assert options(typing, partial) == ["END"]


def test_without_a_wanted_result_any_data_will_do():
    assert typing_ends("is_prime b") and typing_ends("len a") and typing_ends("tail a")
    assert not typing_ends("partial0 b +")
    assert not typing_ends("+ arg1 1")


def typing_ends(text: str) -> bool:
    return TYPING.choices(after(text, result="")).ends


def test_the_whole_language_can_be_written():
    """Every relation is offered at the beginning, but for those that nothing can be given to, or that lead nowhere."""
    typing = make_typing(LANGUAGE, EVERY_WORD)
    found = options(typing, typing.start(Problem(("x",), BINDINGS, "int")))
    assert set(LANGUAGE) - set(found) <= {"dict-insert", "dict-keys"}


def test_a_symbol_that_does_not_fit_leads_nowhere():
    start = TYPING.start(Problem(("x",), BINDINGS, "int"))
    assert TYPING.feed(start, "no-such-relation") is None
    call = TYPING.feed(start, "len")
    assert call is not None
    for word in ("b", "nobody", "#0", "#7"):
        assert TYPING.feed(call, word) is None


def test_the_same_choices_are_the_same_object():
    """Masks are remembered by it."""
    assert TYPING.choices(after("len a | +")) is TYPING.choices(after("len c | +"))
    assert TYPING.choices(after("len a | +")) is not TYPING.choices(after("is_prime b | if"))


def test_references_are_numbers_of_tuples():
    partial = after("len a | len c | + #0 #1 | strlen s | -")
    assert TYPING.references(partial) == (3, 2)
    assert {reference(word) for word in options(TYPING, partial) if word.startswith("#")} == {2, 3}


def test_values_in_the_place_of_types_have_theirs():
    problem = Problem(("x",), {"a": [1, 2], "s": "text", "b": True, "w": []}, "int")
    partial = TYPING.start(problem)
    words = options(TYPING, TYPING.feed(partial, "len"))  # type: ignore[arg-type]
    assert {"a", "w"} <= set(words)
    assert not {"s", "b"} & set(words)


@pytest.mark.parametrize(
    ("value", "type"),
    [
        (3, "int"),
        (0.5, "int"),
        (True, "bool"),
        ("x", "string"),
        ([], "int[]"),
        (["x"], "string[]"),
        ([[True]], "bool[][]"),
    ],
)
def test_the_types_of_values(value, type):
    assert value_type(value) == type


def test_what_is_remembered_is_forgotten_in_time(monkeypatch):
    typing = make_typing(longest=3)
    first = after("len a", typing=typing)
    monkeypatch.setattr("tpn2f.domains.lisp.decoding.masks.MOST_PLACES", 0)
    second = after("len a", typing=typing)
    assert first.task is not second.task
    assert options(typing, first) == options(typing, second)
