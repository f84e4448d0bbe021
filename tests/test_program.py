"""Laws of programs and trees, the places of syntax errors, and the bounds that hostile texts meet."""

from __future__ import annotations

import dataclasses
import re

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tpn2f.errors import ProgramSyntaxError
from tpn2f.program import (
    MAX_ARGUMENTS,
    MAX_DEPTH,
    MAX_NODES,
    MAX_TEXT,
    MAX_TUPLES,
    Program,
    RelationalTuple,
    Tree,
    read_tree,
    reference,
    write_tree,
)

# Words as the data has them, odd ones that the grammar allows, and quoted texts of any printable content.
NAMES = st.one_of(
    st.sampled_from(["add", "n0", "const_0.25", "||", "|", "+", "!=", "#", "#01", "#-1", "'", "\\", "π", "a|b"]),
    st.text(st.characters(exclude_categories=["Cs", "Z", "Cc"], exclude_characters='()",'), min_size=1, max_size=6),
)
QUOTED = st.text(st.characters(exclude_categories=["Cs"], exclude_characters='"\\\n'), max_size=6).map('"{}"'.format)
ESCAPED = st.sampled_from([r'"\""', r'"\\"', '" "', '""', '"(a, b) | c"', '")"'])
WORDS = NAMES | QUOTED | ESCAPED
LEAVES = WORDS.filter(lambda word: reference(word) is None)
REFERENCES = st.integers(0, 9).map("#{}".format)

# Programs are built inside the tests: beartype draws random numbers when it checks them, which hypothesis forbids in
# strategies.
STEPS = st.lists(st.tuples(NAMES, st.lists(WORDS | REFERENCES, max_size=4)), max_size=6)


def program_of(steps: list[tuple[str, list[str]]]) -> Program:
    return Program(tuple(RelationalTuple(relation, tuple(arguments)) for relation, arguments in steps))


def _calls(children: st.SearchStrategy[Tree]) -> st.SearchStrategy[Tree]:
    return st.tuples(NAMES, st.lists(children, max_size=3).map(tuple)).map(lambda call: (call[0], *call[1]))


CALLS: st.SearchStrategy[Tree] = _calls(st.recursive(LEAVES, _calls, max_leaves=20))

# Texts that are nearly programs: the pieces of the two grammars in any order.
PIECES = st.lists(st.sampled_from(["add", "n0", "#0", "(", ")", ",", "|", " ", '"', '" "', "\\", "\n", "()"])).map(
    "".join
)


def nested(depth: int) -> list:
    """A list of that many calls, each inside the other."""
    tree: list = ["f"]
    for _ in range(depth - 1):
        tree = ["f", tree]
    return tree


def assert_refused(text_or_tree: object, read, pattern: str) -> None:
    with pytest.raises(ProgramSyntaxError, match=pattern):
        read(text_or_tree)


# Laws


@given(STEPS)
def test_parse_inverts_str(steps: list) -> None:
    program = program_of(steps)
    assert Program.parse(str(program)) == program


@given(STEPS)
def test_space_between_signs_and_a_last_bar_change_nothing(steps: list) -> None:
    program = program_of(steps)
    assume(program.tuples and not any('"' in str(step) for step in program))
    spaced = str(program).replace(", ", " ,\t ").replace(" | ", "\n|  ")
    assert Program.parse(f" {spaced} ") == program
    assert Program.parse(f"{program}|") == program


@given(CALLS | LEAVES)
def test_read_tree_inverts_write_tree(tree: Tree) -> None:
    assert read_tree(write_tree(tree)) == tree


@given(CALLS)
def test_to_tree_inverts_from_tree(tree: Tree) -> None:
    assert Program.from_tree(tree).to_tree() == tree


@given(CALLS)
def test_lists_are_taken_for_tuples(tree: Tree) -> None:
    def as_lists(node: Tree) -> str | list:
        return node if isinstance(node, str) else [as_lists(child) for child in node]

    assert Program.from_tree(as_lists(tree)) == Program.from_tree(tree)  # type: ignore[arg-type]
    assert write_tree(as_lists(tree)) == write_tree(tree)  # type: ignore[arg-type]


@given(CALLS)
def test_a_tree_becomes_one_tuple_a_call_each_used_once_and_later(tree: Tree) -> None:
    program = Program.from_tree(tree)

    def calls(node: Tree) -> int:
        return 0 if isinstance(node, str) else 1 + sum(map(calls, node[1:]))

    assert len(program) == calls(tree)
    used = [
        (target, index)
        for index, step in enumerate(program)
        for target in map(reference, step.arguments)
        if target is not None
    ]
    assert sorted(target for target, _ in used) == list(range(len(program) - 1))
    assert all(target < index for target, index in used)


