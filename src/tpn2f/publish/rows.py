"""The rows of the tables: the paper's, ours from the reports in `results/`, and plain names for them.

Which page has which table is decided in `tables.py`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from itertools import product
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

from tpn2f.errors import DataError

# Table 1 and 2 of the paper, for comparison. Execution is by the published scorer.
PAPER = {
    "mathqa": (
        ("SEQ2PROG-orig (paper)", 59.4, 51.9),
        ("SEQ2PROG-best (paper)", 66.97, 54.0),
        ("LSTM2TP (paper)", 68.21, 54.61),
        ("TP2LSTM (paper)", 68.84, 54.61),
        ("TP-N2F (paper)", 71.89, 55.95),
    ),
    "algolisp": (
        ("Seq2Tree (paper)", 61.0, None, None, None, None, None),
        ("LSTM2LSTM+atten (paper)", 67.54, 70.89, 75.12, 76.83, 78.86, 75.42),
        ("TP2LSTM (paper)", 72.28, 77.62, 79.92, 77.67, 80.51, 76.75),
        ("LSTM2TP (paper)", 75.31, 79.26, 83.05, 84.44, 86.13, 83.43),
        ("SAPSpre-VH-Att-256 (paper)", 83.80, 87.45, None, 92.98, 94.15, None),
        ("TP-N2F (paper)", 84.02, 88.01, 93.06, 93.48, 94.64, 92.78),
    ),
}


def load_result(folder: Path, name: str) -> dict[str, Any]:
    """A file of `results/`. Raises DataError where it is missing or damaged."""
    path = folder / name
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise DataError(f"the table needs {path}: {error}") from error


def markdown(rows: list[list[str]]) -> str:
    """A table whose first row is its head; numbers are flush right."""
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    lines.insert(1, "|---" + "|---:" * (len(rows[0]) - 1) + "|")
    return "\n".join(lines)


def percent(estimate: Mapping[str, float]) -> str:
    """A metric in percent with its interval."""
    low, high = 100 * estimate["low"], 100 * estimate["high"]
    return f"{100 * estimate['value']:.2f} ({low:.1f}-{high:.1f})"


def load_reports(folder: Path, prefix: str) -> list[dict[str, Any]]:
    """The reports of one data set and split, worst strict accuracy first."""
    reports = [load_result(folder, path.name) for path in sorted(folder.glob(f"{prefix}-*.json"))]
    if not reports:
        raise DataError(f"{folder} has no {prefix}-*.json")
    return sorted(reports, key=lambda report: report["groups"][0]["metrics"]["strict"]["value"])


def find_metric(report: Mapping[str, Any], group: str, metric: str) -> Mapping[str, float] | None:
    """A metric of a group with its interval; None where the report does not have it."""
    return next((part["metrics"].get(metric) for part in report["groups"] if part["name"] == group), None)


def metric_cell(report: Mapping[str, Any], group: str, metric: str, interval: bool = True) -> str:
    """A metric of a group in percent, with its interval; empty where the report does not have it."""
    found = find_metric(report, group, metric)
    if found is None:
        return ""
    return percent(found) if interval else f"{100 * found['value']:.1f}"


UNSEEN = "template unseen in train and dev"

# The few rows that README and the first page of results show: the paper's best and what a reader compares it with.
SHORT = {
    "mathqa": (
        "mathqa-60 (beam 5)",
        "mathqa-grounded (beam 5)",
        "retrieval+model: mathqa-grounded (beam 5, memory 5)",
        "retrieval",
        "gold",
    ),
    "algolisp": (
        "retrieval",
        "algolisp-generated (greedy)",
        "algolisp-chained (greedy)",
        "algolisp-chained-once (beam 10, 3 tests shown)",
        "gold",
    ),
}
# The four systems of the paper with an equal budget of ours, in the paper's order; for AlgoLisp, Seq2Tree and SAPS come
# first.
SYSTEMS = {
    "mathqa": ("mathqa-lstm2lstm", "mathqa-lstm2tp", "mathqa-tp2lstm", "mathqa-60"),
    "algolisp": (
        "algolisp-seq2tree",
        "algolisp-saps",
        "algolisp-lstm2lstm",
        "algolisp-lstm2tp",
        "algolisp-tp2lstm",
        "algolisp",
    ),
}
# Rows that differ by their seed alone: the first one has the seed 0.
SEEDS = {
    "TP-N2F": ("mathqa-60", "mathqa-60-seed1", "mathqa-60-seed2"),
    "TP-N2F with chained arguments": ("mathqa-60-chained", "mathqa-60-chained-seed1", "mathqa-60-chained-seed2"),
    "LSTM2TP": ("mathqa-lstm2tp", "mathqa-lstm2tp-seed1", "mathqa-lstm2tp-seed2"),
}
# The ablations of the paper's appendix, in words; the first row is what the others change.
APPENDIX = {
    "mathqa-24": "TP-N2F, one layer in the Reasoning MLP, the sum of the bindings",
    "mathqa-24-layers2": "two layers in the Reasoning MLP",
    "mathqa-24-layers3": "three layers",
    "mathqa-24-last": "the last binding instead of the sum",
    "mathqa-24-lstm2lstm": "LSTM2LSTM",
    "mathqa-24-equal": "LSTM2LSTM with as many weights as TP-N2F",
}
# The systems without weights, in words.
PLAIN = {
    "gold": "the data set's own programs",
    "retrieval": "retrieval: the program of the nearest training problem",
    "empty": "no program at all",
}
SIDES = {
    ("tpr", "tpr"): "TP-N2F",
    ("lstm", "tpr"): "LSTM2TP",
    ("tpr", "lstm"): "TP2LSTM",
    ("lstm", "lstm"): "LSTM2LSTM",
    ("gru", "tree"): "re-implementation of Seq2Tree",
    ("lstm", "saps"): "re-implementation of SAPS",
}


def row_label(report: Mapping[str, Any]) -> str:
    """A row's name in words: the system, its budget, its search, and the preset that trains it."""
    facts = report["facts"]
    training = facts.get("training")
    if not training:
        name = str(facts["system"])
        return PLAIN.get(name, name)
    config = training["config"]
    model = config["model"]
    side = model.get("variant") or SIDES[model["encoder"], model["decoder"]]
    options = "chained " * bool(model.get("d_chained")) + "grounded " * bool(model.get("grounded"))
    reader = " with tuned MiniLM" if model.get("reader_layers") else " with MiniLM" if model.get("d_contextual") else ""
    asked = config["training"]["epochs"]
    epochs = f"{asked}" if training["finished"] else f"{training['epochs']} of {asked}"
    if config["training"].get("start"):
        epochs += " more"
    system = "retrieval+model with our" if facts.get("memory") else "our"
    unit = "epoch" if asked == 1 else "epochs"
    return f"{system} {options}{side}{reader}, {epochs} {unit}, {facts['mode']} (`{facts['row']}`)"


