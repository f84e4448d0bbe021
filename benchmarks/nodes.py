"""Training on several nodes, for real: torchrun in network namespaces of this machine, and what can go wrong there.

    python benchmarks/nodes.py [--only two killed ...]

Every node is a network namespace with an address of its own on a bridge; they share the disk, as nodes of a cluster do.
The losses of two and of three nodes must be those of one process to 1e-6. Then: a node is killed and comes back, a node
never comes, the network is cut for a moment, the network is cut for good and all is started again. Trainings that were
disturbed must end with the weights of the one that was not, and nothing may hang for longer than its time-out. Needs
Linux, root and iproute2. Writes results/benchmark_nodes.json; exits with 1 if anything is not as it should be.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch

from tpn2f.checkpoint import Checkpoint, read_latest

SETTINGS = (
    *("data.limit=240", "training.batch_size=24", "training.epochs=3", "training.evaluate_examples=1"),
    *("training.checkpoint_seconds=0", "training.warmup_steps=0", "training.learning_rate=1e-3"),
    *("model.dropout_words=0", "model.dropout_symbols=0", "model.dropout_hidden=0"),
)
BRIDGE, PREFIX = "tpn2f-br", "tpn2f-n"
MEET, WAIT = 60, 30
"""Seconds: how long nodes wait for each other at the start, and in a step."""
RETRIES = 8
"""How often a message is sent again that nobody confirms, before the kernel gives up: about 100 seconds."""
LONGEST = 1800.0
"""Seconds after which anything hangs, on a machine that has other work, too."""


class Wrong(Exception):
    """Something is not as it should be."""


class Cluster:
    """Namespaces on a bridge, and what runs in them."""

    def __init__(self, size: int, folder: Path) -> None:
        self.size, self.folder = size, folder
        self.nodes: dict[int, subprocess.Popen[bytes]] = {}

    def start(self, node: int, nodes: int, run: Path) -> None:
        """torchrun on a node, as the page says it."""
        meeting = f"is_host={int(node == 1)},join_timeout={MEET},last_call_timeout=1,close_timeout=10"
        command = [
            *("ip", "netns", "exec", f"{PREFIX}{node}", sys.executable, "-m", "torch.distributed.run"),
            *("--nnodes", str(nodes), "--nproc-per-node", "1", "--max-restarts", "3"),
            *("--rdzv-id", run.name, "--rdzv-backend", "c10d", "--rdzv-endpoint", f"{address(1)}:29400"),
            *("--rdzv-conf", meeting, "--local-addr", address(node)),
            *train(run),
        ]
        own = {"GLOO_SOCKET_IFNAME": "eth0", "TORCH_DISABLE_SHARE_RDZV_TCP_STORE": "1", "TPN2F_WAIT": str(WAIT)}
        log = (self.folder / f"{run.name}-{node}.log").open("ab")
        self.nodes[node] = subprocess.Popen(
            command, env=environment(own), stdout=log, stderr=log, start_new_session=True
        )

    def kill(self, node: int) -> None:
        """The node is gone at once, with all that ran on it."""
        found = subprocess.run(["ip", "netns", "pids", f"{PREFIX}{node}"], capture_output=True, text=True, check=True)
        for pid in found.stdout.split():
            os.kill(int(pid), signal.SIGKILL)
        self.nodes.pop(node).wait()

    def cut(self, node: int, connected: bool) -> None:
        """The cable of a node, as the bridge has it."""
        ip("link", "set", f"{PREFIX}{node}", "up" if connected else "down")

    def wait(self) -> list[int]:
        """The exit codes of all nodes."""
        until = time.monotonic() + LONGEST
        try:
            return [process.wait(until - time.monotonic()) for process in self.nodes.values()]
        except subprocess.TimeoutExpired as error:
            raise Wrong(f"something hangs for longer than {LONGEST:g} s") from error
        finally:
            for node in list(self.nodes):
                self.kill(node)


def ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True)


def address(node: int) -> str:
    return f"10.77.0.{node}"


@contextmanager
def cluster(size: int, folder: Path) -> Iterator[Cluster]:
    """Nodes that can reach each other and nobody else; they are taken away afterwards."""
    made: list[tuple[str, ...]] = []
    try:
        ip("link", "add", BRIDGE, "type", "bridge")
        made.append(("link", "del", BRIDGE))
        ip("link", "set", BRIDGE, "up")
        for node in range(1, size + 1):
            name = f"{PREFIX}{node}"
            ip("netns", "add", name)
            made.append(("netns", "del", name))
            ip("link", "add", name, "type", "veth", "peer", "name", "eth0", "netns", name)
            # The kernel takes a namespace away when it likes, and its cable with it; the next case needs the name now.
            made.append(("link", "del", name))
            ip("link", "set", name, "master", BRIDGE, "up")
            ip("-n", name, "addr", "add", f"{address(node)}/24", "dev", "eth0")
            ip("-n", name, "link", "set", "eth0", "up")
            ip("-n", name, "link", "set", "lo", "up")
            # Otherwise torchrun itself waits on a cable that is out for as long as the kernel does: 15 minutes.
            ip("netns", "exec", name, "sh", "-c", f"echo {RETRIES} > /proc/sys/net/ipv4/tcp_retries2")
        nodes = Cluster(size, folder)
        yield nodes
        nodes.wait()
    finally:
        for words in reversed(made):
            ip(*words)


def environment(more: dict[str, str]) -> dict[str, str]:
    return {**os.environ, "OMP_NUM_THREADS": "1", **more}


def train(run: Path) -> list[str]:
    words = ["-m", "tpn2f", "train", "arithmetic", "--folder", str(run), "--resume"]
    return words + [word for setting in SETTINGS for word in ("--set", setting)]


def last(run: Path) -> Checkpoint:
    found = read_latest(run / "checkpoints")
    if found is None:
        raise Wrong(f"{run.name} left no checkpoint")
    return found[0]


def step_of(run: Path) -> int:
    try:
        return json.loads((run / "checkpoints" / "last" / "state.json").read_text())["standing"]["step"]
    except (OSError, ValueError):
        return 0


def reach(run: Path, step: int) -> None:
    """Waits until a training has saved so many steps."""
    until = time.monotonic() + LONGEST
    while step_of(run) < step:
        if time.monotonic() > until:
            raise Wrong(f"{run.name} did not come to step {step}")
        time.sleep(0.02)


def losses(run: Path) -> list[float]:
    return [json.loads(line)["loss"] for line in (run / "metrics.jsonl").read_text().splitlines()]


def finished(run: Path) -> Checkpoint:
    found = last(run)
    if not found.state["standing"]["finished"]:
        raise Wrong(f"{run.name} did not finish")
    return found


def difference(one: Path, other: Path) -> dict[str, float]:
    """How far two finished trainings are apart: losses relatively, weights absolutely."""
    first, second = finished(one).tensors, finished(other).tensors
    apart = max(
        float((tensor.double() - second[group][name].double()).abs().max())
        for group, tensors in first.items()
        for name, tensor in tensors.items()
    )
    pairs = zip(losses(one), losses(other), strict=True)
    return {"losses": max(abs(a - b) / abs(a) for a, b in pairs), "weights": apart}


def all_zero(codes: list[int]) -> None:
    if any(codes):
        raise Wrong(f"torchrun ended with {codes}")


def straight(folder: Path, nodes: int, name: str) -> dict[str, Any]:
    run = folder / name
    with cluster(nodes, folder) as some:
        for node in range(1, nodes + 1):
            some.start(node, nodes, run)
        all_zero(some.wait())
    found = difference(folder / "one", run)
    if found["losses"] > 1e-6:
        raise Wrong(f"the losses of {nodes} nodes differ from those of one process: {found}")
    return {"nodes": nodes, "against one process": found}


def same_as_two(folder: Path, run: Path) -> dict[str, Any]:
    found = difference(folder / "two", run)
    if found["losses"] or found["weights"]:
        raise Wrong(f"{run.name} is not what it is undisturbed: {found}")
    return {"against two nodes undisturbed": found}


def two(folder: Path) -> dict[str, Any]:
    return straight(folder, 2, "two")


def three(folder: Path) -> dict[str, Any]:
    return straight(folder, 3, "three")


def killed(folder: Path) -> dict[str, Any]:
    """The second node is killed in mid-training, and comes back."""
    run = folder / "killed"
    with cluster(2, folder) as some:
        some.start(1, 2, run)
        some.start(2, 2, run)
        reach(run, 5)
        some.kill(2)
        at = step_of(run)
        time.sleep(5)
        some.start(2, 2, run)
        all_zero(some.wait())
    return {"killed_at_step": at, **same_as_two(folder, run)}


def missing(folder: Path) -> dict[str, Any]:
    """The second node never comes."""
    run = folder / "missing"
    started = time.monotonic()
    with cluster(2, folder) as some:
        some.start(1, 2, run)
        codes = some.wait()
    took = time.monotonic() - started
    if codes == [0] or step_of(run):
        raise Wrong("one node trained alone, though two were wanted")
    return {"time_out": MEET, "ended_after": round(took, 1), "exit_codes": codes}


def moment(folder: Path) -> dict[str, Any]:
    """The cable is out for some seconds in mid-training: the training waits, and goes on."""
    run = folder / "moment"
    with cluster(2, folder) as some:
        some.start(1, 2, run)
        some.start(2, 2, run)
        reach(run, 5)
        some.cut(2, connected=False)
        at = step_of(run)
        time.sleep(4)
        some.cut(2, connected=True)
        all_zero(some.wait())
    return {"cut_at_step": at, "for_seconds": 4, **same_as_two(folder, run)}


def cut(folder: Path) -> dict[str, Any]:
    """The cable is out for good: both nodes give up in time. Started again, they finish."""
    run = folder / "cut"
    with cluster(2, folder) as some:
        some.start(1, 2, run)
        some.start(2, 2, run)
        reach(run, 5)
        some.cut(2, connected=False)
        at, started = step_of(run), time.monotonic()
        codes = some.wait()
        took = time.monotonic() - started
        some.cut(2, connected=True)
        if not all(codes):
            raise Wrong(f"a node ended with {codes}, though it was alone")
        some.start(1, 2, run)
        some.start(2, 2, run)
        all_zero(some.wait())
    return {"cut_at_step": at, "gave_up_after": round(took, 1), "time_out": WAIT, **same_as_two(folder, run)}


CASES: dict[str, Callable[[Path], dict[str, Any]]] = {
    case.__name__: case for case in (two, three, killed, missing, moment, cut)
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="*", choices=CASES, default=list(CASES))
    parser.add_argument("--folder", type=Path, default=None, help="where to keep runs and logs; default: nowhere")
    parser.add_argument("--out", type=Path, default=Path("results/benchmark_nodes.json"))
    options = parser.parse_args()
    torch.set_num_threads(1)
    result: dict[str, Any] = {"what": "torchrun in network namespaces, one process a node", "settings": SETTINGS}
    wrong = 0
    with TemporaryDirectory() as name:
        folder = options.folder or Path(name)
        folder.mkdir(parents=True, exist_ok=True)
        if not (folder / "one").exists():
            subprocess.run([sys.executable, *train(folder / "one")], env=environment({}), check=True)
        result["steps"] = step_of(folder / "one")
        for case in options.only:
            started = time.monotonic()
            try:
                result[case] = {"ok": True, **CASES[case](folder)}
            except Wrong as error:
                result[case], wrong = {"ok": False, "wrong": str(error)}, wrong + 1
            result[case]["seconds"] = round(time.monotonic() - started, 1)
            print(case, json.dumps(result[case]), flush=True)
    options.out.write_text(json.dumps(result, indent=2) + "\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
