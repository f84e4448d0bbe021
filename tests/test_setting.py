"""What a checkpoint says of its model: nothing in it is believed, and no code that it names is run unasked."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from conftest import Run
from test_cli import assert_fails
from test_solver import CONFIG, checkpoint
from tpn2f.checkpoint import Checkpoint, read_checkpoint, write_checkpoint
from tpn2f.codec import Codec
from tpn2f.domain import load_domain
from tpn2f.errors import CheckpointError, DataError, DivergedError, N2FError
from tpn2f.publish.bundle import write_bundle
from tpn2f.setting import make_model
from tpn2f.solution import GUESS
from tpn2f.solver import Solver
from tpn2f.trust.belief import probability

BELIEF = {"names": [], "means": [], "deviations": [], "weights": [], "bias": 0.5}
EVIL = """
from pathlib import Path
Path(__file__).with_name("pwned").write_text("")
from tpn2f.domains.arithmetic import Arithmetic as Evil
from tpn2f.model import Model as EvilModel
"""


@pytest.fixture(scope="module")
def solver() -> Solver:
    domain = load_domain("arithmetic")
    codec = Codec.build(list(domain.examples("train"))[:100])
    torch.manual_seed(0)
    return Solver(domain, codec, make_model(CONFIG, codec).eval())


@pytest.fixture
def stranger(solver: Solver, tmp_path: Path) -> Callable[..., Path]:
    """A run directory of somebody else, whose state is changed at will."""

    def make(**changes: Any) -> Path:
        made = checkpoint(solver)
        state = json.loads(json.dumps(dict(made.state)))
        for path, value in changes.items():
            *way, last = path.split("__")
            inner = state
            for key in way:
                inner = inner[key]
            inner[last] = value
        run = tmp_path / "stranger"
        write_checkpoint(run / "checkpoints" / "best", Checkpoint(made.tensors, state, made.texts))
        return run

    return make


@pytest.fixture
def evil(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file whose code leaves a trace, in the working directory and on the path of modules."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    path = tmp_path / "evil_lights.py"
    path.write_text(EVIL)
    return path


SPECS = ["evil_lights.py:Evil", "evil_lights.py", "evil_lights:Evil", "ABSOLUTE"]


@pytest.mark.parametrize("spec", SPECS)
@pytest.mark.parametrize("key", ["config__data__domain", "config__model__variant"])
def test_a_models_own_code_is_not_run_unasked(stranger, evil: Path, key: str, spec: str) -> None:
    spec = f"{evil}:Evil" if spec == "ABSOLUTE" else spec
    run = stranger(**{key: spec})
    with pytest.raises(N2FError, match=r"names code as its .*not run unasked|no model variant is called") as caught:
        Solver.load(run)
    assert "\n" not in str(caught.value) and not evil.with_name("pwned").exists()


def test_a_domain_is_loaded_by_who_names_or_trusts_it(stranger, evil: Path) -> None:
    run = stranger(config__data__domain="evil_lights.py:Evil")
    assert Solver.load(run, domain="arithmetic").domain.name == "arithmetic"
    assert not evil.with_name("pwned").exists()
    assert Solver.load(run, domain="evil_lights.py:Evil").domain.name == "arithmetic"
    assert evil.with_name("pwned").exists()
    assert Solver.load(run, trust=True).domain.name == "arithmetic"


def test_a_named_domain_trusts_no_variant(stranger, evil: Path) -> None:
    run = stranger(config__model__variant="evil_lights.py:EvilModel")
    with pytest.raises(CheckpointError, match="model variant"):
        Solver.load(run, domain="arithmetic")
    assert not evil.with_name("pwned").exists()
    assert type(Solver.load(run, trust=True).model).__name__ == "Model"


COMMANDS: list[list[str]] = [
    ["solve", "What is 3 plus 4?", "--model", "RUN"],
    ["evaluate", "--model", "RUN", "--limit", "5"],
    ["explain", "What is 3 plus 4?", "--model", "RUN"],
    ["calibrate", "RUN"],
    ["export", "RUN", "onnx"],
    ["bundle", "RUN", "mine", "--to", "bundled"],
    ["demo", "--model", "RUN"],
]


@pytest.mark.parametrize("command", COMMANDS, ids=lambda words: words[0])
def test_no_command_runs_a_strangers_code(tpn2f: Run, stranger, nowhere: Path, command: list[str]) -> None:
    (nowhere / "evil_lights.py").write_text(EVIL)
    run = stranger(config__data__domain="evil_lights.py:Evil")
    assert_fails(tpn2f(*(run if word == "RUN" else word for word in command)), "not run unasked", "--trust")
    assert not (nowhere / "pwned").exists()


def test_a_card_runs_no_domain(stranger, evil: Path, tmp_path: Path) -> None:
    write_bundle(stranger(config__data__domain="evil_lights.py:Evil"), "mine", [], tmp_path / "bundled")
    assert not evil.with_name("pwned").exists()


# Hostile content


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"config": []}, "the config is list; expected a table"),
        ({"config": "x"}, "the config is str; expected a table"),
        ({"config__model": 3}, "model is a table, got 3"),
        ({"config__name": "../../x"}, "expected a plain name"),
        ({"config__model__n_fillers": 10**9}, "has the shape"),
        ({"config__model__n_fillers": 2**31}, "below 2^31"),
        ({"config__model__n_fillers": 10**400}, "n_fillers is "),
        ({"config__model__d_filler": 2**31 - 1, "config__model__d_role": 2**31 - 1}, "make no model"),
        ({"config__model__reasoning_layers": 10**9}, "expected from 1 to 100"),
        ({"config__model__embedding_scale": float("nan")}, "expected a finite number"),
        ({"config__model__embedding_scale": 10**400}, "expected a finite number"),
        ({"longest": -1}, "longest is -1; expected 1 to 1,024"),
        ({"longest": 10**9}, "longest is 1000000000; expected"),
        ({"longest": 10**4000}, "longest is 1000"),
        ({"longest": True}, "longest is True"),
        ({"longest": 2.5}, "longest is 2.5"),
        ({"longest": None}, "longest is None"),
        ({"n_positions": 0}, "n_positions is 0; expected 1 to 64"),
        ({"n_positions": 10**6}, "n_positions is 1000000"),
        ({"temperature": float("nan")}, "temperature is 'nan'; expected a number above 0"),
        ({"temperature": True}, "temperature is 'True'"),
        ({"temperature": 10**400}, "temperature is '1000"),
        ({"temperature": 1e-320}, "temperature is"),
        ({"config__data__domain": "nobody"}, "no domain is called 'nobody'"),
    ],
)
def test_a_state_is_not_believed(stranger, changes: dict[str, Any], expected: str) -> None:
    with pytest.raises(N2FError) as caught:
        Solver.load(stranger(**changes))
    assert expected in str(caught.value) and "\n" not in str(caught.value)


def test_sizes_cost_no_memory_before_they_are_known_to_fit(stranger, monkeypatch: pytest.MonkeyPatch) -> None:
    """A model of these sizes would have 10^14 weights; one of the checkpoint's has a few thousand."""
    from tpn2f import setting

    built = []

    def watched(*arguments: Any) -> torch.nn.Module:
        built.append(make_model(*arguments))
        return built[-1]

    monkeypatch.setattr(setting, "make_model", watched)
    with pytest.raises(CheckpointError, match="has the shape"):
        Solver.load(stranger(config__model__d_word=10**7, config__model__d_symbol=10**7))
    assert [next(model.parameters()).device.type for model in built] == ["meta"]


