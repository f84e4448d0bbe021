"""The tables of the pages come from results/, and are up to date."""

import json
from dataclasses import asdict
from pathlib import Path

import pytest

from tpn2f.errors import DataError
from tpn2f.metrics import Outcomes
from tpn2f.publish.everyday import COLUMNS, PUBLISHED
from tpn2f.publish.reproduce import TABLES as ROWS
from tpn2f.publish.reproduce import report_path
from tpn2f.publish.rows import SHORT, SYSTEMS, UNSEEN, row_label
from tpn2f.publish.tables import TABLES, stale_pages, write_tables

ROOT = Path(__file__).parent.parent


def test_the_pages_say_what_the_files_say():
    assert stale_pages(ROOT) == []


def report(system: str, strict: float) -> dict:
    estimate = {"value": strict, "low": strict - 0.01, "high": strict + 0.01}
    group = {"name": "all", "count": 10, "metrics": dict.fromkeys(("strict", "value", "published"), estimate)}
    return {"title": "t", "groups": [group], "facts": {"system": system}}


@pytest.fixture
def project(tmp_path):
    (tmp_path / "results").mkdir()
    for system, strict in (("better", 0.8), ("worse", 0.5)):
        path = tmp_path / "results" / f"mathqa-test-{system}.json"
        path.write_text(json.dumps(report(system, strict)))
    (tmp_path / "README.md").write_text("before\n<!-- results: mathqa -->\nold\n<!-- end -->\nafter\n")
    return tmp_path


def test_a_table_is_filled_between_its_marks(project):
    assert stale_pages(project) == [project / "README.md"]
    assert write_tables(project) == [project / "README.md"]
    assert stale_pages(project) == [] == write_tables(project)
    text = (project / "README.md").read_text()
    assert text.startswith("before\n<!-- results: mathqa -->\n| MathQA test |")
    assert text.endswith("<!-- end -->\nafter\n")
    assert "old" not in text
    assert text.index("worse") < text.index("better")
    assert "| better | 80.00 (79.0-81.0) |" in text and "| TP-N2F (paper) | 71.89 |" in text


@pytest.mark.parametrize("task", ["mathqa", "algolisp"])
def test_a_short_table_has_six_rows_that_the_long_one_has_too(task):
    short, long = (TABLES[name](ROOT / "results").splitlines()[2:] for name in (f"{task}-short", task))
    assert len(short) == 1 + len(SHORT[task]) == 6
    names = [row.split("|")[1] for row in long]
    assert all(row.split("|")[1] in names for row in short)


@pytest.mark.parametrize("task", ["mathqa", "algolisp"])
def test_systems_are_compared_with_equal_budgets(task):
    rows = TABLES[f"{task}-systems"](ROOT / "results").splitlines()[2:]
    assert len(rows) == len(SYSTEMS[task]) == {"mathqa": 4, "algolisp": 6}[task]
    assert len({row.split(",")[1] for row in rows}) == 1, "as many epochs each"


def test_time_is_called_by_its_name():
    """Wall time and CPU time of the same work differ on a shared machine: each stands in its own column."""
    cost = json.loads((ROOT / "results" / "benchmark_cost.json").read_text())
    (row,) = (line for line in TABLES["speed"](ROOT / "results").splitlines() if "to the paper's accuracy" in line)
    _, _, processor, wall, _ = row.split("|")
    assert f"{cost['ours_seconds'] / 60:.0f} minutes" in processor
    assert f"{cost['ours_wall_seconds_of_the_run'] / 60:.0f} minutes" in wall


def test_an_unknown_table_and_missing_files_are_reported(project):
    page = project / "README.md"
    page.write_text("<!-- results: weather -->\n<!-- end -->")
    with pytest.raises(DataError, match=f"no table 'weather'; there are {', '.join(TABLES)}"):
        stale_pages(project)
    page.write_text("<!-- results: algolisp -->\n<!-- end -->")
    with pytest.raises(DataError, match="algolisp-test"):
        stale_pages(project)
    page.unlink()
    with pytest.raises(DataError, match="none of the pages"):
        stale_pages(project)


