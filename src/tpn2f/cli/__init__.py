"""The command line: reads arguments, calls the library, prints. It holds no logic of its own.

An error that the user can act on is reported as one line on standard error, with exit code 2. Each command is a
function in one of these modules and has a line in the list below.
"""

from __future__ import annotations

import sys
from typing import NoReturn

import typer
from rich.markup import escape

from tpn2f.cli.answer import demo, run, solve
from tpn2f.cli.confidence import calibrate
from tpn2f.cli.console import bearing, err, give_up, out, prepare_output, visible
from tpn2f.cli.data import data_app
from tpn2f.cli.domain import domain_app
from tpn2f.cli.explain import explain
from tpn2f.cli.export import export
from tpn2f.cli.learn import train, tune
from tpn2f.cli.reproduce import bundle, reproduce
from tpn2f.cli.score import compare, evaluate, results
from tpn2f.cli.serve import serve
from tpn2f.errors import N2FError

LONGEST = 2_000
"""The most characters of an error that are shown."""

app = typer.Typer(
    name="tpn2f",
    help="Plain-language problems to formal programs that run: TP-N2F.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


def version() -> None:
    """Print the version of tpn2f and of what it runs on."""
    from importlib.metadata import version as installed

    out.print(f"tpn2f {installed('tpn2f')}, torch {installed('torch')}, Python {sys.version.split()[0]}")


for command in (
    version,
    demo,
    solve,
    explain,
    serve,
    run,
    train,
    tune,
    evaluate,
    compare,
    calibrate,
    reproduce,
    bundle,
    export,
    results,
):
    app.command()(command)
app.add_typer(data_app, name="data")
app.add_typer(domain_app, name="domain")


def main() -> None:
    """The entry point: reports our own errors as one line, and stops quietly on Ctrl-C."""
    prepare_output()
    try:
        _run()
    finally:
        for stream in (sys.stdout, sys.stderr):
            give_up(stream)


def _run() -> None:
    try:
        code = app(prog_name="tpn2f", standalone_mode=False)
    except N2FError as error:
        fail(str(error))
    except typer.Abort:
        fail("stopped", code=130)
    except KeyboardInterrupt:
        fail("stopped", code=130)
    except BrokenPipeError:
        sys.exit(0)
    except OSError as error:
        # A full disk, a folder that is read-only, a terminal that is gone.
        fail(f"{error.filename or 'the output cannot be written'}: {error.strerror or error}")
    except Exception as error:
        # Typer's own usage errors know how to show themselves.
        if not hasattr(error, "show"):
            raise
        error.message = visible(str(getattr(error, "message", error)))  # type: ignore[attr-defined]
        error.show()  # type: ignore[attr-defined]
        sys.exit(getattr(error, "exit_code", 2))
    # Typer turns Ctrl-C into a result; any other whole number is the exit code that a command asks for.
    if code == 130:
        fail("stopped", code=130)
    if isinstance(code, int):
        sys.exit(code)


def fail(message: str, code: int = 2) -> NoReturn:
    """One clear line and the exit code."""
    line = " ".join(message.split())
    line = line if len(line) <= LONGEST else f"{line[: LONGEST - 300]} ... {line[-200:]}"
    with bearing(err):
        err.print(f"[bold red]tpn2f:[/] {escape(line)}", soft_wrap=True)
    sys.exit(code)