def _figure(figure: float | None, interval: bool) -> str:
    """A number of the paper, which gives no intervals."""
    return "" if figure is None else f"{figure:.{2 if interval else 1}f}"


def _choose(reports: list[dict[str, Any]], systems: Sequence[str]) -> list[dict[str, Any]]:
    """The reports of the named systems that are there, in the order of the names."""
    found = {report["facts"]["system"]: report for report in reports}
    return [found[name] for name in systems if name in found]


def _mathqa_rows(
    reports: Sequence[Mapping[str, Any]], paper: Sequence[tuple[Any, ...]], interval: bool, split: str = "test"
) -> str:
    rows = [[f"MathQA {split}", "strict", "strict, unseen templates", "by value", "nearest option", "published scorer"]]
    for name, operations, execution in paper:
        rows.append([name, _figure(operations, interval), "", "", "", _figure(execution, interval)])
    for report in reports:
        cells = [metric_cell(report, "all", metric, interval) for metric in ("value", "nearest_option", "published")]
        unseen = metric_cell(report, UNSEEN, "strict", interval)
        rows.append([row_label(report), metric_cell(report, "all", "strict", interval), unseen, *cells])
    return markdown(rows)


def mathqa_table(folder: Path) -> str:
    """Table 1 of the paper and every row of ours."""
    return _mathqa_rows(load_reports(folder, "mathqa-test"), PAPER["mathqa"], interval=True)