def test_pairs_are_compared_where_reports_say_which_examples_were_right(tmp_path):
    rights = {"mathqa-60": "1" * 30 + "0" * 10, "mathqa-lstm2tp": "1" * 10 + "0" * 30, "mathqa-lstm2lstm": None}
    for row, right in rights.items():
        made = report(f"{row} (greedy)", 0.5)
        made["facts"] |= {"domain": "mathqa", "split": "test", "examples_sha256": "0" * 64}
        if right:
            credits = [{"strict": float(letter)} for letter in right]
            made["outcomes"] = asdict(Outcomes.of(credits, {UNSEEN: range(5, 15)}))
        (tmp_path / f"mathqa-test-{row}.json").write_text(json.dumps(made))
    head, _, *rows = TABLES["mathqa-pairs"](tmp_path).splitlines()
    assert head.count("|") == rows[0].count("|")
    # Of the third row nothing is known, and the fourth is not scored.
    (row,) = rows
    assert row.startswith("| mathqa-lstm2tp (greedy) | mathqa-60 (greedy) | 25.0 | 75.0 | +50.00 (")
    assert "| 0 | 20 | <0.0001 | +50.00 (" in row and row.endswith("| 0.0625 |")
    assert "No pair can be compared yet" in TABLES["algolisp-pairs"](tmp_path)


def test_seeds_have_a_mean_and_a_deviation(tmp_path):
    (tmp_path / "mathqa-test-gold.json").write_text(json.dumps(report("gold", 1.0)))
    assert TABLES["mathqa-seeds"](tmp_path) == "No system is trained with several seeds yet."
    for row, value in (
        ("mathqa-60", 0.8),
        ("mathqa-60-seed1", 0.82),
        ("mathqa-60-seed2", 0.84),
        ("mathqa-lstm2tp", 0.5),
    ):
        (tmp_path / f"mathqa-test-{row}.json").write_text(json.dumps(report(f"{row} (greedy)", value)))
    _, _, row = TABLES["mathqa-seeds"](tmp_path).splitlines()
    assert row == "| our TP-N2F, greedy | 3 | 82.0 ± 2.0 |  |  | 80.0, 82.0, 84.0 |"


def test_the_ablations_of_the_appendix_have_a_table(tmp_path):
    (tmp_path / "mathqa-test-gold.json").write_text(json.dumps(report("gold", 1.0)))
    assert TABLES["mathqa-appendix"](tmp_path) == "No row is trained yet."
    for row, value in (("mathqa-24-last", 0.5), ("mathqa-24", 0.75)):
        made = report(f"{row} (greedy)", value)
        made["facts"]["training"] = {"weights": 4_000_000}
        (tmp_path / f"mathqa-test-{row}.json").write_text(json.dumps(made))
    _, _, first, second = TABLES["mathqa-appendix"](tmp_path).splitlines()
    assert first.startswith("| TP-N2F, one layer") and "| 4,000,000 | 75.00 (" in first
    assert second.startswith("| the last binding instead of the sum (`mathqa-24-last`) |") and "50.00" in second


def test_the_challenge_has_a_table_of_its_own(tmp_path):
    assert TABLES["mathqa-challenge"](tmp_path) == "No row is scored yet."
    (tmp_path / "mathqa-challenge_test-tpn2f.json").write_text(json.dumps(report("mathqa (greedy)", 0.25)))
    head, _, row = TABLES["mathqa-challenge"](tmp_path).splitlines()
    assert head.startswith("| MathQA challenge_test | strict |") and row.startswith("| mathqa (greedy) | 25.00")


def test_a_row_that_learned_on_says_so():
    made = report("m (greedy)", 0.5)
    training = {"epochs": 3, "start": "runs/first"}
    config = {"model": {"encoder": "lstm", "decoder": "tpr"}, "training": training}
    made["facts"] |= {"training": {"config": config, "finished": True, "epochs": 3}, "mode": "greedy", "row": "m"}
    assert row_label(made) == "our LSTM2TP, 3 more epochs, greedy (`m`)"


