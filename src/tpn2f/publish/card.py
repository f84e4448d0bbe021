"""The card of a model: a page in Markdown with a YAML header, in the fields that people and hubs expect.

It is made from the checkpoint and from reports of exactly its weights; no number in it is typed. A person may edit it:
it stands beside the checkpoint and is no part of what is verified.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tpn2f.checkpoint import Checkpoint
from tpn2f.config import Config, write_config
from tpn2f.domain import NamesLicences, load_domain, names_code, split_parts
from tpn2f.setting import KNOWN, MEMORY, read_setting

LICENCE = "apache-2.0"
"""The licence of the models of this project, as hubs name it."""

_PAPER = (
    "Chen, Huang, Palangi, Smolensky, Forbus and Gao: Mapping natural-language problems to formal-language solutions "
    "using structured neural representations. ICML 2020."
)


def make_card(
    name: str, checkpoint: Checkpoint, reports: Sequence[Mapping[str, Any]], licence: str = LICENCE, place: str = ""
) -> str:
    """The whole card. `place` is what `Solver.load` takes to find the model; without one, its name."""
    config, _ = read_setting(checkpoint, name)
    parts = [
        _header(name, config, reports, licence),
        _summary(name, config, checkpoint),
        _use(config, place or name),
        _data(config, checkpoint),
        _metrics(reports),
        _limits(checkpoint),
        f"## Config\n\n```toml\n{write_config(config).rstrip()}\n```",
        f"## Citation\n\nThe model is TP-N2F, or one of the systems that it is compared with: {_PAPER}",
    ]
    return "\n\n".join(parts) + "\n"


def _header(name: str, config: Config, reports: Sequence[Mapping[str, Any]], licence: str) -> str:
    """The YAML that hubs read. A text in JSON's quotes is a text in YAML too, whatever it holds."""
    lines = [
        "---",
        "language: en",
        f"license: {json.dumps(licence)}",
        "library_name: tpn2f",
        "pipeline_tag: text2text-generation",
        "tags: [tensor-product-representation, program-synthesis, semantic-parsing]",
        f"datasets: {json.dumps(_learned(config))}",
    ]
    if config.data.reader:
        lines.append(f"base_model: {json.dumps(config.data.reader)}")
    if reports:
        lines += ["model-index:", f"- name: {json.dumps(name)}", "  results:"]
    for report in reports:
        whole, facts = report["groups"][0], report.get("facts", {})
        dataset = {
            "type": str(facts.get("domain", _domain(config))),
            "name": str(report["title"]),
            "split": str(facts.get("split", "test")),
        }
        lines += [
            "  - task: {type: text2text-generation, name: questions to programs}",
            f"    dataset: {json.dumps(dataset)}",
            "    metrics:",
        ]
        for metric, found in whole["metrics"].items():
            told = f"{metric} in percent, 95 % interval {_percent(found['low'])} to {_percent(found['high'])}"
            measured = {"type": metric, "value": float(_percent(found["value"])), "name": told}
            lines.append(f"    - {json.dumps(measured)}")
    return "\n".join([*lines, "---"])


def _summary(name: str, config: Config, checkpoint: Checkpoint) -> str:
    _, codec = read_setting(checkpoint, name)
    standing = checkpoint.state.get("standing", {})
    weights = checkpoint.tensors["model"].values()
    rows = [
        ("model", f"{config.name}: {config.model.encoder} encoder, {config.model.decoder} decoder"),
        ("weights", f"{sum(w.numel() for w in weights):,} in float16, {sum(w.nbytes for w in weights):,} bytes"),
        (
            "vocabulary",
            f"{len(codec.words):,} words, {len(codec.relations)} relations, {len(codec.arguments)} arguments",
        ),
        ("seed", str(config.training.seed)),
        ("epoch of these weights", f"{standing.get('epoch', 0)} of {config.training.epochs}"),
        ("training so far", f"{standing.get('seconds', 0.0) / 60:.0f} minutes"),
    ]
    told = f"Questions in plain English become programs of the language `{_domain(config)}`, which run and are checked."
    return "\n".join([f"# {name}", "", told, "", *_table(rows)])


def _use(config: Config, place: str) -> str:
    code = names_code(config.data.domain)
    more = f', domain="{Path(_file(config)).name}"' if code else ""
    lines = [
        "## Intended use",
        "",
        "To answer questions like those it learned from with a program that can be read and run; to study tensor",
        "product representations. Every answer has a confidence; below a threshold it is called a guess, and doubts",
        "are told.",
        "",
        "```python",
        "from tpn2f import Solver",
        "",
        f'solver = Solver.load("{place}"{more})',
        'print(solver.solve("..."))',
        "```",
        "",
        "Loading needs no network and runs no code from this folder."
        + (" The domain is a file of Python, which is not part of it." if code else ""),
        "",
        "Not for decisions about people, money or health that nobody checks; not for questions of another kind or",
        "language.",
    ]
    return "\n".join(lines)


