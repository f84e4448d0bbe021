"""The README is true: its code runs, its commands exist, its output is what the demo prints, its files are there."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tpn2f.cli import app

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
COMMANDS = re.findall(r"`(tpn2f [^`]+)`", README)


def test_the_python_code_runs_and_prints_what_it_says():
    (code,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    expected = re.findall(r"print\(.*\)  # (.*)", code)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert len(expected) == 2 and done.stdout.splitlines() == expected


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_and_option_exists(command):
    words = shlex.split(command)[1:]
    names = [word for word in words[:2] if re.fullmatch("[a-z]+", word)]
    path = names if names[0] == "data" else names[:1]
    shown = CliRunner().invoke(app, [*path, "--help"], env={"COLUMNS": "200"})
    assert shown.exit_code == 0, shown.output
    for option in (word for word in words if re.fullmatch("--?[a-z]+", word)):
        assert re.search(rf"{option}\b", shown.output), (command, option)


def test_there_are_commands():
    assert len(COMMANDS) >= 8


def test_the_demo_prints_what_the_readme_shows():
    (shown,) = re.findall(r"```text\n(A train .*?)```", README, re.DOTALL)
    done = subprocess.run([sys.executable, "-m", "tpn2f", "demo"], capture_output=True, text=True, check=True)
    assert shown.strip() in done.stdout


def test_every_link_leads_to_a_file():
    for page in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")), ROOT / "CONTRIBUTING.md"):
        for target in re.findall(r"\]\(([^)#]+)\)", page.read_text(encoding="utf-8")):
            if not target.startswith("http"):
                assert (page.parent / target).exists(), (page.name, target)


def test_every_module_that_the_readme_names_is_there():
    (tree,) = re.findall(r"```text\nsrc/tpn2f/\n(.*?)```", README, re.DOTALL)
    names = re.findall(r"(?:^ *|  )([a-z]+(?:\.py|/))(?= )", tree, re.MULTILINE)
    assert len(names) > 20
    for name in names:
        assert (ROOT / "src" / "tpn2f" / name).exists(), name
