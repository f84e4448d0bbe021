"""A solution as a notebook shows it: the answer first, how far to trust it in words, the steps, and the rest folded.

Plain HTML with colours of its own that can be read on light and on dark paper. No script, nothing is loaded. Everything
that a person or a model wrote is escaped.
"""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from tpn2f.trust.verdict import State, Verdict, count_from_one
from tpn2f.wording import cut, format_step, format_value

if TYPE_CHECKING:
    from tpn2f.solution import Solution

LONGEST = 600
"""The most characters of a question that are repeated."""
COLOURS: dict[State, str] = {"sure": "46,160,67", "guess": "210,153,34", "none": "218,54,51", "open": "56,139,253"}
"""Red, green and blue of every state; the words are the same colour as the text around them."""
_FAINT = "opacity:.75;font-size:.92em"


def as_html(solution: Solution) -> str:
    """The whole of it."""
    verdict = solution.verdict
    parts = []
    if solution.text:
        parts.append(f"<div style='{_FAINT}'>{escape(cut(solution.text, LONGEST))}</div>")
    if solution.reply and verdict.state != "none":
        parts.append(f"<div style='font-size:1.7em;font-weight:600;margin:.1em 0'>{escape(solution.reply)}</div>")
    parts.append(_judged(solution, verdict))
    if solution.chosen is not None:
        hint = "" if solution.chosen.exact else ", the nearest; the answer itself is not among the options"
        parts.append(f"<div>option <b>{escape(str(solution.chosen))}</b>{hint}</div>")
    # Steps to what is no answer are not shown as if they led to one; the program is inside.
    parts += [_steps(solution) if verdict.state != "none" else "", _known(solution), _inside(solution, verdict)]
    return f"<div style='line-height:1.5;max-width:48em'>{''.join(parts)}</div>"


def _judged(solution: Solution, verdict: Verdict) -> str:
    red_green_blue = COLOURS[verdict.state]
    badge = (
        f"<span style='border:1px solid rgb({red_green_blue});background:rgba({red_green_blue},.18);"
        f"border-radius:1em;padding:.1em .7em;font-weight:600'>{escape(verdict.words)}</span>"
    )
    why = verdict.why if solution.program is not None else (solution.error,)
    reasons = "".join(f"<li>{escape(reason)}</li>" for reason in (*why, *solution.notes))
    listed = f"<ul style='margin:.3em 0;padding-left:1.4em'>{reasons}</ul>" if reasons else ""
    return f"<div style='margin:.2em 0'>{badge} <span style='{_FAINT}'>{escape(verdict.chance)}</span></div>{listed}"


def _steps(solution: Solution) -> str:
    rows = "".join(
        f"<li><b>{escape(sum_)}</b>{f' <span style={_FAINT!r}>{escape(said)}</span>' if said else ''}</li>"
        for sum_, said in solution.worded_steps
    )
    if rows:
        return f"<ol style='margin:.4em 0;padding-left:1.6em'>{rows}</ol>"
    return f"<pre style='margin:.4em 0'>{escape(solution.tree)}</pre>" if solution.tree else ""


def _known(solution: Solution) -> str:
    return (
        f"<div style='{_FAINT}'>The nearest question that I know: {escape(told)}</div>"
        if (told := solution.near)
        else ""
    )


def _inside(solution: Solution, verdict: Verdict) -> str:
    if solution.program is None:
        return ""
    lines = [str(solution.program)]
    lines += [f"#{place}  {format_step(step, solution.notation)}" for place, step in enumerate(solution.steps)]
    if verdict.state == "none" and solution.reply:
        lines.append(f"its value: {solution.reply}")
    lines.append(solution.certainty if not solution.error else count_from_one(solution.error))
    for other in solution.alternatives:
        lines.append(f"or  {other.program} = {other.error or format_value(other.value)}  ({other.confidence:.2f})")
    shown = "<br>".join(escape(line) for line in lines)
    return f"<details style='margin:.3em 0'><summary>Look inside</summary><code>{shown}</code></details>"
