"""Dates and durations in words: "the last friday before 2024-07-01", "how many weeks from today to 3 march 2026".

    tpn2f train configs/small.toml --domain examples/calendar_expressions.py
    tpn2f solve "which day is 3 weeks after 2 may 2024 ?" --model runs/calendar_expressions --trust
    tpn2f solve "is tomorrow before may 1, 2030" --model runs/calendar_expressions --trust --input today='"2030-04-28"'

Dates are taken out of the text as d0, d1, ... and numbers as n0, n1, ...; today is given beside it, or is today. Test
holds programs that train does not; the split `combinations` holds sets of relations that never occur together in train.
"""

from __future__ import annotations

import calendar
import re
from collections.abc import Iterator
from datetime import date, timedelta
from enum import Enum
from random import Random

from tpn2f import FunctionDomain

times = FunctionDomain("calendar", "Dates and durations.", split="program", combinations=0.15, quoted=False)
times.constant("one", 1)

Unit = Enum("Unit", ["day", "week", "month", "year"])
Weekday = Enum("Weekday", ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"], start=0)
MONTHS = [name.lower() for name in calendar.month_name]
_MONTH = "|".join(name for month in MONTHS[1:] for name in (month, month[:3]))
_DAY = r"\d\d?(?:st|nd|rd|th)?"
_DATE = rf"\d{{4}}-\d\d?-\d\d?|{_DAY} (?:of )?(?:{_MONTH}),? \d{{4}}|(?:{_MONTH}) {_DAY},? \d{{4}}"


@times.input(default=date.today)
def today(text: str) -> date:
    """the day that is today, as 2024-02-28"""
    return date.fromisoformat(text)


@times.mention("d", _DATE)
def day(found: str) -> date:
    """a date: 2024-02-28, 28 february 2024, Feb 28th, 2024"""
    if found[4] == "-":
        return date(*map(int, found.split("-")))
    numbers, word = re.findall(r"\d+", found), re.findall(f"(?:{_MONTH})", found.lower())[0]
    month = next(place for place, name in enumerate(MONTHS) if place and name.startswith(word))
    return date(int(numbers[1]), month, int(numbers[0]))


@times.relation
def after(day: date, count: int, unit: Unit) -> date:
    """so many days, weeks, months or years later; the 31st becomes the last day of a shorter month"""
    if unit in (Unit.day, Unit.week):
        return day + timedelta(days=count * (7 if unit is Unit.week else 1))
    months = day.year * 12 + day.month - 1 + count * (12 if unit is Unit.year else 1)
    year, month = months // 12, months % 12 + 1
    if not 1 <= year <= 9999:
        raise ValueError(f"there is no year {year}")
    return date(year, month, min(day.day, calendar.monthrange(year, month)[1]))


@times.relation
def before(day: date, count: int, unit: Unit) -> date:
    """so many days, weeks, months or years earlier"""
    return after(day, -count, unit)


@times.relation
def next_weekday(day: date, weekday: Weekday) -> date:
    """the first such weekday after a day"""
    return day + timedelta(days=(weekday.value - day.weekday() - 1) % 7 + 1)


@times.relation
def last_weekday(day: date, weekday: Weekday) -> date:
    """the last such weekday before a day"""
    return day - timedelta(days=(day.weekday() - weekday.value - 1) % 7 + 1)


@times.relation
def first_day(day: date, unit: Unit) -> date:
    """the first day of the week, month or year of a day"""
    if unit is Unit.week:
        return day - timedelta(days=day.weekday())
    return day.replace(day=1 if unit is not Unit.day else day.day, month=1 if unit is Unit.year else day.month)


@times.relation
def last_day(day: date, unit: Unit) -> date:
    """the last day of the week, month or year of a day"""
    return after(first_day(day, unit), 1, unit) - timedelta(days=1)


@times.relation
def working_days_after(day: date, count: int) -> date:
    """so many days later, without saturdays and sundays"""
    if not 0 <= count <= 10_000:
        raise ValueError(f"{count} working days are not counted")
    while count:
        day += timedelta(days=1)
        count -= day.weekday() < 5
    return day


@times.relation
def length(start: date, end: date, unit: Unit) -> float:
    """how many whole days, weeks, months or years there are from one day to another"""
    if end < start:
        return -length(end, start, unit)
    if unit in (Unit.day, Unit.week):
        return (end - start).days // (7 if unit is Unit.week else 1)
    months = (end.year - start.year) * 12 + end.month - start.month - (end.day < start.day)
    return months // (12 if unit is Unit.year else 1)


@times.relation
def working_days(start: date, end: date) -> float:
    """how many days from one to another are neither saturday nor sunday, the first not counted"""
    weeks, rest = divmod((end - start).days, 7)
    return 5 * weeks + sum((start + timedelta(days=place + 1)).weekday() < 5 for place in range(rest))


@times.relation
def weekday(day: date) -> Weekday:
    """the day of the week"""
    return Weekday(day.weekday())


@times.relation
def week_number(day: date) -> float:
    """the number of the week in its year"""
    return day.isocalendar().week


@times.relation
def earlier(one: date, other: date) -> date:
    """the one of two days that comes first"""
    return min(one, other)


@times.relation
def later(one: date, other: date) -> date:
    """the one of two days that comes last"""
    return max(one, other)


@times.relation
def is_before(one: date, other: date) -> bool:
    """whether a day comes before another"""
    return one < other


# The examples: phrases and what they mean; {0} and {1} are days, n a number, u a unit, w a weekday.
DAYS = (
    ("{n} {u}s after {0}", ("after", "{0}", "{n}", "{u}")),
    ("{n} {u}s later than {0}", ("after", "{0}", "{n}", "{u}")),
    ("the day {n} {u}s past {0}", ("after", "{0}", "{n}", "{u}")),
    ("one {u} after {0}", ("after", "{0}", "one", "{u}")),
    ("{n} {u}s before {0}", ("before", "{0}", "{n}", "{u}")),
    ("{n} {u}s ahead of {0}", ("before", "{0}", "{n}", "{u}")),
    ("a {u} before {0}", ("before", "{0}", "one", "{u}")),
    ("the first {w} after {0}", ("next_weekday", "{0}", "{w}")),
    ("the next {w} that follows {0}", ("next_weekday", "{0}", "{w}")),
    ("the last {w} before {0}", ("last_weekday", "{0}", "{w}")),
    ("the {w} that comes before {0}", ("last_weekday", "{0}", "{w}")),
    ("the first day of the {u} of {0}", ("first_day", "{0}", "{u}")),
    ("the start of the {u} that holds {0}", ("first_day", "{0}", "{u}")),
    ("the last day of the {u} of {0}", ("last_day", "{0}", "{u}")),
    ("the end of the {u} of {0}", ("last_day", "{0}", "{u}")),
    ("{n} working days after {0}", ("working_days_after", "{0}", "{n}")),
    ("{n} business days from {0}", ("working_days_after", "{0}", "{n}")),
    ("the earlier of {0} and {1}", ("earlier", "{0}", "{1}")),
    ("the later of {0} and {1}", ("later", "{0}", "{1}")),
)
LEAVES = (
    ("today", "today"),
    ("tomorrow", ("after", "today", "one", "day")),
    ("yesterday", ("before", "today", "one", "day")),
)
QUESTIONS = (
    ("what date is {0}", "{0}"),
    ("when is {0}", "{0}"),
    ("which day is {0}", "{0}"),
    ("give me the date of {0}", "{0}"),
    ("which day of the week is {0}", ("weekday", "{0}")),
    ("on what weekday does {0} fall", ("weekday", "{0}")),
    ("in which week of the year is {0}", ("week_number", "{0}")),
    ("how many {u}s are there from {0} to {1}", ("length", "{0}", "{1}", "{u}")),
    ("how many {u}s lie between {0} and {1}", ("length", "{0}", "{1}", "{u}")),
    ("count the {u}s from {0} until {1}", ("length", "{0}", "{1}", "{u}")),
    ("how many working days are there from {0} to {1}", ("working_days", "{0}", "{1}")),
    ("count the business days between {0} and {1}", ("working_days", "{0}", "{1}")),
    ("is {0} before {1}", ("is_before", "{0}", "{1}")),
    ("does {0} come earlier than {1}", ("is_before", "{0}", "{1}")),
)


def fill(random: Random, phrase: tuple[str, object], depth: int) -> tuple[str, object]:
    """A phrase with days, numbers, units and weekdays in its places."""
    text, tree = phrase
    parts = {"n": str(random.randrange(2, 40)), "w": random.choice(list(Weekday)).name}
    parts["u"] = random.choice(list(Unit)[1 if "of the {u}" in text or "holds" in text else 0 :]).name
    days = []
    while f"{{{len(days)}}}" in text:
        days.append(a_day(random, depth - 1))
    trees = {f"{{{place}}}": tree for place, (_, tree) in enumerate(days)} | {f"{{{k}}}": v for k, v in parts.items()}
    put = lambda node: tuple(map(put, node)) if isinstance(node, tuple) else trees.get(node, node)  # noqa: E731
    return text.format(*(text for text, _ in days), **parts), put(tree)


def a_day(random: Random, depth: int) -> tuple[str, object]:
    if depth and random.random() < 0.6:
        return fill(random, random.choice(DAYS), depth)
    if random.random() < 0.3:
        return random.choice(LEAVES)
    found = date(2000, 1, 1) + timedelta(days=random.randrange(12_000))
    shapes = ("%Y-%m-%d", f"{found.day} %B %Y", f"%b {found.day}, %Y", f"%B {found.day} %Y", f"{found.day} %b %Y")
    text = found.strftime(random.choice(shapes)).lower()
    return text, text


@times.generator(count=9_000)
def expressions(random: Random) -> Iterator[tuple[str, object, dict[str, object]]]:
    while True:
        question = random.choice(QUESTIONS)
        text, program = fill(random, question, 3 if question[1] == "{0}" or "{1}" not in question[0] else 2)
        if isinstance(program, tuple):
            yield text + random.choice(("", " ?", " .")), program, {"today": date(2024, 2, 28)}