def test_weights_that_compute_no_numbers_are_one_line(solver: Solver, tmp_path: Path) -> None:
    made = checkpoint(solver)
    huge = {name: torch.full_like(tensor, 3e38) for name, tensor in made.tensors["model"].items()}
    write_checkpoint(tmp_path / "best", Checkpoint({"model": huge}, made.state, made.texts))
    broken = Solver.load(tmp_path / "best")
    for width in (1, 3):
        with pytest.raises(DivergedError, match="the model computes no numbers"):
            broken.solve("What is 3 plus 4?", width=width)


def test_a_confidence_is_a_probability_whatever_the_numbers() -> None:
    for log_probability in (float("nan"), float("-inf"), float("inf"), 1e-3, 1e6, 0.0, -1e-9):
        assert 0.0 <= probability(log_probability, 1e-5) <= 1.0


HUGE = {"names": ["a", "b"], "means": [0, 0], "deviations": [1e-300, 1], "weights": [1e308, -1e308], "bias": 1e308}


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"belief": None}, "belief cannot be read"),
        ({"belief": HUGE}, "a finite number per name"),
        ({"belief": HUGE | {"weights": [10**400, 0]}}, "belief cannot be read"),
        ({"belief": {"names": [], "means": [], "deviations": [], "weights": [], "bias": "nan"}}, "finite number"),
        ({"belief": BELIEF, "guess_below": "x"}, "guess_below is x; expected a number from 0 to 1"),
        ({"belief": BELIEF, "guess_below": float("nan")}, "guess_below is nan"),
        ({"belief": BELIEF, "guess_below": None}, "guess_below is None"),
    ],
)
def test_a_belief_is_not_believed(stranger, changes: dict[str, Any], expected: str) -> None:
    with pytest.raises(CheckpointError) as caught:
        Solver.load(stranger(**changes))
    assert expected in str(caught.value) and "\n" not in str(caught.value)


def test_a_belief_without_signals_is_one(stranger) -> None:
    assert Solver.load(stranger(belief=BELIEF)).guess_below == GUESS


