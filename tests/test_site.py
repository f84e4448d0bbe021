"""The documentation site: what is made from the code is whole, and every page has its place."""

from __future__ import annotations

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


def test_code_has_colours_by_day_and_by_night(site: ModuleType) -> None:
    assert ".highlight .k" in site.code_style() and '[data-bs-theme="dark"] .highlight .k' in site.code_style()


def test_every_page_is_in_the_navigation() -> None:
    text = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    listed = set(re.findall(r"^ +- .+: ([\w.]+\.md)$", text, re.MULTILINE))
    there = {path.name for path in (ROOT / "docs").glob("*.md")}
    assert listed == there | {"cli.md"}
