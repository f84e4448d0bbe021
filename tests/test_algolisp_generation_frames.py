"""Frames: a text taken apart and put together is the same text."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

import pytest

from tpn2f.domains.algolisp import AlgoLisp
from tpn2f.domains.algolisp.generation.frames import Articles, UnknownFrame, learn_articles, read_frame, write_frame

TEXTS = [
    (
        "given an array of numbers a , find the head of a",
        {"a": "int[]"},
        ", find the head of {a}",
        {},
    ),
    (
        "you are given numbers a , b and c and an array of numbers , what is the sum of the given array and c",
        {"a": "int", "b": "int", "c": "int", "d": "int[]"},
        "?what is the sum of {d} and {c}",
        {"d": "int[]"},
    ),
    (
        "consider arrays of numbers a and c and a string b , define d as a reversed , your task is to compute d",
        {"a": "int[]", "b": "string", "c": "int[]"},
        ", define {d} as {a} reversed ?your task is to compute {d}",
        {},
    ),
    (
        "given a number , for how many positions is the given number a prefix of it",
        {"a": "int"},
        "? for how many positions is {a} a prefix of it",
        {"a": "int"},
    ),
    (
        "given a number a and a string , find if a is a prefix of the given string",
        {"a": "int", "b": "string"},
        "?find if {a} is a prefix of {b}",
        {"b": "string"},
    ),
]


@pytest.mark.parametrize(("text", "types", "body", "unnamed"), TEXTS)
def test_reading_and_writing(text: str, types: dict[str, str], body: str, unnamed: dict[str, str]) -> None:
    articles = Articles(after=frozenset({("prefix", "of")}))
    frame = read_frame(text.split(), types, articles)
    assert " ".join(frame.body).removeprefix(", ") == body.replace(", find", "?find").removeprefix(", ")
    assert frame.unnamed == unnamed
    assert write_frame(frame) == text.split()


@pytest.mark.parametrize(
    ("text", "types", "words"),
    [
        ("what is the sum of a", {"a": "int"}, "begins with 'what is the'"),
        ("given a dictionary a , find a", {"a": "int"}, "introduced by 'a dictionary a'"),
        ("given a number a find a", {"a": "int"}, "no comma"),
        ("given numbers , find it", {"a": "int"}, "no names"),
        ("given a number a , find a", {"a": "int", "b": "int"}, "other arguments"),
        ("given a number , find it", {"a": "int", "b": "int"}, "leaves 2 arguments"),
        ("given a number a , a is fine", {"a": "int"}, "asks for nothing"),
    ],
)
def test_other_texts_are_refused(text: str, types: dict[str, str], words: str) -> None:
    with pytest.raises(UnknownFrame, match=words):
        read_frame(text.split(), types)


def test_articles_are_learned_where_no_argument_is_called_a() -> None:
    texts = {
        "given an array of numbers , find if the given array has a single digit": {"a": "int[]"},
        "given a string and a number b , what is a prefix of the given string": {"a": "string", "b": "int"},
        "given a number a , what is a": {"a": "int"},
    }
    learned = learn_articles((text.split(), types) for text, types in texts.items())
    assert learned == Articles(frozenset({"has"}), frozenset({("single", "digit"), ("prefix", "of")}))


def test_the_data_survives(algolisp_data: Path) -> None:
    taken = [
        (example.problem.words, {name: str(kind) for name, kind in example.problem.bindings.items()})
        for example in islice(AlgoLisp(algolisp_data).examples("dev-train"), 150)
    ]
    articles = learn_articles(taken)
    for words, types in taken:
        assert tuple(write_frame(read_frame(words, types, articles))) == words
