"""What all commands share: the options of the same name and meaning, a spinner, reading and writing."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from tpn2f.cli.console import err, out  # noqa: F401
from tpn2f.domain import Domain, skipped_of
from tpn2f.errors import DataError

MOST_INPUT = 1 << 26
"""The most characters of a file that is given with --input."""

DomainOption = Annotated[
    str, typer.Option("--domain", "-d", help="An installed domain, or your own domain as file.py:Name.")
]
OtherDomainOption = Annotated[
    str | None,
    typer.Option("--domain", "-d", help="A domain other than that of the model or the config: file.py:Name."),
]
TrustOption = Annotated[
    bool,
    typer.Option(
        "--trust", help="Run the Python files that the model names as its domain and its variant; they may do anything."
    ),
]
InputOption = Annotated[
    list[str] | None,
    typer.Option("--input", "-i", help="A value by name, JSON or a file: a='[1,2,3]', table=@sales.csv."),
]
DataOption = Annotated[
    Path | None,
    typer.Option("--data", help="The folder of the data sets. Default: TPN2F_DATA, ./data, the cache."),
]
ModelOption = Annotated[
    Path | None, typer.Option("--model", "-m", help="A run directory or a checkpoint, such as runs/arithmetic.")
]
WidthOption = Annotated[
    int, typer.Option("--beam", min=1, max=100, help="How many hypotheses the beam search keeps; 1 is greedy.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]
DomainArgument = Annotated[
    str, typer.Argument(help="The data set's domain: mathqa, algolisp, arithmetic, file.py:Name.")
]


@contextmanager
def spinner(text: str) -> Iterator[Callable[[str], None]]:
    """A spinner on a terminal while work is done; shows nothing elsewhere."""
    with err.status(text) as status:
        yield lambda message: status.update(message)


def warn_skipped(domain: Domain) -> None:
    """Reports the records that were left out."""
    for split, lines in skipped_of(domain).items():
        for line in lines[:3]:
            err.print(f"left out: {escape(line)}", soft_wrap=True)
        if len(lines) > 3:
            err.print(f"left out: {len(lines) - 3} more records of {split}; `tpn2f data check` lists them")


def read_input(text: str) -> tuple[str, object]:
    name, sign, value = text.partition("=")
    if not sign or not name.strip():
        raise DataError(f"--input {text!r}: expected name=value, such as a='[1,2,3]'")
    try:
        if value.startswith("@"):
            file = Path(value[1:])
            # It may be a pipe, which has no size to ask for.
            with file.open(encoding="utf-8") as stream:
                text = stream.read(MOST_INPUT + 1)
            if len(text) > MOST_INPUT:
                raise DataError(f"--input {name}: {file} has more than {MOST_INPUT:,} characters")
            return name.strip(), json.loads(text) if file.suffix == ".json" else text
        return name.strip(), json.loads(value)
    except OSError as error:
        raise DataError(f"--input {name}: cannot read {value[1:]}: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise DataError(
            f"--input {name}: {value!r} is not JSON ({error}); texts need quotes: {name}='\"abc\"'"
        ) from error


def write(path: Path, text: str) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text + "\n", encoding="utf-8", errors="replace")
    except OSError as error:
        raise DataError(f"cannot write {path}: {error.strerror}") from error


def check_targets(*paths: Path | None, folders: bool = False) -> None:
    """Raises DataError for files, or for folders, that cannot be written: before the work, not after it."""
    for path in paths:
        if path is None:
            continue
        try:
            folder = path if folders else path.parent
            folder.mkdir(parents=True, exist_ok=True)
            if not folders and path.exists():
                path.open("ab").close()
            else:
                tempfile.TemporaryFile(dir=folder).close()
        except OSError as error:
            raise DataError(f"cannot write {path}: {error.strerror}") from error
