"""Why the TPR encoder starts slowly on MathQA, and what mends it: the first steps of training, looked at from inside.

    python benchmarks/encoder_start.py [--data DIR] [--steps 2000] [--only NAME ...] [--quick]
    python benchmarks/encoder_start.py --redraw

TP-N2F and TP2LSTM are trained with the presets' settings, once with the paper's temperature of 0.1 and once with 1;
then TP-N2F with one other change at a time; LSTM2TP stands beside them. The training loop makes the steps, with the
schedule of 24 epochs. After steps 0, 50, 100, 200, 400, ... the weights that learn are measured on dev problems. CPU
seconds are those of the training alone. Writes results/encoder_start.json after every run, then draws
docs/figures/encoder-start. With --redraw it only draws.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from torch import Tensor

from tpn2f.config import Config, change_config, load_config
from tpn2f.domain import Domain, Example, Splits, load_domain
from tpn2f.explain.observe import BATCH, fits
from tpn2f.explain.plots import CLUSTER_COLOURS, CLUSTER_MARKS, DPI, FAINT, GREY, INK, save
from tpn2f.kernels import keep_memory
from tpn2f.model.encoder import Encoding
from tpn2f.model.evaluating import evaluating
from tpn2f.publish.encoder_start import START
from tpn2f.publish.reproduce import describe_commit
from tpn2f.training import Trainer
from tpn2f.training.examples import spread

ROOT = Path(__file__).resolve().parent.parent
LSTM_READER = {"model.encoder": "lstm", "model.summary": "last", "model.d_hidden": 384}
LSTM_WRITER = {"model.decoder": "lstm", "model.d_hidden": 384}
HARD, SOFT = {"model.temperature": 0.1}, {"model.temperature": 1.0}
RUNS: dict[str, dict[str, Any]] = {
    "LSTM2TP": LSTM_READER,
    "TP-N2F, temperature 0.1": HARD,
    "TP-N2F, temperature 1": SOFT,
    "TP2LSTM, temperature 0.1": {**LSTM_WRITER, **HARD},
    "TP2LSTM, temperature 1": {**LSTM_WRITER, **SOFT},
    "TP-N2F, temperature 3": {"model.temperature": 3.0},
    "TP-N2F, selection four times as large": {**HARD, "model.selection_scale": 4.0},
    "TP-N2F, fillers and roles half as long": {**HARD, "model.dictionary_deviation": 0.5},
    "TP-N2F, fillers and roles twice as long": {**HARD, "model.dictionary_deviation": 2.0},
    "TP-N2F, full rate for recurrences": {**HARD, "training.recurrent_rate": 1.0},
    "TP-N2F, last binding as summary": {**HARD, "model.summary": "last"},
    "TP-N2F, attention sees bindings of length 1": {**HARD, "model.normalised": True},
}
DRAWN = tuple(RUNS)[:5]
PRESET = "mathqa-24"
FIRST, EVERY = 50, 200
"""Measured first after so many steps, then after twice as many, and so on; the loss is kept for every 200 steps."""
PLACES = (1, 5, 10, 20, 40)
"""The words of a text at which the length of T is told."""
PARTS = {
    "words": ("encoder.embedding",),
    "gates": ("encoder.readers.0.input", "encoder.readers.0.recurrent", "encoder.readers.0.bias"),
    "selection": ("encoder.readers.0.filler_selection", "encoder.readers.0.role_selection"),
    "dictionaries": ("encoder.readers.0.filler_dictionary", "encoder.readers.0.role_dictionary"),
    "the rest": ("",),
}
"""Parts of the model by the beginnings of the names of their weights; a weight is in the first part that it fits."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="the folder of the data sets")
    parser.add_argument("--steps", type=int, default=2000, help="how many steps a run makes")
    parser.add_argument("--problems", type=int, default=200, help="how many dev problems are looked at")
    parser.add_argument("--only", nargs="+", choices=list(RUNS), metavar="NAME", help="only these runs; the rest stays")
    parser.add_argument("--quick", action="store_true", help="20 steps, 10 dev problems, the first three runs")
    parser.add_argument("--redraw", action="store_true", help="draw again from the numbers in results/")
    parser.add_argument("--root", type=Path, default=ROOT, help="where docs/ and results/ are")
    options = parser.parse_args()
    place = options.root / "results" / START
    if not options.redraw:
        if options.quick:
            options.steps, options.problems, options.only = 20, 10, list(RUNS)[:3]
        torch.set_num_threads(1)
        torch.set_flush_denormal(True)
        keep_memory()
        study(load_domain("mathqa", options.data), options, place)
    drawn = draw(json.loads(place.read_text(encoding="utf-8"))["rows"], options.root / "docs" / "figures")
    print(f"drawn: {', '.join(path.name for path in drawn)}")


