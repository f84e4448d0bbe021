"""Bulk work on a real Ray on this machine: the same files as in one process, also when an actor is killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from test_bulk_jobs import rows_of
from tiny_model import make_run
from tpn2f.bulk.answers import HowAsked
from tpn2f.bulk.jobs import solve_file

ray = pytest.importorskip("ray", reason="needs the extra `ray`")
psutil = pytest.importorskip("psutil", reason="needs psutil to find the actors")

COUNT = 40_000


def write_many(path: Path) -> Path:
    lines = (json.dumps({"id": k, "question": f"what is the sum of {k} and 4 ?"}) for k in range(COUNT))
    path.write_text("\n".join(lines))
    return path


@pytest.mark.slow
def test_an_actor_and_the_driver_are_killed_and_every_question_has_one_answer(tmp_path: Path) -> None:
    run, path = make_run(tmp_path / "run"), write_many(tmp_path / "q.jsonl")
    command = [sys.executable, "-m", "tpn2f", "solve", "--file", str(path), "--output", str(tmp_path / "there")]
    command += ["--model", str(run), "--on", "ray", "--workers", "2"]
    driver = start(command)
    reach(tmp_path / "there", 1, driver)
    kill_actor(driver)
    reach(tmp_path / "there", 3, driver)
    driver.kill()
    driver.communicate()
    done = start(command)
    _, told = done.communicate()
    assert done.returncode == 0, told.decode()
    solve_file(path, tmp_path / "here", HowAsked(str(run)))
    here, there = list(rows_of(tmp_path / "here")), list(rows_of(tmp_path / "there"))
    assert [row["row"] for row in there] == list(range(1, COUNT + 1))
    assert [row["program"] for row in there] == [row["program"] for row in here]


def start(command: list[str]) -> subprocess.Popen[bytes]:
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


def reach(folder: Path, parts: int, driver: subprocess.Popen[bytes]) -> None:
    while len(list(folder.glob("part-*"))) < parts and driver.poll() is None:
        time.sleep(0.05)


def kill_actor(driver: subprocess.Popen[bytes]) -> None:
    for process in psutil.Process(driver.pid).children(recursive=True):
        if any("PartActor" in word for word in process.cmdline()):
            os.kill(process.pid, signal.SIGKILL)
            return
    assert driver.poll() is not None, "there was no actor to kill"
