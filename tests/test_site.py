"""The documentation site: what is made from the code is whole, and every page has its place."""

from __future__ import annotations

import html
import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest
import typer

from tpn2f.cli import app

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="module")
def site() -> ModuleType:
    pytest.importorskip("mkdocs", reason="the extra `docs` is not installed")
    spec = importlib.util.spec_from_file_location("site_hooks", ROOT / "scripts" / "site.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_of_commands_has_every_command_and_option(site: ModuleType) -> None:
    page = site.command_page()
    command = typer.main.get_command(app)
    for name, inner in command.commands.items():  # type: ignore[attr-defined]
        assert f"## `tpn2f {name}`" in page
        first = inner.help.strip().splitlines()[0]
        assert f"* `{name}`: {first}" in page
        for parameter in inner.params:
            assert all(option in page for option in parameter.opts if option.startswith("--"))


def test_formulas_become_mathml(site: ModuleType) -> None:
    inline, block = (
        r'<span class="arithmatex">\(T = f \otimes r\)</span>',
        r'<div class="arithmatex">\[a &lt; b\]</div>',
    )
    made = site.math_to_mathml(f"<p>{inline}</p>{block}")
    assert made.count("<math") == 2 and 'display="block"' in made and "arithmatex" not in made
    assert "⊗" in html.unescape(made) and ">&#x0003C;<" in made
    assert site.math_to_mathml("<p>a $ b</p>") == "<p>a $ b</p>"


def test_a_formula_that_cannot_be_drawn_stops_the_build(site: ModuleType) -> None:
    with pytest.raises(Exception, match="cannot be drawn"):
        site.math_to_mathml(r'<span class="arithmatex">\(\nosuchsign x\)</span>')


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('<script src="https://cdn.example/x.js"></script>', ["https://cdn.example/x.js"]),
        ('<link href="//fonts.example/a.css" rel="stylesheet">', ["//fonts.example/a.css"]),
        ("<style>@import url('https://fonts.example/b.css')</style>", ["https://fonts.example/b.css"]),
        ('<a href="https://example.org">a link</a><img src="figures/x.png"><script src="a.js"></script>', []),
    ],
)
def test_what_a_page_would_load_from_other_sites_is_found(site: ModuleType, text: str, found: list[str]) -> None:
    assert site.loaded_from_elsewhere(text) == found


def test_the_page_on_model_variants_shows_the_file_that_the_tests_train() -> None:
    page = (ROOT / "docs" / "add_a_model.md").read_text(encoding="utf-8")
    assert (ROOT / "examples" / "gru_reader.py").read_text(encoding="utf-8") in page


def test_pictures_are_small() -> None:
    for path in (ROOT / "docs" / "figures").glob("explorer*.png"):
        assert path.stat().st_size < 200_000, path


def test_every_picture_of_the_explorer_is_taken_by_a_command_and_shown() -> None:
    script = (ROOT / "scripts" / "screenshots.py").read_text(encoding="utf-8")
    taken = {f"{name}.png" for name in re.findall(r'^ +"(explorer[a-z-]*)": Shot\(', script, re.MULTILINE)}
    there = {path.name for path in (ROOT / "docs" / "figures").glob("explorer*.png")}
    pages = [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]
    shown = {name for page in pages for name in re.findall(r"figures/(explorer[\w-]*\.png)", page.read_text("utf-8"))}
    assert taken == there == shown


def test_every_page_is_in_the_navigation() -> None:
    text = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    listed = set(re.findall(r"^ +- .+: ([\w.]+\.md)$", text, re.MULTILINE))
    there = {path.name for path in (ROOT / "docs").glob("*.md")}
    assert listed == there | {"cli.md"}
