"""The tables that are redone: which configs are their rows, and how a trained row is scored once on its test splits.

Training itself is `training.py`; what a prediction is worth is decided in `metrics.py`. A row's report carries what it
cost: epochs, time, weights. Rows of one table learn from the same examples and are chosen by the same rule on dev.
"""

from __future__ import annotations

import os
import platform
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from tpn2f.checkpoint import Checkpoint, read_checkpoint, read_latest
from tpn2f.config import Config, load_config, make_config, what_is_learned
from tpn2f.domain import Example, Splits
from tpn2f.errors import CheckpointError, DataError
from tpn2f.evaluation import GREEDY, Found, Mode, evaluate_model, search_split
from tpn2f.metrics import Report
from tpn2f.publish import ablation
from tpn2f.publish.bundle import write_half
from tpn2f.publish.rows import load_result
from tpn2f.publish.variants import variant_config
from tpn2f.solver import Solver

FEW = 40
"""So many questions are answered one by one, to see what an answer costs."""


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
    limit: int = 0
    """How many examples of a split are scored, the first ones; 0 for all."""
    keeps: bool = False
    """Whether a row is left as it is if its reports are there, of the same config."""


TABLES = {
    "mathqa": Table(
        {
            "mathqa": (GREEDY, Mode(5), Mode(5, options=True)),
            "mathqa-60": (GREEDY, Mode(5)),
            "mathqa-60-seed1": (GREEDY, Mode(5)),
            "mathqa-60-seed2": (GREEDY, Mode(5)),
            "mathqa-grounded": (GREEDY, Mode(5), Mode(5, options=True)),
            "mathqa-minilm": (GREEDY, Mode(5), Mode(5, memory=5)),
            "mathqa-lstm2tp": (GREEDY, Mode(5)),
            "mathqa-lstm2tp-seed1": (GREEDY, Mode(5)),
            "mathqa-lstm2tp-seed2": (GREEDY, Mode(5)),
            "mathqa-tp2lstm": (GREEDY, Mode(5)),
            "mathqa-lstm2lstm": (GREEDY, Mode(5)),
            "mathqa-lstm2lstm-100": (GREEDY, Mode(5)),
            "mathqa-24": (GREEDY,),
            "mathqa-24-layers2": (GREEDY,),
            "mathqa-24-layers3": (GREEDY,),
            "mathqa-24-last": (GREEDY,),
            "mathqa-24-lstm2lstm": (GREEDY,),
            "mathqa-24-equal": (GREEDY,),
            "mathqa-24-chained": (GREEDY, Mode(5)),
            "mathqa-60-chained": (GREEDY, Mode(5)),
            "mathqa-60-chained-seed1": (GREEDY, Mode(5)),
            "mathqa-60-chained-seed2": (GREEDY, Mode(5)),
            "mathqa-paper": (GREEDY,),
        },
        ("retrieval", "gold", "empty"),
        (
            "The test split is the public one (2,985 problems).",
            "Strict is exact equality of operation sequences, of any length.",
            "`published` is the authors' execution scorer written anew; it gives an empty answer 20 %.",
            "`value` and `nearest_option` are scorers of ours.",
            "Numbers in the text are n0, n1, ... for all rows; the published code keeps the numerals.",
            "The paper's four systems have 60 epochs at most, and end when dev has not improved for ten:",
            "`mathqa-60` is TP-N2F there. `mathqa`, `mathqa-grounded` and `mathqa-minilm` had 50 epochs.",
            "The ablations of the appendix had 24: `mathqa-24` is what they change.",
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
            "algolisp-generated-grounded": (GREEDY,),
            "algolisp-chained": (GREEDY,),
            "algolisp-chained-once": (GREEDY, Mode(10), Mode(10, tests=3)),
        },
        ("retrieval", "gold"),
        (
            "The training file of 79,214 records is unavailable: all rows learn from a part of the dev file.",
            "`algolisp-generated` also learns from 80,000 records that were generated from that part,",
            "`algolisp-generated-grounded`, `algolisp-chained` and `algolisp-chained-once` from 160,000.",
            "The rows `algolisp-seq2tree` and `algolisp-saps` are re-implementations: no code of either was published.",
            "The cleaned test set holds the records whose gold program passes its tests under our evaluator.",
        ),
    ),
    "everyday": Table(
        {
            "everyday": (GREEDY, Mode(5, guided=True)),
            "everyday-minilm": (GREEDY, Mode(5, guided=True)),
            "everyday-mawps": (GREEDY,),
        },
        (),
        (
            "A guided beam passes over programs whose value cannot be the answer, such as half a child.",
            "An answer is right within 0.5 %; for MathQA, `solved` means that the nearest option is the right one.",
            "The published rows learn from MAWPS and ASDiv-A. Ours learn from neither, but for `everyday-mawps`, which",
            "learns from MAWPS train without near duplicates of what judges, and is not bundled.",
            "Published MAWPS scores are means of five folds of MAWPS; ours are of one test file of 238 problems.",
            "Near duplicates of SVAMP, MAWPS test and GSM8K test are not in training.",
        ),
        splits=(
            "svamp",
            "mawps-test",
            "gsm8k-test",
            "mathqa-test",
            "mathqa-challenge",
            "generated-test",
            "stories-later",
        ),
        metric="answer",
        own="",
    ),
    **{
        ablation.table_name(name): Table(
            dict.fromkeys(ablation.ablation_rows(name), (GREEDY,)),
            (),
            (
                "One seed and a small budget: it compares rows with one another, and none with a row of another table.",
                "The weights are chosen on the splits for dev that the table shows; rows differ by chance, too.",
                "A row that finds the vectors of its texts on disk does not pay for reading them.",
            ),
            splits=task.splits,
            metric=task.metric,
            limit=ablation.FIRST,
            keeps=True,
        )
        for name, task in ablation.TASKS.items()
    },
}
SEVERAL = {"ablation": tuple(map(ablation.table_name, ablation.TASKS))}
"""Names for tables that are made together."""


