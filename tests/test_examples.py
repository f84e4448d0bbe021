"""The example domains: short files with many texts, that run on real input and hold out what they say they do."""

from __future__ import annotations

from datetime import date
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from conftest import unchecked
from tpn2f.contract.checks import check_gold, check_splits
from tpn2f.domain import Example, load_domain, read_problem
from tpn2f.errors import DataError, ExecutionError
from tpn2f.program import Program

FOLDER = Path(__file__).resolve().parents[1] / "examples"
NAMES = ("table_queries", "calendar_expressions")
SALES = (FOLDER / "sales.csv").read_text(encoding="utf-8")


@cache
def load(name: str) -> tuple[Any, dict[str, list[Example]]]:
    with unchecked():
        domain = load_domain(str(FOLDER / f"{name}.py"))
        return domain, {split: list(domain.examples(split)) for split in domain.splits}


@pytest.mark.parametrize("name", NAMES)
def test_an_example_is_one_short_file_with_many_texts(name: str) -> None:
    assert len((FOLDER / f"{name}.py").read_text().splitlines()) <= 250
    _, splits = load(name)
    examples = [example for part in splits.values() for example in part]
    assert len({example.text for example in examples}) == len(examples) >= 5_000
    assert len({example.problem.words for example in examples}) >= 4_000, "phrasing varies"
    assert len({example.program for example in examples}) >= 1_000


@pytest.mark.parametrize("name", NAMES)
def test_held_out_programs_are_new_but_of_seen_kinds(name: str) -> None:
    domain, splits = load(name)
    learned = {example.program for example in splits["train"]}
    kinds = {tuple(step.relation for step in program) for program in learned}
    sets = {frozenset(kind) for kind in kinds}
    for split in ("dev", "test"):
        assert len(splits[split]) >= 500
        assert not {example.program for example in splits[split]} & learned
        assert {tuple(step.relation for step in example.program) for example in splits[split]} <= kinds
    held = {frozenset(step.relation for step in example.program) for example in splits["combinations"]}
    assert len(splits["combinations"]) >= 500 and held.isdisjoint(sets)
    assert set().union(*held) <= set().union(*sets), "each relation is known, only not together"
    assert list(check_splits(domain, splits)) == []


@pytest.mark.parametrize("name", NAMES)
def test_gold_runs(name: str) -> None:
    domain, splits = load(name)
    with unchecked():
        assert list(check_gold(domain, [example for part in splits.values() for example in part[:150]])) == []


def run(name: str, text: str, program: str, **inputs: object) -> object:
    domain, _ = load(name)
    example = domain.example(text, program, inputs)
    return domain.execute(example.program, example.problem)


@pytest.mark.parametrize(
    ("text", "program", "value"),
    [
        ("total price where region is north", "equal(table, region, north) | aggregate(#0, total, price)", 975.5),
        ("average quantity for Ann", "equal(table, seller, Ann) | aggregate(#0, average, quantity)", None),
        ("mean quantity of seller Ann", "equal(table, seller, Ann) | aggregate(#0, average, quantity)", 2.5),
        ("how many rows with price from 22.5 to 25.5", "between(table, price, 22.5, 25.5) | count(#0)", 4),
        (
            "highest price in the south less that in the west for region south and region west",
            (
                "equal(table, region, south) | aggregate(#0, largest, price) | equal(table, region, west) "
                "| aggregate(#2, largest, price) | difference(#1, #3)"
            ),
            445,
        ),
    ],
)
def test_tables_answer_questions(text: str, program: str, value: float | None) -> None:
    if value is None:  # the text does not name the column
        with pytest.raises(DataError, match="there is no seller"):
            run("table_queries", text, program, table=SALES)
    else:
        assert run("table_queries", text, program, table=SALES) == value


def test_tables_are_filtered_grouped_and_sorted() -> None:
    program = "below(table, discount, 10) | group(#0, product, total, quantity) | sort(#1, quantity, descending)"
    found = run("table_queries", "total quantity by product with discount under 10", program, table=SALES)
    assert str(found).split() == ["product", "quantity", *["lamp", "22", "chair", "11", "table", "3", "sofa", "2"]]
    first = run("table_queries", "the first 1 row", "first(table, 1)", table=SALES)
    assert len(str(first).strip().splitlines()) == 2


