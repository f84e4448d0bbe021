"""The tables that are redone: which configs are their rows, and how a trained row is scored once on its test splits.

Training itself is `training.py`; what a prediction is worth is decided in `metrics.py`. A row's report carries what it
cost: epochs, time, weights. Rows of one table learn from the same examples and are chosen by the same rule on dev.
"""

from __future__ import annotations

import os
import platform
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from tpn2f.checkpoint import Checkpoint, read_checkpoint, read_latest
from tpn2f.config import Config, load_config
from tpn2f.domain import Splits
from tpn2f.errors import CheckpointError, DataError
from tpn2f.evaluation import GREEDY, Found, Mode, evaluate_model, search_split
from tpn2f.metrics import Report
from tpn2f.publish.bundle import write_half
from tpn2f.solver import Solver


@dataclass(frozen=True, slots=True)
class Table:
    """A table of the paper, redone, or one of our own beside published rows."""

    rows: Mapping[str, tuple[Mode, ...]]
    """Configs, each `configs/ROW.toml`, and how each is scored."""
    systems: tuple[str, ...]
    """Systems without weights that stand beside them."""
    differences: tuple[str, ...]
    """Where our splits or scorers are not those of the published rows."""
    splits: tuple[str, ...] = ("test",)
    """What its rows are scored on."""
    metric: str = "strict"
    """What is told first of a row."""
    own: str = "tpn2f"
    """What the row with the table's own name is called in the names of its reports; it may be nothing."""


TABLES = {
    "mathqa": Table(
        {
            "mathqa": (GREEDY, Mode(5), Mode(5, options=True)),
            "mathqa-24": (GREEDY, Mode(5)),
            "mathqa-grounded": (GREEDY, Mode(5), Mode(5, options=True)),
            "mathqa-lstm2tp": (GREEDY, Mode(5)),
            "mathqa-tp2lstm": (GREEDY, Mode(5)),
            "mathqa-lstm2lstm": (GREEDY, Mode(5)),
            "mathqa-lstm2lstm-100": (GREEDY, Mode(5)),
            "mathqa-paper": (GREEDY,),
        },
        ("retrieval", "gold", "empty"),
        (
            "The test split is the public one (2,985 problems).",
            "Strict is exact equality of operation sequences, of any length.",
            "`published` is the authors' execution scorer written anew; it gives an empty answer 20 %.",
            "`value` and `nearest_option` are scorers of ours.",
            "Numbers in the text are n0, n1, ... for all rows; the published code keeps the numerals.",
            "`mathqa` and `mathqa-grounded` had 50 epochs, the rows of the ablation 24: `mathqa-24` is TP-N2F there.",
            "Every row keeps the weights that were best on dev; the paper names no selection.",
        ),
    ),
    "algolisp": Table(
        {
            "algolisp": (GREEDY,),
            "algolisp-lstm2tp": (GREEDY,),
            "algolisp-grounded": (GREEDY,),
            "algolisp-tp2lstm": (GREEDY,),
            "algolisp-lstm2lstm": (GREEDY,),
            "algolisp-seq2tree": (GREEDY,),
            "algolisp-saps": (GREEDY,),
            "algolisp-generated": (GREEDY, Mode(10), Mode(10, tests=3)),
        },
        ("retrieval", "gold"),
        (
            "The training file of 79,214 records is unavailable: all rows learn from a part of the dev file.",
            "The row `algolisp-generated` also learns from records that were generated from that part.",
            "The rows `algolisp-seq2tree` and `algolisp-saps` are re-implementations: no code of either was published.",
            "The cleaned test set holds the records whose gold program passes its tests under our evaluator.",
        ),
    ),
    "everyday": Table(
        {"everyday": (GREEDY, Mode(5, guided=True)), "everyday-minilm": (GREEDY, Mode(5, guided=True))},
        (),
        (
            "A guided beam passes over programs whose value cannot be the answer, such as half a child.",
            "An answer is right within 0.5 %; for MathQA, `solved` means that the nearest option is the right one.",
            "The published rows learn from MAWPS and ASDiv-A. Ours learns from neither.",
            "Published MAWPS scores are means of five folds of MAWPS; ours are of one test file of 238 problems.",
            "Near duplicates of SVAMP, MAWPS test and GSM8K test are not in training.",
        ),
        splits=("svamp", "mawps-test", "gsm8k-test", "mathqa-test", "mathqa-challenge", "generated-test"),
        metric="answer",
        own="",
    ),
}