@given(STEPS)
def test_to_tree_gives_a_tree_or_a_syntax_error(steps: list) -> None:
    program = program_of(steps)
    try:
        tree = program.to_tree()
    except ProgramSyntaxError:
        return
    assert Program.from_tree(tree).to_tree() == tree


@given(st.text() | PIECES)
def test_any_text_is_a_program_or_a_syntax_error(text: str) -> None:
    try:
        program = Program.parse(text)
    except ProgramSyntaxError:
        return
    assert Program.parse(str(program)) == program


@given(st.text() | PIECES)
def test_any_text_is_a_tree_or_a_syntax_error(text: str) -> None:
    try:
        tree = read_tree(text)
    except ProgramSyntaxError:
        return
    assert read_tree(write_tree(tree)) == tree


# Whatever JSON holds may stand where a tree is expected.
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=2), inner, max_size=2),
    max_leaves=10,
)


@given(st.lists(JSON, max_size=4))
def test_any_list_is_a_tree_or_a_syntax_error(tree: list) -> None:
    try:
        program = Program.from_tree(tree)
    except ProgramSyntaxError:
        return
    assert write_tree(program.to_tree()) == write_tree(tree)


# Tables


def test_the_forms_of_the_docstring() -> None:
    program = Program.parse("add(n0, n1) | divide(#0, const_2)")
    assert program.tuples == (RelationalTuple("add", ("n0", "n1")), RelationalTuple("divide", ("#0", "const_2")))
    assert program.to_tree() == ("divide", ("add", "n0", "n1"), "const_2")
    assert write_tree(program.to_tree()) == "(divide (add n0 n1) const_2)"
    assert Program.from_tree(read_tree("(divide (add n0 n1) const_2)")) == program


def test_order_is_children_first_left_to_right_without_sharing() -> None:
    tree = read_tree("(f (g a) (h (g a)) b)")
    assert str(Program.from_tree(tree)) == "g(a) | g(a) | h(#1) | f(#0, #2, b)"


def test_to_tree_copies_what_is_shared_and_leaves_out_what_is_unused() -> None:
    program = Program.parse("g(a) | unused(b) | f(#0, #0)")
    assert program.to_tree() == ("f", ("g", "a"), ("g", "a"))


def test_relations_made_of_bars() -> None:
    program = Program((RelationalTuple("||", ("|", "a")), RelationalTuple("|", ("#0",))))
    assert str(program) == "||(|, a) | |(#0)"
    assert Program.parse(str(program)) == program


@pytest.mark.parametrize(
    ("argument", "expected"),
    [("#0", 0), ("#7", 7), ("#123456", 123456)]
    + [(word, None) for word in ["n0", "#", "#01", "#-1", "#1.0", "#1234567", "##1", "0", "#٣", "#1\n"]],
)
def test_reference(argument: str, expected: int | None) -> None:
    assert reference(argument) == expected


@pytest.mark.parametrize(
    ("text", "position", "expected", "found"),
    [
        ("add", 3, "'(' after the relation add", "the end"),
        ("add (n0)", 3, "'(' after the relation add", "' (n0)'"),
        ("add(", 4, "a word", "the end"),
        ("add(n0", 6, "',' or ')' after the argument n0", "the end"),
        ("add(n0 n1)", 7, "',' or ')' after the argument n0", "'n1)'"),
        ("add(n0,)", 7, "a word", "')'"),
        ("add(,n0)", 4, "a word", "',n0)'"),
        ("add(n0, (n1))", 8, "a word", "'(n1))'"),
        ('add("n0)', 4, "a word", "'\"n0)'"),
        ("add(n0))", 7, "'|' between tuples", "')'"),
        ("add(n0) add(n1)", 8, "'|' between tuples", "'add(n1)'"),
        ("add(n0) | ", None, None, None),
        ("add(n0) | |", 11, "'(' after the relation |", "the end"),
        ("add(n0) | (n1)", 10, "a word", "'(n1)'"),
        ('"add"(n0)', 0, "a relation, not a quoted text", "'\"add\"(n0)'"),
        (")", 0, "a word", "')'"),
    ],
)
def test_where_a_program_stops_being_one(
    text: str, position: int | None, expected: str | None, found: str | None
) -> None:
    if position is None:
        assert len(Program.parse(text)) == 1
    else:
        assert_refused(text, Program.parse, f"^position {position}: expected {re.escape(f'{expected}; found {found}')}")


