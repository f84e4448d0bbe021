"""The command that looks inside a model: fillers and roles of the words, attention, the map of relations."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.cells import cell_len
from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from tpn2f.cli.terminal import (
    DataOption,
    InputOption,
    JsonOption,
    ModelOption,
    OtherDomainOption,
    TrustOption,
    WidthOption,
    check_targets,
    err,
    out,
    read_input,
    spinner,
    write,
)
from tpn2f.errors import ConfigError, DataError
from tpn2f.solution import Question

if TYPE_CHECKING:
    from tpn2f.explain import Analysis, QuestionMap, WordGroup
    from tpn2f.explain.colours import Kind

PICTURES = ("png", "svg", "pdf")
FORMATS = (*PICTURES, "html", "json")
SHADES = " ░▒▓█"
MOST_WORDS = 400
"""The most words of a question that are shown."""
_MARGIN = 10
_GROUPS = 15


def explain(
    question: Annotated[
        list[str] | None,
        typer.Argument(
            help="Questions. Without any and without --split, they are read from standard input, one per line."
        ),
    ] = None,
    model: ModelOption = None,
    width: WidthOption = 1,
    split: Annotated[str | None, typer.Option(help="Analyse the model over this split, such as dev.")] = None,
    limit: Annotated[int, typer.Option(min=0, help="How many examples of the split to use; 0 for all.")] = 1_000,
    shuffles: Annotated[int, typer.Option(min=1, max=100_000, help="How many times the controls are shuffled.")] = 199,
    output: Annotated[Path | None, typer.Option(help="A folder to write pictures, a page and the numbers to.")] = None,
    formats: Annotated[
        str | None,
        typer.Option("--format", help="What to write there: png, svg, pdf, html, json, separated by commas."),
    ] = None,
    value: InputOption = None,
    domain: OtherDomainOption = None,
    trust: TrustOption = False,
    data: DataOption = None,
    as_json: JsonOption = False,
) -> None:
    """Look inside a model: which filler and role each word selects, what each tuple attends to, how relations cluster.

    With --split it also shows the words by filler and role, how much of the decoder's state is the tuple that it
    writes, and whether fillers follow meaning and roles follow structure, compared with shuffled controls.
    """
    from tpn2f.explain import analyse, explain_question
    from tpn2f.solver import Solver

    wanted = _read_formats(formats, output)
    asked = list(question or ())
    if not asked and split is None:
        if hasattr(sys.stdin, "reconfigure"):
            sys.stdin.reconfigure(encoding="utf-8", errors="replace")  # type: ignore[union-attr]
        asked = [] if sys.stdin.isatty() else [line.strip() for line in sys.stdin if line.strip()]
        if not asked:
            raise DataError("nothing to explain: give a question, or --split dev to look at the model")
    if {*PICTURES, "html"} & set(wanted):
        # Checked before the slow work starts: pictures need an extra.
        import tpn2f.explain.plots  # noqa: F401
    check_targets(output, folders=True)
    solver = Solver.load(model, data, domain, trust)
    inputs = dict(read_input(text) for text in value or [])
    found = []
    for text in asked:
        found.append((text, explain_question(solver, solver.read(Question(text, inputs)).seen, width)))
        if not as_json:
            show_question(out, *found[-1])
    analysis = None
    if split is not None:
        with spinner(f"looking at {split}") as update:
            analysis = analyse(solver, split, limit, shuffles, update)
        if not as_json:
            show_analysis(out, analysis)
    numbers = json.dumps(
        {
            "questions": [{"question": text, **seen.to_dict()} for text, seen in found],
            "analysis": analysis and analysis.to_dict(),
        },
        ensure_ascii=False,
    )
    if as_json:
        out.print(numbers, soft_wrap=True, markup=False)
    if output is not None:
        with spinner(f"writing {output}"):
            written = write_all(output, wanted, found, analysis, numbers)
        err.print(f"written to {escape(str(output))}: {', '.join(path.name for path in written)}", soft_wrap=True)


def _read_formats(text: str | None, output: Path | None) -> tuple[str, ...]:
    if output is None:
        if text is not None:
            raise ConfigError("--format needs a folder to write to: name one with --output DIR")
        return ()
    names = FORMATS if text is None else tuple(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))
    for name in names:
        if name not in FORMATS:
            raise ConfigError(f"--format {text}: there is no format {name!r}; expected some of {', '.join(FORMATS)}")
    if not names:
        raise ConfigError(f"--format is empty; expected some of {', '.join(FORMATS)}")
    return names


def write_all(
    folder: Path,
    formats: Sequence[str],
    questions: Sequence[tuple[str, QuestionMap]],
    analysis: Analysis | None,
    numbers: str,
) -> list[Path]:
    """Writes pictures, page and numbers into a folder; returns the files."""
    written: list[Path] = []
    if "json" in formats:
        write(folder / "explain.json", numbers)
        written.append(folder / "explain.json")
    if "html" in formats:
        from tpn2f.explain.page import make_page

        write(folder / "explain.html", make_page("Inside the model", questions, analysis))
        written.append(folder / "explain.html")
    pictures = [name for name in formats if name in PICTURES]
    if pictures:
        from tpn2f.explain.plots import save

        for name, draw in _pictures([seen for _, seen in questions], analysis).items():
            written += save(draw(), folder / name, pictures)
    return written


def _pictures(maps: Sequence[QuestionMap], analysis: Analysis | None) -> dict[str, Callable]:
    from tpn2f.explain.plots import draw_attention, draw_measure, draw_relations, draw_selections

    found: dict[str, Callable] = {}
    if any(seen.has_roles for seen in maps):
        found["roles"] = lambda: draw_selections(maps, "role")
        found["fillers"] = lambda: draw_selections(maps, "filler")
    for number, seen in enumerate(maps, 1):
        if seen.attention:
            found[f"attention-{number}"] = lambda seen=seen: draw_attention(seen)
    if analysis is not None and analysis.relations is not None:
        relations = analysis.relations
        found["relations"] = lambda: draw_relations(relations)
        for clustering in relations.clusterings:
            found[f"relations-{clustering.k}"] = lambda k=clustering.k: draw_relations(relations, k)
    if analysis is not None and analysis.tpr is not None:
        measure = analysis.tpr
        found["measure"] = lambda: draw_measure(measure)
    return found


def show_question(console: Console, text: str, seen: QuestionMap) -> None:
    """Words with their roles and fillers below, in lines as wide as the terminal; then the attention of every tuple."""
    from tpn2f.explain.colours import palette, selected, tag

    words = [" ".join(word.split()) or "□" for word in seen.words[:MOST_WORDS]]
    kinds: tuple[Kind, ...] = ("role", "filler") if seen.has_roles else ()
    tags: dict[Kind, list[str]] = {kind: [tag(selection) for selection in selected(seen, kind)] for kind in kinds}
    colours: dict[Kind, dict[int, str]] = {kind: palette([seen], kind) for kind in kinds}
    console.print(escape(text), soft_wrap=True, style="bold")
    columns = [max([cell_len(word), *(len(tags[kind][place]) for kind in kinds)]) for place, word in enumerate(words)]
    for line in _lines(columns, console.width - _MARGIN):
        # A word has the colour of its role; a filler's number the colour of the filler.
        first = Text("words".ljust(_MARGIN), style="dim", no_wrap=True)
        for place in line:
            first.append(_padded(words[place], columns[place]), _style(seen, "role", place, colours))
            first.append("  ")
        console.print(first, soft_wrap=True)
        for kind in kinds:
            row = Text(f"{kind}s".ljust(_MARGIN), style="dim", no_wrap=True)
            for place in line:
                row.append(_padded(tags[kind][place], columns[place]), _style(seen, kind, place, colours))
                row.append("  ")
            console.print(row, soft_wrap=True)
        console.print()
    if len(seen.words) > MOST_WORDS:
        console.print(f"… and {len(seen.words) - MOST_WORDS:,} more words\n", style="dim")
    if not kinds:
        console.print("[dim]the encoder is a plain LSTM: it has no fillers and no roles[/]")
    if seen.program is None:
        console.print("[red]the model wrote no program[/]")
    else:
        _show_attention(console, seen, words)
    console.print()


def _show_attention(console: Console, seen: QuestionMap, words: Sequence[str]) -> None:
    steps = [f"#{place}  {step}" for place, step in enumerate(seen.program or ())]
    margin = max(map(len, steps), default=0) + 2
    console.print("[dim]attention: one shade per word, and the words with the most attention[/]")
    for step, weights in zip(steps, seen.attention):
        most = max(weights) or 1.0
        strip = "".join(SHADES[round(4 * weight / most)] for weight in weights[: len(words)])
        best = sorted(range(len(words)), key=lambda place, weights=weights: -weights[place])[:3]
        heard = ", ".join(f"“{words[place]}” {weights[place]:.2f}" for place in best)
        console.print(f"{escape(step.ljust(margin))}[dim]{escape(heard)}[/]", soft_wrap=True)
        for start in range(0, len(strip), max(20, console.width - 6)):
            part = strip[start : start + max(20, console.width - 6)]
            console.print(f"    [blue]▏{part}▕[/]", soft_wrap=True)


def _lines(columns: Sequence[int], width: int) -> Iterable[list[int]]:
    line: list[int] = []
    used = 0
    for place, column in enumerate(columns):
        if line and used + column + 2 > width:
            yield line
            line, used = [], 0
        line.append(place)
        used += column + 2
    if line:
        yield line


def _padded(text: str, width: int) -> str:
    return text + " " * (width - cell_len(text))


def _style(seen: QuestionMap, kind: Kind, place: int, colours: dict[Kind, dict[int, str]]) -> str:
    from tpn2f.explain.colours import faded, selected

    choices = selected(seen, kind)
    if not choices or not choices[place]:
        return ""
    number, weight = choices[place][0]
    return f"black on {faded(colours[kind][number], weight)}"


def show_analysis(console: Console, analysis: Analysis) -> None:
    """Groups, clusters, neighbours, measurement and checks, as tables."""
    console.print(f"[bold]{escape(analysis.domain)} {escape(analysis.split)}[/], {analysis.examples:,} examples\n")
    if analysis.groups is not None:
        _show_groups(console, "filler", analysis.groups.fillers, analysis.groups.n_fillers)
        _show_groups(console, "role", analysis.groups.roles, analysis.groups.n_roles)
    if analysis.relations is not None:
        _show_relations(console, analysis)
    if analysis.tpr is not None:
        measure = analysis.tpr
        table = Table(title=f"how much of H is a tuple: share of |H|² over {measure.tuples:,} tuples")
        for column in ("", "mean", "5 %", "median", "95 %"):
            table.add_column(column, justify="left" if not column else "right")
        for name, spread in (
            ("H_TPR of its own outputs", measure.own),
            ("control: relation vector of another relation", measure.other_relation),
            ("control: whole tuple of another relation", measure.other_tuple),
            ("the best relation vector there is", measure.best),
            ("all that the positions see", measure.positions),
        ):
            values = (spread.mean, spread.low, spread.median, spread.high)
            table.add_row(name, *(f"{100 * value:.1f} %" for value in values))
        table.add_row("chance", f"{100 * measure.chance:.1f} %", "", "", "")
        console.print(table)
    if analysis.purity:
        table = Table(title="do groups follow classes?", caption="shuffled controls, mean")
        for column in ("groups", "against", "purity", "shuffled", "mutual information", "shuffled", "p"):
            table.add_column(column, justify="left" if column in ("groups", "against") else "right")
        for check in analysis.purity:
            numbers = (check.purity, check.control_purity, check.mutual_information, check.control_mutual_information)
            table.add_row(check.groups, check.classes, *(f"{number:.3f}" for number in numbers), f"{check.p_value:.3f}")
        console.print(table)
    for note in analysis.notes:
        console.print(f"[dim]note: {escape(note)}[/]", soft_wrap=True)


def _show_groups(console: Console, kind: str, groups: Sequence[WordGroup], size: int) -> None:
    table = Table(title=f"words by {kind}: the largest groups; {len(groups)} of {size} {kind}s are used")
    table.add_column(kind, justify="right")
    table.add_column("tokens", justify="right")
    table.add_column("typical words")
    for group in groups[:_GROUPS]:
        typical = ", ".join(member.word for member in group.words[:10])
        table.add_row(str(group.number), f"{group.tokens:,}", escape(typical))
    console.print(table)


def _show_relations(console: Console, analysis: Analysis) -> None:
    relations = analysis.relations
    assert relations is not None
    for clustering in relations.clusterings:
        console.print(f"[bold]{clustering.k} clusters of relations[/] (inertia {clustering.inertia:.4g})")
        for label in range(clustering.k):
            names = [name for name, mine in zip(relations.relations, clustering.labels) if mine == label]
            console.print(f"  {label}  {escape(', '.join(names))}", soft_wrap=True)
    table = Table(title="nearest relations, by the cosine of their average unbinding vectors")
    for column in ("relation", "tuples", "nearest"):
        table.add_column(column, justify="right" if column == "tuples" else "left")
    for name, count, nearest in zip(relations.relations, relations.counts, relations.nearest):
        shown = ", ".join(f"{other} {cosine:.2f}" for other, cosine in nearest)
        table.add_row(escape(name), f"{count:,}", escape(shown))
    console.print(table)
