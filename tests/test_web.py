"""The API and the page: right answers, right refusals, text that stays text."""

from __future__ import annotations

import asyncio
import json
import re
import threading
from collections.abc import Callable, Iterator, Sequence
from html.parser import HTMLParser
from itertools import islice
from typing import Any

import httpx2
import pytest
import schemathesis
import torch
from fastapi.testclient import TestClient
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from schemathesis import checks

from conftest import unchecked
from tpn2f.codec import Codec
from tpn2f.config import Config, DataConfig
from tpn2f.domain import Example, Problem, load_domain
from tpn2f.errors import DataError
from tpn2f.model import ModelConfig
from tpn2f.program import Program, read_tree
from tpn2f.search import Candidate
from tpn2f.solver import Solver, make_model
from tpn2f.web.answers import plain, read_asked
from tpn2f.web.app import FOLDER, PAGES, make_app
from tpn2f.web.hosted import load_examples
from tpn2f.web.limits import SECURITY, ServerLimits
from tpn2f.web.messages import MAX_BEAM, MAX_CHARACTERS
from tpn2f.web.relations import find_map
from tpn2f.web.spelling import spell

MODEL = ModelConfig(
    n_fillers=7, d_filler=4, n_roles=5, d_role=3, d_word=6, d_relation=3, d_argument=4, d_position=3, d_symbol=5
)
QUESTION = "What is the sum of 3 and 4?"


def make_solver(domain_name: str, examples: Sequence[Example]) -> Solver:
    """A model that has learned nothing, and answers all the same."""
    codec = Codec.build(examples)
    torch.manual_seed(0)
    return Solver(
        load_domain(domain_name), codec, make_model(Config("tiny", DataConfig(domain_name), MODEL), codec).eval()
    )


@pytest.fixture(scope="module")
def solver(arithmetic_examples) -> Solver:
    return make_solver("arithmetic", arithmetic_examples("train")[:200])


@pytest.fixture(scope="module")
def lisp() -> Solver:
    domain = load_domain("algolisp")
    tasks = {
        "given an array of numbers a , find the sum of a": "(reduce a 0 +)",
        "given an array of numbers a and a number b , add b to every element of a": "(map a (partial1 b +))",
    }
    return make_solver(
        "algolisp", [Example(domain.read(text), Program.from_tree(read_tree(tree))) for text, tree in tasks.items()]
    )


@pytest.fixture(scope="module")
def client(solver: Solver, lisp: Solver) -> Iterator[TestClient]:
    with TestClient(make_app({"tiny": solver, "lisp": lisp}), raise_server_exceptions=False) as client:
        yield client


