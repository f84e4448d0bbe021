"""Why attention is even, and what makes it look: short trainings on MathQA, measured while they learn.

    python benchmarks/attention_study.py [--data DIR] [--limit 3000] [--epochs 10] [--seconds 150] [--causes] [--quick]
    python benchmarks/attention_study.py --redraw

Each of the two encoders of the ablation is trained plainly and with three mends: bindings of length 1, sharp scores,
and sharp scores with a guide. With --causes TP-N2F is also trained without tanh, with its last binding as summary, and
with a harder selection. The training loop makes the steps. After steps 0, 50, 100, 200, 400, ... and after every epoch
the weights that learn are measured on dev problems, with gold programs as in training. A score is known up to a
constant as the logarithm of a weight; neither a deviation nor a correlation sees the constant.

A run has a bound of CPU time, and what it did until then counts. Writes results/attention_study.json after every run,
with the attention of TP-N2F to one question of the paper's appendix, plain and guided, its gold program given. Then it
draws docs/figures/attention-study, attention-before and attention-after. With --redraw it only draws.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from torch import Tensor
from torch.nn import functional as F

from tpn2f.config import Config, change_config
from tpn2f.domain import Domain, Example, Splits, load_domain
from tpn2f.explain import QuestionMap, explain_question, measure_attention
from tpn2f.explain.attention import places
from tpn2f.explain.observe import BATCH, fits
from tpn2f.explain.plots import CLUSTER_COLOURS, CLUSTER_MARKS, DPI, FAINT, GREY, INK, draw_attention, save
from tpn2f.kernels import keep_memory
from tpn2f.model.encoder import Encoding
from tpn2f.model.evaluating import evaluating
from tpn2f.program import Program
from tpn2f.publish.ablation import SYSTEMS, ablation_config
from tpn2f.publish.attention import STUDY
from tpn2f.publish.reproduce import describe_commit
from tpn2f.solver import Solver
from tpn2f.training import Trainer
from tpn2f.training.examples import spread

ROOT = Path(__file__).resolve().parent.parent
PLAIN, GUIDED = "plain", "guided"
SHARP: dict[str, Any] = {"model.attention": "general", "model.sharpness": 4.0}
VARIANTS: dict[str, dict[str, Any]] = {
    PLAIN: {},
    "normalised": {"model.normalised": True},
    "sharp": SHARP,
    GUIDED: {**SHARP, "model.attention_guide": 0.3},
}
CAUSES: dict[str, dict[str, Any]] = {
    "no tanh": {"model.attention_tanh": False},
    "last binding as summary": {"model.summary": "last"},
    "harder selection": {"model.temperature": 0.02},
}
"""What else might make attention even, each taken away alone, for `SHOWN`."""
SHOWN = "tpn2f"
"""The system whose maps are kept."""
QUESTION = "20 is subtracted from 60 percent of a number, the result is 88. Find the number?"
GOLD = Program.parse("add(n0, n2) | divide(n1, const_100) | divide(#0, #1)")
FIRST = 50
"""The first step that is measured after the start; each further one comes after twice as many."""
PARTS = {"evenness": "Evenness of attention", "on_used": "Share of attention on the arguments written"}
LINES = ("-", ":", "--", "-.")
FORMATS = ("png", "svg")

Run = tuple[str, str]
"""A system and a variant."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="the folder of the data sets")
    parser.add_argument("--limit", type=int, default=3000, help="how many training problems, from the first on")
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--problems", type=int, default=200, help="how many dev problems are looked at")
    parser.add_argument("--scored", type=int, default=1000, help="how many dev problems are scored at the end of a run")
    parser.add_argument("--seconds", type=float, default=150.0, help="the most CPU time of a run")
    parser.add_argument("--causes", action="store_true", help="take away other causes, too: three runs more")
    parser.add_argument("--quick", action="store_true", help="100 training problems, one epoch, 20 dev problems")
    parser.add_argument("--redraw", action="store_true", help="draw again from the numbers in results/")
    parser.add_argument("--root", type=Path, default=ROOT, help="where docs/ and results/ are")
    options = parser.parse_args()
    place = options.root / "results" / STUDY
    if not options.redraw:
        if options.quick:
            options.limit, options.epochs, options.problems, options.scored = 100, 1, 20, 20
        torch.set_num_threads(1)
        torch.set_flush_denormal(True)
        keep_memory()
        study(load_domain("mathqa", options.data), options, place)
    drawn = draw(json.loads(place.read_text(encoding="utf-8")), options.root / "docs" / "figures")
    print(f"drawn: {', '.join(path.name for path in drawn)}")


