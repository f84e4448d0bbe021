"""Programs run again on other values: no model is asked, tests pass or fail, every part has its value."""

from __future__ import annotations

import pytest
from fastapi.testclient import TestClient

from test_web import JSON, assert_refused, make_solver
from tpn2f.domain import Example, load_domain
from tpn2f.program import Program, read_tree
from tpn2f.solver import Solver
from tpn2f.web.app import make_app
from tpn2f.web.limits import ServerLimits
from tpn2f.web.messages import MAX_CASES

TASK = "Given an array of numbers a and a number b, add b to every element of a."
PROGRAM = "(map a (partial1 b +))"


@pytest.fixture(scope="module")
def lisp() -> Solver:
    domain = load_domain("algolisp")
    return make_solver("algolisp", [Example(domain.read(TASK), Program.from_tree(read_tree(PROGRAM)))])


@pytest.fixture(scope="module")
def toy(arithmetic_examples) -> Solver:
    return make_solver("arithmetic", arithmetic_examples("train")[:50])


@pytest.fixture(scope="module")
def client(lisp: Solver, toy: Solver):
    with TestClient(make_app({"lisp": lisp, "toy": toy}), raise_server_exceptions=False) as client:
        yield client


def rerun(client: TestClient, *cases: dict, program: str = PROGRAM, **fields: object) -> dict:
    response = client.post("/api/run", json={"question": TASK, "program": program, "cases": list(cases), **fields})
    assert response.status_code == 200, response.text
    return response.json()


def test_a_program_runs_on_other_values_without_the_model(client, lisp, monkeypatch):
    monkeypatch.setattr(lisp, "predict", None)
    found = rerun(client, {"values": {"a": [1, 2], "b": 40}}, {"values": {"a": [], "b": 1}})
    assert [case["answer"] for case in found["cases"]] == ["[41, 42]", "[]"]
    assert [case["passed"] for case in found["cases"]] == [None, None]
    assert [call["values"] for call in found["calls"]] == [["[41, 42]"], ["a function of 1 argument"]]


@pytest.mark.parametrize(
    ("expected", "passed"), [([41, 42], True), ([41], False), ("[41, 42]", False), ([41, 42.0], True)]
)
def test_tests_pass_or_fail(client, expected, passed):
    (case,) = rerun(client, {"values": {"a": [1, 2], "b": 40}, "expected": expected})["cases"]
    assert case["passed"] is passed and case["error"] == ""


def test_true_is_not_one(client):
    program = "(is_sorted a)"
    cases = [{"values": {"a": [1], "b": 0}, "expected": expected} for expected in (True, 1)]
    assert [case["passed"] for case in rerun(client, *cases, program=program)["cases"]] == [True, False]


def test_what_fails_fails_its_test_and_says_why(client):
    cases = ({"values": {"a": [], "b": 1}, "expected": 1}, {"values": {"a": 5, "b": 1}}, {"values": {"a": [1]}})
    found = rerun(client, *cases, program="(head (map a (partial1 b +)))")
    empty, wrong, missing = found["cases"]
    assert empty["passed"] is False and "empty" in empty["error"] and empty["answer"] is None
    assert "a is int[]" in wrong["error"] and "no value" in missing["error"]
    assert [call["failed"] for call in found["calls"]] == [True, False, False]


def test_the_run_that_is_looked_at_is_chosen(client):
    cases = [{"values": {"a": [number], "b": 1}} for number in (1, 5)]
    assert rerun(client, *cases, trace=1)["calls"][0]["values"] == ["[6]"]
    assert rerun(client, *cases, trace=7)["calls"] == []


def test_both_forms_of_a_program_are_read(client):
    found = rerun(client, {"values": {"a": [2], "b": 3}}, program="partial1(b, +) | map(a, #0)")
    assert found["cases"][0]["answer"] == "[5]"


def test_a_language_without_a_trace_runs_all_the_same(client):
    fields = {"model": "toy", "question": "What is the sum of 3 and 4?", "program": "add(n0, n1)"}
    found = rerun(client, {"values": {}}, {"values": {"n0": 10}}, {"values": {"n0": "x"}}, **fields)
    assert [case["answer"] for case in found["cases"]] == ["7", "14", None] and found["calls"] == []


def test_a_program_without_an_end_ends(client):
    endless = "(invoke1 (lambda1 (self (+ arg1 1))) b)"
    (case,) = rerun(client, {"values": {"a": [], "b": 1}}, program=endless)["cases"]
    assert (case["answer"] is None and "more than" in case["error"]) or "deeper" in case["error"]


@pytest.mark.parametrize(
    ("change", "status", "expected"),
    [
        ({"program": ""}, 422, "program"),
        ({"program": "("}, 422, "position"),
        ({"program": "x" * 5000}, 422, "at most 4000"),
        ({"cases": []}, 422, "cases"),
        ({"cases": [{"values": {}}] * (MAX_CASES + 1)}, 422, f"at most {MAX_CASES}"),
        ({"cases": [{"values": {"a": [[[[[[[1]]]]]]]}}]}, 422, "nested deeper"),
        ({"cases": [{"values": {}, "expected": [[[[[[[[1]]]]]]]]}]}, 422, "nested deeper"),
        ({"trace": -1}, 422, "trace"),
        ({"trace": MAX_CASES}, 422, "trace"),
        ({"question": ""}, 422, "question"),
        ({"question": "word " * 401}, 422, "at most 400"),
        ({"model": "nobody"}, 404, "there are lisp"),
        ({"code": "1"}, 422, "code"),
    ],
    ids=str,
)
def test_bad_reruns_are_refused(client, change, status, expected):
    body = {"question": TASK, "program": PROGRAM, "cases": [{"values": {"a": [1], "b": 1}}], **change}
    assert_refused(client.post("/api/run", json=body), status, expected)


def test_a_rerun_has_the_limits_of_every_request(client, lisp):
    assert_refused(client.post("/api/run", content=b"x" * 100_000, headers=JSON), 413, "at most 65,536")
    assert_refused(client.post("/api/run", content=b"{}", headers={"content-type": "text/plain"}), 415)
    app = make_app({"lisp": lisp}, ServerLimits(pending=0))
    with TestClient(app) as busy:
        assert_refused(busy.post("/api/run", json={}), 503, "try again")


def test_a_rerun_that_takes_too_long_is_504(lisp, monkeypatch):
    from time import sleep

    read = lisp.read
    monkeypatch.setattr(lisp, "read", lambda question: (sleep(0.3), read(question))[1])
    with TestClient(make_app({"lisp": lisp}, ServerLimits(seconds=0.05))) as slow:
        body = {"question": TASK, "program": PROGRAM, "cases": [{"values": {"a": [1], "b": 1}}]}
        assert_refused(slow.post("/api/run", json=body), 504, "0.05 seconds")