def _data(config: Config, checkpoint: Checkpoint) -> str:
    rows = [
        ("learned from", f"{_domain(config)} {config.data.train}"),
        ("chosen on", config.data.dev),
        *_sources(config),
        ("data sha256", str(checkpoint.state.get("data_sha256", "unknown"))),
    ]
    if MEMORY in checkpoint.tensors:
        lines = checkpoint.texts.get(KNOWN, "").splitlines()
        hashed = sum(line.startswith("\t") for line in lines)
        told = f"{len(lines) - hashed:,} training questions as text ({KNOWN}); which runs of words occurred, hashed"
        if hashed:
            told += f"; {hashed:,} further questions as hashes of their words, with their programs"
        rows.append(("remembers", told))
    return "\n".join(["## Data and licences", "", *_table(rows)])


def _sources(config: Config) -> list[tuple[str, str]]:
    """What somebody else made and this model carries: data with licences, word vectors, a reader."""
    # A domain that is only a file is not run for a card.
    domain = None if names_code(config.data.domain) else load_domain(config.data.domain)
    known = domain.licences if isinstance(domain, NamesLicences) else {}
    named = [told for split, told in known.items() if split in _splits(config) or config.data.train == "train"]
    vectors = config.training.word_vectors
    role = "fixed word vectors of" if config.model.d_static else "words that start from"
    parts = [] if vectors in ("random", "company") else [f"{role} {Path(vectors).name}"]
    if config.data.reader:
        parts.append(f"{config.data.reader} reads before it, and has to be installed")
    if config.model.reader_layers:
        parts.append(f"the last {config.model.reader_layers} layers of it are tuned, and carried here")
    rows = [("sources", "; ".join(named))] if named else []
    return [*rows, ("pre-trained", "; ".join(parts) or "nothing")]


def _metrics(reports: Sequence[Mapping[str, Any]]) -> str:
    lines = ["## Metrics", ""]
    if not reports:
        return "\n".join([*lines, "It was not scored when this card was made: `tpn2f evaluate` does it."])
    lines.append("Percent, measured with these float16 weights; in brackets the 95 % interval (bootstrap).")
    for report in reports:
        metrics = list(report["groups"][0]["metrics"])
        lines += ["", f"### {report['title']}", "", "| | n | " + " | ".join(metrics) + " |"]
        lines.append("|---|" + "---:|" * (1 + len(metrics)))
        for group in report["groups"]:
            cells = [_estimate(group["metrics"][metric]) for metric in metrics]
            lines.append(f"| {group['name']} | {group['count']:,} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _limits(checkpoint: Checkpoint) -> str:
    below = checkpoint.state.get("guess_below")
    if "belief" in checkpoint.state and isinstance(below, int | float):
        sure = f"Its confidence was fitted on dev. Below {below:.2f} an answer is called a guess."
    elif checkpoint.state.get("temperature") is not None:
        sure = "Its confidence was fitted on dev, by one temperature."
    else:
        sure = "Its confidence was not calibrated: `tpn2f calibrate` does it."
    return "\n".join(
        [
            "## Limits",
            "",
            "* It knows questions like those it learned from. The rows of unseen templates are what a question of your",
            "  own may expect.",
            "* It always writes a program, also for a text that is no question.",
            f"* {sure}",
            "* A word that training did not have may change what a text means. Answers name such words.",
            "* Its data is in English, and may hold wrong programs.",
        ]
    )


def _splits(config: Config) -> list[str]:
    return [part.partition("*")[0].strip() for part in split_parts(config.data.train)]


def _learned(config: Config) -> list[str]:
    """The names of the data sets: the splits that are sources, or the domain where it has one source."""
    splits = _splits(config)
    return [_domain(config)] if splits == ["train"] else splits


def _file(config: Config) -> str:
    """The file of a domain that is code: `/home/somebody/lights.py` of `/home/somebody/lights.py:lights`."""
    file, is_file, _ = config.data.domain.rpartition(".py")
    return file + is_file if is_file else config.data.domain


def _domain(config: Config) -> str:
    """The domain as a stranger may read it: of a file only its name, not where it lay."""
    return Path(_file(config)).name if names_code(config.data.domain) else config.data.domain


def _table(rows: Sequence[tuple[str, str]]) -> list[str]:
    return ["| | |", "|---|---|", *(f"| {what} | {value} |" for what, value in rows)]


def _estimate(found: Mapping[str, float]) -> str:
    return f"{_percent(found['value'])} [{_percent(found['low'])}, {_percent(found['high'])}]"


def _percent(share: float) -> str:
    return f"{100 * share:.1f}"