@pytest.mark.parametrize(
    ("text", "position", "message"),
    [
        ("", 0, "expected a program; found the end"),
        ("  ", 2, "expected a program; found the end"),
        ("(", 1, "expected 1 closing bracket(s); found the end"),
        ("(f (g a)", 8, "expected 1 closing bracket(s); found the end"),
        (")", 0, "a bracket closes that was not opened; found ')'"),
        ("(f a))", 5, "expected the end of the text; found ')'"),
        ("()", 1, "expected a relation; found ')'"),
        ("(f ())", 4, "expected a relation; found '))'"),
        ("((f) a)", 1, "a call must begin with a relation, not with another call; found '(f) a)'"),
        ('("f" a)', 1, "expected a relation, not a quoted text; found '\"f\" a)'"),
        ("a b", 2, "expected the end of the text; found 'b'"),
        ("(f a, b)", 4, "expected a word; found ', b)'"),
        ('(f "a)', 3, "expected a word; found '\"a)'"),
    ],
)
def test_where_a_tree_stops_being_one(text: str, position: int, message: str) -> None:
    assert_refused(text, read_tree, f"^position {position}: {re.escape(message)}$")


@pytest.mark.parametrize(
    ("tree", "message"),
    [
        ([], "a call must begin with a relation; got nothing"),
        ([["f"], "a"], "a call must begin with a relation; got list"),
        (["f", []], "a call must begin with a relation; got nothing"),
        (['"f"', "a"], 'a call must begin with a relation; got "f"'),
        (["f", None, "a"], "a value of type NoneType"),
        (["f", 3], "a value of type int"),
        (["f", {"a": 1}], "a value of type dict"),
        (["f", "a b"], "'a b' cannot be a word"),
        (["f", ""], "'' cannot be a word"),
        (["f", ")"], r"'\)' cannot be a word"),
    ],
)
def test_what_no_tree_holds(tree: list, message: str) -> None:
    assert_refused(tree, Program.from_tree, message)
    assert_refused(tree, write_tree, message)


def test_a_lone_word_is_a_tree_but_no_program() -> None:
    assert read_tree(" a ") == "a" == write_tree("a")
    assert_refused("a", Program.from_tree, "lone word 'a'")


def test_a_reference_is_no_leaf() -> None:
    assert_refused(("f", "#0"), Program.from_tree, "the leaf #0 is a reference")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("f(#0)", r"tuple 0, f\(#0\): #0 does not point backwards"),
        ("f(a) | g(#1)", r"tuple 1, g\(#1\): #1 does not point backwards"),
        ("f(a) | g(#9)", r"tuple 1, g\(#9\): #9 does not point backwards"),
        ("", "an empty program has no tree"),
    ],
)
def test_programs_without_a_tree(text: str, message: str) -> None:
    assert_refused(Program.parse(text), Program.to_tree, message)


@pytest.mark.parametrize("word", ["", " ", "a b", "a(", ")", "a,b", 'a"b', '"a', '"a\nb"', '"a"b'])
def test_words_that_would_not_read_back(word: str) -> None:
    with pytest.raises(ProgramSyntaxError, match="cannot be a word"):
        RelationalTuple("f", (word,))
    with pytest.raises(ProgramSyntaxError, match="cannot be a word"):
        RelationalTuple(word, ())


# Bounds


