"""The tables of README and docs, made from the files in `results/` that commands wrote. No number is typed by hand.

A page has the tables between two comments, `<!-- results: NAME -->` and `<!-- end -->`; `write_tables` fills them and
`stale_pages` says which are not up to date.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from tpn2f.errors import DataError

PAGES = ("README.md", "docs/results.md", "docs/algolisp.md")

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


def write_tables(root: Path) -> list[Path]:
    """Fills the tables of all pages; the pages that changed."""
    changed = []
    for page, text, filled in _pages(root):
        if text != filled:
            page.write_text(filled, encoding="utf-8")
            changed.append(page)
    return changed


def stale_pages(root: Path) -> list[Path]:
    """The pages whose tables differ from what `results/` says."""
    return [page for page, text, filled in _pages(root) if text != filled]


def _pages(root: Path) -> list[tuple[Path, str, str]]:
    found = []
    for name in PAGES:
        page = root / name
        if page.is_file():
            text = page.read_text(encoding="utf-8")
            found.append((page, text, _MARK.sub(lambda match: _fill(match, root / "results"), text)))
    if not found:
        raise DataError(f"{root} has none of the pages {', '.join(PAGES)}")
    return found


_MARK = re.compile(r"(<!-- results: ([\w-]+) -->\n).*?(<!-- end -->)", re.DOTALL)


def _fill(match: re.Match[str], folder: Path) -> str:
    name = match[2]
    if name not in TABLES:
        raise DataError(f"there is no table {name!r}; there are {', '.join(TABLES)}")
    return f"{match[1]}{TABLES[name](folder)}\n{match[3]}"


def _load(folder: Path, name: str) -> dict[str, Any]:
    path = folder / name
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise DataError(f"the table needs {path}: {error}") from error


def _markdown(rows: list[list[str]]) -> str:
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    lines.insert(1, "|---" + "|---:" * (len(rows[0]) - 1) + "|")
    return "\n".join(lines)


def _percent(estimate: Mapping[str, float]) -> str:
    low, high = 100 * estimate["low"], 100 * estimate["high"]
    return f"{100 * estimate['value']:.2f} ({low:.1f}-{high:.1f})"


def _reports(folder: Path, prefix: str) -> list[dict[str, Any]]:
    """The reports of one data set and split, worst strict accuracy first."""
    reports = [_load(folder, path.name) for path in sorted(folder.glob(f"{prefix}-*.json"))]
    if not reports:
        raise DataError(f"{folder} has no {prefix}-*.json")
    return sorted(reports, key=lambda report: report["groups"][0]["metrics"]["strict"]["value"])


def _metric(report: Mapping[str, Any], group: str, metric: str) -> str:
    for part in report["groups"]:
        if part["name"] == group and metric in part["metrics"]:
            return _percent(part["metrics"][metric])
    return ""


def _mathqa(folder: Path) -> str:
    rows = [["MathQA test", "strict", "strict, unseen templates", "by value", "nearest option", "published scorer"]]
    for name, operations, execution in PAPER["mathqa"]:
        rows.append([name, f"{operations:.2f}", "", "", "", f"{execution:.2f}"])
    for report in _reports(folder, "mathqa-test"):
        cells = [_metric(report, "all", metric) for metric in ("value", "nearest_option", "published")]
        unseen = _metric(report, "template unseen in train and dev", "strict")
        rows.append([report["facts"]["system"], _metric(report, "all", "strict"), unseen, *cells])
    return _markdown(rows)


def _training(prefix: str) -> Callable[[Path], str]:
    """What every trained row of a data set has cost, worst first."""

    def table(folder: Path) -> str:
        rows = [["trained row", "weights", "epochs", "best epoch", "hours, one core", "strict on dev, greedy"]]
        for report in _reports(folder, prefix):
            facts = report["facts"].get("training")
            if facts and report["facts"]["mode"] == "greedy":
                epochs = f"{facts['epochs']}{'' if facts['finished'] else ' (not finished)'}"
                cells = [f"{facts['weights']:,}", epochs, str(facts["best_epoch"]), f"{facts['hours']:.2f}"]
                rows.append([report["facts"]["row"], *cells, f"{100 * facts['best_dev']:.2f}"])
        return _markdown(rows) if len(rows) > 1 else "No row is trained yet."

    return table


def _scoring(prefix: str) -> Callable[[Path], str]:
    """How fast every trained row was scored, where the time went, and the longest program that it solved."""

    def table(folder: Path) -> str:
        heads = ["trained row", "examples a second", "of CPU time: decoding", "running and scoring", "longest solved"]
        rows = [heads]
        for report in _reports(folder, prefix):
            facts = report["facts"]
            if "training" in facts:
                share = 100 * facts["decoding_cpu_share"]
                solved = facts["longest_solved"]
                longest = f"{solved['tuples']} tuples" if solved else "none"
                cells = [f"{facts['records_a_second']:.1f}", f"{share:.0f} %", f"{100 - share:.0f} %", longest]
                rows.append([f"{facts['row']} ({facts['mode']})", *cells])
        return _markdown(rows) if len(rows) > 1 else "No row is trained yet."

    return table


def _algolisp(folder: Path) -> str:
    rows = [["AlgoLisp test", "Acc", "50p-Acc", "M-Acc", "Acc, cleaned", "50p-Acc, cleaned", "M-Acc, cleaned"]]
    for name, *figures in PAPER["algolisp"]:
        rows.append([name, *("" if figure is None else f"{figure:.2f}" for figure in figures)])
    for report in _reports(folder, "algolisp-test"):
        cells = [_metric(report, group, metric) for group in ("all", "cleaned") for metric in ("acc", "acc50", "m_acc")]
        rows.append([report["facts"]["system"], *cells])
    return _markdown(rows)


def _groups(prefix: str) -> Callable[[Path], str]:
    """Every group and metric of every report of a data set: by template and by length."""

    def table(folder: Path) -> str:
        pieces = []
        for report in _reports(folder, prefix):
            metrics = list(report["groups"][0]["metrics"])
            rows = [[f"{report['facts']['system']}", "n", *metrics]]
            for group in report["groups"]:
                rows.append([group["name"], f"{group['count']:,}", *(_percent(group["metrics"][m]) for m in metrics)])
            pieces.append(_markdown(rows))
        return "\n\n".join(pieces)

    return table


def _speed(folder: Path) -> str:
    training = _load(folder, "benchmark_training.json")
    decoding = _load(folder, "benchmark_decoding.json")
    scaling = _load(folder, "benchmark_scaling.json")
    interpreter = _load(folder, "benchmark_interpreter.json")
    learning = _load(folder, "benchmark_learning.json")
    steps = {(row["batches"], row["structure"]): row for row in training["steps"]}
    decoded = {row["what"]: row for row in decoding["rows"]}
    rows = [["what", "CPU time", "wall time"]]
    for name, structure in (("padded to 128", "published, padded to 128"), ("batches trimmed", "published, trimmed")):
        row = steps["random", structure]
        cells = [f"{row['times_ours_cpu']:.1f} times faster", f"{row['times_ours_wall']:.1f} times faster"]
        rows.append([f"training step against the published structure, {name}", *cells])
    published = decoded["published decoding"]
    cells = [f"{published[f'times_greedy_{kind}']:.0f} times faster" for kind in ("cpu", "wall")]
    rows.append(["greedy decoding of 32 problems against the published one", *cells])
    share = training["encoder"]["share_of_bound"]
    rows.append(["encoder forward and backward, of what its matrix products alone take", f"{100 * share:.0f} %", ""])
    growth = scaling["growth_of_time_a_word"]
    rows.append(
        ["a word of 120 against a word of 20, whole step", f"{growth['step_microseconds_a_word']:.2f} times", ""]
    )
    rate, times = interpreter["runs_a_second_cpu"], interpreter["times_tree_walker"]
    rows.append(["Lisp tests a second on one core", f"{rate:,.0f} ({times:.1f} times a tree walker)", ""])
    if (folder / "benchmark_cost.json").exists():
        cost = _load(folder, "benchmark_cost.json")
        what = f"MathQA to the paper's accuracy ({cost['epochs']} epochs), published time extrapolated"
        rows.append([what, f"{cost['times']:.0f} times faster", f"{cost['ours_seconds'] / 60:.0f} minutes"])
    if (folder / "benchmark_serving.json").exists():
        served = {row["what"]: row for row in _load(folder, "benchmark_serving.json")["rows"]}["micro-batching"]
        what = f"`tpn2f serve`, {served['clients']} clients at once: answers a second, 95 % within"
        rate = f"{served['requests_a_second']:.0f} ({served['times_one_at_a_time']:.1f} times one client)"
        rows.append([what, rate, f"{served['p95_ms']:.0f} ms"])
    for row in learning["rows"]:
        scored = f"{row['strict']['all']:.1f} % after {row['cpu_seconds']:.0f} s"
        rows.append([f"arithmetic from scratch, strict on test, {row['system']}", scored, ""])
    return _markdown(rows)


def _confidence(folder: Path) -> str:
    """Every calibrated model: temperature and thresholds from one half of dev, what they are worth on the other."""
    rows = [["half of dev that nothing was fitted on", "value"]]
    for path in sorted(folder.glob("confidence-*.json")):
        facts = _load(folder, path.name)
        name = f"{facts['model']} ({facts['mode']})"
        rows.append([f"{name}: questions, strictly right", f"{facts['reported']:,}, {100 * facts['accuracy']:.2f} %"])
        errors = " / ".join(f"{100 * facts[f'error_{when}']:.2f} %" for when in ("before", "after"))
        rows.append([f"{name}: calibration error before / after temperature {facts['temperature']:.3f}", errors])
        for kind, words in (("plain", "threshold as found"), ("safe", "threshold with a margin for chance")):
            what = f"{name}: coverage at {100 * facts['goal']:g} % precision, {words}"
            found = facts[kind]
            shares = (
                found and f"{100 * found['coverage']:.2f} % answered, {100 * found['precision']:.2f} % of these right"
            )
            rows.append([f"{what} ({found['threshold']:.3f})" if found else what, shares or "none"])
    return _markdown(rows) if len(rows) > 1 else "No model is calibrated yet."


def _examples(folder: Path) -> str:
    """The example domains: held-out programs of kinds that train has, and held-out combinations of relations."""
    rows = [["example domain", "strict, test", "strict, combinations", "by value, test", "training, one core"]]
    for cost in (
        _load(folder, "benchmark_examples.json")["rows"] if (folder / "benchmark_examples.json").exists() else []
    ):
        test, combined = (
            _load(folder, f"examples-{cost['domain']}-{split}.json") for split in ("test", "combinations")
        )
        cells = [_metric(test, "all", "strict"), _metric(combined, "all", "strict"), _metric(test, "all", "execution")]
        rows.append([cost["domain"], *cells, f"{cost['cpu_seconds']:.0f} s"])
    return _markdown(rows) if len(rows) > 1 else "No example is trained yet."


def _generated(folder: Path) -> str:
    """The records that were generated for AlgoLisp, next to those that they were learned from."""
    if not (folder / "algolisp-generated.json").exists():
        return "No records are generated yet."
    found = _load(folder, "algolisp-generated.json")
    names = list(found["profiles"])
    rows = [["", *names]]
    for key in list(found["profiles"][names[0]])[:_SHOWN]:
        unit = " %" if key.startswith(("type", "outermost")) else ""
        rows.append([key, *(f"{found['profiles'][name].get(key, 0):,}{unit}" for name in names)])
    coverage = found["coverage of dev-valid"]
    return (
        f"{_markdown(rows)}\n\n"
        f"The grammar has {found['phrases']:,} phrases for {found['skeletons']} skeletons. "
        f"Of the {coverage['records']:,} records of `dev-valid`, which it has not seen, it derives "
        f"{coverage['programs']:,} programs, {coverage['texts']:,} of them with their texts."
    )


_SHOWN = 14
"""So many facts of a profile are enough to compare; the file has all."""

TABLES: dict[str, Callable[[Path], str]] = {
    "mathqa": _mathqa,
    "algolisp": _algolisp,
    "mathqa-training": _training("mathqa-test"),
    "algolisp-training": _training("algolisp-test"),
    "mathqa-scoring": _scoring("mathqa-test"),
    "algolisp-scoring": _scoring("algolisp-test"),
    "mathqa-groups": _groups("mathqa-test"),
    "algolisp-groups": _groups("algolisp-test"),
    "algolisp-generated": _generated,
    "speed": _speed,
    "confidence": _confidence,
    "examples": _examples,
}
