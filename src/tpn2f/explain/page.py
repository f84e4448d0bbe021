"""One page with all that `explain` found: a single HTML file without scripts that loads nothing from elsewhere.

Every text that is not ours is escaped. Pictures are drawn by `plots` and stand in the page as SVG.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from tpn2f.explain import Agreement, Analysis, QuestionMap, RelationMap, TPRMeasure, WordGroup
from tpn2f.explain.colours import Kind, faded, palette, selected, tag
from tpn2f.explain.plots import draw_measure, draw_relations, svg_text

MOST_WORDS = 400
"""The most words of a question that are shown."""
_STYLE = """
:root { color-scheme: light dark; --ink: #1b1f24; --paper: #fff; --faint: #6a737d; --line: #d0d7de; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6edf3; --paper: #0d1117; --faint: #9198a1; --line: #3d444d; } }
body { font: 16px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); max-width: 70rem;
  margin: 0 auto; padding: 1rem; }
h1, h2, h3 { line-height: 1.2; } h2 { margin-top: 2.5rem; } p.faint, caption, summary { color: var(--faint); }
.map { line-height: 1.2; padding: 0; margin: .5rem 0 1.2rem; list-style: none; display: flex; flex-wrap: wrap;
  gap: .35rem .5rem; }
.map li { text-align: center; } .map b { display: block; font-weight: normal; padding: .1rem .35rem;
  border-radius: .4rem; } .map b[style] { color: #1b1f24; }
.map small { color: var(--faint); font-size: .65rem; white-space: nowrap; }
code { overflow-wrap: anywhere; } .wide { overflow-x: auto; } .picture { background: #fff; border-radius: .5rem; }
.picture { overflow-x: auto; } .picture svg { width: 100%; min-width: 20rem; max-width: 34rem; height: auto; }
.picture svg { display: block; } .picture.large svg { max-width: 44rem; }
table { border-collapse: collapse; margin: .8rem 0; font-size: .9rem; } caption { text-align: left; }
th, td { border-bottom: 1px solid var(--line); padding: .2rem .6rem; text-align: right; vertical-align: top; }
th:first-child, td:first-child, .text td, .text th { text-align: left; }
.shades { font-size: .75rem; } .shades td { padding: .15rem .3rem; min-width: 1.2rem; color: #1b1f24; }
.shades td.dark { color: #fff; }
.shades thead th { writing-mode: vertical-rl; transform: rotate(200deg); font-weight: normal; padding: .1rem; }
.shades tbody th { font: .75rem ui-monospace, monospace; white-space: nowrap; text-align: left; }
"""
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"


def make_page(title: str, questions: Sequence[tuple[str, QuestionMap]] = (), analysis: Analysis | None = None) -> str:
    """The whole page: some questions with their maps, and what there is to say of a model."""
    parts = [f"<h1>{escape(title)}</h1>"]
    maps = [question for _, question in questions]
    colours: dict[Kind, dict[int, str]] = {"role": palette(maps, "role"), "filler": palette(maps, "filler")}
    for text, question in questions:
        parts.append(_question(text, question, colours))
    if analysis is not None:
        parts.append(_analysis(analysis))
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n"
        + "\n".join(parts)
        + "\n</body>\n</html>"
    )


def _question(text: str, question: QuestionMap, colours: dict[Kind, dict[int, str]]) -> str:
    parts = [f"<h2>{escape(_short(text))}</h2>"]
    program = "the model wrote no program" if question.program is None else str(question.program)
    parts.append(f"<p><code>{escape(program)}</code></p>")
    kinds: tuple[Kind, Kind] = ("role", "filler")
    for kind in kinds:
        if selected(question, kind):
            parts.append(f"<h3>{kind.capitalize()}s</h3>{_words(question, kind, colours[kind])}")
    if not question.has_roles:
        parts.append('<p class="faint">The encoder is a plain LSTM: it has no fillers and no roles.</p>')
    if question.attention:
        parts.append(f"<h3>Attention</h3>{_shades(question)}")
    return "\n".join(parts)


def _short(text: str) -> str:
    words = text.split()
    return text if len(words) <= MOST_WORDS else " ".join([*words[:MOST_WORDS], "…"])


def _words(question: QuestionMap, kind: Kind, colours: dict[int, str]) -> str:
    cells = []
    for word, selection in list(zip(question.words, selected(question, kind)))[:MOST_WORDS]:
        shown = f"<b>{escape(word)}</b>"
        if selection:
            number, weight = selection[0]
            shown = f'<b style="background:{faded(colours[number], weight)}">{escape(word)}</b>'
        cells.append(f"<li>{shown}<small>{tag(selection)}</small></li>")
    more = len(question.words) - MOST_WORDS
    rest = f'<p class="faint">… and {more:,} more words</p>' if more > 0 else ""
    return f'<ul class="map">{"".join(cells)}</ul>{rest}'


def _shades(question: QuestionMap) -> str:
    words = question.words[:MOST_WORDS]
    most = max((weight for row in question.attention for weight in row), default=0.0) or 1.0
    heads = "".join(f'<th scope="col">{escape(word)}</th>' for word in words)
    rows = []
    for place, (step, weights) in enumerate(zip(question.program or (), question.attention)):
        cells = []
        for weight in weights[: len(words)]:
            part = weight / most
            shade = "#" + "".join(f"{round(255 - part * (255 - full)):02x}" for full in (8, 81, 156))
            dark = ' class="dark"' if part > 0.55 else ""
            cells.append(f'<td{dark} style="background:{shade}">{weight:.2f}</td>'.replace(">0.", ">."))
        rows.append(f'<tr><th scope="row">#{place} {escape(str(step))}</th>{"".join(cells)}</tr>')
    return (
        f'<div class="wide"><table class="shades"><thead><tr><td></td>{heads}</tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table></div>"
    )


def _analysis(analysis: Analysis) -> str:
    about = f"{analysis.examples:,} examples of {analysis.domain} {analysis.split}"
    parts = [f'<h2>The model</h2><p class="faint">Seen on {escape(about)}.</p>']
    if analysis.relations is not None:
        parts.append(_relations(analysis.relations))
    if analysis.tpr is not None:
        parts.append(_measure(analysis.tpr))
    if analysis.purity:
        parts.append(_purity(analysis.purity))
    if analysis.groups is not None:
        parts.append(_groups("Words by filler", analysis.groups.fillers, analysis.groups.n_fillers))
        parts.append(_groups("Words by role", analysis.groups.roles, analysis.groups.n_roles))
    parts += [f'<p class="faint">Note: {escape(note)}.</p>' for note in analysis.notes]
    return "\n".join(parts)


def _relations(relations: RelationMap) -> str:
    rows = [["relation", "tuples", "nearest relations (cosine)"]]
    for name, count, nearest in zip(relations.relations, relations.counts, relations.nearest):
        rows.append([name, f"{count:,}", ", ".join(f"{other} ({cosine:.2f})" for other, cosine in nearest)])
    picture = f'<div class="picture large">{svg_text(draw_relations(relations))}</div>'
    details = f"<details><summary>Nearest relations</summary>{_table(rows, text=True)}</details>"
    return f"<h3>Relations</h3>{picture}{details}"


def _measure(measure: TPRMeasure) -> str:
    rows = [["share of |H|²", "mean", "5 %", "median", "95 %"]]
    named = (
        ("H_TPR of its own outputs", measure.own),
        ("control: relation vector of another relation", measure.other_relation),
        ("control: relation vector of another tuple of the same relation", measure.same_relation),
        ("control: whole tuple of another relation", measure.other_tuple),
        ("the best relation vector there is", measure.best),
        ("all that the positions see", measure.positions),
    )
    for name, spread in named:
        if spread is not None:
            values = (spread.mean, spread.low, spread.median, spread.high)
            rows.append([name, *(f"{100 * value:.1f} %" for value in values)])
    about = f"{measure.tuples:,} tuples; chance is {100 * measure.chance:.1f} %."
    picture = f'<div class="picture">{svg_text(draw_measure(measure))}</div>'
    return f'<h3>How much of H is a tuple</h3><p class="faint">{about}</p>{picture}{_table(rows)}'


def _purity(checks: Sequence[Agreement]) -> str:
    rows = [["groups", "against", "purity", "shuffled", "mutual information", "shuffled", "p"]]
    for check in checks:
        values = (check.purity, check.control_purity, check.mutual_information, check.control_mutual_information)
        against = f"{check.classes} ({check.units:,} {check.unit})"
        rows.append([check.groups, against, *(f"{value:.3f}" for value in values), f"{check.p_value:.3f}"])
    return f"<h3>Do groups follow classes?</h3>{_table(rows, text=True)}"


def _groups(title: str, groups: Sequence[WordGroup], size: int) -> str:
    rows = [["number", "tokens", "typical words (how often)"]]
    for group in groups:
        words = ", ".join(f"{member.word} ({member.count:,})" for member in group.words)
        rows.append([str(group.number), f"{group.tokens:,}", words])
    used = f"{title}: {len(groups)} used, of {size}"
    return f"<details><summary>{escape(used)}</summary>{_table(rows, text=True)}</details>"


def _table(rows: Sequence[Sequence[str]], text: bool = False) -> str:
    head = "".join(f'<th scope="col">{escape(cell)}</th>' for cell in rows[0])
    body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows[1:])
    kind = ' class="text"' if text else ""
    return f'<div class="wide"><table{kind}><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'