# What is compared.


def study_configs(limit: int, epochs: int, scored: int, causes: bool = False) -> dict[Run, Config]:
    """Every variant of every system: the first row of the ablation, with less to learn."""
    settings = [f"data.limit={limit}", f"training.epochs={epochs}", f"training.evaluate_every={epochs}"]
    settings += [f"training.evaluate_examples={scored}", "training.checkpoint_seconds=1e9"]
    asked = {(system, name): change for system in SYSTEMS for name, change in VARIANTS.items()}
    if causes:
        asked |= {(SHOWN, name): change for name, change in CAUSES.items()}
    return {
        (system, name): change_config(
            ablation_config(ROOT / "configs", f"ablation-mathqa-{system}-words", settings), change, name
        )
        for (system, name), change in asked.items()
    }


def study(domain: Domain, options: argparse.Namespace, place: Path) -> None:
    """All runs, one after the other; the file is written after each."""
    # Before the long run, in which somebody may change a file.
    commit = describe_commit(ROOT)
    configs = study_configs(options.limit, options.epochs, options.scored, options.causes)
    splits = Splits(domain)
    examples = spread(splits.take("dev"), options.problems)
    result: dict[str, Any] = {
        "what": "attention over training: MathQA, gold programs given, weights as they learn",
        "problems": len(examples),
        "scored": len(spread(splits.take("dev"), options.scored)),
        "settings": {"data.limit": options.limit, "training.epochs": options.epochs},
        "most_cpu_seconds_a_run": options.seconds,
        "torch": torch.__version__,
        "threads": torch.get_num_threads(),
        "commit": commit,
        "question": {"text": QUESTION, "system": SYSTEMS[SHOWN], "program": "gold", "maps": {}},
        "rows": [],
    }
    place.parent.mkdir(parents=True, exist_ok=True)
    for (system, variant), config in configs.items():
        with TemporaryDirectory() as folder:
            trainer = Trainer(config, domain, Path(folder), splits=splits)
            row = {"system": SYSTEMS[system], "variant": variant, "settings": {**VARIANTS, **CAUSES}[variant]}
            row |= follow(trainer, examples, options.seconds)
        if system == SHOWN and variant in (PLAIN, GUIDED):
            found = explain_question(trainer.solver, QUESTION, program=GOLD)
            result["question"]["maps"][variant] = {"evenness": found.evenness, **found.to_dict()}
        result["rows"].append(row)
        place.write_text(json.dumps(rounded(result), separators=(",", ":")) + "\n", encoding="utf-8")
        tell(row)


def follow(trainer: Trainer, examples: Sequence[Example], seconds: float) -> dict[str, Any]:
    """Trains, and looks at attention on the way; a run that takes longer is stopped."""
    started, strict = time.process_time(), None
    moments = [look(trainer, examples)]
    for event in trainer.run():
        if event.kind == "step" and is_measured(event.step, trainer.batches_an_epoch):
            moments.append(look(trainer, examples))
        elif event.kind == "dev":
            strict = event.dev
        trainer.stop = trainer.stop or time.process_time() - started > seconds
    if moments[-1]["step"] < trainer.standing.step:
        moments.append(look(trainer, examples))
    return {
        "finished": trainer.standing.finished,
        "steps": trainer.standing.step,
        "cpu_seconds": round(time.process_time() - started, 1),
        "strict": strict,
        "moments": moments,
    }


def is_measured(step: int, batches_an_epoch: int) -> bool:
    """After 50, 100, 200, 400, ... steps and after every epoch."""
    times, rest = divmod(step, FIRST)
    return step % batches_an_epoch == 0 or (rest == 0 and times & (times - 1) == 0)


# What is measured.


def look(trainer: Trainer, examples: Sequence[Example]) -> dict[str, Any]:
    """One moment of a training."""
    seen = measure_attention(trainer.solver, examples)
    sharpness = trainer.model.state_dict().get("decoder.lstm.sharpness")
    return {
        "step": trainer.standing.step,
        "tuples": seen.steps,
        **{name: getattr(seen, name) for name in ("entropy", "evenness", "largest", "on_used", "chance", "found")},
        **measure_scores(trainer.solver, examples),
        "sharpness": None if sharpness is None else sharpness.item(),
    }


