"""Skeletons: filling and matching are each other's inverse, and the skeletons of made-up programs are found again."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tpn2f.domains.algolisp.generation.skeletons import (
    Inventory,
    abstract,
    fill,
    find_skeletons,
    generalise,
    holes_of,
    is_closed,
    is_expression,
    mark_arguments,
    match,
    replace,
)
from tpn2f.program import Tree, read_tree

SKELETONS = [
    "(reverse {0})",
    "(map {0} square)",
    "(filter {0} (partial1 {1} <))",
    "(reduce (slice (sort {0}) 0 {1}) 0 +)",
    "(slice {0} (/ (len {0}) 2) (len {0}))",
    "(filter {0} (lambda1 (reduce (map {1} (partial0 arg1 ==)) false ||)))",
    "(head {0})",
    "(len {0})",
]


def parts() -> st.SearchStrategy[Tree]:
    """Arguments, and skeletons filled with them."""

    def filled(inner: st.SearchStrategy[Tree]) -> st.SearchStrategy[Tree]:
        return st.builds(
            lambda skeleton, one, two: fill(read_tree(skeleton), {"{0}": one, "{1}": two}),
            st.sampled_from(SKELETONS),
            inner,
            inner,
        )

    return st.recursive(st.sampled_from("abcde").map(lambda name: f"{{{name}}}"), filled, max_leaves=6)


@settings(max_examples=30)
@given(st.sampled_from(SKELETONS), parts(), parts())
def test_matching_undoes_filling(text: str, one: Tree, two: Tree) -> None:
    skeleton = read_tree(text)
    filling = {hole: part for hole, part in zip(("{0}", "{1}"), (one, two)) if hole in holes_of(skeleton)}
    tree = fill(skeleton, filling)
    assert match(skeleton, tree) == filling
    assert fill(skeleton, match(skeleton, tree) or {}) == tree


@settings(max_examples=30)
@given(parts())
def test_a_composition_is_derived_and_its_names_do_not_matter(tree: Tree) -> None:
    inventory = Inventory({read_tree(skeleton): 1 for skeleton in SKELETONS})
    assert inventory.derives(tree)
    general, names = generalise(tree)
    assert inventory.derives(general)
    assert generalise(general)[0] == general
    assert fill(general, dict(zip(holes_of(general), names))) == tree
    for skeleton, filling in inventory.derivations(tree):
        assert fill(skeleton, filling) == tree


@pytest.mark.parametrize(
    ("skeleton", "tree"),
    [
        ("(+ {0} {1})", "(+ {a} 1)"),
        ("(len {0})", "(head {a})"),
        ("(slice {0} (/ (len {0}) 2) (len {0}))", "(slice {a} (/ (len {b}) 2) (len {a}))"),
        ("(map {0} {1})", "(map {a} (partial0 2 *))"),
        ("(deref {0} {1})", "(deref {a} arg1)"),
    ],
)
def test_what_does_not_match(skeleton: str, tree: str) -> None:
    assert match(read_tree(skeleton), read_tree(tree)) is None


def test_parts_that_a_text_can_speak_of() -> None:
    assert is_closed(read_tree("(lambda1 (== arg1 2))")) and not is_expression(read_tree("(lambda1 (== arg1 2))"))
    assert not is_closed(read_tree("(== arg1 2)")) and not is_closed(read_tree("(self 1)"))
    assert is_expression(read_tree("(filter {a} (lambda1 (== arg1 2)))"))


def test_marking_and_replacing() -> None:
    tree = mark_arguments(["min", "a", ["max", "a", "b"]], {"a", "b"})
    assert tree == ("min", "{a}", ("max", "{a}", "{b}"))
    assert replace(tree, ("max", "{a}", "{b}"), "{_0}") == ("min", "{a}", "{_0}")
    assert abstract(tree, lambda part: True) == (("min", "{0}", "{1}"), {"{a}": "{0}", ("max", "{a}", "{b}"): "{1}"})


LABELLED = {
    "rev": ["(reverse {a})", "(reverse (map {a} square))", "(reverse (filter {a} (partial1 {b} <)))"],
    "map": ["(map (reverse {a}) square)", "(map {a} square)", "(map (range 0 (+ {a} 1)) square)"],
    "fil": ["(filter {a} (partial1 {b} <))", "(filter (reverse {a}) (partial1 (head {b}) <))"],
    "head": ["(head (reverse {a}))", "(head (map {a} square))", "(head (filter {a} (partial1 {b} <)))"],
    "half": [
        "(slice (reverse {a}) (/ (len (reverse {a})) 2) (len (reverse {a})))",
        "(slice {a} (/ (len {a}) 2) (len {a}))",
    ],
    "range": ["(range 0 {a})", "(range 0 (head {a}))", "(range 0 (+ (head {a}) 1))"],
}


def test_skeletons_are_found_from_programs_and_labels() -> None:
    trees = [(read_tree(text), label) for label, texts in LABELLED.items() for text in texts for _ in range(4)]
    found = find_skeletons(trees)
    assert set(found.counts) == {
        read_tree(text)
        for text in [
            "(reverse {0})",
            "(map {0} square)",
            "(filter {0} (partial1 {1} <))",
            # No argument ever stands in this hole: three different calls show that it is one.
            "(head {0})",
            "(slice {0} (/ (len {0}) 2) (len {0}))",
            "(range 0 {0})",
            # `(+ x 1)` is said by no text of its own: it belongs to the range around it.
            "(range 0 (+ {0} 1))",
        ]
    }
    assert all(found.derives(tree) for tree, _ in trees)
