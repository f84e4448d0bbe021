"""Worked solutions become programs: which number is meant, in what form, and how sure that is."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tpn2f.domains.everyday import gsm8k
from tpn2f.domains.everyday.conversion import Conversion, convert
from tpn2f.domains.everyday.expressions import literals, parse, value
from tpn2f.domains.everyday.language import execute
from tpn2f.domains.everyday.neighbours import Neighbours
from tpn2f.domains.everyday.programs import canonical
from tpn2f.domains.everyday.reading import read
from tpn2f.errors import DataError
from tpn2f.program import Program


def solve(question: str, solution: str) -> Conversion:
    return convert(read(question), gsm8k.lines(solution), gsm8k.answer(solution))


# (question, solution, program, grade)
TABLE = [
    # A number in words is used by its name, also upside down.
    (
        "Ann sold 48 clips in April and half as many in May. How many did she sell in all?",
        "She sold 48/2 = <<48/2=24>>24 in May.\nIn all 48+24 = <<48+24=72>>72.\n#### 72",
        "multiply(n0, n1) | add(n0, #0)",
        "A",
    ),
    ("Bo has 15 cats and twice as many dogs. How many dogs?", "<<15*2=30>>30\n#### 30", "multiply(n0, n1)", "A"),
    ("A third of 60 birds flew away. How many?", "60*1/3=<<60*1/3=20>>20\n#### 20", "multiply(n0, n1)", "A"),
    ("2/3 of 60 birds flew. How many stayed?", "60*2/3=<<60*2/3=40>>40\n60-40=<<60-40=20>>20\n#### 20", None, "A"),
    # Percentages are divided by 100, however the solution writes them.
    *(
        (
            "A coat of $60 is 20% off. How much is taken off?",
            f"<<{step}=12>>12\n#### 12",
            "divide(n1, const_100) | multiply(n0, #0)",
            "A",
        )
        for step in ("60*.2", "20/100*60", "60*20/100", "20*.01*60", "0.20*60")
    ),
    (
        "A coat of $60 is 20% off. What does it cost?",
        "<<60*.8=48>>48\n#### 48",
        "divide(n1, const_100) | subtract(const_1, #0) | multiply(n0, #1)",
        "A",
    ),
    # Sums are sorted by the text, constants come last, what is computed twice is one step.
    ("He has 3 red, 4 blue and 5 green.", "<<5+3+4=12>>12\n#### 12", "add(n0, n1) | add(n2, #0)", "A"),
    ("He runs 4 miles a day. How far in a week?", "<<7*4=28>>28\n#### 28", "multiply(n0, const_7)", "A"),
    (
        "A box has 6 pens. He has 5 boxes and loses one box.",
        "6*5=<<6*5=30>>30\nThen 6*5=<<6*5=30>>30 less 6 is <<30-6=24>>24\n#### 24",
        "multiply(n0, n1) | subtract(#0, n0)",
        None,
    ),
    # Words decide between equal numbers.
    (
        "She picked 4 apples and ate 2 pears. Every apple has 4 seeds. She lost 3 plums. How many apples and plums?",
        "She has 4 apples + 3 plums = <<4+3=7>>7\n#### 7",
        "add(n0, n3)",
        None,
    ),
    # A divisor stays what it was, though a result is worth the same by chance.
    (
        "She has 20 figs, 16 nuts and 8 pears, and eats one-fourth of each.",
        "20/4=<<20/4=5>>5\n16/4=<<16/4=4>>4\n8/4=<<8/4=2>>2\n5+4+2=<<5+4+2=11>>11\n#### 11",
        "multiply(n0, n3) | multiply(n1, n3) | add(#0, #1) | multiply(n2, n3) | add(#2, #3)",
        None,
    ),
    # A constant that nothing explains.
    ("Joe has 5 hats and buys more. How many now?", "<<5+9=14>>14\n#### 14", "add(n0, const_9)", "C"),
    # A step that the solution does not show, when only one can be meant.
    ("He works 3 weeks. Each day he earns $5. How much?", "<<21*5=105>>105\n#### 105", None, "A"),
    # Steps that are not marked are read from the text.
    ("A bag is 7 kg. How much are 46 bags?", "46 bags * 7kg = 322kg\n#### 322", "multiply(n0, n1)", "A"),
    # What does not come out.
    ("Tom is 3 times as old as Ann.", "Let x be his age.\n#### 12", "", "X"),
    ("Tom has 3 hats and 4 caps.", "<<3+4=7>>7\n#### 9", "", "X"),
]


@pytest.mark.parametrize(("question", "solution", "program", "grade"), TABLE)
def test_solutions_become_programs(question: str, solution: str, program: str | None, grade: str | None) -> None:
    found = solve(question, solution)
    if program is not None:
        assert str(found.program) == program
    if grade is not None:
        assert found.grade == grade
    if found.grade == "X":
        assert found.reason
    else:
        assert execute(found.program, read(question).problem) == pytest.approx(float(gsm8k.answer(solution)))


def test_two_equal_numbers_in_one_place_are_not_clear() -> None:
    found = solve("He got 5 then 5 then lost 2.", "<<5-2=3>>3\n#### 3")
    assert (found.grade, found.reason) == ("B", "which number is meant is not clear")


@given(st.lists(st.integers(13, 99), min_size=4, max_size=4, unique=True), st.permutations(range(4)))
def test_distinct_numbers_are_found_wherever_they_stand(numbers: list[int], order: list[int]) -> None:
    """An oracle: the program of (a + b) * c - d names the places of a, b, c and d in the text."""
    a, b, c, d = (numbers[place] for place in order)
    assume(len({a, b, c, d, a + b, (a + b) * c, (a + b) * c - d}) == 7)
    text = "There were {} hats, {} caps, {} bags and {} jars.".format(*numbers)
    first, second, third = a + b, (a + b) * c, (a + b) * c - d
    found = solve(text, f"<<{a}+{b}={first}>>\n<<{first}*{c}={second}>>\n<<{second}-{d}={third}>>\n#### {third}")
    low, high = sorted(order[:2])
    wanted = f"add(n{low}, n{high}) | multiply(n{order[2]}, #0) | subtract(#1, n{order[3]})"
    assert (str(found.program), found.grade) == (wanted, "A")


def test_names_that_the_source_tells_are_used() -> None:
    reading = read("He got 5 then 5 then lost 2.")
    (line,) = gsm8k.lines("<<5-2=3>>3")
    assert str(convert(reading, [line], Fraction(3), ["n1", "n2"]).program) == "subtract(n1, n2)"
    # Names that give another number are not.
    assert str(convert(reading, [line], Fraction(3), ["n2", "n1"]).program) != "subtract(n2, n1)"


@pytest.mark.parametrize(
    ("text", "worth", "count"),
    [("48/2", "24", 2), ("(70.0-27.0)", "43", 2), ("2+3*4", "14", 3), ("35(2/5)", "14", 3), ("20%*50", "10", 2)],
)
def test_expressions(text: str, worth: str, count: int) -> None:
    tree = parse(text)
    assert value(tree) == Fraction(worth) and len(literals(tree)) == count


@pytest.mark.parametrize("text", ["", "2+", "x+1", "(2", "2)", "(" * 1_000, "1+" * 1_000 + "1", "2 ** 3"])
def test_what_is_no_expression_is_an_error(text: str) -> None:
    with pytest.raises(DataError):
        parse(text)


@pytest.mark.parametrize(
    ("program", "form"),
    [
        ("percent(n1, n0)", "divide(n1, const_100) | multiply(n0, #0)"),
        ("add(const_1, n0)", "add(n0, const_1)"),
        ("add(n1, n0) | multiply(n0, n0) | subtract(#0, n2)", "add(n0, n1) | subtract(#0, n2)"),
        ("add(n0, n1) | add(n1, n0) | multiply(#0, #1)", "add(n0, n1) | multiply(#0, #0)"),
        ("multiply(n2, n3) | multiply(n0, n1) | add(#0, #1)", "multiply(n0, n1) | multiply(n2, n3) | add(#0, #1)"),
        ("sqrt(n0)", "sqrt(n0)"),
    ],
)
def test_canonical_form(program: str, form: str) -> None:
    found = canonical(Program.parse(program))
    assert str(found) == form
    assert canonical(found) == found


def test_sub_questions_are_problems_of_their_own() -> None:
    question = "Mr. Lee has 5 cats. If he buys twice as many dogs, how many pets has he?"
    solution = (
        "How many dogs does he buy? ** He buys 5*2=<<5*2=10>>10 dogs\n"
        "Define a variable ** Let x be 5+5=<<5+5=10>>10\n"
        "How many cats are there? ** There are 5 cats\n"
        "How many dogs are there? ** The total is 5+10=<<5+10=15>>15\n"
        "How many pets in total? ** 5+10=<<5+10=15>>15 in total\n#### 15"
    )
    found = {text: [line.result for line in lines] for text, lines in gsm8k.sub_questions(question, solution)}
    told = "Mr. Lee has 5 cats. If he buys twice as many dogs,"
    # No question, no step of its own, and a total that nobody asked for are left out.
    assert found == {
        f"{told} how many dogs does he buy?": [10],
        f"{told} how many pets in total?": [10, 10, 15, 15],
    }


def test_near_duplicates_differ_in_numbers_and_few_words() -> None:
    text = "Tom had 5 red marbles in his bag and he gave 3 of them to his sister . How many are left ?"
    near = Neighbours([("test:1", read(text).words), ("test:2", read("A train goes 60 miles in 2 hours .").words)])
    assert near.near(read(text.replace("5", "50").replace("Tom", "Bob")).words) == "test:1"
    assert near.near(read("Tom had 5 red cars and sold 3 of them yesterday . How many has he got ?").words) == ""