def mathqa_short(folder: Path) -> str:
    """Six rows of Table 1."""
    return _mathqa_rows(
        _choose(load_reports(folder, "mathqa-test"), SHORT["mathqa"]), PAPER["mathqa"][-1:], interval=False
    )


def mathqa_challenge(folder: Path) -> str:
    """The file `challenge_test`, of whose problems training has hardly any: what was scored on it."""
    if not list(folder.glob("mathqa-challenge_test-*.json")):
        return "No row is scored yet."
    return _mathqa_rows(load_reports(folder, "mathqa-challenge_test"), (), interval=True, split="challenge_test")


def systems_table(task: str, group: str, metrics: Mapping[str, str]) -> Callable[[Path], str]:
    """The paper's four systems, each with the same budget of ours; `metrics` are columns by name."""

    def table(folder: Path) -> str:
        reports = load_reports(folder, f"{task}-test")
        rows = [["our systems, equal budgets", *metrics.values(), f"strict, {group}"]]
        for report in _choose(reports, [f"{row} (greedy)" for row in SYSTEMS[task]]):
            cells = [metric_cell(report, "all", metric, interval=False) for metric in metrics]
            rows.append([row_label(report), *cells, metric_cell(report, group, "strict", interval=False)])
        return markdown(rows) if len(rows) > 1 else "No row is trained yet."

    return table


def seeds_table(folder: Path) -> str:
    """The systems that are trained with several seeds: mean and standard deviation over the seeds on MathQA test."""
    parts = {"strict": ("all", "strict"), "unseen templates": (UNSEEN, "strict")}
    parts |= {"nearest option": ("all", "nearest_option")}
    found = {report["facts"]["system"]: report for report in load_reports(folder, "mathqa-test")}
    rows = [["mean and deviation over seeds", "seeds", *parts, "each seed, strict"]]
    for (system, names), mode in product(SEEDS.items(), ("greedy", "beam 5")):
        reports = [found[name] for row in names if (name := f"{row} ({mode})") in found]
        if len(reports) < 2:
            continue
        cells = []
        for group, metric in parts.values():
            values = [100 * kept["value"] for report in reports if (kept := find_metric(report, group, metric))]
            cells.append(f"{fmean(values):.1f} ± {stdev(values):.1f}" if len(values) > 1 else "")
        each = ", ".join(metric_cell(report, "all", "strict", interval=False) for report in reports)
        rows.append([f"our {system}, {mode}", str(len(reports)), *cells, each])
    return markdown(rows) if len(rows) > 1 else "No system is trained with several seeds yet."


def appendix_table(folder: Path) -> str:
    """The ablations of the paper's appendix on MathQA test, as many as are scored."""
    found = {report["facts"]["system"]: report for report in load_reports(folder, "mathqa-test")}
    rows = [["24 epochs, greedy", "weights", "strict", "strict, unseen templates", "nearest option"]]
    for row, words in APPENDIX.items():
        report = found.get(f"{row} (greedy)")
        if report is not None:
            parts = (("all", "strict"), (UNSEEN, "strict"), ("all", "nearest_option"))
            weights = f"{report['facts']['training']['weights']:,}"
            rows.append([f"{words} (`{row}`)", weights, *(metric_cell(report, *part) for part in parts)])
    return markdown(rows) if len(rows) > 1 else "No row is trained yet."


