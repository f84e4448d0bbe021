"""The server under load: clients on loopback, with micro-batching, without it, and one request at a time.

    python benchmarks/serving.py [--model runs/mathqa] [--data DIR] [--clients 50] [--seconds 60] [--beam 1]

Starts servers of its own on free ports. First asserts that questions asked together get the answers that they get one
at a time, then measures: every client asks its next question as soon as it has an answer. Prints ratios from this run
and writes results/benchmark_serving.json. Questions are those of dev, or the explorer's own where there is no data.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
import multiprocessing
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from multiprocessing.synchronize import Event
from pathlib import Path
from statistics import quantiles
from typing import NamedTuple

from tpn2f.domain import load_domain
from tpn2f.errors import DataError
from tpn2f.web.limits import ServerLimits
from tpn2f.web.server import make_server, open_socket

QUESTIONS = 400


class Reply(NamedTuple):
    status: int
    seconds: float
    body: bytes


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="mathqa")
    parser.add_argument("--data", type=Path, default=None)
    parser.add_argument("--clients", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--beam", type=int, default=1)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--out", type=Path, default=Path("results/benchmark_serving.json"))
    options = parser.parse_args()
    batched, single = ServerLimits(), ServerLimits(batch=1, gather=0.0)
    with serving(options, batched) as port:
        questions = find_questions(port, options.data)
        bodies = [json.dumps({"question": text, "beam": options.beam}).encode() for text in questions]
        assert_same_answers(port, bodies[: options.clients])
        rows = [measure("one request at a time", port, bodies, 1, options.seconds)]
        rows.append(measure("micro-batching", port, bodies, options.clients, options.seconds))
    with serving(options, single) as port:
        rows.append(measure("no batching", port, bodies, options.clients, options.seconds))
    alone = rows[0]["requests_a_second"]
    for row in rows:
        row["times_one_at_a_time"] = round(row["requests_a_second"] / alone, 2)
        print(
            f"{row['what']:22} {row['clients']:3} clients  {row['requests_a_second']:8.1f} requests/s  "
            f"x{row['times_one_at_a_time']:<5} p50 {row['p50_ms']:7.1f} ms  p95 {row['p95_ms']:7.1f} ms  "
            f"{row['errors']} errors"
        )
    result = {
        "what": f"{options.clients} clients on loopback for {options.seconds:g} s each, beam {options.beam}",
        "model": Path(options.model).name,
        "threads": options.threads,
        "batch": batched.batch,
        "gather_ms": 1000 * batched.gather,
        "questions": len(bodies),
        "rows": rows,
    }
    options.out.write_text(json.dumps(result, indent=2) + "\n")


@contextmanager
def serving(options: argparse.Namespace, limits: ServerLimits) -> Iterator[int]:
    """A server in a process of its own; its port."""
    context = multiprocessing.get_context("spawn")
    ready = context.Event()
    with open_socket("127.0.0.1", 0) as listener:
        port = listener.getsockname()[1]
        arguments = (listener, options.model, options.data, options.threads, limits, ready)
        process = context.Process(target=serve, args=arguments, daemon=True)
        process.start()
    try:
        if not ready.wait(120) or not process.is_alive():
            raise SystemExit("the server did not start")
        yield port
    finally:
        process.terminate()
        process.join(10)


def serve(listener, model: str, data: Path | None, threads: int, limits: ServerLimits, ready: Event) -> None:
    import torch

    from tpn2f.solver import Solver
    from tpn2f.web.app import make_app

    torch.set_num_threads(threads)
    make_server(make_app({"model": Solver.load(model, data)}, limits), limits, ready.set).run([listener])


def find_questions(port: int, data: Path | None) -> list[str]:
    """Texts of dev, of the domain that the server's model is of."""
    (model,) = json.loads(asyncio.run(ask_once(port, b"GET /api/models", b"")).body)["models"]
    try:
        examples = load_domain(model["domain"], data).examples("dev")
        return [example.text for example in islice(examples, QUESTIONS)]
    except DataError:
        return [example["question"] for example in model["examples"]]


async def ask_once(port: int, line: bytes, body: bytes) -> Reply:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    reply = await request(reader, writer, line, body)
    writer.close()
    return reply


async def request(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, line: bytes, body: bytes) -> Reply:
    """As little HTTP as possible, because clients and server share the machine."""
    started = time.perf_counter()
    head = line + b" HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n"
    writer.write(head % len(body) + body)
    answer = await reader.readuntil(b"\r\n\r\n")
    fields = dict(field.split(b": ", 1) for field in answer.lower().split(b"\r\n")[1:-2])
    content = await reader.readexactly(int(fields[b"content-length"]))
    return Reply(int(answer.split(b" ", 2)[1]), time.perf_counter() - started, content)


def assert_same_answers(port: int, bodies: list[bytes]) -> None:
    """Asked together, the answers are those of one at a time; probabilities within rounding."""

    async def together() -> list[Reply]:
        return await asyncio.gather(*(ask_once(port, b"POST /api/solve", body) for body in bodies))

    async def apart() -> list[Reply]:
        return [await ask_once(port, b"POST /api/solve", body) for body in bodies]

    differing = 0
    for one, other in zip(asyncio.run(together()), asyncio.run(apart()), strict=True):
        assert one.status == other.status == 200, (one, other)
        mine, theirs = json.loads(one.body), json.loads(other.body)
        assert abs(mine["confidence"] - theirs["confidence"]) < 1e-3, (mine, theirs)
        differing += mine["program"] != theirs["program"]
    assert differing == 0, f"{differing} programs differ"
    print(f"the same programs for {len(bodies)} questions asked together and apart")


def measure(what: str, port: int, bodies: list[bytes], clients: int, seconds: float) -> dict:
    """Clients that ask one question after another until time is up."""

    async def client(number: int, until: float, replies: list[Reply], errors: list[str]) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        for body in itertools.islice(itertools.cycle(bodies), number * 7, None):
            if time.perf_counter() >= until:
                break
            try:
                reply = await request(reader, writer, b"POST /api/solve", body)
            except (OSError, EOFError, ValueError) as error:
                errors.append(repr(error))
                break
            replies.append(reply)
            if reply.status != 200:
                errors.append(f"status {reply.status}")
        writer.close()

    async def crowd() -> tuple[list[Reply], list[str], float]:
        replies: list[Reply] = []
        errors: list[str] = []
        started = time.perf_counter()
        await asyncio.gather(*(client(number, started + seconds, replies, errors) for number in range(clients)))
        return replies, errors, time.perf_counter() - started

    replies, errors, took = asyncio.run(crowd())
    good = [1000 * reply.seconds for reply in replies if reply.status == 200]
    cuts = quantiles(good, n=20)
    return {
        "what": what,
        "clients": clients,
        "seconds": round(took, 1),
        "requests": len(good),
        "errors": len(errors),
        "requests_a_second": round(len(good) / took, 1),
        "p50_ms": round(cuts[9], 1),
        "p95_ms": round(cuts[18], 1),
    }


if __name__ == "__main__":
    main()
