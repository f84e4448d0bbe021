"""Questions about a table of your own, a CSV file: filter, group, aggregate, sort.

    tpn2f train configs/small.toml --domain examples/table_queries.py
    tpn2f solve "total price by region" --model runs/table_queries --trust --input table=@examples/sales.csv

Columns and texts of cells are taken out of the question as c0, c1, ... and v0, v1, ..., so a model that was trained on
the tables below answers questions about any other. Test holds programs that train does not, and the split
`combinations` sets of relations that never occur together in train.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum
from functools import cache
from pathlib import Path
from random import Random
from typing import NewType

from tpn2f import FunctionDomain

Column, Cell = NewType("Column", str), float | str
_is_number = re.compile(r"-?[0-9]+(\.[0-9]+)?").fullmatch


class How(Enum):
    """How the numbers of a column become one, and how people ask for it."""

    total = ("total {c}", "sum of {c}", "{c} in all")
    average = ("average {c}", "mean {c}", "typical {c}")
    largest = ("highest {c}", "largest {c}", "maximum {c}")
    smallest = ("lowest {c}", "smallest {c}", "minimum {c}")


class Order(Enum):
    ascending = ("sorted by {c}", "ordered by rising {c}", "from the lowest {c} to the highest")
    descending = ("sorted by {c} , highest first", "ordered by falling {c}", "from the highest {c} to the lowest")


@dataclass(frozen=True)
class Table:
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]

    def place(self, column: str) -> int:
        if column not in self.columns:
            raise ValueError(f"there is no column {column} any more, only {' and '.join(self.columns)}")
        return self.columns.index(column)

    def values(self, column: str, numeric: bool = False) -> list[Cell]:
        found = [row[self.place(column)] for row in self.rows]
        if numeric and not all(isinstance(value, float) for value in found):
            raise ValueError(f"{column} is not a column of numbers")
        return found

    def where(self, column: str, numeric: bool, keep: Callable[[Cell], bool]) -> Table:
        kept = (row for row, value in zip(self.rows, self.values(column, numeric)) if keep(value))
        return Table(self.columns, tuple(kept))

    def __str__(self) -> str:
        cells = ((f"{cell:g}" if isinstance(cell, float) else cell for cell in row) for row in self.rows)
        lines = [self.columns, *map(tuple, cells)]
        widths = [max(map(len, column)) for column in zip(*lines)]
        return "".join("\n  " + "  ".join(map(str.ljust, line, widths)).rstrip() for line in lines)


queries = FunctionDomain("table_queries", "Questions about a table.", split="program", combinations=0.15)


@queries.input
@cache
def table(text: str) -> Table:
    """the table, as the text of a CSV file with a line of column names"""
    lines = [tuple(cell.strip() for cell in line) for line in csv.reader(io.StringIO(text)) if line]
    if len(lines) < 2 or len(set(map(len, lines))) > 1 or len(set(lines[0])) < len(lines[0]):
        raise ValueError("expected a line of different column names, then rows of as many cells")
    rows = (tuple(float(cell) if _is_number(cell) else cell for cell in line) for line in lines[1:])
    return Table(tuple(name.lower().replace(" ", "_") for name in lines[0]), tuple(rows))


@cache
def _pattern(names: tuple[str, ...]) -> str:
    return "|".join(re.escape(name).replace("_", "[_ ]") for name in sorted(set(names), key=len, reverse=True))


def _texts(table: Table) -> tuple[str, ...]:
    return tuple(cell for row in table.rows for cell in row if isinstance(cell, str) and cell)


@queries.mention("c", lambda table: _pattern(table.columns))
def column(found: str) -> Column:
    """a column of the table"""
    return Column(found.lower().replace(" ", "_"))


@queries.mention("v", lambda table: _pattern(_texts(table)))
def value(found: str, table: Table) -> str:
    """a text of one of the table's cells"""
    return next(text for text in _texts(table) if text.lower() == found.lower())


@queries.relation
def equal(table: Table, column: Column, value: str) -> Table:
    """the rows whose column is a text"""
    return table.where(column, False, lambda cell: cell == value)


@queries.relation
def unequal(table: Table, column: Column, value: str) -> Table:
    """the rows whose column is another text"""
    return table.where(column, False, lambda cell: cell != value)


@queries.relation
def above(table: Table, column: Column, limit: float) -> Table:
    """the rows whose column is above a number"""
    return table.where(column, True, lambda cell: cell > limit)


@queries.relation
def below(table: Table, column: Column, limit: float) -> Table:
    """the rows whose column is below a number"""
    return table.where(column, True, lambda cell: cell < limit)


@queries.relation
def between(table: Table, column: Column, low: float, high: float) -> Table:
    """the rows whose column is from one number to another"""
    return table.where(column, True, lambda cell: low <= cell <= high)


@queries.relation
def sort(table: Table, column: Column, order: Order) -> Table:
    """the rows in the order of a column"""
    place = table.place(column)
    return Table(
        table.columns, tuple(sorted(table.rows, key=lambda row: row[place], reverse=order is Order.descending))
    )


@queries.relation
def first(table: Table, count: int) -> Table:
    """the first rows"""
    return Table(table.columns, table.rows[: max(count, 0)])


@queries.relation
def count(table: Table) -> float:
    """how many rows there are"""
    return len(table.rows)