def training_table(prefix: str) -> Callable[[Path], str]:
    """What the training of each row of a data set cost, worst row first."""

    def table(folder: Path) -> str:
        heads = ["weights", "seed", "epochs", "best epoch", "CPU-hours", "hours on the clock", "strict on dev, greedy"]
        rows = [["trained row", *heads]]
        machines: dict[str, None] = {}
        for report in load_reports(folder, prefix):
            facts = report["facts"].get("training")
            if facts and report["facts"]["mode"].startswith("greedy"):
                epochs = f"{facts['epochs']}{'' if facts['finished'] else ' (not finished)'}"
                cells = [f"{facts['weights']:,}", str(facts["config"]["training"]["seed"]), epochs]
                worked = facts.get("cpu_hours")
                cells += [str(facts["best_epoch"]), "not counted" if worked is None else f"{worked:.2f}"]
                cells += [f"{facts['hours']:.2f}", f"{100 * facts['best_dev']:.2f}"]
                rows.append([report["facts"]["row"], *cells])
                machines |= {facts["machine"]: None} if facts.get("machine") else {}
        told = f"\n\nMachine: {'; '.join(machines)}." if machines else ""
        return markdown(rows) + told if len(rows) > 1 else "No row is trained yet."

    return table


def scoring_table(prefix: str) -> Callable[[Path], str]:
    """How fast every trained row was scored, where the time went, and the longest program that it solved."""

    def table(folder: Path) -> str:
        heads = ["trained row", "examples per second", "CPU: decoding", "CPU: running and scoring", "longest solved"]
        rows = [heads]
        for report in load_reports(folder, prefix):
            facts = report["facts"]
            if "training" in facts:
                share = 100 * facts["decoding_cpu_share"]
                solved = facts["longest_solved"]
                longest = f"{solved['tuples']} tuples" if solved else "none"
                cells = [f"{facts['records_a_second']:.1f}", f"{share:.0f} %", f"{100 - share:.0f} %", longest]
                rows.append([f"{facts['row']} ({facts['mode']})", *cells])
        return markdown(rows) if len(rows) > 1 else "No row is trained yet."

    return table


def _algolisp_rows(reports: Sequence[Mapping[str, Any]], paper: Sequence[tuple[Any, ...]], interval: bool) -> str:
    rows = [["AlgoLisp test", "Acc", "50p-Acc", "M-Acc", "Acc, cleaned", "50p-Acc, cleaned", "M-Acc, cleaned"]]
    for name, *figures in paper:
        rows.append([name, *(_figure(figure, interval) for figure in figures)])
    for report in reports:
        wanted = [(group, metric) for group in ("all", "cleaned") for metric in ("acc", "acc50", "m_acc")]
        rows.append([row_label(report), *(metric_cell(report, *which, interval) for which in wanted)])
    return markdown(rows)


def algolisp_table(folder: Path) -> str:
    """Table 2 of the paper and every row of ours."""
    return _algolisp_rows(load_reports(folder, "algolisp-test"), PAPER["algolisp"], interval=True)


def algolisp_short(folder: Path) -> str:
    """Six rows of Table 2."""
    return _algolisp_rows(
        _choose(load_reports(folder, "algolisp-test"), SHORT["algolisp"]), PAPER["algolisp"][-1:], interval=False
    )


def groups_table(prefix: str) -> Callable[[Path], str]:
    """Every group and metric of every report of a data set: by template and by length."""

    def table(folder: Path) -> str:
        pieces = []
        for report in load_reports(folder, prefix):
            metrics = list(report["groups"][0]["metrics"])
            rows = [[row_label(report), "n", *metrics]]
            for group in report["groups"]:
                rows.append([group["name"], f"{group['count']:,}", *(percent(group["metrics"][m]) for m in metrics)])
            pieces.append(markdown(rows))
        return "\n\n".join(pieces)

    return table