def measure_scores(solver: Solver, examples: Sequence[Example]) -> dict[str, float | None]:
    """Means over the steps that `measure_attention` counts, and over the words of the texts.

    spread: the standard deviation of a step's scores over the words, before the softmax. with_length, by_length:
    the correlation of scores and lengths of T, and its square; None where all lengths are equal. neighbours, any_two:
    the cosine of the T of neighbouring words, and of any two words of a text.
    """
    fitting = [example for example in examples if fits(solver.codec, example)]
    spreads: list[Tensor] = []
    correlations: list[Tensor] = []
    neighbours: list[Tensor] = []
    any_two: list[Tensor] = []
    model = solver.model
    for start in range(0, len(fitting), BATCH):
        batch = solver.codec.batch(fitting[start : start + BATCH]).to(next(model.parameters()).device)
        words, word_counts, tuples, tuple_counts, _, contextual = batch
        with evaluating(model):
            encoding = model.encode(words, word_counts, contextual)
            attention, written = model.decoder.attend(encoding, tuples, tuple_counts)
            context = bindings(encoding)
        rows, steps = places(solver.codec, words, written).any(2).nonzero(as_tuple=True)
        mask = encoding.mask[rows]
        scores = centred(attention[rows, steps].double().clamp(min=torch.finfo(torch.float32).tiny).log(), mask)
        lengths = context.norm(dim=2)
        differing = centred(lengths, encoding.mask)
        deviation = deviations(differing, encoding.mask)
        spreads.append(deviations(scores, mask))
        # Of length 1 but for rounding: there is nothing that scores could go with.
        some = (deviation > 1e-4 * lengths.max(1).values)[rows] & (spreads[-1] > 0)
        product = (scores * differing[rows]).sum(1) / mask.sum(1)
        correlations.append((product / (spreads[-1] * deviation[rows]))[some])
        unit = F.normalize(context, dim=2)
        neighbours.append((unit[:, :-1] * unit[:, 1:]).sum(2)[encoding.mask[:, 1:]])
        several = word_counts > 1
        pairs = word_counts * (word_counts - 1)
        any_two.append(((unit.sum(1).square().sum(1) - word_counts) / pairs.clamp(min=1))[several])
    found = {"spread": spreads, "with_length": correlations, "neighbours": neighbours, "any_two": any_two}
    joined = {name: torch.cat(parts) for name, parts in found.items()}
    joined["by_length"] = joined["with_length"].square()
    return {name: float(values.mean()) if len(values) else None for name, values in joined.items()}


def bindings(encoding: Encoding) -> Tensor:
    """[batch, word, d]: T as attention sees it, zero beyond a text."""
    context = encoding.context_fillers.unsqueeze(-1) * encoding.context_roles.unsqueeze(-2)
    return (context.transpose(1, 2).flatten(2) * encoding.mask.unsqueeze(-1)).double()


def centred(values: Tensor, mask: Tensor) -> Tensor:
    """Every row less its mean over the real words; zero elsewhere."""
    mean = (values * mask).sum(1, keepdim=True) / mask.sum(1, keepdim=True)
    return (values - mean) * mask


def deviations(differences: Tensor, mask: Tensor) -> Tensor:
    return (differences.square().sum(1) / mask.sum(1)).sqrt()


# What is kept and drawn.


def tell(row: Mapping[str, Any]) -> None:
    first, last = row["moments"][0], row["moments"][-1]
    strict = "" if row["strict"] is None else f", strict {100 * row['strict']:.1f} %"
    print(
        f"{row['system']}, {row['variant']}: {row['steps']} steps, {row['cpu_seconds']} CPU-s, evenness"
        f" {first['evenness']:.3f} to {last['evenness']:.3f}, on arguments {last['on_used']:.3f} (chance"
        f" {last['chance']:.3f}), spread {first['spread']:.3f} to {last['spread']:.3f}{strict}",
        flush=True,
    )


def draw(result: Mapping[str, Any], folder: Path) -> list[Path]:
    """All pictures that the file has the numbers for."""
    made = save(draw_study(result["rows"]), folder / "attention-study", FORMATS)
    for variant, name in ((PLAIN, "before"), (GUIDED, "after")):
        if variant in result["question"]["maps"]:
            seen = QuestionMap.from_dict(result["question"]["maps"][variant])
            made += save(draw_attention(seen), folder / f"attention-{name}", FORMATS)
    return made


