"""The command that serves: the explorer in a browser, and the API behind it."""

from __future__ import annotations

import os
import sys
import webbrowser
from contextlib import suppress
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from tpn2f.cli.terminal import DataOption, OtherDomainOption, TrustOption, err, out, spinner
from tpn2f.errors import DataError


def serve(
    model: Annotated[
        list[str] | None,
        typer.Option(
            "--model",
            "-m",
            help="A run directory, a checkpoint or a bundled model; repeat for several. Default: all bundled.",
        ),
    ] = None,
    host: Annotated[
        str, typer.Option(help="The address to listen on. The default can be reached from this machine only.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port; 0 chooses a free one.")] = 8765,
    show: Annotated[
        bool | None, typer.Option("--open/--no-open", help="Open a browser. Default: only if there is a desktop.")
    ] = None,
    workers: Annotated[
        int, typer.Option(min=1, max=256, help="How many processes answer, each with the models of its own.")
    ] = 1,
    domain: OtherDomainOption = None,
    trust: TrustOption = False,
    data: DataOption = None,
) -> None:
    """Explore models in the browser: ask, see the steps, look inside. Also serves an API; see /openapi.json."""
    try:
        from tpn2f.web.server import LOOPBACK, address_of, make_server, open_socket
    except ImportError as error:
        raise DataError(f"the explorer needs {error.name}, which is not installed: pip install 'tpn2f[web]'") from error
    for name in model or []:
        if ("/" in name or "\\" in name) and not Path(name).exists():
            raise DataError(f"--model {name}: there is no such directory; expected a run directory or a bundled model")
    # The address is open before torch is loaded: whoever connects early waits a moment.
    with open_socket(host, port) as listener:
        address = address_of(listener, host)
        out.print(address, soft_wrap=True, markup=False, highlight=False)
        if host not in LOOPBACK:
            err.print(
                f"[yellow]warning:[/] {escape(host)} lets other machines reach this server; it has limits, but no "
                "passwords",
                soft_wrap=True,
            )
        hosts = {*LOOPBACK, host.lower()} if host in LOOPBACK else None
        wanted = has_desktop() if show is None else show
        opens = (lambda: _open(address)) if wanted else (lambda: None)
        if workers > 1:
            from tpn2f.web.workers import Serving, run_workers

            def ready() -> None:
                err.print(f"serving with {workers} processes; Ctrl-C stops")
                opens()

            run_workers(workers, listener, Serving(tuple(model or ()), data, domain, trust, hosts), ready)
            err.print("stopped")
            return
        with spinner("loading"):
            from tpn2f.web.app import make_app
            from tpn2f.web.limits import ServerLimits
            from tpn2f.web.shelf import load_models

            solvers = load_models(model or [], data, domain, trust)
            app = make_app(solvers, ServerLimits(), hosts)
        err.print(f"serving {escape(', '.join(solvers))}; Ctrl-C stops", soft_wrap=True)
        # Ctrl-C arrives in two ways: as uvicorn's own orderly end, or as an exception after it.
        with suppress(KeyboardInterrupt):
            make_server(app, ServerLimits(), opens).run([listener])
        err.print("stopped")


def has_desktop() -> bool:
    """Whether a browser can be opened without getting in the way of a terminal."""
    return out.is_terminal and (
        sys.platform in ("darwin", "win32") or bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))
    )


def _open(address: str) -> None:
    if not webbrowser.open(address):
        err.print("no browser could be opened; open the address yourself")
