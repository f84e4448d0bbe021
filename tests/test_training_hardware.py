"""Devices and precision: what the machine lacks is refused, and 16 bits come near to 32."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from test_training_loop import CONFIG, MODEL, TRAINING, make_trainer
from tpn2f.errors import ConfigError
from tpn2f.model import systems
from tpn2f.training import hardware as module
from tpn2f.training.hardware import Hardware, choose_hardware

CPU = torch.device("cpu")


def test_auto_takes_what_there_is() -> None:
    expected = "cuda" if torch.cuda.is_available() else "cpu"
    assert choose_hardware().device.type == expected
    assert choose_hardware("cpu") == Hardware(CPU, "float32")


@pytest.mark.skipif(torch.cuda.is_available(), reason="this machine has a GPU")
@pytest.mark.parametrize(
    ("device", "precision", "message"),
    [
        ("gpu", "float32", "training.device is 'gpu'; expected auto, cpu, cuda"),
        ("cuda", "float32", "training.device is 'cuda', which this machine lacks; it has cpu"),
        ("cuda:3", "bf16", "training.device is 'cuda:3', which this machine lacks"),
        ("meta", "float32", "training.device is 'meta', which this machine lacks"),
        ("cpu", "tf32", "tf32, which NVIDIA GPUs have .* this would run on cpu: expected float32 or bf16"),
    ],
)
def test_what_the_machine_lacks_is_refused(device: str, precision: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        choose_hardware(device, precision)


def test_a_process_takes_the_gpu_of_its_place(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    assert module._choose_gpu(torch.device("cuda")) == torch.device("cuda:0")
    assert module._choose_gpu(torch.device("cuda:1")) == torch.device("cuda:1")
    monkeypatch.setenv("LOCAL_RANK", "1")
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "2")
    assert module._choose_gpu(torch.device("cuda")) == torch.device("cuda:1")
    with pytest.raises(ConfigError, match="2 processes share the machine: expected cuda"):
        module._choose_gpu(torch.device("cuda:1"))
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "3")
    with pytest.raises(ConfigError, match="3 processes need one GPU each, but the machine has 2"):
        module._choose_gpu(torch.device("cuda"))


@pytest.mark.parametrize("precision", ["tf32", "bf16"])
def test_products_are_rounded_within_a_step_only(precision: str) -> None:
    before = torch.get_float32_matmul_precision()
    with Hardware(torch.device("cuda"), precision).rounded():
        assert torch.get_float32_matmul_precision() == "high"
    assert torch.get_float32_matmul_precision() == before
    with Hardware(CPU, precision).rounded():
        assert torch.get_float32_matmul_precision() == before


def test_float32_is_left_alone() -> None:
    with Hardware(CPU).mixed(), Hardware(CPU).rounded():
        assert not torch.is_autocast_enabled("cpu")
        assert torch.get_float32_matmul_precision() == "highest"


@pytest.mark.parametrize("kernel", ["fused", "reference"])
@pytest.mark.parametrize("system", systems)
def test_the_loss_of_16_bits_is_near_that_of_32(tmp_path: Path, system: str, kernel: str) -> None:
    model = replace(MODEL, kernel=kernel, **systems[system])
    trainer = make_trainer(tmp_path, replace(CONFIG, model=model))
    batch = trainer.codec.batch(trainer.examples[:16])
    losses, gradients = [], []
    for precision in ("float32", "bf16"):
        with Hardware(CPU, precision).mixed():
            loss = trainer.model.loss(*batch)
        assert loss.value.dtype == loss.per_example.dtype == torch.float32
        found = torch.autograd.grad(loss.value, list(trainer.model.parameters()))
        assert all(part.dtype == torch.float32 for part in found)
        losses.append(loss.per_example)
        gradients.append(torch.cat([part.flatten() for part in found]))
    assert not torch.equal(*losses), "16 bits were used"
    assert torch.allclose(*losses, rtol=0.01)
    assert torch.cosine_similarity(*gradients, dim=0) > 0.99


def test_training_in_16_bits_learns_as_well(tmp_path: Path) -> None:
    ends = {}
    for precision in ("float32", "bf16"):
        training = replace(TRAINING, epochs=3, precision=precision)
        trainer = make_trainer(tmp_path / precision, replace(CONFIG, training=training))
        losses = [event.loss for event in trainer.run() if event.kind == "dev"]
        assert losses[-1] < 0.7 * losses[0]
        ends[precision] = losses[-1]
    assert ends["bf16"] != ends["float32"]
    assert ends["bf16"] == pytest.approx(ends["float32"], rel=0.05)
