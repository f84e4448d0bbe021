"""The web application: one static page and the API behind it.

Routes read a message, call `answers`, and give a message back. Decoding happens in one worker thread, batched; the
event loop stays free. Pages are found in a table and never on the disk, so that no path can leave their folder.
"""

from __future__ import annotations

import asyncio
import json
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

from tpn2f.domain import HasSteps
from tpn2f.errors import DataError, N2FError
from tpn2f.solver import Solver
from tpn2f.web.answers import Asked, explain, read_asked, solve_together
from tpn2f.web.batching import Batcher
from tpn2f.web.limits import Guard, ServerLimits
from tpn2f.web.messages import (
    MAX_BEAM,
    MAX_CHARACTERS,
    Ask,
    Explained,
    Look,
    ModelCard,
    Models,
    Refusal,
    RelationMapMessage,
    ServerHealth,
    Shelf,
    Solved,
)
from tpn2f.web.relations import find_map

FOLDER = Path(__file__).parent
PAGES = {
    "/": ("index.html", "text/html; charset=utf-8"),
    "/style.css": ("style.css", "text/css; charset=utf-8"),
    "/app.js": ("app.js", "text/javascript; charset=utf-8"),
    "/draw.js": ("draw.js", "text/javascript; charset=utf-8"),
    "/icon.svg": ("icon.svg", "image/svg+xml"),
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


class Hosted:
    """A model that is being served."""

    def __init__(self, name: str, solver: Solver, worker: ThreadPoolExecutor, limits: ServerLimits) -> None:
        self.name, self.solver = name, solver
        self.reader = ThreadPoolExecutor(1, "tpn2f-read")
        self.batcher: Batcher[Asked, Solved] = Batcher(
            partial(solve_together, solver, name), worker, limits.batch, limits.gather
        )
        self._map: asyncio.Task[RelationMapMessage] | None = None

    def map(self) -> asyncio.Task[RelationMapMessage]:
        """The map of relations, whose drawing starts on first demand."""
        if self._map is None:
            # Not in the worker: questions are answered meanwhile.
            self._map = asyncio.create_task(asyncio.to_thread(find_map, self.solver, self.name))
        return self._map

    def card(self, shelf: Shelf | None) -> ModelCard:
        config, codec = self.solver.model.config, self.solver.codec
        return ModelCard(
            name=self.name,
            title=shelf.title if shelf else self.solver.domain.name,
            domain=self.solver.domain.name,
            encoder=config.encoder,
            decoder=config.decoder,
            parameters=sum(parameter.numel() for parameter in self.solver.model.parameters()),
            # Iterating leaves out the specials, which are not words.
            words=len(list(codec.words)),
            relations=len(list(codec.relations)),
            worked=isinstance(self.solver.domain, HasSteps),
            examples=shelf.questions if shelf else [],
        )


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
    guard = Guard(app, limits, ("/api/solve", "/api/explain"), hosts)
    _answer_errors(app)
    _add_pages(app)
    _add_questions(app, hosted, worker, limits)
    _add_facts(app, hosted, guard)
    return guard


def _add_questions(
    app: FastAPI, hosted: Mapping[str, Hosted], worker: ThreadPoolExecutor, limits: ServerLimits
) -> None:
    async def read(model: Hosted, ask: Ask) -> Asked:
        loop = asyncio.get_running_loop()
        work = partial(read_asked, model.solver, ask.question, ask.values, ask.beam, limits.words)
        try:
            # Not in the event loop: a domain of somebody's own may take its time.
            return await _within(limits.seconds, loop.run_in_executor(model.reader, work))
        except N2FError as error:
            raise HTTPException(422, str(error)) from error

    @app.post("/api/solve", responses=REFUSALS)
    async def solve(ask: Ask) -> Solved:
        """The program for a question, worked step by step, with the answer, the confidence and alternatives."""
        started = time.perf_counter()
        model = _find(hosted, ask.model)
        asked = await read(model, ask)
        try:
            solved = await _within(limits.seconds, model.batcher.ask(asked))
        except N2FError as error:
            raise HTTPException(422, str(error)) from error
        return solved.model_copy(update={"milliseconds": _since(started)})

    @app.post("/api/explain", responses=REFUSALS)
    async def look_inside(look: Look) -> Explained:
        """The fillers and roles of a question's words, and where each tuple of the program looks."""
        started = time.perf_counter()
        model = _find(hosted, look.model)
        asked = await read(model, look)
        loop = asyncio.get_running_loop()
        try:
            work = loop.run_in_executor(worker, explain, model.solver, model.name, asked, look.program)
            seen = await _within(limits.seconds, work)
        except N2FError as error:
            raise HTTPException(422, str(error)) from error
        return seen.model_copy(update={"milliseconds": _since(started)})

    @app.get("/api/models/{name}/relations", responses={status: REFUSALS[status] for status in (404, 422, 504)})
    async def relations(name: str) -> RelationMapMessage:
        """The map of a model's relations. Drawn on first demand, which takes a while."""
        model = _find(hosted, name)
        try:
            return await _within(limits.seconds, asyncio.shield(model.map()))
        except N2FError as error:
            raise HTTPException(404, f"{name} has no map of relations: {error}") from error


def _add_facts(app: FastAPI, hosted: Mapping[str, Hosted], guard: Guard) -> None:
    shelves = load_examples()

    @app.get("/api/models")
    async def models() -> Models:
        """The models that can be asked, with questions to try, and the bounds of a request."""
        cards = [model.card(shelves.get(model.solver.domain.name)) for model in hosted.values()]
        return Models(models=cards, max_words=guard.limits.words, max_characters=MAX_CHARACTERS, max_beam=MAX_BEAM)

    @app.get("/healthz")
    async def health() -> ServerHealth:
        """Whether the server is alive."""
        return ServerHealth(status="ok", version=version("tpn2f"), models=list(hosted), pending=guard.pending)


def load_examples() -> dict[str, Shelf]:
    """Questions to try, by domain. They are ours, and from no data set."""
    text = (FOLDER / "examples.json").read_text(encoding="utf-8")
    return {domain: Shelf.model_validate(found) for domain, found in json.loads(text).items()}


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