def study(domain: Domain, options: argparse.Namespace, place: Path) -> None:
    """The runs, one after the other; the file is written after each, and keeps what it had of the others."""
    commit = describe_commit(ROOT)  # before the long run, in which somebody may change a file
    splits = Splits(domain)
    examples = spread(splits.take("dev"), options.problems)
    kept = json.loads(place.read_text(encoding="utf-8"))["rows"] if options.only and place.is_file() else []
    rows = {row["name"]: row for row in kept}
    place.parent.mkdir(parents=True, exist_ok=True)
    for name in options.only or RUNS:
        rows[name] = {"name": name, "settings": RUNS[name], "commit": commit}
        with TemporaryDirectory() as folder:
            trainer = Trainer(run_config(name), domain, Path(folder), splits=splits)
            rows[name] |= follow(trainer, examples, options.steps)
        result = {
            "what": "the first steps of training on MathQA, weights as they learn",
            "problems": len(examples),
            "torch": torch.__version__,
            "threads": torch.get_num_threads(),
            "rows": [rows[run] for run in RUNS if run in rows],
        }
        place.write_text(json.dumps(rounded(result), separators=(",", ":")) + "\n", encoding="utf-8")
        row = rows[name]
        print(f"{name}: loss {row['losses'][-1] if row['losses'] else math.nan:.2f} after {row['steps']} steps,")
        print(f"  {row['cpu_seconds']:.0f} CPU-s, at the end {short(row['moments'][-1])}", flush=True)


def run_config(name: str) -> Config:
    changes = {"training.checkpoint_seconds": 1e9, "training.evaluate_every": 1000, **RUNS[name]}
    return change_config(load_config(ROOT / "configs" / f"{PRESET}.toml"), changes, name)


def follow(trainer: Trainer, examples: Sequence[Example], steps: int) -> dict[str, Any]:
    """Trains for so many steps, and looks inside on the way."""
    moments, losses = [look(trainer, examples)], []
    started, looking = time.process_time(), 0.0
    before = (0.0, 0)
    for event in trainer.run():
        standing = trainer.standing
        if event.kind != "step":
            continue
        if standing.examples < before[1]:  # a new epoch
            before = (0.0, 0)
        if standing.step % EVERY == 0:
            losses.append((standing.loss - before[0]) / max(1, standing.examples - before[1]))
            before = (standing.loss, standing.examples)
        if is_measured(standing.step) or standing.step >= steps:
            entered = time.process_time()
            moments.append(look(trainer, examples, moments[-1]))
            looking += time.process_time() - entered
        trainer.stop = standing.step >= steps
    for moment in moments:
        moment.pop("chosen")
    worked = time.process_time() - started - looking
    return {"steps": trainer.standing.step, "cpu_seconds": round(worked, 1), "losses": losses, "moments": moments}


def is_measured(step: int) -> bool:
    times, rest = divmod(step, FIRST)
    return rest == 0 and times & (times - 1) == 0


