"""The trace of a run of Lisp: the value of every call, the same as the run itself, small whatever ran."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tpn2f.domain import Problem, TracesRuns, load_domain
from tpn2f.domains.lisp.language import evaluate
from tpn2f.domains.lisp.machine import MachineLimits
from tpn2f.domains.lisp.trace import KEPT, LONGEST, brief, trace
from tpn2f.errors import ExecutionError
from tpn2f.program import Program, read_tree


def test_every_call_has_its_value_in_the_order_of_writing():
    found = trace(read_tree("(reduce (filter a (lambda1 (== (% arg1 2) 0))) 0 +)"), {"a": [3, 8, 12]})
    assert [part.values for part in found] == [
        ("20",),
        ("[8, 12]",),
        ("a function of 1 argument",),
        ("arg1 = 3: false", "arg1 = 8: true", "arg1 = 12: true"),
        ("arg1 = 3: 1", "arg1 = 8: 0", "arg1 = 12: 0"),
    ]
    assert [part.count for part in found] == [1, 1, 1, 3, 3]
    assert not any(part.failed for part in found)


def test_the_first_value_is_that_of_the_run():
    tree = read_tree("(map (sort a) (partial1 b +))")
    values = {"a": [3, 1], "b": 40}
    assert trace(tree, values)[0].values == (brief(evaluate(tree, values)),)


def test_a_run_that_fails_is_traced_up_to_there():
    whole, inner, head = trace(read_tree("(+ (head a) (head (tail b)))"), {"a": [1], "b": [1]})[:3]
    assert inner.values == ("1",) and not whole.values and not head.values
    found = trace(read_tree("(+ (head a) (head (tail b)))"), {"a": [1], "b": [1]})
    assert [part.failed for part in found] == [False, False, True, False]


@pytest.mark.parametrize("text", ["(nobody a)", "(head b)", "(head a a)"])
def test_what_cannot_run_at_all_is_refused(text):
    with pytest.raises(ExecutionError):
        trace(read_tree(text), {"a": [1]})


def test_values_that_are_no_values_are_refused():
    with pytest.raises(ExecutionError):
        trace(read_tree("(head a)"), {"a": object()})


def test_a_run_without_an_end_is_cut_off_by_the_same_limits():
    endless = read_tree("(invoke1 (lambda1 (self (+ arg1 1))) 0)")
    found = trace(endless, {}, MachineLimits(steps=1000))
    assert any(part.failed for part in found) and max(len(part.values) for part in found) <= KEPT


def test_a_deep_run_has_room():
    found = trace(read_tree("(invoke1 (lambda1 (if (<= arg1 1) 1 (+ 1 (self (- arg1 1))))) 90)"), {})
    assert found[0].values == ("90",)
    assert found[2].count == 90 and len(found[2].values) == KEPT


def test_shared_parts_are_not_written_out():
    huge: list = [1, 2]
    for _ in range(200):
        huge = [huge, huge]
    assert len(brief(huge)) <= LONGEST


@given(st.recursive(st.integers() | st.text(max_size=300) | st.booleans(), st.lists, max_leaves=60), st.integers(8, 80))
def test_brief_values_are_brief(value, most):
    assert len(brief(value, most)) <= most


@pytest.mark.parametrize(
    ("value", "expected"), [([1, [2, "x"]], '[1, [2, "x"]]'), (True, "true"), ([], "[]"), ("ab", '"ab"'), (7, "7")]
)
def test_short_values_are_whole(value, expected):
    assert brief(value) == expected


def test_algolisp_traces_programs():
    domain = load_domain("algolisp")
    assert isinstance(domain, TracesRuns)
    program = Program.from_tree(read_tree("(reverse (sort a))"))
    found = domain.trace(program, Problem((), {"a": [2, 3, 1]}))
    assert [part.values for part in found] == [("[3, 2, 1]",), ("[1, 2, 3]",)]
    with pytest.raises(ExecutionError):
        domain.trace(Program(), Problem((), {}))
