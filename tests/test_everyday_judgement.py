"""What makes sense: texts that ask nothing are refused, notes are not, and answers that cannot be are doubted."""

import pytest

from tpn2f.domain import load_domain
from tpn2f.domains.everyday.judgement import DOUBT_WORDS
from tpn2f.errors import DataError, NotAQuestion
from tpn2f.program import Program

EVERYDAY = load_domain("everyday")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("hello", "no number"),
        ("Who is the president?", "no number"),
        ("I have 3 apples and 5 pears.", "does not ask"),
        ("Tom is 12 years old", "does not ask"),
        ("hi 5", "does not ask"),
        ("42", "does not ask"),
    ],
)
def test_what_is_no_question_is_refused_with_an_example(text: str, reason: str) -> None:
    with pytest.raises(NotAQuestion, match=reason) as found:
        EVERYDAY.read(text)
    assert "such as" in str(found.value) and isinstance(found.value, DataError)


@pytest.mark.parametrize(
    "text",
    [
        "What is 3 plus 4?",
        "Find the sum of 3 and 4",
        "117 feet in yards",
        "Increase 132 by 555",
        "The area of a triangle with base 12 cm and height 5 cm is",
        "Bought for $370, sold for $492, profit",
        "Meter 2530 before, 2720 after, $0.50 per unit, bill",
    ],
)
def test_short_notes_ask_too(text: str) -> None:
    assert EVERYDAY.read(text).bindings


@pytest.mark.parametrize(
    ("text", "program", "name"),
    [
        ("How many boxes do 7 pens need, 2 in each?", "divide(n0,n1)", "part of a thing"),
        ("A shirt of $40 is 25% off. What do I pay?", "subtract(n0,n1)", "percent as a number"),
        ("Tom had 5 pens and lost 2. How many are left?", "add(n0,n1)", "more left than there was"),
        ("Tom has 5 pens and 2 books. How many things in total?", "subtract(n0,n1)", "total below a part"),
    ],
)
def test_an_answer_that_cannot_be_is_doubted(text: str, program: str, name: str) -> None:
    problem, parsed = EVERYDAY.read(text), Program.parse(program)
    assert EVERYDAY.doubtful(problem, parsed, EVERYDAY.execute(parsed, problem)) == {name}
    assert DOUBT_WORDS[name]


def test_a_sensible_answer_is_not_doubted() -> None:
    problem = EVERYDAY.read("A shirt of $40 is 25% off. What do I pay?")
    program = Program.parse("divide(n1,const_100)|multiply(n0,#0)|subtract(n0,#1)")
    assert not EVERYDAY.doubtful(problem, program, 30.0)
    assert not EVERYDAY.doubtful(problem, program, None)
