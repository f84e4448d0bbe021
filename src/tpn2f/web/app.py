"""The web application: one static page and the API behind it.

Routes read a message, call `answers`, and give a message back. Decoding happens in one worker thread, batched; the
event loop stays free. Pages are found in a table and never on the disk, so that no path can leave their folder.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Collection, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any, TypeVar

import torch
from fastapi import FastAPI, HTTPException, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException as StarletteHTTPException

from tpn2f.errors import DataError, N2FError
from tpn2f.solver import Solver
from tpn2f.web.answers import Asked, explain, read_ask, refuse_program
from tpn2f.web.hosted import Hosted, load_examples
from tpn2f.web.limits import Guard, ServerLimits
from tpn2f.web.many import make_row, read_many
from tpn2f.web.messages import (
    MAX_BEAM,
    MAX_CHARACTERS,
    MAX_MANY,
    Ask,
    AskMany,
    Explained,
    Look,
    Models,
    Refusal,
    RelationMapMessage,
    Reran,
    Rerun,
    Row,
    Rows,
    ServerHealth,
    Solved,
    Suggestion,
)
from tpn2f.web.reruns import run_again

FOLDER = Path(__file__).parent
SCRIPTS = ("answer", "api", "app", "draw", "inside", "link", "lisp", "many", "past")
PAGES = {
    "/": ("index.html", "text/html; charset=utf-8"),
    "/style.css": ("style.css", "text/css; charset=utf-8"),
    "/inside.css": ("inside.css", "text/css; charset=utf-8"),
    "/icon.svg": ("icon.svg", "image/svg+xml"),
    **{f"/{name}.js": (f"{name}.js", "text/javascript; charset=utf-8") for name in SCRIPTS},
}
REFUSALS: dict[int | str, dict[str, Any]] = {
    status: {"model": Refusal, "description": description}
    for status, description in (
        (400, "The body is not JSON, or not UTF-8."),
        (404, "There is no such model, or the model does not have this."),
        (408, "The body did not arrive in time."),
        (413, "The body is too long."),
        (415, "The body is not sent as application/json."),
        (422, "A field is out of bounds, or the question cannot be read."),
        (503, "Too many requests are waiting; Retry-After says when to come back."),
        (504, "The answer took too long."),
    )
}
Given = TypeVar("Given")


def make_app(
    solvers: Mapping[str, Solver], limits: ServerLimits | None = None, hosts: Collection[str] | None = None
) -> Guard:
    """An ASGI app that answers with these models, by name; the first is the one that is asked by default.

    `hosts` are the names that it answers to, None for any. Raises DataError without a model.
    """
    if not solvers:
        raise DataError("there is no model to serve")
    limits = limits or ServerLimits()
    # Decoding uses all cores already, so that a second thread would only slow the first one down. Denormal numbers,
    # which sharp softmaxes make, are slow; that setting belongs to the thread.
    worker = ThreadPoolExecutor(1, "tpn2f-solve", partial(torch.set_flush_denormal, True))
    hosted = {name: Hosted(name, solver, worker, limits) for name, solver in solvers.items()}

    app = FastAPI(
        title="tpn2f",
        version=version("tpn2f"),
        description="Plain-language problems to formal programs that run.",
        # The usual pages of documentation load scripts from elsewhere.
        docs_url=None,
        redoc_url=None,
    )
    # The guard is the outermost layer, so that it also covers error pages.
    guard = Guard(app, limits, ("/api/solve", "/api/solve_many", "/api/run", "/api/explain"), hosts)
    _answer_errors(app)
    _add_pages(app)
    _add_questions(app, hosted, worker, limits)
    _add_models(app, hosted, guard)
    return guard


def _add_questions(
    app: FastAPI, hosted: Mapping[str, Hosted], worker: ThreadPoolExecutor, limits: ServerLimits
) -> None:
    titles = {name: shelf.title for name, shelf in load_examples().items()}
    languages = {
        titles.get(model.solver.domain.name, model.solver.domain.name): model.solver.domain.relations
        for model in hosted.values()
    }
    many_at_work = 0

    async def read(model: Hosted, work: Callable[..., Given], *given: object) -> Given:
        """What is read from a request, not in the event loop: a domain of somebody's own may take its time."""
        loop = asyncio.get_running_loop()
        try:
            return await _within(limits.seconds, loop.run_in_executor(model.reader, partial(work, *given)))
        except N2FError as error:
            raise HTTPException(422, str(error)) from error

    async def read_one(model: Hosted, ask: Ask) -> Asked:
        try:
            refuse_program(ask.question, languages)
        except N2FError as error:
            raise HTTPException(422, str(error)) from error
        return await read(model, read_ask, model.solver, ask, limits.words)

    @app.post("/api/solve", responses=REFUSALS)
    async def solve(ask: Ask) -> Solved:
        """The program for a question, worked step by step, with the answer, how far to trust it, and alternatives."""
        started = time.perf_counter()
        model = _find(hosted, ask.model)
        asked = await read_one(model, ask)
        try:
            solved = await _within(limits.seconds, model.batcher.ask(asked))
        except N2FError as error:
            raise HTTPException(422, str(error)) from error
        return solved.model_copy(update={"milliseconds": _since(started)})

    @app.post("/api/solve_many", responses=REFUSALS)
    async def solve_many(many: AskMany) -> Rows:
        """Up to 32 questions, each answered in short. A question that is refused has a row that says why."""
        nonlocal many_at_work
        started = time.perf_counter()
        model = _find(hosted, many.model)
        if many_at_work >= limits.many:
            raise HTTPException(503, "other files are being answered; try again in a moment", {"retry-after": "1"})
        many_at_work += 1
        try:
            asked = await read(model, read_many, model.solver, many, limits.words, languages)
            asking = asyncio.gather(*(_row(model, one) for one in asked))
            return Rows(rows=await _within(limits.seconds, asking), milliseconds=_since(started))
        except N2FError as error:
            raise HTTPException(422, str(error)) from error
        finally:
            many_at_work -= 1

    @app.post("/api/run", responses=REFUSALS)
    async def run(rerun: Rerun) -> Reran:
        """A program that was written before, on other values and against tests; no model is asked."""
        model = _find(hosted, rerun.model)
        return await read(model, run_again, model.solver, rerun, limits.words)

    @app.post("/api/explain", responses=REFUSALS)
    async def look_inside(look: Look) -> Explained:
        """The fillers and roles of a question's words, and where each tuple of the program looks."""
        started = time.perf_counter()
        model = _find(hosted, look.model)
        asked = await read_one(model, look)
        loop = asyncio.get_running_loop()
        try:
            work = loop.run_in_executor(worker, explain, model.solver, model.name, asked, look.program)
            seen = await _within(limits.seconds, work)
        except N2FError as error:
            raise HTTPException(422, str(error)) from error
        return seen.model_copy(update={"milliseconds": _since(started)})