def row_config(configs: Path, row: str, settings: Sequence[str] = ()) -> Config:
    """The config of a row. Raises ConfigError for one that is not there."""
    return load_config(configs / f"{row}.toml", settings)


def training_facts(run: Path) -> dict[str, Any]:
    """What a run has cost so far, and which weights are its best."""
    found = read_latest(run / "checkpoints")
    if found is None:
        raise DataError(f"{run} has no checkpoint: it was not trained yet")
    best = read_checkpoint(run / "checkpoints" / "best")
    try:
        return _facts(found[0], best)
    except (KeyError, TypeError, AttributeError) as error:
        raise CheckpointError(f"{run}: its checkpoints do not say what it has cost: {error!r}") from error


def _facts(latest: Checkpoint, best: Checkpoint) -> dict[str, Any]:
    last = latest.state["standing"]
    return {
        "epochs": last["epoch"],
        "finished": last["finished"],
        "best_epoch": best.state["standing"]["epoch"],
        "best_dev": round(best.state["standing"]["best"], 4),
        "steps": last["step"],
        "hours": round(last["seconds"] / 3600, 2),
        "cpu_hours": None if (worked := last.get("cpu_seconds")) is None else round(worked / 3600, 2),
        "weights": sum(tensor.numel() for tensor in best.tensors["model"].values()),
        "machine": _machine(),
        "config": best.state["config"],
        "data_sha256": best.state.get("data_sha256"),
    }


def score_row(
    run: Path,
    row: str,
    modes: Sequence[Mode],
    names: Sequence[str] = ("test",),
    data: Path | None = None,
    progress: Callable[[str, int, int], None] = lambda split, done, total: None,
    trust: bool = False,
) -> Iterator[tuple[str, Mode, Report]]:
    """Scores the halved best weights of a run on splits: what is reported is what would be shipped.

    Modes of the same width share a search.
    """
    # Before the first report is written, which may be a change of the tree.
    commit = _commit()
    training = training_facts(run)
    solver = Solver.load(write_half(run), data, trust=trust)
    splits = Splits(solver.domain)
    for split in names:
        searches: dict[int, Found] = {}
        for mode in modes:
            if mode.width not in searches:
                told = partial(progress, split)
                searches[mode.width] = search_split(solver, splits.take(split), mode, told)
            found = searches[mode.width]
            report, _, _ = evaluate_model(solver, split, row, mode, splits=splits, found=found)
            facts = {**report.facts, "row": row, "training": training, "commit": commit}
            yield split, mode, replace(report, facts=facts)


def report_path(results: Path, table: str, split: str, row: str, mode: Mode = GREEDY) -> Path:
    """Where a row's report belongs: results/mathqa-test-tp2lstm-beam5.json, results/everyday-svamp.json."""
    short = row.removeprefix(f"{table}-") if row != table else TABLES[table].own
    return results / f"{'-'.join(filter(None, (table, split, short)))}{mode.suffix}.json"


def _machine() -> str:
    """What this process runs on: where a row is scored it was trained, unless somebody moved it."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        name = next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "")
    except OSError:
        name = ""
    return f"{name or platform.processor() or platform.machine()}, {os.cpu_count()} cores"


def _commit() -> str:
    """The commit of the working directory, marked when there are changes; empty outside a repository."""
    try:
        done = subprocess.run(
            ["git", "describe", "--always", "--dirty"], capture_output=True, text=True, check=True, timeout=10
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.strip()
