"""GSM8K (Cobbe et al., 2021): stories with worked solutions whose steps are marked `<<48/2=24>>`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from fractions import Fraction

from tpn2f.domains.everyday.conversion import SolutionLine, close
from tpn2f.domains.everyday.expressions import Operation, parse, value
from tpn2f.errors import DataError

_MARK = re.compile(r"<<([^<>=]*)=([^<>]*)>>")
_TOKEN = re.compile(r"\d+(?:\.\d+)?|\.\d+|[-+*/()=]|[^\s\w]")
_ANSWER = re.compile(r"####\s*(-?[$\d,.]+)")


def answer(solution: str) -> Fraction:
    """The number behind `####`. Raises DataError."""
    found = _ANSWER.search(solution)
    if found is None:
        raise DataError("the solution has no line '#### number'")
    return _number(found.group(1))


def lines(solution: str) -> list[SolutionLine]:
    """The steps of a solution, in their order; steps that are not marked are read from the text."""
    found: list[SolutionLine] = []
    for row in solution.split("\n"):
        if row.startswith("####"):
            break
        text = _MARK.sub("", row.split(" ** ")[-1])
        marked = [line for step in _MARK.findall(row) if (line := _line(step[0], step[1], text)) is not None]
        unmarked = _unmarked(text)
        said = {line.result for line in marked if isinstance(line.tree, Operation)}
        found += [line for line in unmarked if line.result not in said]
        said = {line.result for line in unmarked}
        # A mark without an operation, `12 - 4 = <<8=8>>8`, says less than the text before it.
        found += [line for line in marked if isinstance(line.tree, Operation) or line.result not in said]
    return found


_CLEAN = re.compile(r"(?<=[\d).])\s*x\s*(?=[$\d(.])")


def _unmarked(text: str) -> list[SolutionLine]:
    """The equations of a sentence, without its units: `46*7kg = 322kg`."""
    plain = re.sub(r"(?<=\d),(?=\d{3})", "", text.lower().replace("−", "-").replace("–", "-").replace("×", "*"))
    plain = re.sub(r"\b(\d+) (\d+)/(\d+)\b", r"(\1+\2/\3)", plain)
    plain = re.sub(r"[a-z]+(?:/[a-z]+)?|[$%]", " ", _CLEAN.sub(" * ", plain))
    found: list[SolutionLine] = []
    run: list[str] = []
    tokens = _TOKEN.findall(plain)
    for place, token in enumerate(tokens):
        is_number = token[-1].isdigit()
        if is_number and run and run[-1][-1].isdigit():
            run = []
        if is_number or token in "+-*/()":
            run.append(token)
            continue
        after = tokens[place + 1 : place + 3]
        if token == "=" and len(run) > 2 and after and after[0][-1].isdigit() and after[-1] != "/":
            line = _line("".join(run), after[0], text)
            if line is not None and isinstance(line.tree, Operation) and close(value(line.tree), line.result):
                found.append(line)
        run = []
    return found


def _line(expression: str, result: str, text: str) -> SolutionLine | None:
    try:
        tree = parse(expression)
        worth = value(tree)
        stated = _number(result)
    except DataError:
        return None
    # A result that is rounded in writing is worth what the step gives.
    rounded = isinstance(tree, Operation) and close(stated, worth)
    return SolutionLine(tree, worth if rounded else stated, text)


def _number(text: str) -> Fraction:
    try:
        return Fraction(text.replace(",", "").replace("$", "").strip().rstrip("."))
    except (ValueError, ZeroDivisionError) as error:
        raise DataError(f"{text[:30]!r} is not a number") from error


_ASKS = r"(?:how|what|which|when|where|who|find|calculate|determine)\b"
_SENTENCE = re.compile(r"(?<!\bMr\.)(?<!\bMrs\.)(?<!\bMs\.)(?<!\bDr\.)(?<!\bSt\.)(?<=[.!?])\s+(?=[A-Z\"'$0-9])")


def story(question: str) -> tuple[str, str]:
    """A question without what it asks: the sentences before, and the condition that the asking sentence begins with."""
    sentences = _SENTENCE.split(question.strip())
    asking = sentences.pop()
    match = re.match(rf"^(.*?\S,)\s+(?:then\s+)?{_ASKS}", asking, re.IGNORECASE)
    return " ".join(sentences), match.group(1) if match else ""


_TOTAL = re.compile(r"\b(?:total|altogether|combined|in all|together|sum)\b", re.IGNORECASE)


def sub_questions(question: str, solution: str) -> Iterator[tuple[str, list[SolutionLine]]]:
    """Each sub-question of a socratic solution, joined to its story, with the steps that answer it.

    Only rows with a question and a step of their own count; of a question that is asked twice, the last answer. A step
    that speaks of a total answers no question that does not: such questions name the wrong thing too often.
    """
    told, condition = story(question)
    found: dict[str, list[SolutionLine]] = {}
    steps: list[SolutionLine] = []
    for row in solution.split("\n"):
        asked, sign, explained = row.partition(" ** ")
        if row.startswith("####") or not sign:
            break
        own = lines(row)
        steps = [*steps, *own]
        asked = asked.strip()
        if not own or not asked.endswith("?") or (_TOTAL.search(explained) and not _TOTAL.search(asked)):
            continue
        if condition:
            asked = f"{condition} {asked[:1].lower()}{asked[1:]}"
        found[f"{told} {asked}".strip()] = steps
    yield from found.items()