def test_columns_and_cells_are_taken_out_of_the_question() -> None:
    domain, _ = load("table_queries")
    table = "City,Unit price\nNew York,3"
    problem = read_problem(domain, "total Unit Price by CITY where city is new york?", {"table": table})
    assert " ".join(problem.words) == "total c0 by c1 where c1 is v0 ?"
    assert {name: problem.bindings[name] for name in ("c0", "c1", "v0")} == {
        "c0": "unit_price",
        "c1": "city",
        "v0": "New York",
    }


@pytest.mark.parametrize("table", ["", "a,b", "a,a\n1,2", "a,b\n1", 7])
def test_what_is_not_a_table_is_refused(table: object) -> None:
    with pytest.raises(DataError, match="the input table cannot be read"):
        read_problem(load("table_queries")[0], "total a", {"table": table})


@pytest.mark.parametrize(
    ("program", "message"),
    [
        ("aggregate(table, total, region)", "region is not a column of numbers"),
        ("equal(table, region, v0) | aggregate(#0, total, price)", "there is no v0"),
        ("group(table, region, total, price) | aggregate(#0, total, quantity)", "there is no column quantity any more"),
        ("above(table, price, 10000) | aggregate(#0, average, price)", "no rows are left"),
    ],
)
def test_questions_that_make_no_sense_are_errors_of_their_step(program: str, message: str) -> None:
    with pytest.raises((ExecutionError, DataError), match=message):
        run("table_queries", "price, region, quantity, 10000", program, table=SALES)


@pytest.mark.parametrize(
    ("text", "program", "value"),
    [
        ("1 month after 2024-01-31", "after(2024-01-31, 1, month)", date(2024, 2, 29)),
        ("2 years before 29 february 2024", 'before("29 february 2024", 2, year)', date(2022, 2, 28)),
        ("the first friday after 2024-03-01", "next_weekday(2024-03-01, friday)", date(2024, 3, 8)),
        ("the last friday before 2024-03-01", "last_weekday(2024-03-01, friday)", date(2024, 2, 23)),
        ("start of the week of March 3rd, 2024", 'first_day("March 3rd, 2024", week)', date(2024, 2, 26)),
        ("end of the year of 2024-03-01", "last_day(2024-03-01, year)", date(2024, 12, 31)),
        ("3 working days after 2024-03-01", "working_days_after(2024-03-01, 3)", date(2024, 3, 6)),
        ("days from today to 2024-03-01", "length(today, 2024-03-01, day)", 2),
        ("months from 2024-01-31 to 2024-02-29", "length(2024-01-31, 2024-02-29, month)", 0),
        ("years from 2024-03-01 to 2020-03-02", "length(2024-03-01, 2020-03-02, year)", -3),
        ("work days from 2024-03-01 to 2024-03-11", "working_days(2024-03-01, 2024-03-11)", 6),
        ("week of 2024-12-30", "week_number(2024-12-30)", 1),
        ("later of 2024-12-30 and 2023-01-01", "later(2024-12-30, 2023-01-01)", date(2024, 12, 30)),
        ("is 2024-12-30 before 2023-01-01", "is_before(2024-12-30, 2023-01-01)", False),
    ],
)
def test_dates_are_reckoned(text: str, program: str, value: object) -> None:
    assert run("calendar_expressions", text, program, today="2024-02-28") == value


def test_today_is_today_unless_it_is_given() -> None:
    domain, _ = load("calendar_expressions")
    before, found, after = date.today(), domain.read("today").bindings["today"], date.today()
    assert before <= found <= after


def test_a_date_that_does_not_exist_is_no_date() -> None:
    domain, _ = load("calendar_expressions")
    assert domain.read("2023-02-29").words == ("n0", "-", "n1", "-", "n2")
    with pytest.raises(ExecutionError, match="there is no year 30024"):
        domain.execute(Program.parse("after(d0, n0, year)"), domain.read("28000 years after 2024-01-01"))
