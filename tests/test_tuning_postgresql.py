"""Four workers on a real PostgreSQL, one of them killed: no trial is lost, none is run twice, and none is too many."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from tempfile import mkdtemp

import pytest

from tpn2f.checkpoint import read_checkpoint

optuna = pytest.importorskip("optuna", reason="needs the extra `tuning`")
psycopg = pytest.importorskip("psycopg", reason="needs the extra `postgresql`")

TRIALS = 8
TINY = ["data.limit=40", "training.epochs=2", "training.evaluate_examples=4", "training.checkpoint_seconds=0"]


def find_postgres() -> Path | None:
    """The folder of the server's programs; Debian keeps them off the path."""
    found = shutil.which("initdb")
    places = [Path(found).parent] if found else sorted(Path("/usr/lib/postgresql").glob("*/bin"))
    return places[-1] if places and (places[-1] / "initdb").exists() else None


@pytest.fixture
def database() -> Iterator[str]:
    """The URL of a server that is started for the test. It does not run as root, which PostgreSQL refuses."""
    programs = find_postgres()
    if programs is None:
        pytest.skip("there is no PostgreSQL: apt-get install postgresql")
    user = {}
    if os.getuid() == 0:
        if subprocess.run(["id", "postgres"], capture_output=True, check=False).returncode:
            pytest.skip("PostgreSQL does not run as root, and there is no user postgres")
        user = {"user": "postgres"}
    folder = Path(mkdtemp(prefix="tpn2f-pg-"))
    if user:
        shutil.chown(folder, "postgres")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    made = [programs / "initdb", "-D", folder / "data", "-A", "trust", "-U", "tpn2f", "--no-sync", "-E", "UTF8"]
    subprocess.run(made, check=True, capture_output=True, cwd=folder, **user)
    settings = ["-c", "listen_addresses=127.0.0.1", "-c", "fsync=off", "-c", f"unix_socket_directories={folder}"]
    command = [programs / "postgres", "-D", folder / "data", "-p", str(port), *settings]
    with (folder / "log").open("wb") as log:
        server = subprocess.Popen(command, cwd=folder, stdout=log, stderr=log, **user)
    try:
        wait_for(port, server)
        yield f"postgresql+psycopg://tpn2f@127.0.0.1:{port}/postgres"
    finally:
        server.send_signal(signal.SIGINT)
        server.wait(60)
        shutil.rmtree(folder, ignore_errors=True)


def wait_for(port: int, server: subprocess.Popen[bytes]) -> None:
    while server.poll() is None:
        with suppress(psycopg.OperationalError):
            psycopg.connect(host="127.0.0.1", port=port, user="tpn2f", dbname="postgres").close()
            return
        time.sleep(0.2)
    pytest.fail("PostgreSQL did not start")


def start_worker(folder: Path, database: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "tpn2f", "tune", "arithmetic", "--folder", str(folder), "--storage", database]
    command += ["--study", "common", "--trials", str(TRIALS), "--pruner", "none"]
    command += ["--search", "training.learning_rate=log 1e-3 1e-2"]
    command += [word for setting in TINY for word in ("--set", setting)]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


@pytest.mark.slow
def test_four_workers_one_killed(database: str, tmp_path: Path) -> None:
    folders = [tmp_path / f"worker-{k}" for k in range(4)]
    workers = [start_worker(folder, database) for folder in folders]
    # It is killed in the middle of a trial: there is something saved, and more to do.
    while not list(folders[0].glob("trial-*/checkpoints/last")) and workers[0].poll() is None:
        time.sleep(0.01)
    workers[0].kill()
    workers[0].communicate()
    workers[0] = start_worker(folders[0], database)
    for worker in workers:
        _, told = worker.communicate()
        assert worker.returncode == 0, told.decode()
    storage = optuna.storages.RDBStorage(database)
    trials = optuna.load_study(study_name="common", storage=storage).trials
    # A connection of the pool that nobody closes is a warning, and warnings are errors.
    storage.remove_session()
    storage.engine.dispose()
    counted = [trial for trial in trials if not trial.user_attrs.get("void")]
    assert [trial.state.name for trial in counted] == ["COMPLETE"] * TRIALS
    assert len({tuple(trial.params.items()) for trial in counted}) == TRIALS
    # What was given back, because two workers saw the last free place, was never begun.
    assert all(trial.state.name == "FAIL" and not trial.params for trial in trials if trial not in counted)
    places = [path for folder in folders for path in folder.glob("trial-*/checkpoints/best")]
    assert sorted(int(path.parents[1].name.removeprefix("trial-")) for path in places) == sorted(
        trial.number for trial in counted
    )
    assert all(read_checkpoint(path).state for path in places)
