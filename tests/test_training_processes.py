"""Several processes: the shares are the whole, alone nothing happens, and the device decides how processes talk."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import distributed

from tpn2f.errors import ConfigError, N2FError
from tpn2f.training import processes as module
from tpn2f.training.processes import MEET, WAIT, Processes, join_processes, patience


@given(st.lists(st.integers(), max_size=30), st.integers(1, 7))
def test_the_shares_are_the_whole_and_of_one_size(items: list[int], size: int) -> None:
    shares = [Processes(rank, size).share(items) for rank in range(size)]
    assert sorted(item for share in shares for item in share) == sorted(items)
    assert max(map(len, shares)) - min(map(len, shares)) <= 1


def test_alone_nothing_is_summed_or_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("WORLD_SIZE", raising=False)
    numbers = torch.tensor([1.0, 2.0])
    with join_processes(torch.device("cpu")) as processes:
        processes.sum(numbers)
        processes.wait()
        assert processes == Processes(0, 1) and processes.leads
    assert numbers.tolist() == [1.0, 2.0]


@pytest.mark.parametrize(("device", "expected"), [(None, "gloo"), ("cpu", "gloo"), ("cuda:1", "nccl")])
def test_the_device_decides_how_processes_talk(
    monkeypatch: pytest.MonkeyPatch, device: str | None, expected: str
) -> None:
    said: list[object] = []
    monkeypatch.setenv("WORLD_SIZE", "2")
    monkeypatch.setattr(torch.cuda, "set_device", said.append)
    monkeypatch.setattr(distributed, "init_process_group", lambda backend, **more: said.append((backend, more)))
    monkeypatch.setattr(distributed, "destroy_process_group", lambda: said.append("left"))
    monkeypatch.setattr(distributed, "get_rank", lambda: 1)
    monkeypatch.setattr(distributed, "get_world_size", lambda: 2)
    monkeypatch.setattr(module, "rendezvous", lambda *_, **__: iter([("store", 1, 2)]))
    monkeypatch.setattr(distributed, "group", SimpleNamespace(WORLD=SimpleNamespace(set_timeout=said.append)))
    place = None if device is None else torch.device(device)
    with join_processes(place) as processes:
        assert processes == Processes(1, 2) and not processes.leads
    own = [place, (expected, {"device_id": place})]
    if expected == "gloo":
        own = [(expected, {"store": "store", "rank": 1, "world_size": 2, "timeout": MEET}), WAIT]
    assert said == [*own, "left"]


def test_processes_that_do_not_meet_say_so_in_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise RuntimeError("timed out\nand more")

    monkeypatch.setenv("WORLD_SIZE", "2")
    monkeypatch.setattr(module, "rendezvous", fail)
    with pytest.raises(N2FError, match=r"^the processes did not connect within 90 s: timed out$"), join_processes():
        pass


@pytest.mark.parametrize(("told", "seconds"), [("", WAIT.seconds), ("20", 20), ("999999", 999_999)])
def test_how_long_processes_wait_can_be_said(monkeypatch: pytest.MonkeyPatch, told: str, seconds: int) -> None:
    monkeypatch.setenv("TPN2F_WAIT", told)
    assert patience().total_seconds() == seconds


@pytest.mark.parametrize("told", ["soon", "0", "-1", "1e3", "9" * 20])
def test_a_wait_that_is_none_is_refused(monkeypatch: pytest.MonkeyPatch, told: str) -> None:
    monkeypatch.setenv("TPN2F_WAIT", told)
    with pytest.raises(ConfigError, match="expected seconds, such as 120"):
        patience()


def test_a_process_that_is_gone_is_told_in_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise RuntimeError("Connection closed by peer\nand more")

    monkeypatch.setattr(distributed, "all_reduce", fail)
    monkeypatch.setattr(distributed, "barrier", fail)
    told = r"^the other processes are not heard any more: Connection closed by peer; the last checkpoint is whole$"
    with pytest.raises(N2FError, match=told):
        Processes(0, 2).sum(torch.zeros(2))
    with pytest.raises(N2FError, match=told):
        Processes(0, 2).wait()
