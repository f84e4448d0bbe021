"""What mkdocs adds to the documentation: the page of commands, formulas as MathML, and a check that nothing is fetched.

mkdocs calls the functions whose names begin with `on_`.
"""

from __future__ import annotations

import html
import re
from pathlib import Path

import typer
from latex2mathml.converter import convert
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page
from typer.cli import get_docs_for_click

from tpn2f.cli import app

STYLE = """
.md-grid { max-width: 72rem; }
.md-typeset math { font-size: 1.08em; }
.md-typeset math[display="block"] { margin: 1em 0; overflow-x: auto; }
.md-typeset table:not([class]) { font-size: 0.68rem; }
.md-typeset table:not([class]) :is(th, td) { padding: 0.5em 0.8em; }
.md-typeset table:not([class]) th { min-width: 3.5rem; }
@media (max-width: 45em) { .md-typeset td code { word-break: keep-all; } }
.md-typeset img.shot { border: 1px solid var(--md-default-fg-color--lightest); border-radius: 0.4rem; }
"""


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Adds the page of commands and the style, which are nowhere on the disk and so are never out of date."""
    files.append(File.generated(config, "cli.md", content=command_page()))
    files.append(File.generated(config, "site.css", content=STYLE))
    return files


def on_page_content(content: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Formulas in TeX become MathML, which browsers draw themselves."""
    return math_to_mathml(content)


def on_post_build(config: MkDocsConfig) -> None:
    """No page may load anything from another site."""
    site = Path(config.site_dir)
    found = {path.name: loaded_from_elsewhere(path.read_text(encoding="utf-8")) for path in site.rglob("*.html")}
    troubles = [f"{name}: {', '.join(addresses)}" for name, addresses in sorted(found.items()) if addresses]
    if troubles:
        raise PluginError("pages load from other sites: " + "; ".join(troubles))


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


_FORMULA = re.compile(r'<(span|div) class="arithmatex">\\(?:\((.*?)\\\)|\[(.*?)\\\])</\1>', re.DOTALL)


def math_to_mathml(content: str) -> str:
    """HTML in which the formulas that arithmatex has marked are MathML."""

    def formula(match: re.Match[str]) -> str:
        inline = match[2] is not None
        text = html.unescape(match[2] if inline else match[3]).strip()
        made = convert(text, display="inline" if inline else "block")
        # What the converter does not know it leaves as it is.
        if "\\" in made or ">&<" in made:
            raise PluginError(f"the formula {text!r} cannot be drawn")
        return made

    return _FORMULA.sub(formula, content)


_LOADS = re.compile(r'<(?:script|img|iframe|source|video|audio|embed)\b[^>]*?\bsrc="?((?:https?:)?//[^"\s>]+)')
_LINKS = re.compile(r'<link\b(?![^>]*\brel="?(?:canonical|next|prev))[^>]*?\bhref="?((?:https?:)?//[^"\s>]+)')
_STYLES = re.compile(r"(?:@import\s+|url\()[\"']?((?:https?:)?//[^\"')\s]+)")


def loaded_from_elsewhere(text: str) -> list[str]:
    """The addresses on other sites from which a page would load something. Links that a reader follows do not count."""
    found = {address for pattern in (_LOADS, _LINKS, _STYLES) for address in pattern.findall(text)}
    return sorted(found - {""})
