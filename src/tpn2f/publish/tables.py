"""The tables of README and docs, made from the files in `results/` that commands wrote. No number is typed by hand.

A page has the tables between two comments, `<!-- results: NAME -->` and `<!-- end -->`; `write_tables` fills them and
`stale_pages` says which are not up to date.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from tpn2f.errors import DataError
from tpn2f.publish.ablation import TASKS, ablation_table, options_table, table_name
from tpn2f.publish.attention import models_table, scores_table, study_table
from tpn2f.publish.disclosure import disclosure
from tpn2f.publish.encoder_start import inside_table, start_table
from tpn2f.publish.everyday import everyday_table, splits_table, steps_table
from tpn2f.publish.pairs import memory_table, pairs_table
from tpn2f.publish.rows import (
    UNSEEN,
    algolisp_short,
    algolisp_table,
    appendix_table,
    groups_table,
    load_result,
    markdown,
    mathqa_challenge,
    mathqa_short,
    mathqa_table,
    metric_cell,
    scoring_table,
    seeds_table,
    systems_table,
    training_table,
)

PAGES = (
    "README.md",
    "docs/results.md",
    "docs/results_appendix.md",
    "docs/algolisp.md",
    "docs/attention.md",
    "docs/encoder_start.md",
    "docs/reproduce.md",
)


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


def _speed(folder: Path) -> str:
    training = load_result(folder, "benchmark_training.json")
    decoding = load_result(folder, "benchmark_decoding.json")
    scaling = load_result(folder, "benchmark_scaling.json")
    interpreter = load_result(folder, "benchmark_interpreter.json")
    learning = load_result(folder, "benchmark_learning.json")
    steps = {(row["batches"], row["structure"]): row for row in training["steps"]}
    decoded = {row["what"]: row for row in decoding["rows"]}
    rows = [["what", "CPU time", "wall time"]]
    for name, structure in (("padded to 128", "published, padded to 128"), ("batches trimmed", "published, trimmed")):
        row = steps["random", structure]
        cells = [f"{row['times_ours_cpu']:.1f} times faster", f"{row['times_ours_wall']:.1f} times faster"]
        rows.append([f"training step against the published structure, {name}", *cells])
    published = decoded["published decoding"]
    cells = [f"{published[f'times_greedy_{kind}']:.0f} times faster" for kind in ("cpu", "wall")]
    rows.append(["greedy decoding of 32 problems against the published structure", *cells])
    share = training["encoder"]["share_of_bound"]
    rows.append(["encoder: share of the speed of its matrix products", f"{100 * share:.0f} %", ""])
    growth = scaling["growth_of_time_a_word"]
    rows.append(
        ["time per word in texts of 120 words, against 20 words", f"{growth['step_microseconds_a_word']:.2f} times", ""]
    )
    rate, times = interpreter["runs_a_second_cpu"], interpreter["times_tree_walker"]
    rows.append(["Lisp tests per second on one core", f"{rate:,.0f} ({times:.1f} times a tree walker)", ""])
    if (folder / "benchmark_cost.json").exists():
        cost = load_result(folder, "benchmark_cost.json")
        what = f"MathQA to the paper's accuracy ({cost['epochs']} epochs); published time extrapolated"
        ours = f"{cost['ours_seconds'] / 60:.0f} minutes, {cost['times']:.0f} times faster"
        rows.append([what, ours, f"{cost['ours_wall_seconds_of_the_run'] / 60:.0f} minutes on a shared machine"])
    if (folder / "benchmark_serving.json").exists():
        served = {row["what"]: row for row in load_result(folder, "benchmark_serving.json")["rows"]}["micro-batching"]
        what = f"`tpn2f serve`, {served['clients']} clients at once: answers per second; 95 % of them within"
        rate = f"{served['requests_a_second']:.0f} ({served['times_one_at_a_time']:.1f} times one client)"
        rows.append([what, "", f"{rate}; {served['p95_ms']:.0f} ms"])
    rows += _waiting(folder) + _bulk(folder)
    for row in learning["rows"]:
        scored = f"{row['strict']['all']:.1f} % after {row['cpu_seconds']:.0f} s"
        rows.append([f"arithmetic from scratch, strict on test, {row['system']}", scored, ""])
    return markdown(rows)


def _waiting(folder: Path) -> list[list[str]]:
    """How long a person waits for a command, and for one more answer."""
    if not (folder / "benchmark_starting.json").exists():
        return []
    facts = load_result(folder, "benchmark_starting.json")
    commands = facts["commands"]
    rows = []
    for name, now in commands.items():
        if name.endswith("before"):
            continue
        then = commands.get(f"{name}, before")
        older = f" (an older version: {then:,.0f})" if then else ""
        rows.append([f"`tpn2f`: {name}, milliseconds, median of {facts['times']}", "", f"{now:,.0f}{older}"])
    for name, one in facts["one_answer_after_loading"].items():
        waits = f"{one['median']:.0f}; {one['slowest_of_20']:.0f}"
        rows.append([f"one more answer of {name}, milliseconds: median; 95 % within", "", waits])
    return rows


def _bulk(folder: Path) -> list[list[str]]:
    """Many questions, and what became of them when things died."""
    if not (folder / "benchmark_bulk.json").exists():
        return []
    facts = load_result(folder, "benchmark_bulk.json")
    speed, faults = facts["speed"], facts["faults"]
    rates = speed["questions_a_second"]
    ratios = f"{speed['ray_times_one_process']:.2f} times one process"
    if "older" in speed["printed_with"]:
        ratios += f", {speed['ray_times_printed']:.2f} times an older version"
    minutes = f"{faults['answers']:,} answers in {faults['seconds'] / 60:.0f} minutes"
    return [
        [f"{speed['questions']:,} questions on Ray, 2 actors: answers a second", "", f"{rates['ray']:.0f} ({ratios})"],
        [
            f"{faults['questions']:,} questions, driver killed once and an actor once",
            "",
            f"{minutes}, {'none missing or twice' if faults['exact'] else 'NOT EXACT'}",
        ],
    ]


def _confidence(folder: Path) -> str:
    """Every calibrated model: temperature and thresholds from one half of dev, what they are worth on the other."""
    rows = [["by the probability alone, on the half of dev that nothing was fitted on", "value"]]
    for path in sorted(folder.glob("confidence-*.json")):
        facts = load_result(folder, path.name)
        if "temperature" not in facts:
            continue
        name = f"{facts['model']} ({facts['mode']})"
        rows.append(
            [
                f"{name}: questions, right {facts.get('right', 'strictly')}",
                f"{facts['reported']:,}, {100 * facts['accuracy']:.2f} %",
            ]
        )
        errors = " / ".join(f"{100 * facts[f'error_{when}']:.2f} %" for when in ("before", "after"))
        rows.append([f"{name}: calibration error before / after temperature {facts['temperature']:.3f}", errors])
        for kind, words in (("plain", "threshold as found"), ("safe", "threshold with a margin for chance")):
            what = f"{name}: coverage at {100 * facts['goal']:g} % precision, {words}"
            found = facts[kind]
            shares = (
                found and f"{100 * found['coverage']:.2f} % answered, {100 * found['precision']:.2f} % of these right"
            )
            rows.append([f"{what} ({found['threshold']:.3f})" if found else what, shares or "none"])
    return markdown(rows) if len(rows) > 1 else "No model is calibrated yet."


def _trust(folder: Path) -> str:
    """Models whose confidence comes from signals: what it is worth on every source when that is left out of fitting."""
    rows = [["source left out", "answers", "right", "calibration error", "not called guesses", "right of these"]]
    for path in sorted(folder.glob("confidence-*.json")):
        facts = load_result(folder, path.name)
        trust = facts.get("trust", {})
        parts = facts.get("sources") or [*trust.get("left_out", ()), *filter(None, [trust.get("together")])]
        for part in parts:
            share = f"{100 * part['right']:.1f} %" if part["coverage"] else ""
            cells = f"{100 * part['accuracy']:.1f} %", f"{100 * part['error']:.1f} %", f"{100 * part['coverage']:.1f} %"
            rows.append([f"{facts['model']}: {part['source']}", f"{part['count']:,}", *cells, share])
    return markdown(rows) if len(rows) > 1 else "No model has a confidence by signals yet."


def _examples(folder: Path) -> str:
    """The example domains: held-out programs of kinds that train has, and held-out combinations of relations."""
    rows = [["example domain", "strict, test", "strict, combinations", "by value, test", "training, CPU time"]]
    for cost in (
        load_result(folder, "benchmark_examples.json")["rows"] if (folder / "benchmark_examples.json").exists() else []
    ):
        test, combined = (
            load_result(folder, f"examples-{cost['domain']}-{split}.json") for split in ("test", "combinations")
        )
        cells = [
            metric_cell(test, "all", "strict"),
            metric_cell(combined, "all", "strict"),
            metric_cell(test, "all", "execution"),
        ]
        rows.append([cost["domain"], *cells, f"{cost['cpu_seconds']:.0f} s"])
    return markdown(rows) if len(rows) > 1 else "No example is trained yet."


def _generated(folder: Path) -> str:
    """The records that were generated for AlgoLisp, next to those that they were learned from."""
    if not (folder / "algolisp-generated.json").exists():
        return "No records are generated yet."
    found = load_result(folder, "algolisp-generated.json")
    names = list(found["profiles"])
    rows = [["", *names]]
    for key in list(found["profiles"][names[0]])[:_SHOWN]:
        unit = " %" if key.startswith(("type", "outermost")) else ""
        rows.append([key, *(f"{found['profiles'][name].get(key, 0):,}{unit}" for name in names)])
    coverage = found["coverage of dev-valid"]
    return (
        f"{markdown(rows)}\n\n"
        f"The grammar has {found['phrases']:,} phrases for {found['skeletons']} skeletons. "
        f"Of the {coverage['records']:,} records of `dev-valid`, which it has not seen, it derives "
        f"{coverage['programs']:,} programs, {coverage['texts']:,} of them with their texts."
    )


_SHOWN = 14
"""So many facts of a profile are enough to compare; the file has all."""

TABLES: dict[str, Callable[[Path], str]] = {
    "mathqa": mathqa_table,
    "mathqa-short": mathqa_short,
    "mathqa-challenge": mathqa_challenge,
    "mathqa-seeds": seeds_table,
    "mathqa-appendix": appendix_table,
    "mathqa-systems": systems_table("mathqa", UNSEEN, {"strict": "strict", "nearest_option": "nearest option"}),
    "algolisp": algolisp_table,
    "algolisp-short": algolisp_short,
    "algolisp-systems": systems_table("algolisp", "cleaned", {"acc": "Acc", "acc50": "50p-Acc", "strict": "strict"}),
    "mathqa-pairs": pairs_table("mathqa", "strict", UNSEEN),
    "algolisp-pairs": pairs_table("algolisp", "acc", "cleaned"),
    "mathqa-memory": memory_table,
    "mathqa-disclosure": disclosure("mathqa"),
    "algolisp-disclosure": disclosure("algolisp"),
    "mathqa-training": training_table("mathqa-test"),
    "algolisp-training": training_table("algolisp-test"),
    "mathqa-scoring": scoring_table("mathqa-test"),
    "algolisp-scoring": scoring_table("algolisp-test"),
    "mathqa-groups": groups_table("mathqa-test"),
    "algolisp-groups": groups_table("algolisp-test"),
    "algolisp-generated": _generated,
    "everyday": everyday_table,
    "everyday-splits": splits_table,
    "everyday-steps": steps_table,
    **{table_name(task): ablation_table(task) for task in TASKS},
    "options": options_table,
    "encoder-start": start_table,
    "encoder-inside": inside_table,
    "attention": study_table,
    "attention-scores": scores_table,
    "attention-models": models_table,
    "speed": _speed,
    "confidence": _confidence,
    "trust": _trust,
    "examples": _examples,
}
