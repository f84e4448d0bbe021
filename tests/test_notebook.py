"""In a notebook the answer comes first, its trust in words, and nothing that a person or a model wrote is markup."""

from dataclasses import replace

import pytest

from test_solution import TEXT, solution
from tpn2f.compare import compare
from tpn2f.domain import Chosen, load_domain
from tpn2f.errors import NotAQuestion
from tpn2f.metrics import score
from tpn2f.program import Program
from tpn2f.solution import Alternative, Question, unread
from tpn2f.trust.memory import Nearest


def test_the_answer_stands_before_its_steps_and_the_program_is_folded():
    shown = solution(nearest=Nearest("What is 5?", 0.5))._repr_html_()
    order = [shown.index(part) for part in (">180<", ">Sure<", "20 + 88 = 108", "What is 5?", "Look inside", "#0")]
    assert order == sorted(order)
    assert "about 8 times in 10" in shown and "<ol" in shown
    assert shown.index("<details") < shown.index("add(n0, n2)")


@pytest.mark.parametrize(
    ("changes", "word", "has_answer"),
    [
        ({"guess_below": 0.9, "doubts": ("it is far",)}, "A guess", True),
        ({"calibrated": False}, "A guess", True),
        ({"confidence": 0.1, "guess_below": 0.9}, "I cannot answer this", False),
        ({"error": "step 1, divide(n0, n1): it divides by zero"}, "I cannot answer this", False),
    ],
)
def test_what_is_not_sure_says_so_and_why(changes, word, has_answer):
    shown = replace(solution(), **changes)._repr_html_()
    assert f">{word}<" in shown and ("font-size:1.7em" in shown) == has_answer
    for doubt in changes.get("doubts", ()):
        assert f"<li>{doubt}</li>" in shown
    assert ">Sure<" not in shown and ("<ol" in shown) == has_answer


def test_a_text_that_is_no_question_has_its_reason():
    shown = unread(Question("hello"), NotAQuestion("there is no number in this text"))._repr_html_()
    assert "I cannot answer this" in shown and "there is no number" in shown and "<details" not in shown


def test_everything_is_escaped():
    bad = "<script>alert</script>"
    other = Alternative(Program.parse("add(n0,n1)"), bad, 0.1, "")
    full = solution(
        f"{bad} {TEXT}", doubts=(bad,), notes=(bad,), alternatives=(other,), chosen=Chosen("a", bad, False),
        nearest=Nearest(bad, 0.9), guess_below=0.9,
    )  # fmt: skip
    shown = full._repr_html_()
    assert "<script>" not in shown and shown.count("&lt;script&gt;") >= 5


def test_a_program_without_steps_is_shown_as_one_expression():
    assert "(divide (add n0 n2)" in replace(solution(), steps=(), told=())._repr_html_()


def test_a_comparison_is_a_table():
    domain = load_domain("arithmetic")
    examples = list(domain.examples("dev"))[:20]
    gold = score(domain, examples, [example.program for example in examples]).outcomes
    assert gold is not None
    shown = compare(gold, gold, "strict", ("<b>", "other"))._repr_html_()
    assert shown.count("<th>") == 8 and "&lt;b&gt;" in shown and "Neither is better beyond chance" in shown
