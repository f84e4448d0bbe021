"""The tables of how the TPR encoder starts to learn."""

from __future__ import annotations

from pathlib import Path

from tpn2f.publish.rows import load_result, markdown

START = "encoder_start.json"
"""What `benchmarks/encoder_start.py` measured."""
NOTHING = "No run is measured yet."


def start_table(folder: Path) -> str:
    """Every run: its loss on the way, its selections at both ends, and its costs."""
    if not (folder / START).is_file():
        return NOTHING
    study = load_result(folder, START)
    heads = ["loss, steps 801-1,000", "last 200 steps", "evenness of fillers, start", "end", "of roles, end"]
    rows = [["the first steps", *heads, "CPU-seconds"]]
    for row in study["rows"]:
        first, last = row["moments"][0], row["moments"][-1]
        losses = row["losses"]
        cells = [f"{losses[4]:.1f}" if len(losses) > 4 else "", f"{losses[-1]:.1f}" if losses else ""]
        shares = [first.get("filler_evenness"), last.get("filler_evenness"), last.get("role_evenness")]
        cells += ["" if share is None else f"{100 * share:.0f} %" for share in shares]
        rows.append([row["name"], *cells, f"{row['cpu_seconds']:.0f}"])
    steps = " or ".join(f"{count:,}" for count in dict.fromkeys(row["steps"] for row in study["rows"]))
    commits = ", ".join(dict.fromkeys(f"`{row['commit']}`" for row in study["rows"]))
    told = f"{steps} steps, one seed, measured on {study['problems']} dev problems; commit {commits}."
    return f"{markdown(rows)}\n\n{told}"


def inside_table(folder: Path) -> str:
    """Every run from inside: gradients, lengths and likeness, before the first step and at the end."""
    if not (folder / START).is_file():
        return NOTHING
    heads = ["gradient of gates", "of selection", "of dictionaries", "length of T, word 1", "word 20"]
    heads += ["common to all texts", "selection of fillers that changed last"]
    rows = [["start / end of the run", *heads]]
    for row in load_result(folder, START)["rows"]:
        ends = row["moments"][0], row["moments"][-1]
        cells = [_ends([at["gradients"].get(part) for at in ends]) for part in ("gates", "selection", "dictionaries")]
        cells += [_ends([at["lengths"].get(word) for at in ends]) for word in ("1", "20")]
        cells.append(_ends([at["texts"] for at in ends]))
        changed = ends[1].get("filler_changed")
        rows.append([row["name"], *cells, "" if changed is None else f"{100 * changed:.0f} %"])
    return markdown(rows)


def _ends(values: list[float | None]) -> str:
    return "" if values[0] is None or values[1] is None else f"{values[0]:.2g} / {values[1]:.2g}"