def look(trainer: Trainer, examples: Sequence[Example], before: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """One moment of a training: gradients by part, the selections, the lengths of T, how alike texts are.

    gradients: the norm of a part's gradient, divided by that of its weights. evenness: the entropy of the selection of
    a filler or role, as a part of the largest possible one. changed: the total variation between the selections at
    this moment and the one before. used: how many fillers or roles are chosen, as if evenly, over all words. lengths:
    the mean |T| of the 1st, 5th, ... word. texts: how much of the length of a summary all texts have in common.
    """
    solver = trainer.solver
    fitting = [example for example in examples if fits(solver.codec, example)]
    model = solver.model
    found: dict[str, Any] = {"step": trainer.standing.step, "gradients": gradients(trainer, fitting[:BATCH])}
    encodings: list[Encoding] = []
    for start in range(0, len(fitting), BATCH):
        batch = solver.codec.batch(fitting[start : start + BATCH]).to(next(model.parameters()).device)
        with evaluating(model):
            encodings.append(model.encode(batch[0], batch[1], batch[5]))
    lengths = [bound_lengths(encoding) for encoding in encodings]
    widest = max(each.shape[1] for each in lengths)
    padded = torch.cat([torch.nn.functional.pad(each, (0, widest - each.shape[1]), value=math.nan) for each in lengths])
    found["lengths"] = {str(at): float(padded[:, at - 1].nanmean()) for at in PLACES if at <= widest}
    summaries = torch.cat([encoding.summary for encoding in encodings]).double()
    found["summary_length"] = float(summaries.norm(dim=1).mean())
    found["texts"] = likeness(summaries)
    found["chosen"] = {kind: chosen(encodings, f"{kind}_scores") for kind in ("filler", "role")}
    for kind, scores in found["chosen"].items():
        if scores is None:
            continue
        entropy = -(scores * scores.clamp(min=1e-30).log()).sum(1).mean()
        found[f"{kind}_evenness"] = float(entropy) / math.log(scores.shape[1])
        found[f"{kind}_used"] = float(scores.mean(0).square().sum().reciprocal())
        if before is not None:
            found[f"{kind}_changed"] = float((scores - before["chosen"][kind]).abs().sum(1).mean()) / 2
    return found


def gradients(trainer: Trainer, examples: Sequence[Example]) -> dict[str, float]:
    """Of every part the norm of its gradient on these examples, divided by the norm of its weights."""
    model = trainer.model
    training = model.training
    model.eval()
    model.zero_grad(set_to_none=True)
    batch = trainer.codec.batch(examples)
    model.loss(*batch.to(next(model.parameters()).device)).value.backward()
    norms = {part: [0.0, 0.0] for part in PARTS}
    for name, weight in model.named_parameters():
        part = next(part for part, starts in PARTS.items() if name.startswith(starts))
        if weight.grad is not None:
            norms[part][0] += float(weight.grad.double().square().sum())
            norms[part][1] += float(weight.detach().double().square().sum())
    model.zero_grad(set_to_none=True)
    model.train(training)
    return {part: math.sqrt(slope / size) for part, (slope, size) in norms.items() if size}


def bound_lengths(encoding: Encoding) -> Tensor:
    """[batch, words]: |T| = |f| |r| of every word; nothing beyond a text."""
    lengths = (encoding.context_fillers.norm(dim=3) * encoding.context_roles.norm(dim=3)).square().sum(1).sqrt()
    return lengths.double().masked_fill(~encoding.mask, math.nan)


def likeness(summaries: Tensor) -> float:
    """How much of the length of a summary is the same for all texts: 1 if they are all alike, 0 if they cancel out."""
    return float(summaries.mean(0).norm() / summaries.norm(dim=1).mean())


def chosen(encodings: Sequence[Encoding], name: str) -> Tensor | None:
    """[words, choices]: the selections for all words of all texts; None for a plain LSTM."""
    if getattr(encodings[0], name) is None:
        return None
    return torch.cat([getattr(each, name)[:, 0][each.mask] for each in encodings]).double()


def short(moment: Mapping[str, Any]) -> str:
    told = {key: moment.get(key) for key in ("texts", "summary_length", "filler_evenness", "role_evenness")}
    return ", ".join(f"{key} {value:.2f}" for key, value in told.items() if value is not None)


# What is drawn.

CURVES = {
    "loss": "Training loss",
    "filler_evenness": "Evenness of the selection of fillers",
    "selection": "Gradient of the selection, per weight",
    "texts": "What all texts have in common",
}


def draw(rows: Sequence[Mapping[str, Any]], folder: Path) -> list[Path]:
    """Four curves over the steps: one line a run, with its own colour and mark."""
    figure = Figure(figsize=(6.6, 4.2), dpi=DPI)
    FigureCanvasAgg(figure)
    shown = [row for row in rows if row["name"] in DRAWN]
    for place, (key, title) in enumerate(CURVES.items()):
        axes = figure.add_axes((0.07 + 0.5 * (place % 2), 0.6 - 0.43 * (place // 2), 0.41, 0.31))
        for row in shown:
            points = curve(row, key)
            if not points:
                continue
            steps, values = zip(*points)
            number = DRAWN.index(row["name"])
            (line,) = axes.plot(steps, values, color=CLUSTER_COLOURS[number], linewidth=0.9, label=row["name"])
            line.set(marker=CLUSTER_MARKS[number], markersize=2.6, markeredgewidth=0)
        axes.set_title(title, fontsize=7, color=INK, loc="left", pad=4)
        axes.tick_params(labelsize=6, colors=GREY, length=2, pad=1)
        if key == "selection":
            axes.set_yscale("log")
            axes.yaxis.set_major_formatter("{x:g}")
        axes.grid(color=FAINT, linewidth=0.4)
        axes.set_axisbelow(True)
        axes.spines[["top", "right"]].set_visible(False)
        axes.spines[["left", "bottom"]].set_color(FAINT)
        axes.set_xlabel("training steps", fontsize=6, color=GREY, labelpad=1)
    handles, labels = figure.axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="lower center", ncols=3, fontsize=6.5, frameon=False, labelcolor=INK)
    return save(figure, folder / "encoder-start", ("png", "svg"))


def curve(row: Mapping[str, Any], key: str) -> list[tuple[float, float]]:
    if key == "loss":  # the first 200 steps would hide the rest
        return [(EVERY * place, loss) for place, loss in enumerate(row["losses"], 1) if place > 1]
    if key == "selection":
        found = [(at["step"], at["gradients"].get(key)) for at in row["moments"]]
    else:
        found = [(at["step"], at.get(key)) for at in row["moments"]]
    return [(step, value) for step, value in found if value is not None]


def rounded(value: Any) -> Any:
    """With four digits: enough for pictures and tables."""
    if isinstance(value, float):
        return float(f"{value:.4g}")
    if isinstance(value, dict):
        return {key: rounded(part) for key, part in value.items()}
    return [rounded(part) for part in value] if isinstance(value, list | tuple) else value


if __name__ == "__main__":
    main()