@queries.relation
def aggregate(table: Table, how: How, column: Column) -> float:
    """one number for a column"""
    numbers = table.values(column, numeric=True)
    if not numbers:
        raise ValueError("no rows are left")
    if how is How.average:
        return sum(numbers) / len(numbers)
    return {How.total: sum, How.largest: max, How.smallest: min}[how](numbers)


@queries.relation
def group(table: Table, key: Column, how: How, column: Column) -> Table:
    """one number for a column, for each value of another column"""
    keys = dict.fromkeys(table.values(key))
    rows = ((one, aggregate(table.where(key, False, lambda cell, one=one: cell == one), how, column)) for one in keys)
    return Table((key, column), tuple(rows))


@queries.relation
def difference(left: float, right: float) -> float:
    """how much more the first number is than the second"""
    return left - right


# The examples: phrases with places for a column c, a text v, numbers n and m, and what they mean.
TABLES = (
    Path(__file__).with_name("sales.csv").read_text(encoding="utf-8"),
    "name,team,office,role,age,salary\nKim,red,Paris,cook,31,2900\nLee,blue,Ghent,clerk,45,3100\nMo,red,Ghent,cook,52,2700",
    "animal,food,zoo,weight,height\nbear,fish,Bern,310,2.1\notter,fish,Bonn,9,0.4\nhorse,hay,Bern,480,1.7\nhare,hay,Bonn,4,0.3",
)
TESTS = {
    "equal": ("where {c} is {v}", "with {c} {v}", "whose {c} is {v}", "for the {c} {v}", "with {v} as {c}"),
    "unequal": ("where {c} is not {v}", "with a {c} other than {v}", "whose {c} is anything but {v}"),
    "above": ("where {c} is above {n}", "with {c} over {n}", "with more than {n} {c}", "whose {c} exceeds {n}"),
    "below": ("where {c} is below {m}", "with {c} under {m}", "with less than {m} {c}", "whose {c} stays under {m}"),
    "between": ("where {c} is between {n} and {m}", "with {c} from {n} to {m}", "with {n} to {m} {c}"),
}
ASKS = ("what is the {}", "the {}", "give me the {}", "find the {}", "tell me the {}", "i need the {}")
COUNTS = ("how many rows are there {}", "count the rows {}", "what is the number of rows {}")
SHOWS = ("show the rows {}", "list all rows {}", "which rows are there {}", "give me the rows {}", "rows {}")


def conditions(random: Random, data: Table, count: int) -> tuple[str, object]:
    """Tests in words and the program of the rows that pass them; a row of the table passes them all."""
    row, texts, rows = dict(zip(data.columns, random.choice(data.rows))), [], "table"
    for _ in range(count):
        c = random.choice(data.columns)
        cell, n, m = row[c], "", ""
        if isinstance(cell, float):
            n, m = f"{round(cell * random.uniform(0.1, 0.9), 2):g}", f"{round(cell * random.uniform(1.1, 3) + 1, 2):g}"
            relation = random.choice(("above", "below", "between")) if cell else "below"
            values = {"above": (n,), "below": (m,), "between": (n, m)}[relation]
        else:
            relation = random.choice(("equal", "equal", "unequal"))
            values = (cell if relation == "equal" else random.choice([v for v in data.values(c) if v != cell]),)
        texts.append(random.choice(TESTS[relation]).format(c=c, v=values[0], n=n, m=m))
        rows = (relation, rows, c, *values)
    return " and ".join(texts), rows


@queries.generator(count=9_000)
def questions(random: Random) -> Iterator[tuple[str, object, dict[str, object]]]:
    while True:
        data = table(source := random.choice(TABLES))
        where, rows = conditions(random, data, random.choice((0, 1, 1, 1, 2, 2)))
        c = random.choice([name for name in data.columns if isinstance(data.values(name)[0], float)])
        key = random.choice([name for name in data.columns if not isinstance(data.values(name)[0], float)])
        how, order, few = random.choice(list(How)), random.choice(list(Order)), random.randrange(2, 30)
        amount, ranked = (random.choice(phrases).format(c=c) for phrases in (how.value, order.value))
        ask = random.choice(ASKS)
        match random.choices(("sum", "count", "group", "rows", "more"), (4, 2, 5, 5, 2))[0]:
            case "sum":
                text, program = f"{ask.format(amount)} {where}", ("aggregate", rows, how, c)
                if where and random.random() < 0.3:
                    text = f"of the rows {where} , {ask.format(amount)}"
            case "count":
                text, program = random.choice(COUNTS).format(where), ("count", rows)
            case "group":
                each = random.choice(("by", "per", "for each"))
                text, program = f"{ask.format(amount)} {each} {key} {where}", ("group", rows, key, how, c)
                if random.random() < 0.5:
                    text, program = f"{text} {ranked}", ("sort", program, c, order)
            case "rows":
                text, program = random.choice(SHOWS).format(where), rows
                if not where or random.random() < 0.7:
                    text, program = f"{text} {ranked}", ("sort", rows, c, order)
                if random.random() < 0.5:
                    text, program = f"{text} , {random.choice(('only', 'the first'))} {few}", ("first", program, few)
            case _:
                (one, left), (two, right) = (conditions(random, data, 1) for _ in "12")
                text = f"how much higher is the {amount} {one} than {two}"
                program = ("difference", ("aggregate", left, how, c), ("aggregate", right, how, c))
        yield " ".join(text.split()) + random.choice(("", " ?", " .")), program, {"table": source}
