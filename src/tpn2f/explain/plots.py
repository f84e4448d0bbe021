"""Pictures of what `explain` found: coloured words, attention, the map of relations. The only matplotlib import.

The same numbers give the same file, byte for byte. Nothing is computed here but where things stand on the paper.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from tpn2f.errors import DataError, N2FError
from tpn2f.explain import QuestionMap, RelationMap, TPRMeasure
from tpn2f.explain.colours import Kind, faded, palette, selected, tag
from tpn2f.explain.labels import place_labels

try:
    import matplotlib as mpl
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from matplotlib.font_manager import FontProperties, findfont, get_font
    from matplotlib.patches import FancyBboxPatch
except ImportError as error:
    raise N2FError("pictures need matplotlib: pip install 'tpn2f[analysis]'") from error

FORMATS = ("png", "svg")
MOST_WORDS = 400
"""The most words of a question that are drawn."""
DPI = 110
# Colours that people with any colour vision can distinguish (Okabe and Ito), each with its own mark for print.
CLUSTER_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
CLUSTER_MARKS = ("o", "s", "^", "D", "v", "P")
INK, GREY, FAINT = "#1b1f24", "#6a737d", "#d0d7de"
_WIDTH = 9.0
_MARGIN = 0.25
_SETTINGS: Any = {
    "svg.hashsalt": "tpn2f",
    "svg.fonttype": "path",
    "font.family": "DejaVu Sans",
    # A dollar in a question is money, not mathematics.
    "text.parse_math": False,
}
_styled = mpl.rc_context(_SETTINGS)


@_styled
def draw_selections(maps: Sequence[QuestionMap], kind: Kind) -> Figure:
    """Questions with every word in the colour of the role, or filler, that it selects most; all numbers below it.

    One number has one colour in all questions. The stronger the colour the larger the weight.
    """
    if not any(selected(question, kind) for question in maps):
        raise DataError(f"there is no {kind} to draw: the encoder is a plain LSTM")
    colours = palette(maps, kind)
    pen = _Pen(_WIDTH)
    pen.write(f"{kind.capitalize()}s selected by the words", 13, "bold", INK, 0.34)
    pen.write(f"Below each word the {kind}s with a weight above 0.1, and the weight of the first.", 8.5, "normal", GREY)
    for question in maps:
        pen.space(0.16)
        _draw_question(pen, question, kind, colours)
    return pen.finish()


def _draw_question(pen: _Pen, question: QuestionMap, kind: Kind, colours: dict[int, str]) -> None:
    for word, selection in list(zip(question.words, selected(question, kind)))[:MOST_WORDS]:
        below = tag(selection)
        width = max(pen.width(word, 11), pen.width(below, 6.5)) + 0.12
        pen.fit(width, 0.54)
        x, y = pen.x, pen.y
        if selection:
            number, weight = selection[0]
            pen.box(x, y + 0.02, width, 0.25, faded(colours[number], weight))
        pen.text(x + width / 2, y + 0.145, word, 11, INK if selection else GREY)
        pen.text(x + width / 2, y + 0.36, below, 6.5, GREY)
        pen.x += width + 0.06
    pen.new_line(0.5)
    if len(question.words) > MOST_WORDS:
        pen.write(f"… and {len(question.words) - MOST_WORDS:,} more words", 8.5, "normal", GREY)
    if question.program is not None:
        pen.write(str(question.program), 7.5, "normal", GREY, 0.2, "DejaVu Sans Mono")


class _Pen:
    """Writes from left to right and from top to bottom, in inches; the paper grows with what is written."""

    def __init__(self, width: float) -> None:
        self.figure = Figure(figsize=(width, 1), dpi=DPI)
        self._renderer: Any = FigureCanvasAgg(self.figure).get_renderer()
        self._wide = width
        self.x, self.y = _MARGIN, _MARGIN * 0.7
        self._drawn: list[tuple[str, tuple]] = []

    def width(self, text: str, size: float, family: str = "DejaVu Sans") -> float:
        font = FontProperties(family=family, size=size)
        return self._renderer.get_text_width_height_descent(_drawable(text), font, False)[0] / DPI

    def fit(self, width: float, height: float) -> None:
        """Begins a new line if the width does not fit into this one."""
        if self.x > _MARGIN and self.x + width > self._wide - _MARGIN:
            self.new_line(height)

    def new_line(self, height: float) -> None:
        self.x, self.y = _MARGIN, self.y + height

    def space(self, height: float) -> None:
        self.y += height

    def box(self, x: float, y: float, width: float, height: float, colour: str) -> None:
        self._drawn.append(("box", (x, y, width, height, colour)))

    def text(self, x: float, y: float, text: str, size: float, colour: str) -> None:
        self._drawn.append(("text", (x, y, text, size, colour, "normal", "center", "DejaVu Sans")))

    def write(
        self, text: str, size: float, weight: str, colour: str, height: float = 0.24, family: str = "DejaVu Sans"
    ) -> None:
        """Whole lines, broken between words where they are too long."""
        line = ""
        for word in text.split(" "):
            longer = f"{line} {word}" if line else word
            if line and self.width(longer, size, family) > self._wide - 2 * _MARGIN:
                self._line(line, size, weight, colour, height, family)
                longer = word
            line = longer
        self._line(line, size, weight, colour, height, family)

    def _line(self, text: str, size: float, weight: str, colour: str, height: float, family: str) -> None:
        self._drawn.append(("text", (_MARGIN, self.y + height / 2, text, size, colour, weight, "left", family)))
        self.y += height

    def finish(self) -> Figure:
        """The figure; its height is known only now."""
        high = self.y + _MARGIN * 0.7
        self.figure.set_size_inches(self._wide, high)
        axes = self.figure.add_axes((0, 0, 1, 1), xlim=(0, self._wide), ylim=(high, 0))
        axes.axis("off")
        for what, given in self._drawn:
            if what == "box":
                x, y, width, height, colour = given
                style = "round,pad=0,rounding_size=0.06"
                axes.add_patch(FancyBboxPatch((x, y), width, height, boxstyle=style, facecolor=colour, linewidth=0))
            else:
                x, y, text, size, colour, weight, across, family = given
                axes.text(
                    *(x, y, _drawable(text)),
                    fontsize=size,
                    color=colour,
                    weight=weight,
                    ha=across,
                    va="center",
                    family=family,
                )
        return self.figure


@_styled
def draw_attention(question: QuestionMap, panel: int = 44) -> Figure:
    """What each tuple attends to, as shades: one row per tuple, one column per word, `panel` words per strip."""
    if not question.attention:
        raise DataError("there is no attention to draw: the model wrote no program")
    steps = [f"#{place}  {step}" for place, step in enumerate(question.program or ())]
    labels = [label if len(label) <= 44 else f"{label[:43]}…" for label in steps]
    words = question.words[:MOST_WORDS]
    weights = np.array(question.attention)[:, : len(words)]
    starts = range(0, len(words), panel)
    pen = _Pen(_WIDTH)
    left = 0.3 + max(pen.width(label, 8, "DejaVu Sans Mono") for label in labels)
    above = 0.12 + 0.82 * max(pen.width(word, 8) for word in words)
    cell, wide = 0.2, min(panel, len(words)) * 0.2
    strip = above + len(labels) * cell + 0.12
    width, height = left + wide + 0.85, 0.45 + strip * len(starts) + 0.1
    figure = Figure(figsize=(width, height), dpi=DPI)
    FigureCanvasAgg(figure)
    figure.text(0.15 / width, 1 - 0.22 / height, "Attention of every tuple over the words", fontsize=12, weight="bold")
    shades: Any = None
    for place, start in enumerate(starts):
        part = weights[:, start : start + panel]
        top = 0.45 + place * strip + above
        box = (left / width, 1 - (top + len(labels) * cell) / height, part.shape[1] * cell / width)
        axes = figure.add_axes((*box, len(labels) * cell / height))
        shades = axes.pcolormesh(part, cmap="Blues", vmin=0, vmax=max(float(weights.max()), 1e-9), ec="white", lw=0.4)
        axes.invert_yaxis()
        axes.set_yticks(np.arange(len(labels)) + 0.5, map(_drawable, labels), family="DejaVu Sans Mono", fontsize=8)
        axes.xaxis.tick_top()
        shown = [_drawable(word) for word in words[start : start + panel]]
        axes.set_xticks(np.arange(len(shown)) + 0.5, shown, rotation=55, ha="left", fontsize=8, rotation_mode="anchor")
        axes.tick_params(length=0, pad=1)
        for spine in axes.spines.values():
            spine.set_visible(False)
    first = 0.45 + above + len(labels) * cell
    bar = figure.add_axes((1 - 0.62 / width, 1 - first / height, 0.1 / width, len(labels) * cell / height))
    figure.colorbar(shades, cax=bar).ax.tick_params(labelsize=7, length=2)
    bar.set_yticks([0, float(weights.max())], ["0", f"{weights.max():.2f}"])
    bar.spines[:].set_visible(False)
    return figure


@_styled
def draw_relations(relations: RelationMap, k: int | None = None) -> Figure:
    """The relations in the plane of their principal components, coloured by k clusters, or for every k of the map."""
    chosen = [one for one in relations.clusterings if k in (None, one.k)]
    if k is not None and not chosen:
        raise DataError(f"there is no clustering with k = {k}; there is {[c.k for c in relations.clusterings]}")
    across = 2 if len(chosen) > 1 else 1
    down = max(1, -(-len(chosen) // across))
    figure = Figure(figsize=(7.4 * across, 0.6 + 6.0 * down), dpi=DPI, layout="constrained")
    FigureCanvasAgg(figure)
    figure.suptitle("Unbinding vectors of the relations", fontsize=14, weight="bold", color=INK)
    grid = figure.subplots(down, across, squeeze=False).ravel()
    for axes in grid[max(1, len(chosen)) :]:
        axes.axis("off")
    labels = [clustering.labels for clustering in chosen] or [(0,) * len(relations.relations)]
    titles = [f"{clustering.k} clusters" for clustering in chosen] or ["too few relations for clusters"]
    for axes, colours, title in zip(grid, labels, titles):
        _scatter(axes, relations, colours, title)
    # Labels are placed in pixels, once it is known where the axes stand.
    figure.draw_without_rendering()
    for axes, colours in zip(grid, labels):
        _label_points(axes, relations, colours)
    return figure


def _scatter(axes: Any, relations: RelationMap, labels: Sequence[int], title: str) -> None:
    points = np.array(relations.points)
    sizes = _areas(relations)
    for label in sorted(set(labels)):
        mine = np.array(labels) == label
        axes.scatter(
            *points[mine].T,
            s=sizes[mine],
            color=CLUSTER_COLOURS[label % len(CLUSTER_COLOURS)],
            marker=CLUSTER_MARKS[label % len(CLUSTER_MARKS)],
            alpha=0.9,
            linewidth=0.6,
            edgecolor="white",
            zorder=3,
        )
    axes.margins(0.12)
    axes.set_title(title, fontsize=11, color=INK)
    for name, axis, share in zip(("first", "second"), (axes.xaxis, axes.yaxis), relations.explained):
        axis.set_label_text(f"{name} principal component ({100 * share:.0f} % of the variance)", fontsize=8.5)
    axes.tick_params(labelsize=7, colors=GREY)
    axes.grid(color=FAINT, linewidth=0.5, zorder=0)
    axes.spines[:].set_color(FAINT)


def _label_points(axes: Any, relations: RelationMap, labels: Sequence[int]) -> None:
    font = FontProperties(family="DejaVu Sans", size=7.5)
    renderer = FigureCanvasAgg(axes.figure).get_renderer()
    sizes = [renderer.get_text_width_height_descent(_drawable(n), font, False)[:2] for n in relations.relations]
    spots = axes.transData.transform(np.array(relations.points))
    radii = np.sqrt(_areas(relations)) / 2 * DPI / 72
    middles = place_labels(spots, radii, np.array(sizes), axes.get_window_extent().extents)
    for place, name in enumerate(relations.relations):
        at, point = axes.transData.inverted().transform(middles[place]), relations.points[place]
        gap = np.abs(middles[place] - spots[place]) - np.array(sizes[place]) / 2 - radii[place]
        if gap.max() > 6:
            colour = CLUSTER_COLOURS[labels[place] % len(CLUSTER_COLOURS)]
            axes.plot([point[0], at[0]], [point[1], at[1]], color=colour, linewidth=0.6, alpha=0.6, zorder=2)
        box = {"facecolor": "white", "alpha": 0.75, "linewidth": 0, "pad": 0.4}
        axes.text(*at, _drawable(name), fontproperties=font, ha="center", va="center", color=INK, bbox=box, zorder=2.5)


def _areas(relations: RelationMap) -> np.ndarray:
    """How large the points are: with the logarithm of the number of tuples."""
    return 26 + 11 * np.log(np.array(relations.counts))


@_styled
def draw_measure(measure: TPRMeasure) -> Figure:
    """How much of H its own outputs define, against the controls."""
    rows = [
        ("its own outputs: H_TPR", measure.own, CLUSTER_COLOURS[0]),
        ("relation vector of another relation", measure.other_relation, CLUSTER_COLOURS[4]),
        ("whole tuple of another relation", measure.other_tuple, CLUSTER_COLOURS[1]),
        ("the best relation vector there is", measure.best, FAINT),
        ("all that the positions see", measure.positions, FAINT),
    ]
    figure = Figure(figsize=(7.5, 2.9), dpi=DPI, layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots()
    for place, (_, spread, colour) in enumerate(rows):
        axes.barh(place, spread.mean, color=colour, height=0.62)
        axes.plot([spread.low, spread.high], [place, place], color=INK, linewidth=1)
        axes.text(spread.high + 0.012, place, f"{100 * spread.mean:.1f} %", va="center", fontsize=8.5, color=INK)
    axes.axvline(measure.chance, color=GREY, linewidth=0.8, linestyle=":")
    axes.text(measure.chance + 0.005, len(rows) - 0.42, "chance", fontsize=7.5, color=GREY, va="top")
    axes.set_yticks(range(len(rows)), [name for name, _, _ in rows], fontsize=9)
    axes.invert_yaxis()
    axes.set_xlim(0, 1.08)
    axes.set_xticks([0, 0.25, 0.5, 0.75, 1], ["0", "25 %", "50 %", "75 %", "100 %"], fontsize=8)
    axes.set_title("How much of H is explained (share of |H|²; lines: 5 % to 95 % of the tuples)", fontsize=10)
    axes.spines[["top", "right"]].set_visible(False)
    return figure


def save(figure: Figure, place: Path, formats: Sequence[str] = FORMATS) -> list[Path]:
    """Writes `place` with the ending of every format; returns the files. The same figure gives the same bytes."""
    unknown = [name for name in formats if name not in FORMATS]
    if unknown:
        raise DataError(f"no picture has the format {unknown[0]!r}; expected {' or '.join(FORMATS)}")
    written = []
    for name in formats:
        path = place.with_name(f"{place.name}.{name}")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(_render(figure, name))
        except OSError as error:
            raise DataError(f"cannot write {path}: {error.strerror}") from error
        written.append(path)
    return written


def svg_text(figure: Figure) -> str:
    """The picture as an `<svg>` element that can stand in a page."""
    text = _render(figure, "svg").decode("utf-8")
    return text[text.index("<svg") :].rstrip()


@_styled
def _render(figure: Figure, name: str) -> bytes:
    stream = io.BytesIO()
    nothing = {"png": {"Software": None}, "svg": {"Date": None, "Creator": None}}
    figure.savefig(stream, format=name, metadata=nothing[name], facecolor="white")
    return stream.getvalue()


def _drawable(text: str) -> str:
    """Without what the font cannot draw: a box stands for each such character."""
    return "".join(letter if ord(letter) in _letters() and letter.isprintable() else "□" for letter in text)


@cache
def _letters() -> frozenset[int]:
    return frozenset(get_font(findfont("DejaVu Sans")).get_charmap())
