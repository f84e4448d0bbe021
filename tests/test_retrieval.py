"""The retrieval baseline: exact words first, the majority program, the nearest text, and its figures on real data."""

from __future__ import annotations

import sys

import pytest

from conftest import unchecked
from tpn2f.domain import Example, Problem
from tpn2f.errors import DataError, N2FError
from tpn2f.metrics import is_same
from tpn2f.program import Program
from tpn2f.retrieval import Retrieval

ADD, SUBTRACT, DIVIDE = (Program.parse(f"{name}(n0, n1)") for name in ("add", "subtract", "divide"))


def problem(text: str) -> Problem:
    return Problem(tuple(text.split()))


def memory(*pairs: tuple[str, Program]) -> Retrieval:
    return Retrieval(Example(problem(text), program) for text, program in pairs)


def test_the_same_words_come_before_similar_ones() -> None:
    found = memory(("a b c", ADD), ("a b c c", SUBTRACT), ("a b", DIVIDE))
    assert found.predict([problem("a b c"), problem("a b c c"), problem("a b")]) == [ADD, SUBTRACT, DIVIDE]


def test_the_majority_program_answers_and_the_first_one_on_a_tie() -> None:
    found = memory(("a b", ADD), ("a b", SUBTRACT), ("a b", SUBTRACT), ("c d", DIVIDE), ("c d", ADD))
    assert found.predict([problem("a b"), problem("c d")]) == [SUBTRACT, DIVIDE]


def test_an_unseen_text_gets_the_program_of_the_nearest_one() -> None:
    found = memory(("how many apples are left", SUBTRACT), ("what is the sum", ADD), ("share them equally", DIVIDE))
    questions = ["how many pears are left", "what is their sum", "share the apples equally"]
    assert found.predict([problem(question) for question in questions]) == [SUBTRACT, ADD, DIVIDE]


def test_pairs_of_words_tell_the_order() -> None:
    found = memory(("x minus y", ADD), ("y minus x", SUBTRACT))
    assert found.predict([problem("well y minus x"), problem("well x minus y")]) == [SUBTRACT, ADD]


def test_answers_keep_the_order_of_the_problems_when_seen_and_unseen_mix() -> None:
    found = memory(("a b", ADD), ("c d", SUBTRACT))
    questions = [problem(text) for text in ("c d", "a b e", "a b", "c d e")]
    assert found.predict(questions) == [SUBTRACT, ADD, ADD, SUBTRACT]


def test_a_text_like_no_other_still_gets_a_program() -> None:
    assert memory(("a b", ADD)).predict([problem("x y z")]) == [ADD]
    assert memory(("a b", ADD)).predict([]) == []


def test_thousands_of_unseen_texts_are_answered() -> None:
    found = memory(("a b", ADD), ("c d", SUBTRACT))
    questions = [problem(f"{'a b' if number % 2 else 'c d'} w{number}") for number in range(2_345)]
    assert found.predict(questions) == [ADD if number % 2 else SUBTRACT for number in range(2_345)]


def test_an_empty_memory_is_refused() -> None:
    with pytest.raises(DataError, match="at least one training example"):
        Retrieval([])


def test_a_missing_library_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sklearn.feature_extraction.text", None)
    with pytest.raises(N2FError, match=r"pip install 'tpn2f\[analysis\]'"):
        memory(("a b", ADD))


def test_the_floor_on_mathqa(mathqa_examples) -> None:
    """About 82 % of test and 40 % of the templates that neither train nor dev has; dev has 82 to 84 %."""
    train, dev, test = map(mathqa_examples, ("train", "dev", "test"))
    with unchecked():
        found = Retrieval(train)
        right = {
            split: [is_same(p, e.program) for p, e in zip(found.predict([e.problem for e in examples]), examples)]
            for split, examples in (("dev", dev), ("test", test))
        }
    assert 0.82 <= sum(right["dev"]) / len(dev) <= 0.84
    assert 0.815 <= sum(right["test"]) / len(test) <= 0.835
    texts = {example.problem.words for example in (*train, *dev)}
    unseen = [hit for hit, example in zip(right["test"], test) if example.problem.words not in texts]
    assert sum(unseen) / len(unseen) == pytest.approx(0.40, abs=0.02)