def test_memory_stands_beside_its_parts_and_is_tested_against_them(tmp_path):
    assert TABLES["mathqa-memory"](tmp_path) == "No row is scored yet."
    rights = {"retrieval": "1" * 10 + "0" * 10, "retrieval+model: m (beam 5, memory 5)": "1" * 18 + "0" * 2}
    for number, (system, right) in enumerate(rights.items()):
        made = report(system, right.count("1") / 20)
        made["facts"] |= {"domain": "mathqa", "split": "dev", "examples_sha256": "0" * 64}
        made["outcomes"] = asdict(Outcomes.of([{"strict": float(letter)} for letter in right], {}))
        (tmp_path / f"mathqa-dev-{number}.json").write_text(json.dumps(made))
    told = TABLES["mathqa-memory"](tmp_path).splitlines()
    assert told[2].startswith("| retrieval: the program of the nearest training problem | 50.00")
    assert told[3].startswith("| retrieval+model: m (beam 5, memory 5) | 90.00")
    assert told[-1].startswith("* retrieval+model: m (beam 5, memory 5) against retrieval: the program")
    assert "+40.00 (" in told[-1] and told[-1].endswith("McNemar's p 0.0078.") and len(told) == 6


def everyday_report(split: str, groups: dict[str, float]) -> dict:
    made = [
        {
            "name": name,
            "count": 10,
            "metrics": {
                "strict": {"value": 0.1, "low": 0.0, "high": 0.2},
                "answer": {"value": value, "low": value - 0.01, "high": value + 0.01},
                "solved": {"value": value / 2, "low": 0.0, "high": 1.0},
            },
        }
        for name, value in groups.items()
    ]
    return {"title": "t", "groups": made, "facts": {"system": "everyday (greedy)", "split": split}}


def test_the_everyday_tables_are_there_before_any_report(tmp_path):
    rows = TABLES["everyday"](tmp_path).splitlines()
    assert len(rows) == 2 + len(PUBLISHED) and all("published" in row for row in rows[2:])
    assert "| Graph2Tree (MWPToolkit, published) | 35.0 | 85.6 |" in rows[5]
    assert TABLES["everyday-splits"](tmp_path) == TABLES["everyday-steps"](tmp_path) == "No row is scored yet."


def test_the_everyday_row_has_what_is_scored_and_leaves_out_the_rest(tmp_path):
    for split, groups in {
        "gsm8k-test": {"all": 0.125, "3-step": 0.05, "no program": 0.0, "1-step": 0.5, "3 tuples": 0.05},
        "mathqa-test": {"all": 0.7},
        "generated-test": {"all": 0.9, "unseen phrasing": 0.96, "unseen kind": 0.41, "unseen story": 0.33},
    }.items():
        (tmp_path / f"everyday-{split}.json").write_text(json.dumps(everyday_report(split, groups)))
    last = TABLES["everyday"](tmp_path).splitlines()[-1]
    # Of MathQA the nearest option counts; SVAMP, MAWPS and the challenge are not scored.
    assert last == "| everyday (greedy) |  |  | 12.5 | 35.0 |  | 96.0 | 41.0 | 33.0 |  |"
    splits = [row.split(" | ")[0] for row in TABLES["everyday-splits"](tmp_path).splitlines()[2:]]
    system = ", `everyday (greedy)`"
    new = [f"| generated-test{system}, unseen {what}" for what in ("phrasing", "kind", "story")]
    assert splits == [f"| {split}{system}" for split in ("gsm8k-test", "mathqa-test", "generated-test")] + new
    steps = TABLES["everyday-steps"](tmp_path).splitlines()
    assert [row.split(" | ")[0] for row in steps[2:]] == ["| all", "| 1-step", "| 3-step", "| no program"]
    assert steps[2] == "| all | 10 | 10.00 (0.0-20.0) | 12.50 (11.5-13.5) | 6.25 (0.0-100.0) |"


def test_the_everyday_table_has_the_splits_that_are_scored():
    places = {report_path(Path("r"), "everyday", split, "everyday").name for split in ROWS["everyday"].splits}
    assert places == {f"everyday-{split}.json" for split, _, _ in COLUMNS.values()}


def test_every_everyday_row_that_is_scored_stands_in_the_table(tmp_path):
    for ending in ("", "-beam5-guided", "-minilm", "-mawps", "-minilm-beam5-guided"):
        made = everyday_report("svamp", {"all": 0.3})
        made["facts"]["system"] = f"row{ending}"
        (tmp_path / f"everyday-svamp{ending}.json").write_text(json.dumps(made))
    rows = TABLES["everyday"](tmp_path).splitlines()[2 + len(PUBLISHED) :]
    assert [row.split("|")[1].strip() for row in rows] == [
        "row",
        "row-beam5-guided",
        "row-minilm",
        "row-mawps",
        "row-minilm-beam5-guided",
    ]