@pytest.mark.parametrize(
    ("field", "known", "expected"),
    [
        (torch.zeros(1 << 23, dtype=torch.uint8), "", "expected a row of bytes"),
        (torch.zeros(8), "", "expected a row of bytes"),
        (torch.zeros(8, dtype=torch.uint8), "a\n" * 100_000, "has 100,000 questions; expected at most"),
        (torch.zeros(8, dtype=torch.uint8), "a" * 10_000, "of at most 701 characters each"),
    ],
)
def test_a_memory_is_small(solver: Solver, tmp_path: Path, field: torch.Tensor, known: str, expected: str) -> None:
    made = checkpoint(solver)
    tensors = {**made.tensors, "memory": {"runs": field}}
    write_checkpoint(tmp_path / "best", Checkpoint(tensors, made.state, {**made.texts, "known.txt": known}))
    with pytest.raises(CheckpointError, match=expected):
        Solver.load(tmp_path / "best")


@pytest.mark.parametrize(
    ("keys", "counts", "known", "expected"),
    [
        (torch.zeros(4), torch.ones(4, dtype=torch.int32), "", "no rows of whole numbers"),
        (torch.zeros(4, dtype=torch.int32), torch.ones(3, dtype=torch.int32), "", "4 hashes"),
        (torch.zeros(4, dtype=torch.int32), torch.tensor([5, -1], dtype=torch.int32), "", "do not add up"),
        (torch.zeros(4, dtype=torch.int32), torch.zeros(50_000, dtype=torch.int32), "", "do not add up"),
        (torch.zeros(4, dtype=torch.int32), torch.full((2,), 2, dtype=torch.int32), "a\tb\n\tc\n", "expected 2"),
        (torch.zeros(2, dtype=torch.int32), torch.full((1,), 2, dtype=torch.int32), "\tb\na\n", "behind the questions"),
    ],
)
def test_hashes_fit_the_programs(solver: Solver, tmp_path: Path, keys, counts, known: str, expected: str) -> None:
    made = checkpoint(solver)
    memory = {"runs": torch.zeros(8, dtype=torch.uint8), "keys": keys, "counts": counts}
    texts = {**made.texts, "known.txt": known}
    write_checkpoint(tmp_path / "best", Checkpoint({**made.tensors, "memory": memory}, made.state, texts))
    with pytest.raises(CheckpointError, match=expected):
        Solver.load(tmp_path / "best")


def test_a_model_that_is_loaded_brings_no_compiler(stranger) -> None:
    load = f"import sys; from tpn2f import Solver; Solver.load({str(stranger())!r})"
    code = f"{load}; sys.exit('torch._dynamo' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_setting_that_computes_no_numbers_is_one_line(stranger) -> None:
    """Selections this sharp are no numbers, and then every symbol is as good as those that are allowed."""
    broken = Solver.load(stranger(config__model__temperature=1e-320))
    for width in (1, 2):
        with pytest.raises(DivergedError, match="the model computes no numbers"):
            broken.solve("What is 3 plus 4?", width=width)


@pytest.mark.parametrize("standing", [None, [], {"seconds": "x"}, {"epoch": {}, "seconds": []}])
def test_a_bundle_of_hostile_facts_is_one_line(stranger, tmp_path: Path, standing: object) -> None:
    with pytest.raises(DataError, match="no card can be made") as caught:
        write_bundle(stranger(standing=standing), "mine", [], tmp_path / "bundled")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["../mine", "/tmp/mine", ".mine", "a/b", ""])
def test_a_bundle_stays_in_its_folder(stranger, tmp_path: Path, name: str) -> None:
    with pytest.raises(DataError, match="cannot be the name of a bundled model"):
        write_bundle(stranger(), name, [], tmp_path / "bundled")


def test_a_bundle_overwrites_nothing_that_a_manifest_names(stranger, tmp_path: Path) -> None:
    run = stranger()
    victim = tmp_path / "victim"
    victim.write_text("mine")
    best = run / "checkpoints" / "best"
    manifest = json.loads((best / "manifest.json").read_text())
    manifest["files"]["../../../victim"] = manifest["files"]["words.txt"]
    (best / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(CheckpointError, match="plain names"):
        write_bundle(run, "mine", [], tmp_path / "bundled")
    assert victim.read_text() == "mine"


def test_a_calibration_that_is_killed_leaves_a_model(stranger) -> None:
    run = stranger()
    best = run / "checkpoints" / "best"
    best.rename(best.with_name(".best-old"))
    assert Solver.load(run).domain.name == "arithmetic"
    assert read_checkpoint(best).texts


def test_mutants_are_refused_or_loaded_and_nothing_else(tmp_path: Path) -> None:
    """A few; `benchmarks/fuzz_checkpoints.py` takes a hundred thousand."""
    path = Path(__file__).parents[1] / "benchmarks" / "fuzz_checkpoints.py"
    spec = importlib.util.spec_from_file_location("fuzz_checkpoints", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    outcomes, failures = module.fuzz(tmp_path, 150, seed=5)
    assert failures == []
    assert outcomes.total() == 150 and any("loaded" in name or "answered" in name for name in outcomes)
