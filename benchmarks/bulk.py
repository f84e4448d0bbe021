"""Bulk solving on local Ray against one process, and a long job whose actor and whose driver are killed.

    python benchmarks/bulk.py [--questions 1000000] [--sample 200000] [--model everyday] [--before OLD/src]

First the sample: with the command that prints answers (of `--before`, a checkout of an older version, if there is one),
into a folder in one process, and on Ray with two actors. Each is a command of its own, from its start to its end; the
answers must agree. Then all questions on Ray: the driver is killed with kill -9 after a third of the parts and the same
command is given again; an actor is killed after two thirds. Every question must have exactly one answer. The memory of
all processes is watched. Writes results/benchmark_bulk.json; exits with 1 if anything is missing or twice. Ray gives
its actors a low priority, so other work on the machine spoils the comparison.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import psutil

from tpn2f.bulk.tables import read_rows
from tpn2f.domain import load_domain

PATIENCE = 24 * 3600.0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--questions", type=int, default=1_000_000)
    parser.add_argument("--sample", type=int, default=200_000)
    parser.add_argument("--model", default="everyday")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--before", type=Path, default=None, help="src/ of an older checkout")
    parser.add_argument("--folder", type=Path, default=None, help="where questions and answers go; default: a new one")
    parser.add_argument(
        "--part", choices=("speed", "faults"), default=None, help="only this part, beside what is there"
    )
    parser.add_argument("--out", type=Path, default=Path("results/benchmark_bulk.json"))
    options = parser.parse_args()
    with TemporaryDirectory(dir=options.folder) as name:
        folder = Path(name)
        few, many = folder / "few.jsonl", folder / "many.jsonl"
        write_questions(many, options.questions)
        with many.open() as source:
            few.write_text("".join(islice(source, options.sample)))
        result = json.loads(options.out.read_text()) if options.part else {}
        result["what"] = f"bulk solving with {options.model}, {options.workers} actors"
        if options.part != "faults":
            result["speed"] = measure_speed(options, folder, few)
            print(json.dumps(result["speed"], indent=2), flush=True)
        if options.part != "speed":
            result["faults"] = survive(options, folder, many)
    print(json.dumps(result, indent=2))
    options.out.write_text(json.dumps(result, indent=2) + "\n")
    # A fault that was not there proves nothing.
    speed, faults = result["speed"], result["faults"]
    both = [fault["what"] for fault in faults["killed"]] == ["driver", "actor"]
    return 0 if both and faults["exact"] and speed["same_programs"] >= 0.999 else 1


def write_questions(path: Path, count: int) -> None:
    """Generated everyday questions; those of the generator again and again, with other numbers."""
    texts = [example.text for example in islice(load_domain("everyday").examples("generated-test"), 2000)]
    chance = random.Random(0)
    with path.open("w", encoding="utf-8") as file:
        for number in range(count):
            text = texts[number % len(texts)]
            words = [
                str(chance.randint(2, 99)) if word.isdigit() and number >= len(texts) else word
                for word in text.split(" ")
            ]
            file.write(json.dumps({"id": f"q{number}", "question": " ".join(words)}) + "\n")


def solve(questions: Path, output: Path | None, model: str, *more: str) -> list[str]:
    into = ["--json"] if output is None else ["--output", str(output)]
    return [sys.executable, "-m", "tpn2f", "solve", "--file", str(questions), "--model", model, *into, *more]


def measure_speed(options: argparse.Namespace, folder: Path, few: Path) -> dict[str, Any]:
    ray = ("--on", "ray", "--workers", str(options.workers))
    printed, here, there = folder / "printed.jsonl", folder / "here", folder / "there"
    rows = {
        "printed": timed(solve(few, None, options.model), printed, options.before),
        "one process": timed(solve(few, here, options.model)),
        "ray": timed(solve(few, there, options.model, *ray)),
    }
    answers = [[row["program"] for row in rows_of(place)] for place in (here, there)]
    with printed.open() as lines:
        answers.append([json.loads(line).get("program") for line in lines])
    same = [sum(a == b for a, b in zip(answers[0], other, strict=True)) / options.sample for other in answers[1:]]
    if options.before:
        # An older version may read a few texts in another way.
        same, older = same[:1], {"same_programs_as_the_older_version": same[1]}
    else:
        older = {}
    rates = {name: round(options.sample / seconds, 1) for name, seconds in rows.items()}
    return {
        "questions": options.sample,
        "seconds": {name: round(seconds, 1) for name, seconds in rows.items()},
        "questions_a_second": rates,
        "ray_times_one_process": round(rows["one process"] / rows["ray"], 2),
        "ray_times_printed": round(rows["printed"] / rows["ray"], 2),
        "printed_with": "an older version" if options.before else "this version",
        "same_programs": min(same),
        **older,
    }


def timed(command: list[str], into: Path | None = None, source: Path | None = None) -> float:
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    if source is not None:
        environment["PYTHONPATH"] = str(source)
    started = time.perf_counter()
    with (into or Path(os.devnull)).open("w") as output:
        done = subprocess.run(command, stdout=output, stderr=subprocess.PIPE, env=environment, check=False)
    if done.returncode not in (0, 1):
        raise SystemExit(done.stderr.decode())
    return time.perf_counter() - started


def rows_of(folder: Path) -> Iterator[Any]:
    for path in sorted(folder.glob("part-*.jsonl")):
        yield from read_rows(path)


def survive(options: argparse.Namespace, folder: Path, many: Path) -> dict[str, Any]:
    """The long job, its driver killed once and an actor once; what became of it."""
    output = folder / "answers"
    command = solve(many, output, options.model, "--on", "ray", "--workers", str(options.workers))
    parts = -(-options.questions // 4096)
    started, killed = time.perf_counter(), []
    memory: list[tuple[float, int, int]] = []
    for attempt in ("driver", "actor"):
        process = subprocess.Popen(command, env={**os.environ, "OMP_NUM_THREADS": "1"}, stdout=subprocess.DEVNULL)
        while process.poll() is None and time.perf_counter() - started < PATIENCE:
            time.sleep(2)
            done = len(list(output.glob("part-*.jsonl")))
            memory.append((round(time.perf_counter() - started), done, footprint(process.pid)))
            if attempt == "driver" and done >= max(1, parts // 3):
                process.kill()
                process.wait()
                killed.append({"what": "driver", "parts_done": done})
            elif attempt == "actor" and len(killed) == 1 and parts > done >= max(2, 2 * parts // 3):
                killed += [{"what": "actor", "parts_done": done}] if kill_actor(process.pid) else []
        process.wait()
        time.sleep(5)
    rows = [row["row"] for row in rows_of(output)]
    steady = sorted(size for _, done, size in memory if done > 1)
    size = sum(path.stat().st_size for path in output.glob("part-*"))
    result = {
        "questions": options.questions,
        "answers": len(rows),
        "exact": sorted(rows) == list(range(1, options.questions + 1)),
        "killed": killed,
        "seconds": round(time.perf_counter() - started, 1),
        "memory_mb": {
            "median": steady[len(steady) // 2] if steady else 0,
            "largest": steady[-1] if steady else 0,
            "over_time": memory[:: max(1, len(memory) // 40)],
        },
        "answers_mb": size >> 20,
    }
    shutil.rmtree(output)
    return result


def footprint(pid: int) -> int:
    """Megabytes that the driver and what it started hold for themselves."""
    total = 0
    for process in family(pid):
        with suppress(psutil.Error):
            total += process.memory_full_info().uss
    return total >> 20


def kill_actor(pid: int) -> bool:
    """Kills one worker with a model."""
    for process in family(pid):
        with suppress(psutil.Error):
            if any("PartActor" in word for word in process.cmdline()):
                process.kill()
                return True
    return False


def family(pid: int) -> list[psutil.Process]:
    try:
        driver = psutil.Process(pid)
        return [driver, *driver.children(recursive=True)]
    except psutil.Error:
        return []


if __name__ == "__main__":
    sys.exit(main())
