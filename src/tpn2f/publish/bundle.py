"""Models that come with the package: float16 weights, vocabularies, the config and a card that says what to expect.

A bundled model is a checkpoint directory under `pretrained/`, verified like any other. What it is worth is measured
after its weights were converted to float16, so the card describes exactly what is shipped.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from tpn2f.checkpoint import Checkpoint, read_checkpoint, write_checkpoint
from tpn2f.config import Config, write_config
from tpn2f.domain import NamesLicences, load_domain, names_code, split_parts
from tpn2f.errors import CheckpointError, DataError
from tpn2f.model.bounds import is_plain_name
from tpn2f.pretrained import PRETRAINED
from tpn2f.setting import KNOWN, MEMORY, read_setting

LARGEST = 30_000_000
"""The most bytes of weights that a bundled model may have."""
KEPT = (
    "config",
    "n_positions",
    "longest",
    "reader",
    "data_sha256",
    "standing",
    "temperature",
    "threshold",
    "belief",
    "guess_below",
)
"""What of a checkpoint's state goes into a bundle."""
CARD = "card.md"


def halve(checkpoint: Checkpoint) -> Checkpoint:
    """The model of a checkpoint with float16 weights and without what only training needs."""
    weights = {
        name: tensor.to(torch.float16) if tensor.is_floating_point() else tensor
        for name, tensor in checkpoint.tensors.get("model", {}).items()
    }
    for name, tensor in weights.items():
        if tensor.is_floating_point() and not tensor.isfinite().all():
            raise CheckpointError(f"{name} has weights that float16 cannot hold")
    state = {key: checkpoint.state[key] for key in KEPT if key in checkpoint.state}
    kept = {group: tensors for group, tensors in checkpoint.tensors.items() if group == MEMORY}
    return Checkpoint({"model": weights, **kept}, state, dict(checkpoint.texts))


def write_half(run: Path) -> Path:
    """The best weights of a run as float16, beside its checkpoints. Always written again, so never of older weights."""
    place = run / "half"
    write_checkpoint(place, halve(read_checkpoint(run / "checkpoints" / "best")))
    return place


def write_bundle(
    run: Path,
    name: str,
    reports: Sequence[Mapping[str, Any]],
    folder: Path = PRETRAINED,
    texts: Mapping[str, str] | None = None,
) -> Path:
    """Puts the float16 model of a run into the package, with a card made of its reports and with other `texts`."""
    if not is_plain_name(name):
        raise DataError(
            f"{name!r} cannot be the name of a bundled model; expected a plain name: no / \\ : and no dot first"
        )
    half = read_checkpoint(write_half(run))
    size = sum(tensor.nbytes for tensor in half.tensors["model"].values())
    if size > LARGEST:
        raise CheckpointError(
            f"{run}: the float16 weights have {size:,} bytes; expected at most {LARGEST:,} for a bundled model"
        )
    place = folder / name
    try:
        added = {CARD: card(name, half, reports), **(texts or {})}
    except (KeyError, IndexError, TypeError, AttributeError, ValueError, OverflowError) as error:
        raise DataError(f"{run}: no card can be made of its state and the reports: {error!r}") from error
    write_checkpoint(place, Checkpoint(half.tensors, half.state, {**half.texts, **added}))
    return place


def _sources(config: Config) -> list[tuple[str, str]]:
    """What somebody else made and this model carries: data with licences, and word vectors."""
    # A domain that is only a file is not run for a card.
    domain = None if names_code(config.data.domain) else load_domain(config.data.domain)
    learned = {part.partition("*")[0].strip() for part in split_parts(config.data.train)}
    known = domain.licences if isinstance(domain, NamesLicences) else {}
    named = [told for split, told in known.items() if split in learned or config.data.train == "train"]
    vectors = config.training.word_vectors
    own = vectors in ("random", "company")
    rows = [("sources", "; ".join(named))] if named else []
    role = "fixed word vectors of" if config.model.d_static else "words that start from"
    parts = [] if own else [f"{role} {Path(vectors).name}"]
    if config.data.reader:
        parts.append(f"{config.data.reader} reads before it, and has to be installed")
    if config.model.reader_layers:
        parts.append(f"the last {config.model.reader_layers} layers of it are tuned, and carried here")
    return [*rows, ("pre-trained", "; ".join(parts) or "nothing")]


def _remembered(checkpoint: Checkpoint) -> list[tuple[str, str]]:
    """What of its training texts a model carries, where it carries any."""
    known = checkpoint.texts.get(KNOWN, "").count("\n")
    if MEMORY not in checkpoint.tensors:
        return []
    return [("remembers", f"{known:,} training questions as text ({KNOWN}); which runs of words occurred, hashed")]


def card(name: str, checkpoint: Checkpoint, reports: Sequence[Mapping[str, Any]]) -> str:
    """The model card, in Markdown: what it is, how it was made, what it is worth, what not to expect of it."""
    config, codec = read_setting(checkpoint, name)
    standing = checkpoint.state.get("standing", {})
    weights = checkpoint.tensors["model"].values()
    rows = [
        ("model", f"{config.name}: {config.model.encoder} encoder, {config.model.decoder} decoder"),
        ("weights", f"{sum(w.numel() for w in weights):,} in float16, {sum(w.nbytes for w in weights):,} bytes"),
        (
            "vocabulary",
            f"{len(codec.words):,} words, {len(codec.relations)} relations, {len(codec.arguments)} arguments",
        ),
        ("learned from", f"{config.data.domain} {config.data.train}, chosen on {config.data.dev}"),
        *_sources(config),
        ("data sha256", str(checkpoint.state.get("data_sha256", "unknown"))),
        ("seed", str(config.training.seed)),
        ("epoch of these weights", f"{standing.get('epoch', 0)} of {config.training.epochs}"),
        ("training so far", f"{standing.get('seconds', 0.0) / 60:.0f} minutes"),
        *_remembered(checkpoint),
    ]
    lines = [f"# {name}", "", "| | |", "|---|---|", *(f"| {what} | {value} |" for what, value in rows), ""]
    for report in reports:
        groups = report["groups"]
        metrics = list(groups[0]["metrics"])
        lines += [f"## {report['title']}", "", "| | n | " + " | ".join(metrics) + " |"]
        lines.append("|---|" + "---:|" * (1 + len(metrics)))
        for group in groups:
            cells = [f"{100 * group['metrics'][metric]['value']:.2f}" for metric in metrics]
            lines.append(f"| {group['name']} | {group['count']:,} | " + " | ".join(cells) + " |")
        lines.append("")
    lines += [
        "Percent, measured with these float16 weights; the intervals are in the project's `results/`.",
        "",
        "## Limits",
        "",
        "* It knows questions like those it learned from. The rows of unseen templates are what a question of your own",
        "  may expect.",
        "* It always writes a program. Every answer has its confidence and the words that training did not have.",
        "* Its data is in English, was annotated by many hands, and holds wrong programs.",
        "",
        "## Config",
        "",
        "```toml",
        write_config(config).rstrip(),
        "```",
        "",
    ]
    return "\n".join(lines)
