"""Many questions at once: a row each, in order, refusals included, within limits of their own."""

from __future__ import annotations

import asyncio

import httpx2
import pytest
from fastapi.testclient import TestClient

from test_web import Gate, assert_refused, make_solver
from tpn2f.solver import Solver
from tpn2f.web.app import make_app
from tpn2f.web.limits import ServerLimits
from tpn2f.web.messages import MAX_MANY

QUESTION = "What is the sum of 3 and 4?"


@pytest.fixture(scope="module")
def solver(arithmetic_examples) -> Solver:
    return make_solver("arithmetic", arithmetic_examples("train")[:100])


@pytest.fixture(scope="module")
def client(solver: Solver):
    with TestClient(make_app({"tiny": solver}), raise_server_exceptions=False) as client:
        yield client


def ask_many(client: TestClient, *questions: str, **fields: object) -> list[dict]:
    asked = [{"question": question} for question in questions]
    response = client.post("/api/solve_many", json={"questions": asked, **fields})
    assert response.status_code == 200, response.text
    return response.json()["rows"]


def test_every_question_has_a_row_in_order(client):
    texts = [f"What is the sum of {number} and 4?" for number in range(MAX_MANY)]
    rows = ask_many(client, *texts)
    assert [row["question"] for row in rows] == texts
    for row, text in zip(rows[:3], texts):
        solved = client.post("/api/solve", json={"question": text}).json()
        assert (row["program"], row["state"]) == (solved["program"], solved["verdict"]["state"])
        assert row["confidence"] == pytest.approx(solved["confidence"], abs=1e-3)


def test_one_that_is_refused_does_not_spoil_the_others(client):
    good, empty, long, program = ask_many(client, QUESTION, "   ", "word " * 401, "(add n0 (add n0 n1))")
    assert good["program"] and empty["state"] == long["state"] == program["state"] == "none"
    assert "empty" in empty["why"] and "at most 400" in long["why"] and "program already" in program["why"]


def test_an_answer_that_is_not_to_be_trusted_is_left_out(client, solver, monkeypatch):
    monkeypatch.setattr(solver, "temperature", 1.0)
    monkeypatch.setattr(solver, "confidence", lambda answered: 0.5)
    (guess,) = ask_many(client, QUESTION, guess_below=0.6)
    (sure,) = ask_many(client, QUESTION, guess_below=0.4)
    (none,) = ask_many(client, QUESTION, guess_below=0.6, abstain=True)
    if sure["answer"]:
        assert [row["state"] for row in (guess, sure, none)] == ["guess", "sure", "none"]
    assert none["answer"] == "" and none["why"]


@pytest.mark.parametrize(
    ("body", "status", "expected"),
    [
        ({"questions": []}, 422, "questions"),
        ({"questions": [{"question": QUESTION}] * (MAX_MANY + 1)}, 422, f"at most {MAX_MANY}"),
        ({"questions": [QUESTION]}, 422, "questions.0"),
        ({"questions": [{"question": QUESTION, "beam": 2}]}, 422, "beam"),
        ({"questions": [{"question": ""}]}, 422, "question"),
        ({"questions": [{"question": QUESTION}], "guess_below": 2}, 422, "guess_below"),
        ({"questions": [{"question": QUESTION}], "model": "nobody"}, 404, "there are tiny"),
        ({"questions": [{"question": "x" * 8_000}] * 20}, 413, "bytes"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_bad_requests_are_refused(client, body, status, expected):
    assert_refused(client.post("/api/solve_many", json=body), status, expected)


def test_only_a_few_files_are_answered_at_a_time(solver, monkeypatch):
    gate = Gate(solver, monkeypatch)
    app = make_app({"tiny": solver}, ServerLimits(many=1))
    body = {"questions": [{"question": QUESTION}] * 3}

    async def scene() -> list[int]:
        async with httpx2.AsyncClient(transport=httpx2.ASGITransport(app=app), base_url="http://test") as web:
            first = asyncio.create_task(web.post("/api/solve_many", json=body))
            await asyncio.to_thread(gate.reached.wait, 30)
            second = await web.post("/api/solve_many", json=body)
            assert second.headers["retry-after"] == "1"
            gate.open.set()
            third = await web.post("/api/solve_many", json=body) if (await first).status_code == 200 else second
            return [(await first).status_code, second.status_code, third.status_code]

    assert asyncio.run(asyncio.wait_for(scene(), 60)) == [200, 503, 200]


def test_questions_that_take_too_long_are_504(solver, monkeypatch):
    gate = Gate(solver, monkeypatch)
    with TestClient(make_app({"tiny": solver}, ServerLimits(seconds=0.05))) as client:
        response = client.post("/api/solve_many", json={"questions": [{"question": QUESTION}]})
        assert_refused(response, 504, "0.05 seconds")
        gate.open.set()
