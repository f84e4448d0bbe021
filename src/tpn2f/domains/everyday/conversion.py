"""From a worked solution to a program over the numbers of the text, with a grade that says how sure it is.

Grade A, clear: one choice of meanings stands out, and every constant is explained by a word of the text. Grade B: the
program gives the answer, but another choice is nearly as good. Grade C: it gives the answer with a constant that the
text does not explain, or with a step that the solution does not show. Grade D: the record repeats an earlier one. Grade
X: no program gives the answer. Only A is for training: on other numbers, programs of grade C were right in 39 of 100
cases in a trial, those of grade A in 91.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from tpn2f.domains.everyday.bindings import Meaning, Story, Use, choose, is_content, meanings, stem
from tpn2f.domains.everyday.constants import CONSTANTS, is_explained
from tpn2f.domains.everyday.expressions import Expression, Literal, Operation, literals, value
from tpn2f.domains.everyday.programs import RELATION, Builder
from tpn2f.domains.everyday.reading import NumberedText
from tpn2f.errors import DataError
from tpn2f.program import Program, reference

GRADES = ("A", "B", "C", "D", "X")
MARGIN = 0.6
"""How much cheaper the best choice must be than any that gives another program."""
TOLERANCE = Fraction(1, 200)
MAX_LITERALS = 60
_TRIED = 16
_HUNDREDTH = Literal(Fraction(1, 100))
_UNITS = frozenset(f"const_{name}" for name in (7, 10, 12, 16, 24, 30, 36, 52, 60, 100, 365, 1000))


@dataclass(frozen=True, slots=True)
class SolutionLine:
    """One step of a worked solution: an expression, what it is said to give, and the sentence that says it."""

    tree: Expression
    result: Fraction
    text: str = ""


@dataclass(frozen=True, slots=True)
class Conversion:
    """A program, if there is one, with its grade and the reason for any grade below A."""

    program: Program
    grade: str
    reason: str = ""


def convert(
    reading: NumberedText, lines: Sequence[SolutionLine], answer: Fraction, told: Sequence[str] | None = None
) -> Conversion:
    """The program of a solution. Never raises; a solution that gives no program has the grade X and an empty one.

    `told` are the names of all literals, where the source says them; used if they fit.
    """
    try:
        return _convert(Story.of(reading), lines, answer, told)
    except (DataError, ZeroDivisionError) as error:
        return Conversion(Program(), "X", str(error) or "a division by zero")


def _convert(story: Story, lines: Sequence[SolutionLine], answer: Fraction, told: Sequence[str] | None) -> Conversion:
    last = _last(lines, answer)
    if told is not None and len(told) == sum(len(literals(line.tree)) for line in lines):
        program = _build(lines, [Meaning(word) for word in told])
        if program is not None and program.tuples and _gives(program, story.reading, answer):
            return Conversion(program, "A")
    lines = [SolutionLine(_fold(line.tree, story), line.result, line.text) for line in lines[: last + 1]]
    uses = [use for step, line in enumerate(lines) for use in _uses(line, step)]
    if len(uses) > MAX_LITERALS:
        raise DataError(f"more than {MAX_LITERALS} numbers in the solution")
    results = [line.result for line in lines]
    options = [meanings(use, story, results) or _hidden(use, story, results) for use in uses]
    if not all(options):
        raise DataError("a number of the solution is neither in the text nor a result nor a constant")
    near = [
        frozenset(stem(word) for word in re.findall("[a-z]+", line.text.lower()) if is_content(word)) for line in lines
    ]
    best: tuple[Program, float, tuple[Meaning, ...]] | None = None
    rival = None
    for choice in choose(uses, options, story, near)[:_TRIED]:
        program = _build(lines, choice.chosen)
        if program is None or not program.tuples or not _gives(program, story.reading, answer):
            continue
        if best is None:
            best = program, choice.cost, choice.chosen
        elif program != best[0]:
            rival = choice.cost
            break
    if best is None:
        raise DataError("the program of the solution gives another number than the answer")
    return _graded(*best, rival)


def _graded(program: Program, cost: float, chosen: Sequence[Meaning], rival: float | None) -> Conversion:
    words = {word for step in program.tuples for word in step.arguments}
    unclear = [meaning.unclear for meaning in chosen if meaning.unclear and meaning.word in words]
    if unclear:
        return Conversion(program, "C", unclear[0])
    if rival is not None and rival - cost < MARGIN:
        return Conversion(program, "B", "which number is meant is not clear")
    return Conversion(program, "A")


def _last(lines: Sequence[SolutionLine], answer: Fraction) -> int:
    """The last step that gives the answer."""
    for step in reversed(range(len(lines))):
        if close(lines[step].result, answer):
            return step
    if not lines:
        raise DataError("the solution has no steps")
    raise DataError("no step of the solution gives the answer")


def close(found: Fraction, wanted: Fraction) -> bool:
    return abs(found - wanted) <= TOLERANCE * abs(wanted)


def _fold(tree: Expression, story: Story) -> Expression:
    """Fractions of the text as one literal: the 2/3 of `2/3*60`, of `60*2/3`, of `(2*60)/3`; percentages likewise."""
    if isinstance(tree, Literal):
        return tree
    left, right = _fold(tree.left, story), _fold(tree.right, story)
    if tree.sign == "*" and (part := _unit_part(left, right) or _unit_part(right, left)):
        return _fold(part, story)
    if tree.sign == "*" and right == _HUNDREDTH:
        return _fold(Operation("/", left, Literal(Fraction(100))), story)
    if tree.sign == "/" and isinstance(right, Literal) and right.value:
        if isinstance(left, Literal) and _is_fraction(left.value / right.value, story):
            return Literal(left.value / right.value)
        if isinstance(left, Operation) and left.sign == "*":
            for inner, other in ((left.right, left.left), (left.left, left.right)):
                if isinstance(inner, Literal) and _is_part(inner.value, right.value, story):
                    return Operation("*", other, Literal(inner.value / right.value))
    return Operation(tree.sign, left, right)


def _unit_part(part: Expression, whole: Expression) -> Expression | None:
    """x / 3 for `1/3 * x`, where the text does not say 1/3."""
    if isinstance(part, Operation) and part.sign == "/" and part.left == Literal(Fraction(1)):
        return Operation("/", whole, part.right)
    return None


def _is_fraction(amount: Fraction, story: Story) -> bool:
    numbers = story.reading.numbers
    if amount.denominator != 1 and any(
        number.value in (amount, 1 - amount, amount - 1) for number in numbers if number.value.denominator != 1
    ):
        return True
    return any(numbers[k].value == amount * 100 for k in story.percents)


def _is_part(above: Fraction, below: Fraction, story: Story) -> bool:
    """Whether a number above a line, and one below, are one fraction or one percentage of the text."""
    if below == 100:
        return any(story.reading.numbers[k].value == above for k in story.percents)
    return above != 1 and _is_fraction(above / below, story)


def _uses(line: SolutionLine, step: int) -> Iterator[Use]:
    follows: dict[Fraction, set[str]] = {}
    words = re.findall(r"[a-z]+|\d[\d,]*(?:\.\d+)?|\.\d+|[-+*/=x]", line.text.lower())
    for place, word in enumerate(words):
        if word[-1].isdigit():
            near = follows.setdefault(Fraction(word.replace(",", "")), set())
            near.update(stem(after) for after in words[place + 1 : place + 3] if is_content(after))

    def walk(tree: Expression, sign: str, side: str, other: Expression | None) -> Iterator[Use]:
        if isinstance(tree, Operation):
            yield from walk(tree.left, tree.sign, "left", tree.right)
            yield from walk(tree.right, tree.sign, "right", tree.left)
            return
        inverse = sign == "*" or (sign == "/" and side == "right")
        part = sign in ("+", "-") and other is not None and _is_share(tree.value, other)
        yield Use(tree.value, step, inverse, part, not sign, frozenset(follows.get(tree.value, ())))

    yield from walk(line.tree, "", "", None)


def _is_share(whole: Fraction, other: Expression) -> bool:
    """Whether 1 or 100 is taken with a part of itself: `1 - 1/4`, `100 - 25`."""
    amounts = [literal.value for literal in literals(other)]
    worth = value(other)
    if whole == 1:
        return 0 < worth < 1
    return whole == 100 and all(0 < amount <= 100 for amount in amounts)


def _hidden(use: Use, story: Story, results: Sequence[Fraction]) -> list[Meaning]:
    """Meanings with a step that the solution does not show: 21 for 3 weeks of 7 days, 40 for 100 - 60."""
    known = {f"n{k}": number.value for k, number in enumerate(story.reading.numbers)}
    known |= {f"#{j}": results[j] for j in range(use.step)}
    units = {name: CONSTANTS[name] for name in _UNITS if is_explained(name, story.words)}
    found = [
        Meaning(word, f"{sign}{unit}", 0.6)
        for word, amount in known.items()
        for unit, worth in units.items()
        for sign in "*/"
        if _combined(sign, amount, worth) == use.value
    ]
    if len(found) == 1:
        return found
    words = list(known)
    found += [
        Meaning(word, f"{sign}{other}", 3.0)
        for word in words
        for other in words
        for sign in "+-*/"
        if (sign in "-/" or words.index(word) < words.index(other))
        and _combined(sign, known[word], known[other]) == use.value
    ]
    return [Meaning(m.word, m.how, m.cost, "the solution has a step that it does not show") for m in found[:8]]


def _combined(sign: str, a: Fraction, b: Fraction) -> Fraction | None:
    if sign == "/":
        return a / b if b else None
    return a * b if sign == "*" else a + b if sign == "+" else a - b


def _gives(program: Program, reading: NumberedText, answer: Fraction) -> bool:
    results: list[Fraction] = []
    for step in program.tuples:
        a, b = (_amount(word, reading, results) for word in step.arguments)
        sign = next(sign for sign, name in RELATION.items() if name == step.relation)
        found = _combined(sign, a, b)
        if found is None:
            return False
        results.append(found)
    return close(results[-1], answer)


def _amount(word: str, reading: NumberedText, results: Sequence[Fraction]) -> Fraction:
    target = reference(word)
    if target is not None:
        return results[target]
    return CONSTANTS[word] if word.startswith("const_") else reading.numbers[int(word[1:])].value


_INVERSE = "1/"


def _build(lines: Sequence[SolutionLine], chosen: Sequence[Meaning]) -> Program | None:
    """The program of all steps with these meanings; None where an inverse stands alone."""
    builder = Builder()
    words: list[str] = []
    left = iter(chosen)

    def leaf(meaning: Meaning) -> str:
        target = reference(meaning.word)
        word = words[target] if target is not None else meaning.word
        return _changed(builder, word, meaning.how, words)

    def walk(tree: Expression) -> str:
        if isinstance(tree, Literal):
            return leaf(next(left))
        if tree.sign in "+*":
            return _chain(builder, tree.sign, [walk(term) for term in _terms(tree, tree.sign)])
        first, second = walk(tree.left), walk(tree.right)
        if first.startswith(_INVERSE):
            raise DataError("an inverse is divided")
        if second.startswith(_INVERSE):
            return builder.call("multiply", first, second.removeprefix(_INVERSE))
        if tree.sign == "/" and second == "const_1":
            return first
        return builder.call(RELATION[tree.sign], first, second)

    try:
        for line in lines:
            words.append(walk(line.tree))
        return builder.program(words[-1])
    except DataError:
        return None


def _terms(tree: Expression, sign: str) -> list[Expression]:
    if isinstance(tree, Operation) and tree.sign == sign:
        return [*_terms(tree.left, sign), *_terms(tree.right, sign)]
    return [tree]


def _chain(builder: Builder, sign: str, words: list[str]) -> str:
    direct = [word for word in words if not word.startswith(_INVERSE)]
    if sign == "*":
        # Nothing is multiplied by 1.
        direct = [word for word in direct if word != "const_1"] or direct[:1]
    if not direct or (sign == "+" and len(direct) < len(words)):
        raise DataError("an inverse has nothing to divide")
    result = builder.chain(RELATION[sign], direct)
    for word in words:
        if word.startswith(_INVERSE):
            result = builder.call("divide", result, word.removeprefix(_INVERSE))
    return result


def _changed(builder: Builder, word: str, how: str, words: Sequence[str]) -> str:
    if how == "is":
        return word
    if how == "inverse":
        return _INVERSE + word
    if how in ("rest", "whole"):
        return builder.call("subtract" if how == "rest" else "add", "const_100", word)
    if how in ("one more", "one less"):
        return builder.call("add" if how == "one more" else "subtract", "const_1", word)
    if how in ("percent", "more", "less"):
        part = builder.call("divide", word, "const_100")
        if how == "percent":
            return part
        return builder.call("add" if how == "more" else "subtract", "const_1", part)
    target = reference(how[1:])
    return builder.call(RELATION[how[0]], word, words[target] if target is not None else how[1:])
