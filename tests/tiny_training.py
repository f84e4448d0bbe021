"""A training that takes no time, and the scripts of benchmarks/ as modules."""

import importlib.util
from functools import cache
from pathlib import Path
from types import ModuleType

from conftest import unchecked
from tpn2f.config import load_config
from tpn2f.domain import Splits, load_domain
from tpn2f.training import Trainer

ROOT = Path(__file__).parent.parent
TINY = """
name = "tiny"
[data]
domain = "arithmetic"
limit = 40
[model]
n_fillers = 7
d_filler = 4
n_roles = 5
d_role = 3
d_word = 6
d_relation = 3
d_argument = 4
d_position = 3
d_symbol = 5
[training]
epochs = 2
batch_size = 20
evaluate_examples = 5
"""


@cache
def arithmetic_splits() -> Splits:
    made = Splits(load_domain("arithmetic"))
    with unchecked():
        for split in ("train", "dev"):
            made.take(split)
    return made


def tiny_trainer(folder: Path, *settings: str) -> Trainer:
    """A trainer for the toy domain with the settings above, and others put over them."""
    (folder / "tiny.toml").write_text(TINY)
    splits = arithmetic_splits()
    return Trainer(load_config(folder / "tiny.toml", settings), splits.domain, folder / "run", splits=splits)


@cache
def load_benchmark(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, ROOT / "benchmarks" / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