@pytest.mark.parametrize("piece", ["(", "(f ", "f(", "a", " ", '"', "f(a)|", "f(a,", '"\\', ")", "\\"])
def test_a_million_characters_are_refused_before_they_are_read(piece: str) -> None:
    text = piece * (1_000_000 // len(piece))
    for read in (Program.parse, read_tree):
        assert_refused(text, read, f"the text has {len(text)} characters; at most {MAX_TEXT} are read")


@pytest.mark.parametrize("piece", ["(", "(f ", "f(", "a", " ", '"', "f(a)|", "f(a,", '"\\', ")", "\\"])
def test_the_longest_text_ends_with_an_answer(piece: str) -> None:
    text = piece * (MAX_TEXT // len(piece))
    for read in (Program.parse, read_tree):
        try:
            assert str(read(text)) == text.strip()
        except ProgramSyntaxError as error:
            assert len(str(error)) < len(text) + 200


def test_nesting_of_ten_thousand_is_an_error() -> None:
    assert_refused("(f " * 10_000 + ")" * 10_000, read_tree, rf"^position {3 * MAX_DEPTH}: .*deeper than {MAX_DEPTH}")
    assert_refused("(" * 10_000, read_tree, "^position 1: a call must begin with a relation")
    assert_refused("f(" * 10_000, Program.parse, r"^position 3: expected ',' or '\)'")
    for read in (Program.from_tree, write_tree):
        assert_refused(nested(10_000), read, f"deeper than {MAX_DEPTH}")


def test_a_list_nested_ten_thousand_deep_at_its_head_is_an_error() -> None:
    # The text of such a list cannot even be written for the message.
    tree: list = ["f"]
    for _ in range(10_000):
        tree = [tree]
    for read in (Program.from_tree, write_tree):
        assert_refused(tree, read, "must begin with a relation; got list")


def test_the_deepest_tree_passes_every_door_and_one_more_none() -> None:
    deepest, deeper = nested(MAX_DEPTH), nested(MAX_DEPTH + 1)
    program = Program.from_tree(deepest)
    assert read_tree(write_tree(deepest)) == program.to_tree()
    for read in (Program.from_tree, write_tree):
        assert_refused(deeper, read, f"deeper than {MAX_DEPTH}")
    assert_refused(Program((*program, RelationalTuple("f", (f"#{MAX_DEPTH - 1}",)))), Program.to_tree, "depth 129")


def test_sharing_that_would_grow_without_end_is_an_error_at_once() -> None:
    steps = [RelationalTuple("f", ("a",) * MAX_ARGUMENTS)]
    steps += [RelationalTuple("f", (f"#{index}",) * MAX_ARGUMENTS) for index in range(MAX_TUPLES - 1)]
    assert_refused(Program(tuple(steps)), Program.to_tree, r"over 10\^9 nodes and depth 1024")
    shallow = Program(tuple(steps[:100]))
    assert_refused(shallow, Program.to_tree, r"over 10\^9 nodes and depth 100")
    # Unused growth costs nothing.
    assert Program((*steps[:100], RelationalTuple("g", ("a",)))).to_tree() == ("g", "a")


def test_a_shared_tree_is_not_walked_to_its_end() -> None:
    tree: Tree = ("f", "a")
    for _ in range(100):
        tree = ("f", tree, tree)
    assert_refused(tree, write_tree, f"more than {MAX_NODES} nodes")
    assert_refused(tree, Program.from_tree, f"more than {MAX_TUPLES} calls")
    assert_refused((tree, tree), Program.from_tree, "must begin with a relation; got tuple")


def test_the_longest_program_and_the_widest_tuple() -> None:
    step = RelationalTuple("f", ("a",))
    assert len(Program.parse(str(Program((step,) * MAX_TUPLES)))) == MAX_TUPLES
    assert_refused("f(a)|" * (MAX_TUPLES + 1), Program.parse, f"position {5 * MAX_TUPLES}: .*at most {MAX_TUPLES}")
    with pytest.raises(ProgramSyntaxError, match=f"{MAX_TUPLES + 1} tuples; at most {MAX_TUPLES}"):
        Program((step,) * (MAX_TUPLES + 1))
    widest = RelationalTuple("f", ("a",) * MAX_ARGUMENTS)
    assert Program.parse(str(widest)).tuples == (widest,)
    assert_refused(f"f({'a,' * MAX_ARGUMENTS}a)", Program.parse, f"at most {MAX_ARGUMENTS} arguments")
    with pytest.raises(ProgramSyntaxError, match=f"{MAX_ARGUMENTS + 1} arguments; at most {MAX_ARGUMENTS}"):
        RelationalTuple("f", ("a",) * (MAX_ARGUMENTS + 1))


# Values


def test_programs_are_values() -> None:
    program = Program.parse("add(n0, n1) | divide(#0, const_2)")
    again = Program.parse(str(program))
    assert program == again and hash(program) == hash(again) and len({program, again}) == 1
    with pytest.raises(dataclasses.FrozenInstanceError):
        program.tuples = ()  # type: ignore[misc]
    with pytest.raises(dataclasses.FrozenInstanceError):
        program.tuples[0].relation = "subtract"  # type: ignore[misc]
    with pytest.raises((AttributeError, TypeError)):
        program.cache = {}  # type: ignore[attr-defined]
    assert program == again


@given(CALLS)
def test_reading_a_tree_leaves_it_as_it_was(tree: Tree) -> None:
    lists = [*tree]
    before = write_tree(lists)
    Program.from_tree(lists)
    assert write_tree(lists) == before
