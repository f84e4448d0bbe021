"""What the presets change against the paper is read from the configs, so that no setting can be kept quiet."""

import shutil
from pathlib import Path

import pytest

from tpn2f.publish.disclosure import TASKS, disclosure
from tpn2f.publish.reproduce import TABLES

ROOT = Path(__file__).parent.parent


def cells(table: str) -> dict[str, list[str]]:
    rows = [line.strip("| ").split(" | ") for line in table.splitlines() if line.startswith("| ")]
    return {row[0]: row[1:] for row in rows}


@pytest.fixture
def folder(tmp_path):
    """The results of a project with configs that a test may change."""
    shutil.copytree(ROOT / "configs", tmp_path / "configs")
    return tmp_path / "results"


@pytest.mark.parametrize("task", TASKS)
def test_every_row_of_the_table_is_told(task):
    table = disclosure(task)(ROOT / "results")
    for row in TABLES[task].rows:
        assert f"`{row}`" in table, row


@pytest.mark.parametrize("task", TASKS)
def test_the_papers_preset_has_what_the_paper_says(task):
    found = cells(disclosure(task)(ROOT / "results"))
    for aspect in ("sizes", "epochs", "options beyond the paper", "equal pairs of text and program"):
        paper, preset, _ = found[aspect]
        assert paper == preset, aspect
    assert found["learning rate"][1].startswith(found["learning rate"][0])


@pytest.mark.parametrize(
    ("line", "changed", "aspect", "told"),
    [
        ("dropout_hidden = 0.1", "dropout_hidden = 0.25", "dropout", "hidden 0.25"),
        ("n_roles = 30", "n_roles = 31", "sizes", "31 roles"),
        (
            "attention_tanh = true",
            "attention_tanh = true\ngrounded = true",
            "options beyond the paper",
            "grounded = true",
        ),
        ("learning_rate = 3e-3", "learning_rate = 4e-3", "learning rate", "0.004"),
        ("word_at_least = 5", "word_at_least = 7", "rare words", "fewer than 7 times"),
        ("distinct = true", "distinct = false", "equal pairs of text and program", "every record"),
        ("evaluate_examples = 800", "evaluate_examples = 850", "choice of the weights", "850 examples"),
        (
            "forget_bias = 1.0",
            "forget_bias = 1.0\nselection_scale = 2.0",
            "weights at the start",
            "selection_scale = 2.0",
        ),
    ],
)
def test_a_setting_that_is_changed_changes_its_line(folder, line, changed, aspect, told):
    path = folder.parent / "configs" / "mathqa-60.toml"
    before = cells(disclosure("mathqa")(folder))
    path.write_text(path.read_text().replace(line, changed))
    after = cells(disclosure("mathqa")(folder))
    assert told in after[aspect][2] and told not in before[aspect][2]
    assert [name for name in after if after[name] != before[name]] == [aspect]


def test_other_presets_are_told_by_their_differences(folder):
    lines = disclosure("mathqa")(folder).splitlines()
    assert "* `mathqa-24`: as `mathqa-60`, but training.epochs = 24, training.patience = 0." in lines
    (narrow,) = (line for line in lines if line.startswith("* `mathqa-lstm2lstm-100`"))
    assert "model.encoder = lstm" in narrow and "model.d_hidden = 100" in narrow
    path = folder.parent / "configs" / "mathqa-24.toml"
    path.write_text((folder.parent / "configs" / "mathqa-paper.toml").read_text())
    assert "* `mathqa-24`: as `mathqa-paper`." in disclosure("mathqa")(folder).splitlines()