def row_config(configs: Path, row: str, settings: Sequence[str] = ()) -> Config:
    """The config of a row. Raises ConfigError for one that is not there."""
    if row in ablation.ROWS:
        return ablation.ablation_config(configs, row, settings)
    return variant_config(configs, row, settings) or load_config(configs / f"{row}.toml", settings)


def is_kept(table: str, row: str, config: Config, results: Path) -> bool:
    """Whether a row is left as it is: all its reports are there, and of a finished training with this config."""
    known = TABLES[table]
    places = [report_path(results, table, split, row, mode) for split in known.splits for mode in known.rows[row]]
    if not known.keeps or not all(place.is_file() for place in places):
        return False
    trained = [load_result(results, place.name)["facts"].get("training", {}) for place in places]
    wanted = what_is_learned(config)
    return all(
        facts.get("finished") and what_is_learned(make_config(facts.get("config"), str(place))) == wanted
        for facts, place in zip(trained, places)
    )


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
        "hours": round(last["seconds"] / 3600, 4),
        "cpu_hours": None if (worked := last.get("cpu_seconds")) is None else round(worked / 3600, 4),
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
    limit: int = 0,
) -> Iterator[tuple[str, Mode, Report]]:
    """Scores the halved best weights of a run on splits: what is reported is what would be shipped.

    Modes of the same width share a search. A `limit` takes only the first examples of a split.
    """
    # Before the first report is written, which may be a change of the tree.
    commit = describe_commit()
    training = training_facts(run)
    solver = Solver.load(write_half(run), data, trust=trust)
    splits = Splits(solver.domain)
    pace = answer_cpu_milliseconds(solver, splits.take(names[0], FEW))
    for split in names:
        searches: dict[int, Found] = {}
        for mode in modes:
            if mode.width not in searches:
                told = partial(progress, split)
                searches[mode.width] = search_split(solver, splits.take(split, limit), mode, told)
            found = searches[mode.width]
            report, _, _ = evaluate_model(solver, split, row, mode, limit, splits=splits, found=found)
            facts = {**report.facts, "row": row, "training": training, "commit": commit}
            facts["answer_cpu_milliseconds"] = pace
            yield split, mode, replace(report, facts=facts)


def answer_cpu_milliseconds(solver: Solver, examples: Sequence[Example]) -> float:
    """What a question costs that comes alone and is answered greedily: CPU time, the mean over examples."""
    solver.predict([examples[0].problem])  # what is only done once
    started = time.process_time()
    for example in examples:
        solver.predict([example.problem])
    return round(1000 * (time.process_time() - started) / len(examples), 2)


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


def stamped(report: Report) -> Report:
    """The report with the commit of the working directory, where that is a clone."""
    commit = describe_commit()
    return replace(report, facts={**report.facts, "commit": commit}) if commit else report


def describe_commit(folder: Path | None = None) -> str:
    """The commit of a folder, else of the working directory, marked when there are changes; empty outside of any."""
    command = ["git", "describe", "--always", "--dirty"]
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True, timeout=10)
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.strip()