async def _row(model: Hosted, asked: Asked | Row) -> Row:
    return asked if isinstance(asked, Row) else make_row(asked.text, await model.batcher.ask(asked))


def _add_models(app: FastAPI, hosted: Mapping[str, Hosted], guard: Guard) -> None:
    shelves = load_examples()
    refusals: dict[int | str, dict[str, Any]] = {status: REFUSALS[status] for status in (404, 422, 504)}

    @app.get("/api/models")
    async def models() -> Models:
        """The models that can be asked, with questions to try, and the bounds of a request."""
        return Models(
            models=[model.card(shelves.get(model.solver.domain.name)) for model in hosted.values()],
            max_words=guard.limits.words,
            max_characters=MAX_CHARACTERS,
            max_beam=MAX_BEAM,
            max_many=MAX_MANY,
            max_body=guard.limits.body,
        )

    @app.get("/api/models/{name}/examples", responses=refusals)
    async def examples(name: str) -> list[Suggestion]:
        """Questions to try: those of the explorer, or for a domain of your own some of its examples."""
        model = _find(hosted, name)
        shelf = shelves.get(model.solver.domain.name)
        return shelf.questions if shelf else await _within(guard.limits.seconds, asyncio.shield(model.examples()))

    @app.get("/api/models/{name}/relations", responses=refusals)
    async def relations(name: str) -> RelationMapMessage:
        """The map of a model's relations. Drawn on first demand, which takes a while."""
        model = _find(hosted, name)
        try:
            return await _within(guard.limits.seconds, asyncio.shield(model.map()))
        except N2FError as error:
            raise HTTPException(404, f"{name} has no map of relations: {error}") from error

    @app.get("/healthz")
    async def health() -> ServerHealth:
        """Whether the server is alive."""
        return ServerHealth(status="ok", version=version("tpn2f"), models=list(hosted), pending=guard.pending)


def _find(hosted: Mapping[str, Hosted], name: str | None) -> Hosted:
    if name is None:
        return next(iter(hosted.values()))
    if name not in hosted:
        raise HTTPException(404, f"there is no model {name[:100]!r}; there are {', '.join(hosted)}")
    return hosted[name]


async def _within(seconds: float, answer: Awaitable[Given]) -> Given:
    """The answer if it comes in time."""
    try:
        return await asyncio.wait_for(answer, seconds)
    except TimeoutError as error:
        raise HTTPException(504, f"there was no answer within {seconds:g} seconds") from error


def _since(started: float) -> float:
    return round(1000 * (time.perf_counter() - started), 1)


def _add_pages(app: FastAPI) -> None:
    for path, (name, kind) in PAGES.items():
        app.router.add_route(path, _page(name, kind), methods=["GET"], include_in_schema=False)


def _page(name: str, kind: str) -> Callable[[Request], Awaitable[Response]]:
    content = (FOLDER / "static" / name).read_bytes()

    async def page(request: Request) -> Response:
        del request
        return Response(content, headers={"content-type": kind, "cache-control": "no-cache"})

    return page


def _answer_errors(app: FastAPI) -> None:
    """Every error in one form."""

    @app.exception_handler(RequestValidationError)
    async def invalid(request: Request, error: RequestValidationError) -> JSONResponse:
        del request
        first = error.errors()[0]
        if first["type"] == "json_invalid":
            return JSONResponse({"error": f"the body is not valid JSON: {first['ctx']['error']}"}, 400)
        place = ".".join(str(part) for part in first["loc"] if part != "body") or "the body"
        # A field's name comes from the client, and may be no text at all.
        message = f"{place[:100]}: {first['msg']}".encode("utf-8", "replace").decode()
        return JSONResponse({"error": message}, 422)

    @app.exception_handler(StarletteHTTPException)
    async def refused(request: Request, error: StarletteHTTPException) -> JSONResponse:
        del request
        text = "the body cannot be read as JSON in UTF-8" if error.status_code == 400 else str(error.detail)
        return JSONResponse({"error": text}, error.status_code, error.headers)

    @app.exception_handler(Exception)
    async def broken(request: Request, error: Exception) -> JSONResponse:
        del request, error
        return JSONResponse({"error": "internal error of the server; see its log"}, 500)