@pytest.fixture
def choose(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Makes a solver write the given programs."""

    def choose(solver: Solver, *programs: str) -> None:
        found = [Candidate(Program.from_tree(read_tree(text)), -0.1 - k, -0.1 - k) for k, text in enumerate(programs)]
        monkeypatch.setattr(
            solver, "predict", lambda problems, width=1, *more, **rest: [found[:width] for _ in problems]
        )

    return choose


def ask(client: TestClient, path: str = "/api/solve", **fields: Any) -> dict[str, Any]:
    response = client.post(path, json={"question": QUESTION, **fields})
    assert response.status_code == 200, response.text
    return response.json()


def assert_refused(response: httpx2.Response, status: int, *expected: str) -> None:
    """The right status, one sentence in the one form, and the security headers."""
    assert response.status_code == status, response.text
    assert set(response.json()) == {"error"}
    for text in expected:
        assert text in response.json()["error"]
    assert_secure(response)


def assert_secure(response: httpx2.Response) -> None:
    for name, value in SECURITY.items():
        assert response.headers.get_list(name) == [value]


# Answers


def test_an_answer_is_what_the_solver_says(client, solver):
    answer, solution = ask(client, beam=3), solver.solve(QUESTION, width=3)
    assert answer["program"] == str(solution.program)
    assert answer["confidence"] == pytest.approx(solution.confidence, rel=1e-4)
    assert [other["program"] for other in answer["alternatives"]] == [str(c.program) for c in solution.alternatives]
    assert [word["text"] for word in answer["words"]] == ["What", "is", "the", "sum", "of", "3", "and", "4", "?"]
    assert [word["name"] for word in answer["words"] if word["name"]] == ["n0", "n1"]
    assert (answer["model"], answer["domain"], answer["unknown"]) == ("tiny", "arithmetic", [])
    assert_secure(client.get("/api/models"))


def test_a_program_is_worked_step_by_step(client, solver, choose):
    choose(solver, "(multiply (add n0 n1) const_2)", "(divide n0 (subtract n1 n1))")
    answer = ask(client, beam=2)
    assert answer["tuples"][1] == {"relation": "multiply", "arguments": ["#0", "const_2"]}
    first, second = answer["steps"]
    assert (first["values"], first["result"], first["text"], first["words"]) == (["3", "4"], "7", "add(3, 4) = 7", "")
    assert second["text"] == "multiply(7, 2) = 14"
    assert [part["name"] for part in second["parts"] if part["name"]] == ["#0", "const_2"]
    for step in answer["steps"]:
        assert "".join(part["text"] for part in step["parts"]) == step["text"]
    assert (answer["answer"], answer["value"], answer["error"]) == ("14", 14, "")
    (other,) = answer["alternatives"]
    assert other["answer"] is None and other["steps"] == [] and "division by zero" in other["error"]
    assert answer["tree"] == "(multiply (add n0 n1) const_2)"


def test_batched_answers_equal_single_ones(client, solver, arithmetic_examples):
    """Two dozen questions of several widths at once, against each by itself."""
    questions = [(example.text, 1 + place % 2) for place, example in enumerate(arithmetic_examples("dev")[:24])]
    app = make_app({"tiny": solver}, ServerLimits(gather=0.01))

    async def together() -> list[httpx2.Response]:
        async with httpx2.AsyncClient(transport=httpx2.ASGITransport(app=app), base_url="http://test") as web:
            asking = (web.post("/api/solve", json={"question": text, "beam": beam}) for text, beam in questions)
            return await asyncio.gather(*asking)

    with unchecked():
        answers = [response.json() for response in asyncio.run(together())]
        singles = [ask(client, question=text, beam=beam) for text, beam in questions]
    for batched, single in zip(answers, singles, strict=True):
        for found in (batched, single):
            found.pop("milliseconds")
            for candidate in (found, *found["alternatives"]):
                candidate["confidence"] = pytest.approx(candidate["confidence"], rel=1e-4)
        assert batched == single


def test_arguments_without_values_are_asked_for_and_run_when_given(client, lisp, choose):
    choose(lisp, "(map a (partial1 b +))")
    question = "Given an array of numbers a and a number b, add b to every element of a."
    open_answer = ask(client, model="lisp", question=question)
    assert open_answer["inputs"] == [
        {"name": "a", "kind": "int[]", "value": None, "needed": True},
        {"name": "b", "kind": "int", "value": None, "needed": True},
    ]
    assert open_answer["answer"] is None and "no value" in open_answer["error"]
    assert open_answer["rest"] == "."
    answer = ask(client, model="lisp", question=question, values={"a": [1, 2], "b": 40})
    assert (answer["answer"], answer["value"], answer["error"]) == ("[41, 42]", [41, 42], "")
    assert answer["inputs"][0]["value"] == "[1, 2]"
    assert answer["tree"] == "(map a (partial1 b +))" and answer["steps"] == []


def test_words_that_training_did_not_have_are_named(client):
    answer = ask(client, question="What is the sum of 3 and 4 zwurbels?")
    assert answer["unknown"] == ["zwurbels"] and answer["notes"] == [] and not answer["calibrated"]
    strange = ask(client, question="zwurbel zwurbel zwurbel")
    assert len(strange["notes"]) == 2 and "no values" in strange["notes"][0]


def test_an_explanation_has_a_row_a_tuple_and_a_weight_a_word(client, solver):
    seen = ask(client, "/api/explain")
    assert seen["program"] == str(solver.solve(QUESTION).program) and seen["structured"]
    assert len(seen["attention"]) == len(seen["tuples"])
    for row in seen["attention"]:
        assert len(row) == len(seen["words"]) and sum(row) == pytest.approx(1, abs=1e-3)
    for kind in ("fillers", "roles"):
        assert len(seen[kind]) == len(seen["words"])
        assert all(choice["weight"] > 0.1 for word in seen[kind] for choice in word)


def test_another_program_can_be_looked_at(client):
    seen = ask(client, "/api/explain", program="add(n0, n1) | square(#0)")
    assert [one["relation"] for one in seen["tuples"]] == ["add", "square"] and len(seen["attention"]) == 2
    for program, expected in (("", "empty"), ("add(n0", "position"), ("zwurbel(n0)", "zwurbel"), ("(", "position")):
        response = client.post("/api/explain", json={"question": QUESTION, "program": program})
        assert_refused(response, 422, expected)


def test_models_tell_what_they_are_and_what_to_try(client, solver):
    found = client.get("/api/models").json()
    assert [model["name"] for model in found["models"]] == ["tiny", "lisp"]
    first = found["models"][0]
    assert first["worked"] and not found["models"][1]["worked"]
    assert first["parameters"] == sum(p.numel() for p in solver.model.parameters())
    assert first["relations"] == len(solver.domain.relations), "the specials of a vocabulary are no relations"
    assert first["examples"] == [one.model_dump() for one in load_examples()["arithmetic"].questions]
    assert client.get("/healthz").json()["models"] == ["tiny", "lisp"]


def test_the_map_has_every_relation_and_its_clusters(client, solver):
    with unchecked():
        found = client.get("/api/models/tiny/relations").json()
    assert {point["relation"] for point in found["points"]} == set(solver.domain.relations)
    for k in ("3", "4", "5"):
        assert {point["clusters"][k] for point in found["points"]} == set(range(int(k)))
    assert client.get("/api/models/tiny/relations").json() == found
    assert_refused(client.get("/api/models/nobody/relations"), 404, "there are tiny, lisp")


def test_a_model_without_data_has_no_map(lisp, nowhere):
    with TestClient(make_app({"lisp": lisp})) as client:
        for _ in range(2):
            assert_refused(client.get("/api/models/lisp/relations"), 404, "no map of relations", "no data")


def test_examples_can_be_read_and_have_the_values_they_need():
    for name, shelf in load_examples().items():
        domain = load_domain(name)
        for example in shelf.questions:
            bindings = domain.read(example.question).bindings
            needed = {name for name, value in bindings.items() if isinstance(value, str)}
            assert set(example.values) == needed and example.kind, example.question
            assert all(set(test.values) == needed for test in example.tests)


@pytest.mark.parametrize("name", ["mathqa", "algolisp"])
def test_examples_are_not_copied_from_data(name, request):
    domain = load_domain(name, request.getfixturevalue(f"{name}_data"))
    own = {domain.read(example.question).words for example in load_examples()[name].questions}
    with unchecked():
        words = {example.problem.words for example in islice(domain.examples("dev"), 3000)}
    assert not own & words


# Words


MATHQA = load_domain("mathqa")


@given(st.text(st.sampled_from("aB 1.,%$\n'é0ß"), max_size=40))
def test_words_are_spelled_as_they_were_written(text):
    try:
        problem = MATHQA.read(text)
    except DataError:
        return
    words, rest = spell(text, problem, {"a", "b"})
    assert [word.name for word in words] == [w if w in problem.bindings else None for w in problem.words]
    written = "".join((" " if word.space else "") + word.text for word in words) + rest
    assert written.split() == text.split(), "nothing is lost, nothing is added"


def test_words_that_were_changed_are_shown_as_they_were_written(solver):
    asked = read_asked(solver, "What is 20% of 1,200?", {}, 1, 100)
    words, rest = spell(asked.text, asked.problem, solver.codec.words)
    assert [word.text for word in words] == ["What", "is", "20", "%", "of", "1,200", "?"]
    assert rest == ""


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (1.5, 1.5),
        (True, True),
        ([1, "a", [2.0]], [1, "a", [2.0]]),
        (None, None),
        (2**53, 2**53),
        (2**53 + 1, None),
        (float("nan"), None),
        ([1, float("inf")], None),
        (object(), None),
        (list(range(2000)), None),
        ("x" * 100_000, None),
    ],
)
def test_values_are_given_as_json_only_if_json_holds_them(value, expected):
    assert plain(value) == expected


# Refusals

JSON = {"content-type": "application/json"}


@pytest.mark.parametrize(
    ("body", "status", "expected"),
    [
        (b"", 422, "required"),
        (b"{", 400, "JSON"),
        (b"nonsense", 400, "JSON"),
        (b'{"question": "\xff\xfe"}', 400, "UTF-8"),
        (b"[" * 60_000, 400, "JSON"),
        (b'{"question": "1", "values": {"a": ' + b"9" * 5000 + b"}}", 400, "JSON"),
        (b"[]", 422, "dictionary"),
        (b"null", 422, ""),
        (b"{}", 422, "question: Field required"),
        (b'{"question": 5}', 422, "question: Input should be a valid string"),
        (b'{"question": ""}', 422, "question"),
        (b'{"question": "  \\n "}', 422, "the problem is empty"),
        (b'{"question": "1 plus 1", "beam": -1}', 422, "beam"),
        (b'{"question": "1 plus 1", "beam": 11}', 422, f"less than or equal to {MAX_BEAM}"),
        (b'{"question": "1 plus 1", "beam": "5"}', 422, "beam"),
        (b'{"question": "1 plus 1", "beam": true}', 422, "beam"),
        (b'{"question": "1 plus 1", "beam": 1e300}', 422, "beam"),
        (b'{"question": "1 plus 1", "colour": "red"}', 422, "colour"),
        (b'{"question": "1 plus 1", "\\ud800": 1}', 422, "unicode"),
        (b'{"question": "1 plus 1 \\ud800"}', 422, "question"),
        (b'{"question": "1 plus 1", "values": {"\\ud800": 1}}', 422, "values"),
        (b'{"question": "1 plus 1", "values": {"n0": "\\udfff"}}', 422, "not valid Unicode"),
        (b'{"question": "1 plus 1", "values": {"n0": NaN}}', 422, "not finite"),
        (b'{"question": "1 plus 1", "values": {"n0": [[[[[[[1]]]]]]]}}', 422, "nested deeper"),
        (b'{"question": "1 plus 1", "values": {"n7": 1}}', 422, "no argument 'n7' (it has n0, n1)"),
        (b'{"question": "1 plus 1", "model": "nobody"}', 404, "there are tiny, lisp"),
        (b'{"question": "' + b"word " * 401 + b'"}', 422, "401 words; at most 400"),
        (b'{"question": "' + b"x" * (MAX_CHARACTERS + 1) + b'"}', 422, f"at most {MAX_CHARACTERS} characters"),
        (b'{"question": "' + b"9" * 400 + b'"}', 422, "a number of 400 digits"),
        (json.dumps({"question": "word " * 100_000}).encode(), 413, "bytes"),
        (b'{"question": "' + b"x" * 10_000_000 + b'"}', 413, "at most 65,536 are read"),
    ],
    ids=lambda value: value[:40].decode("latin-1") if isinstance(value, bytes) else None,
)
@pytest.mark.parametrize("path", ["/api/solve", "/api/explain"])
def test_bad_bodies_are_refused(client, path, body, status, expected):
    assert_refused(client.post(path, content=body, headers=JSON), status, expected)
    assert client.get("/healthz").json()["pending"] == 0


def test_a_long_body_without_a_length_is_refused(client):
    chunks = (b"x" * 100_000 for _ in range(100))
    assert_refused(client.post("/api/solve", content=chunks, headers=JSON), 413, "too long")


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "", "json"])
def test_only_json_is_taken(client, kind):
    """What a page from elsewhere may send without asking is refused as well."""
    response = client.post("/api/solve", content=b'{"question": "1"}', headers={"content-type": kind})
    assert_refused(response, 415, "application/json")


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/api/solve", 405),
        ("PUT", "/api/explain", 405),
        ("DELETE", "/api/models", 405),
        ("POST", "/healthz", 405),
        ("GET", "/api/nothing", 404),
        ("GET", "/docs", 404),
        ("GET", "/app.py", 404),
        ("GET", "/static/app.js", 404),
        ("GET", "/" + "a" * 5000, 404),
    ],
)
def test_other_ways_lead_nowhere(client, method, path, status):
    response = client.request(method, path, headers=JSON)
    assert_refused(response, status)
    assert ("allow" in response.headers) == (status == 405)


@pytest.mark.parametrize(
    "path",
    [
        "/../app.py",
        "/../../errors.py",
        "/static/../app.py",
        "/..%2fapp.py",
        "/%2e%2e/app.py",
        "/....//app.py",
        "/..\\app.py",
        "//etc/passwd",
        "/%00",
        "/app.js/../../app.py",
        "/api/models/..%2f..%2fapp.py/relations",
    ],
)
def test_no_path_leaves_the_pages(solver, path):
    """Straight into the app, because a client would tidy the path up first."""
    scope = {
        **{"type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": "GET", "scheme": "http"},
        **{"path": path, "raw_path": path.encode(), "query_string": b"", "root_path": "", "headers": []},
        **{"server": ("test", 80), "client": ("test", 1)},
    }
    sent: list[Any] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Any) -> None:
        sent.append(message)

    asyncio.run(make_app({"tiny": solver})(scope, receive, send))
    assert sent[0]["status"] == 404
    assert b"def " not in sent[1]["body"] and b"root:" not in sent[1]["body"]


def test_other_host_names_are_refused(solver):
    with TestClient(make_app({"tiny": solver}, hosts={"127.0.0.1", "localhost", "::1"})) as client:
        for host in ("127.0.0.1", "localhost:8765", "[::1]:8765", "LOCALHOST"):
            assert client.get("/healthz", headers={"host": host}).status_code == 200
        for host in ("evil.example", "127.0.0.1.evil.example", "[::2]"):
            assert_refused(client.get("/healthz", headers={"host": host}), 400, "host name")


def test_an_app_needs_a_model():
    with pytest.raises(DataError, match="no model"):
        make_app({})


def test_what_breaks_inside_is_told_without_details(client, solver, monkeypatch):
    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError("a secret")

    monkeypatch.setattr(solver, "predict", broken)
    response = client.post("/api/solve", json={"question": QUESTION})
    assert_refused(response, 500, "internal error")
    assert "secret" not in response.text
    monkeypatch.undo()
    ask(client)


# Time and crowds


class Gate:
    """A model that does not answer before it may."""

    def __init__(self, solver: Solver, monkeypatch: pytest.MonkeyPatch) -> None:
        self.reached, self.open = threading.Event(), threading.Event()
        predict = solver.predict

        def slow(problems: Sequence[Problem], width: int = 1, *more: Any, **rest: Any) -> Any:
            self.reached.set()
            assert self.open.wait(30)
            return predict(problems, width, *more, **rest)

        monkeypatch.setattr(solver, "predict", slow)


def test_an_answer_that_takes_too_long_is_504_and_the_server_lives(solver, monkeypatch):
    gate = Gate(solver, monkeypatch)
    with TestClient(make_app({"tiny": solver}, ServerLimits(seconds=0.05))) as client:
        assert_refused(client.post("/api/solve", json={"question": QUESTION}), 504, "0.05 seconds")
        assert_refused(client.post("/api/explain", json={"question": QUESTION}), 504, "0.05 seconds")
        assert client.get("/healthz").json() | {"version": ""} == {
            **{"status": "ok", "version": "", "models": ["tiny"], "pending": 0}
        }
        gate.open.set()


def test_a_crowd_is_told_to_come_back(solver, monkeypatch):
    gate = Gate(solver, monkeypatch)
    app = make_app({"tiny": solver}, ServerLimits(pending=2))

    async def scene() -> tuple[list[httpx2.Response], httpx2.Response]:
        async with httpx2.AsyncClient(transport=httpx2.ASGITransport(app=app), base_url="http://test") as web:
            inside = [asyncio.create_task(web.post("/api/solve", json={"question": QUESTION})) for _ in range(2)]
            await asyncio.to_thread(gate.reached.wait, 30)
            while app.pending < 2:
                await asyncio.sleep(0)
            refused = await web.post("/api/solve", json={"question": QUESTION})
            assert (await web.get("/healthz")).json()["pending"] == 2
            gate.open.set()
            return list(await asyncio.gather(*inside)), refused

    answered, refused = asyncio.run(scene())
    assert [response.status_code for response in answered] == [200, 200]
    assert_refused(refused, 503, "try again")
    assert refused.headers["retry-after"] == "1"


def test_nothing_is_computed_for_clients_that_are_gone(solver, monkeypatch):
    """They free their places at once, and questions that were not begun never are."""
    gate = Gate(solver, monkeypatch)
    app = make_app({"tiny": solver}, ServerLimits(pending=50))
    body = json.dumps({"question": QUESTION}).encode()
    scope = {
        **{"type": "http", "method": "POST", "path": "/api/solve", "raw_path": b"/api/solve", "query_string": b""},
        **{"headers": [(b"content-type", b"application/json")], "asgi": {"version": "3.0"}, "http_version": "1.1"},
        **{"scheme": "http", "root_path": "", "client": ("x", 1), "server": ("x", 80)},
    }
    answers: list[int] = []

    async def ask(gone: asyncio.Event) -> None:
        messages = [{"type": "http.request", "body": body, "more_body": False}]

        async def receive():
            if messages:
                return messages.pop()
            await gone.wait()
            return {"type": "http.disconnect"}

        async def send(message):
            if message["type"] == "http.response.start":
                answers.append(message["status"])

        await app(dict(scope), receive, send)

    async def scene() -> None:
        gone, never = asyncio.Event(), asyncio.Event()
        first = asyncio.create_task(ask(never))
        await asyncio.to_thread(gate.reached.wait, 30)
        others = [asyncio.create_task(ask(gone)) for _ in range(20)]
        while app.pending < 21:
            await asyncio.sleep(0.01)
        gone.set()
        await asyncio.gather(*others)
        assert app.pending == 1
        gate.open.set()
        await first
        assert app.pending == 0

    asyncio.run(asyncio.wait_for(scene(), 60))
    assert answers == [200]


# The page


class Markup(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.inline: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        if self.elements and self.elements[-1][0] in ("script", "style") and data.strip():
            self.inline.append(data)


def test_the_page_is_light():
    """Everything that a first visit loads, as it is sent."""
    assert sum(path.stat().st_size for path in (FOLDER / "static").iterdir()) < 150_000
    assert {path.name for path in (FOLDER / "static").iterdir()} == {name for name, _ in PAGES.values()}


def test_the_page_has_nothing_inline_and_nothing_from_elsewhere(client):
    response = client.get("/")
    assert response.status_code == 200 and response.headers["content-type"].startswith("text/html")
    assert_secure(response)
    page = Markup()
    page.feed(response.text)
    assert page.inline == []
    for tag, attributes in page.elements:
        assert not [name for name in attributes if name == "style" or name.startswith("on")], tag
        for name in ("src", "href", "action"):
            target = attributes.get(name)
            if target is not None:
                assert client.get(f"/{target}").status_code == 200, f"{tag} {target}"
    for label in (attributes["for"] for tag, attributes in page.elements if tag == "label" and "for" in attributes):
        assert any(attributes.get("id") == label for _, attributes in page.elements)


@pytest.mark.parametrize("path", PAGES)
def test_pages_are_served_with_their_kind(client, path):
    response = client.get(path)
    name, kind = PAGES[path]
    assert (response.status_code, response.headers["content-type"]) == (200, kind)
    assert response.content == (FOLDER / "static" / name).read_bytes()
    assert_secure(response)


def test_scripts_and_styles_make_no_markup_of_texts_and_load_nothing():
    for path in (FOLDER / "static").iterdir():
        text = path.read_text(encoding="utf-8").replace("http://www.w3.org/2000/svg", "")
        assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|new Function", text), (
            path
        )
        assert not re.search(r"https?://|@import|url\(", text), path


@pytest.mark.parametrize(
    "text", ["<script>alert(1)</script> 3 and 4", '"><img src=x onerror=alert(1)> 3 and 4', "&lt;b&gt; 3 and 4 {{7*7}}"]
)
def test_markup_in_a_question_is_text(client, text):
    response = client.post("/api/solve", json={"question": text})
    assert response.headers["content-type"] == "application/json"
    answer = response.json()
    written = "".join((" " if word["space"] else "") + word["text"] for word in answer["words"]) + answer["rest"]
    assert written == text


# The whole description

API = schemathesis.openapi.from_asgi(
    "/openapi.json",
    make_app({"tiny": make_solver("arithmetic", list(load_domain("arithmetic").examples("train"))[:50])}),
)


@API.parametrize()
@settings(max_examples=15, suppress_health_check=list(HealthCheck))
def test_the_description_holds(case):
    """No server error, only statuses and bodies that are described, and nothing taken that the description forbids.

    That everything it allows is taken cannot hold: whether a text is a question is for the domain to say.
    """
    case.call_and_validate(excluded_checks=[checks.positive_data_acceptance])


@pytest.mark.parametrize("name", ["mathqa", "algolisp"])
def test_a_bundled_model_brings_its_map_along(name, tmp_path):
    """Who installs the package has no data to draw it from."""
    found = find_map(Solver.load(name, tmp_path), "mine")
    assert found.model == "mine" and len(found.points) > 20
    assert {tuple(point.clusters) for point in found.points} == {("3", "4", "5", "6")}
