"""The command that exports: a model for programs without torch."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tpn2f.cli.terminal import DataOption, OtherDomainOption, TrustOption, check_targets, out, spinner


def export(
    model: Annotated[str, typer.Argument(help="A run directory, a checkpoint or a bundled model.")],
    folder: Annotated[Path, typer.Argument(help="Where to write encoder.onnx, step.onnx and symbols.json.")],
    domain: OtherDomainOption = None,
    trust: TrustOption = False,
    data: DataOption = None,
) -> None:
    """Write a model as ONNX: its encoder, its decoding step, and its words. Needs the extra `export`."""
    check_targets(folder, folders=True)
    with spinner("exporting"):
        from tpn2f.export import export_model
        from tpn2f.solver import Solver

        solver = Solver.load(model, data, domain, trust)
        paths = export_model(solver.model, solver.codec, folder)
    for path in paths:
        out.print(f"{path}  {path.stat().st_size:,} bytes", soft_wrap=True, markup=False)
