"""Pictures of what `explain` found: coloured words, attention, the map of relations. The only matplotlib import.

Made for print: as wide as one column of a page, with type of at least 6 points. The same numbers give the same file,
byte for byte. Nothing is computed here but where things stand on the paper.
"""

from __future__ import annotations

import io
from collections.abc import Collection, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from tpn2f.errors import DataError, N2FError
from tpn2f.explain import QuestionMap, RelationMap, TPRMeasure
from tpn2f.explain.colours import Kind, faded, palette, selected, tag
from tpn2f.explain.labels import differing, place_labels

try:
    import matplotlib as mpl
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from matplotlib.font_manager import FontProperties, findfont, get_font
    from matplotlib.patches import FancyBboxPatch
except ImportError as error:
    raise N2FError("pictures need matplotlib: pip install 'tpn2f[analysis]'") from error

FORMATS = ("png", "svg", "pdf")
MOST_WORDS = 400
"""The most words of a question that are drawn."""
DPI = 110
"""Where things stand is found out in pixels of this size."""
FINE = 220
"""The pixels per inch of a PNG."""
EVEN = 0.9
"""From this part of the largest possible entropy on, attention is nearly the same for all words."""
# Colours that people with any colour vision can distinguish (Okabe and Ito), each with its own mark for print.
CLUSTER_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
CLUSTER_MARKS = ("o", "s", "^", "D", "v", "P")
INK, GREY, FAINT = "#1b1f24", "#6a737d", "#d0d7de"
_WIDTH = 3.3
"""One column, in inches."""
_MARGIN = 0.04
_SETTINGS: Any = {
    "svg.hashsalt": "tpn2f",
    "svg.fonttype": "path",
    "pdf.fonttype": 42,
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
    pen.write(f"{kind.capitalize()}s selected by the words", 8, "bold", INK, 0.18)
    pen.write(f"Below each word: {kind}s with a weight above 0.1; the weight of the first.", 6, "normal", GREY, 0.14)
    for question in maps:
        pen.space(0.08)
        _draw_question(pen, question, kind, colours)
    return pen.finish()


def _draw_question(pen: _Pen, question: QuestionMap, kind: Kind, colours: dict[int, str]) -> None:
    for word, selection in list(zip(question.words, selected(question, kind)))[:MOST_WORDS]:
        below = tag(selection)
        width = max(pen.width(word, 7.5), pen.width(below, 6)) + 0.06
        pen.fit(width, 0.33)
        x, y = pen.x, pen.y
        if selection:
            number, weight = selection[0]
            pen.box(x, y + 0.015, width, 0.155, faded(colours[number], weight))
        pen.text(x + width / 2, y + 0.09, word, 7.5, INK if selection else GREY)
        pen.text(x + width / 2, y + 0.225, below, 6, GREY)
        pen.x += width + 0.035
    pen.new_line(0.31)
    if len(question.words) > MOST_WORDS:
        pen.write(f"… and {len(question.words) - MOST_WORDS:,} more words", 6, "normal", GREY, 0.14)
    if question.program is not None:
        pen.write(str(question.program), 6, "normal", GREY, 0.12, "DejaVu Sans Mono")


class _Pen:
    """Writes from left to right and from top to bottom, in inches; the paper grows with what is written."""

    def __init__(self, width: float) -> None:
        self.figure = Figure(figsize=(width, 1), dpi=DPI)
        self._renderer: Any = FigureCanvasAgg(self.figure).get_renderer()
        self._wide = width
        self.x, self.y = _MARGIN, _MARGIN
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
            if line and self.width(longer, size, family) > 0.96 * (self._wide - 2 * _MARGIN):
                self._line(line, size, weight, colour, height, family)
                longer = word
            line = longer
        self._line(line, size, weight, colour, height, family)

    def _line(self, text: str, size: float, weight: str, colour: str, height: float, family: str) -> None:
        self._drawn.append(("text", (_MARGIN, self.y + height / 2, text, size, colour, weight, "left", family)))
        self.y += height

    def finish(self) -> Figure:
        """The figure; its height is known only now."""
        high = self.y + _MARGIN
        self.figure.set_size_inches(self._wide, high)
        axes = self.figure.add_axes((0, 0, 1, 1), xlim=(0, self._wide), ylim=(high, 0))
        axes.axis("off")
        for what, given in self._drawn:
            if what == "box":
                x, y, width, height, colour = given
                style = "round,pad=0,rounding_size=0.04"
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
def draw_attention(question: QuestionMap, panel: int = 17) -> Figure:
    """What each tuple attends to, as shades: one row per tuple, one column per word, up to `panel` words per strip."""
    if not question.attention:
        raise DataError("there is no attention to draw: the model wrote no program")
    key = [f"#{place}  {step}" for place, step in enumerate(question.program or ())]
    words = question.words[:MOST_WORDS]
    weights = np.array(question.attention)[:, : len(words)]
    # Weights that hardly differ are to look as if they hardly differ.
    most = max(float(weights.max()), 0.3)
    # Strips of about the same length, and not a last one of two words.
    panel = -(-len(words) // -(-len(words) // panel))
    pen, starts, cell, line = _Pen(_WIDTH), range(0, len(words), panel), 0.15, 0.115
    above = 0.08 + 0.82 * max(pen.width(word, 6.5) for word in words)
    deep = len(key) * cell
    even = question.evenness > EVEN
    head = 0.2 + 0.13 * even
    height = head + (above + deep + 0.06) * len(starts) + 0.06 + line * len(key)
    figure = Figure(figsize=(_WIDTH, height), dpi=DPI)
    FigureCanvasAgg(figure)
    put = partial(figure.text, _MARGIN / _WIDTH, va="center")
    put(1 - 0.09 / height, "Attention of every tuple over the words", fontsize=8, weight="bold")
    if even:
        put(1 - 0.24 / height, "Nearly the same for all words: this model hardly attends.", fontsize=6, color=GREY)
    shades: Any = None
    for place, start in enumerate(starts):
        part = weights[:, start : start + panel]
        low = head + (place + 1) * (above + deep + 0.06) - 0.06
        axes = figure.add_axes((0.24 / _WIDTH, 1 - low / height, part.shape[1] * cell / _WIDTH, deep / height))
        shades = axes.pcolormesh(part, cmap="Blues", vmin=0, vmax=most, ec="white", lw=0.4)
        axes.invert_yaxis()
        axes.set_yticks(np.arange(len(key)) + 0.5, [f"#{n}" for n in range(len(key))], fontsize=6.5)
        axes.xaxis.tick_top()
        shown = [_drawable(word) for word in words[start : start + panel]]
        axes.set_xticks(
            np.arange(len(shown)) + 0.5, shown, rotation=55, ha="left", fontsize=6.5, rotation_mode="anchor"
        )
        axes.tick_params(length=0, pad=1)
        axes.spines[:].set_visible(False)
    low = head + above + deep
    bar = figure.add_axes((1 - 0.3 / _WIDTH, 1 - low / height, 0.07 / _WIDTH, max(deep, 0.3) / height))
    figure.colorbar(shades, cax=bar).ax.tick_params(labelsize=6, length=1.5, pad=1)
    bar.set_yticks([0, most], ["0", f"{most:.2f}"])
    bar.spines[:].set_visible(False)
    for place, step in enumerate(key):
        shown = _drawable(step if len(step) <= 64 else f"{step[:63]}…")
        put((line * (len(key) - place - 0.5)) / height, shown, fontsize=6, color=GREY, family="DejaVu Sans Mono")
    return figure


@_styled
def draw_relations(relations: RelationMap, k: int | None = None) -> Figure:
    """The relations in the plane of their principal components, with k clusters, or with every k of the map.

    Of several panels the first names all relations, and each that follows only those that change their cluster. A panel
    without any is left out: it would be the one before it.
    """
    chosen = [one for one in relations.clusterings if k in (None, one.k)]
    if k is not None and not chosen:
        raise DataError(f"there is no clustering with k = {k}; there is {[c.k for c in relations.clusterings]}")
    everything = range(len(relations.relations))
    panels = differing([one.labels for one in chosen]) or [((0,) * len(everything), everything)]
    heights = [4.1, *(1.7 for _ in panels[1:])]
    figure = Figure(figsize=(_WIDTH, 0.2 + sum(heights)), dpi=DPI, layout="constrained")
    FigureCanvasAgg(figure)
    figure.suptitle("Unbinding vectors of the relations", fontsize=8, weight="bold", color=INK, x=0.01, ha="left")
    grid = figure.subplots(len(panels), 1, squeeze=False, height_ratios=heights).ravel()
    for axes, (labels, _) in zip(grid, panels):
        title = f"{len(set(labels))} clusters" if chosen else "too few relations for clusters"
        _scatter(axes, relations, labels, title, bool(chosen))
    for name, share, put in zip(("first", "second"), relations.explained, (grid[-1].set_xlabel, grid[0].set_ylabel)):
        put(f"{name} principal component ({100 * share:.0f} % of the variance)", fontsize=6.5)
    # Labels are placed in pixels, once it is known where the axes stand.
    figure.draw_without_rendering()
    for axes, (labels, named) in zip(grid, panels):
        _label_points(axes, relations, labels, named)
    return figure


def _scatter(axes: Any, relations: RelationMap, labels: Sequence[int], title: str, legend: bool) -> None:
    points, sizes = np.array(relations.points), _areas(relations)
    for label in sorted(set(labels)):
        mine = np.array(labels) == label
        axes.scatter(
            *points[mine].T,
            s=sizes[mine],
            color=CLUSTER_COLOURS[label % len(CLUSTER_COLOURS)],
            marker=CLUSTER_MARKS[label % len(CLUSTER_MARKS)],
            alpha=0.9,
            linewidth=0.4,
            edgecolor="white",
            zorder=3,
            label=f"{label + 1}: {mine.sum()}",
        )
    if legend:
        spacing = {"handletextpad": 0.0, "columnspacing": 0.5, "borderpad": 0.0, "borderaxespad": 0.3}
        place = {"loc": "lower right", "bbox_to_anchor": (1.0, 1.0), "ncols": len(set(labels))}
        shown = axes.legend(**place, **spacing, fontsize=6, frameon=False, markerscale=0.8)
        for mark in shown.legend_handles:
            mark.set_sizes([14])
    axes.margins(0.12)
    axes.set_title(title, fontsize=6.5, color=INK, loc="left", pad=3)
    axes.tick_params(labelsize=6, colors=GREY, length=2, pad=1)
    axes.grid(color=FAINT, linewidth=0.4, zorder=0)
    axes.spines[:].set_color(FAINT)


def _label_points(axes: Any, relations: RelationMap, labels: Sequence[int], named: Collection[int]) -> None:
    font = FontProperties(family="DejaVu Sans", size=6)
    renderer = FigureCanvasAgg(axes.figure).get_renderer()
    places = sorted(named)
    names = [_drawable(relations.relations[place]) for place in places]
    sizes = np.array([renderer.get_text_width_height_descent(name, font, False)[:2] for name in names]).reshape(-1, 2)
    points = np.array(relations.points).reshape(-1, 2)
    spots = axes.transData.transform(points)
    radii = np.sqrt(_areas(relations)) / 2 * DPI / 72
    marks = np.concatenate([spots - radii[:, None], spots + radii[:, None]], axis=1)
    points, spots, radii = points[places], spots[places], radii[places]
    middles = place_labels(spots, radii, sizes, axes.get_window_extent().extents, marks)
    for place, name, point, spot, middle, size, radius in zip(places, names, points, spots, middles, sizes, radii):
        at = axes.transData.inverted().transform(middle)
        if (np.abs(middle - spot) - size / 2 - radius).max() > 4:
            colour = CLUSTER_COLOURS[labels[place] % len(CLUSTER_COLOURS)]
            axes.plot([point[0], at[0]], [point[1], at[1]], color=colour, linewidth=0.5, alpha=0.6, zorder=2)
        box = {"facecolor": "white", "alpha": 0.75, "linewidth": 0, "pad": 0.2}
        axes.text(*at, name, fontproperties=font, ha="center", va="center", color=INK, bbox=box, zorder=2.5)


def _areas(relations: RelationMap) -> np.ndarray:
    """How large the points are: with the logarithm of the number of tuples."""
    return 9 + 3 * np.log(np.array(relations.counts))


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
    figure = Figure(figsize=(_WIDTH, 2.3), dpi=DPI, layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots()
    for place, (name, spread, colour) in enumerate(rows):
        axes.barh(place, spread.mean, color=colour, height=0.42)
        axes.plot([spread.low, spread.high], [place, place], color=INK, linewidth=0.8)
        axes.text(spread.high + 0.015, place, f"{100 * spread.mean:.1f} %", va="center", fontsize=6.5, color=INK)
        blank = {"facecolor": "white", "linewidth": 0, "pad": 0.3}
        axes.text(0.004, place - 0.42, name, va="center", fontsize=6.5, color=INK, bbox=blank, zorder=3)
    axes.axvline(measure.chance, color=GREY, linewidth=0.7, linestyle=":")
    axes.text(measure.chance + 0.008, len(rows) - 0.5, "chance", fontsize=6, color=GREY, va="center")
    axes.set_yticks([])
    axes.set_ylim(len(rows) - 0.3, -0.7)
    axes.set_xlim(0, 1.12)
    axes.set_xticks([0, 0.25, 0.5, 0.75, 1], ["0", "25 %", "50 %", "75 %", "100 %"], fontsize=6)
    figure.suptitle("How much of H is explained", fontsize=8, weight="bold", color=INK)
    axes.set_title("share of |H|²; lines: 5 % to 95 % of the tuples", fontsize=6, color=GREY)
    axes.tick_params(length=2, pad=1)
    axes.spines[["top", "right", "left"]].set_visible(False)
    return figure


def save(figure: Figure, place: Path, formats: Sequence[str] = FORMATS) -> list[Path]:
    """Writes `place` with the ending of every format; returns the files. The same figure gives the same bytes."""
    unknown = [name for name in formats if name not in FORMATS]
    if unknown:
        raise DataError(f"no picture has the format {unknown[0]!r}; expected one of {', '.join(FORMATS)}")
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
    nothing = {
        "png": {"Software": None},
        "svg": {"Date": None, "Creator": None},
        "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
    }
    figure.savefig(stream, format=name, metadata=nothing[name], facecolor="white", dpi=FINE)
    return stream.getvalue()


def _drawable(text: str) -> str:
    """Without what the font cannot draw: a box stands for each such character."""
    return "".join(letter if ord(letter) in _letters() and letter.isprintable() else "□" for letter in text)


@cache
def _letters() -> frozenset[int]:
    return frozenset(get_font(findfont("DejaVu Sans")).get_charmap())
