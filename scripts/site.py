"""What mkdocs adds to the documentation: the page of commands, made from the command line, and colours of code."""

from __future__ import annotations

import re

import typer
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from pygments.formatters import HtmlFormatter
from typer.cli import get_docs_for_click

from tpn2f.cli import app


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Adds the page of commands and the style of code, which are nowhere on the disk and so are never out of date."""
    files.append(File.generated(config, "cli.md", content=command_page()))
    files.append(File.generated(config, "code.css", content=code_style()))
    return files


def command_page() -> str:
    """Every command with its arguments and options, as typer describes them."""
    command = typer.main.get_command(app)
    with typer.Context(command, info_name="tpn2f") as context:
        text = get_docs_for_click(obj=command, ctx=context, name="tpn2f", title="Commands")
    # Typer cuts the lines of the list short; there is room for the whole first line of the help.
    for name, inner in getattr(command, "commands", {}).items():
        first = (inner.help or "").strip().partition("\n")[0]
        text = re.sub(
            rf"^\* `{name}`: .*$", lambda _, line=f"* `{name}`: {first}": line, text, count=1, flags=re.MULTILINE
        )
    return text


def code_style() -> str:
    """Colours for a light and for a dark page."""
    light, dark = (HtmlFormatter(style=style) for style in ("default", "github-dark"))
    return "\n".join(
        (
            light.get_style_defs(".highlight"),
            dark.get_style_defs('[data-bs-theme="dark"] .highlight'),
            ".highlight, .highlight pre { background: transparent; }",
            ".doc-contents { margin-left: 1.5rem; }",
        )
    )