def draw_study(rows: Sequence[Mapping[str, Any]]) -> Figure:
    """Evenness and share over the steps, one line a variant, one column a system; the words stand at the lines."""
    shown = [row for row in rows if row["variant"] in VARIANTS]
    systems = list(dict.fromkeys(row["system"] for row in shown))
    last = max(moment["step"] for row in shown for moment in row["moments"])
    figure = Figure(figsize=(3.3, 3.2), dpi=DPI)
    FigureCanvasAgg(figure)
    for up, (key, title) in enumerate(PARTS.items()):
        values = [moment[key] for row in shown for moment in row["moments"]]
        low, high = min(0.9, *values) if key == "evenness" else 0.0, max([*values, 0.1])
        bottom = 0.565 - 0.485 * up
        figure.text(0.01, bottom + 0.395, title, fontsize=7, weight="bold", color=INK, va="center")
        for across, system in enumerate(systems):
            axes = figure.add_axes((0.09 + 0.475 * across, bottom, 0.27, 0.31))
            axes.set_xlim(0, last)
            axes.set_ylim(low - 0.04 * (high - low), high + 0.04 * (high - low))
            axes.set_title(system, fontsize=6.5, color=INK, loc="left", pad=4)
            mine = {row["variant"]: row["moments"] for row in shown if row["system"] == system}
            draw_lines(axes, {name: [(at["step"], at[key]) for at in moments] for name, moments in mine.items()})
            ends = {name: moments[-1][key] for name, moments in mine.items()}
            if key == "on_used":
                ends["chance"] = rows[0]["moments"][0]["chance"]
                axes.axhline(ends["chance"], color=GREY, linewidth=0.6)
            label_lines(axes, ends)
            axes.tick_params(labelleft=not across)
            if up:
                axes.set_xlabel("training steps", fontsize=6, color=GREY, labelpad=1)
    return figure


def draw_lines(axes: Axes, lines: Mapping[str, Sequence[tuple[float, float]]]) -> None:
    """One line a variant, with its own colour, dashes and mark."""
    for place, name in enumerate(VARIANTS):
        if name in lines:
            steps, values = zip(*lines[name])
            (line,) = axes.plot(steps, values, color=CLUSTER_COLOURS[place], linestyle=LINES[place], linewidth=0.9)
            line.set(marker=CLUSTER_MARKS[place], markersize=2.4, markeredgewidth=0, clip_on=False)
    axes.xaxis.set_major_locator(MaxNLocator(3, integer=True))
    axes.tick_params(labelsize=6, colors=GREY, length=2, pad=1)
    axes.grid(color=FAINT, linewidth=0.4)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color(FAINT)


def label_lines(axes: Axes, ends: Mapping[str, float]) -> None:
    """Names behind the ends of lines, as near to them as they can be without touching each other."""
    low, high = axes.get_ylim()
    colours = dict(zip(VARIANTS, CLUSTER_COLOURS))
    heights = apart([(value - low) / (high - low) for value in ends.values()], 0.095)
    for name, height in zip(ends, heights):
        axes.text(1.05, height, name, fontsize=6, color=colours.get(name, GREY), va="center", transform=axes.transAxes)


def apart(heights: Sequence[float], gap: float) -> list[float]:
    """The heights moved, in their order, until no two are nearer than the gap: neighbours that touch share the way."""
    order = sorted(range(len(heights)), key=lambda place: heights[place])
    groups: list[list[float]] = []  # the sum of what the members of a group want for its first, and their number
    for place in order:
        groups.append([heights[place], 1])
        while len(groups) > 1 and groups[-2][0] / groups[-2][1] + gap * groups[-2][1] > groups[-1][0] / groups[-1][1]:
            total, count = groups.pop()
            groups[-1][0] += total - gap * groups[-1][1] * count
            groups[-1][1] += count
    starts = [total / count + gap * number for total, count in groups for number in range(int(count))]
    moved = dict(zip(order, starts))
    return [moved[place] for place in range(len(heights))]


def rounded(value: Any) -> Any:
    """With five digits: enough for pictures, and the file stays small."""
    if isinstance(value, float):
        return float(f"{value:.5g}")
    if isinstance(value, dict):
        return {key: rounded(part) for key, part in value.items()}
    return [rounded(part) for part in value] if isinstance(value, list | tuple) else value


if __name__ == "__main__":
    main()
