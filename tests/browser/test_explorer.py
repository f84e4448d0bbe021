"""The explorer in a real Chromium: what a person does, seen through the page.

Needs Chromium and Playwright; `make browser` runs it, and plain `make test` leaves it out. The models learn for a
moment only, so nothing here depends on answers being right: the page must show what the API says.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
if CHROMIUM is None:
    pytest.skip("there is no chromium", allow_module_level=True)

TESTS = Path(__file__).resolve().parents[1]
QUESTION = "What is the sum of 12 and the product of 3 and 4?"
TASK = "Given an array of numbers a and a number b, add b to every element of a."
MARKUP = "<img src=x onerror=\"document.title='owned'\"> 3 and 4 <b>bold</b>"


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Two models as training would leave them, of two domains."""
    sys.path.insert(0, str(TESTS))
    from test_web import MODEL, make_solver
    from tpn2f.checkpoint import Checkpoint, write_checkpoint
    from tpn2f.config import Config, DataConfig
    from tpn2f.domain import Example, load_domain
    from tpn2f.program import Program, read_tree
    from tpn2f.solver import setting

    lisp = load_domain("algolisp")
    task = Example(lisp.read(TASK), Program.from_tree(read_tree("(map a (partial1 b +))")))
    examples = {"arithmetic": list(load_domain("arithmetic").examples("train"))[:200], "algolisp": [task]}
    folder = tmp_path_factory.mktemp("runs")
    for name, found in examples.items():
        solver = make_solver(name, found)
        state, texts = setting(Config(name, DataConfig(name), MODEL), solver.codec)
        write_checkpoint(
            folder / name / "checkpoints" / "best", Checkpoint({"model": solver.model.state_dict()}, state, texts)
        )
    return {name: folder / name for name in examples}


@pytest.fixture(scope="module")
def url(runs: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    models = [part for place in runs.values() for part in ("--model", str(place))]
    command = [sys.executable, "-m", "tpn2f", "serve", *models, "--port", "0", "--no-open"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=tmp_path_factory.mktemp("work")) as server:
        assert server.stdout
        yield server.stdout.readline().strip()
        server.terminate()


@pytest.fixture(scope="module")
def browser() -> Iterator[sync_api.Browser]:
    with sync_api.sync_playwright() as playwright:
        # Chromium refuses its sandbox to root, as which containers run.
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def page(browser: sync_api.Browser, url: str) -> Iterator[sync_api.Page]:
    """A fresh page that must not meet a script error, nor break its own security policy."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    context.set_default_timeout(60_000)
    page = context.new_page()
    troubles: list[str] = []
    page.on("pageerror", lambda error: troubles.append(str(error)))
    page.on(
        "console",
        lambda message: (
            troubles.append(message.text)
            if message.type == "error" and "Failed to load resource" not in message.text
            else None
        ),
    )
    page.goto(url, timeout=120_000)
    yield page
    context.close()
    assert troubles == []


def ask(page: sync_api.Page, question: str) -> dict:
    """Types a question, presses Enter, waits for the inside of the answer; what the API said."""
    page.get_by_label("Your question").fill(question)
    with page.expect_response("**/api/solve") as solved, page.expect_response("**/api/explain"):
        page.get_by_label("Your question").press("Enter")
    page.wait_for_selector("#result[aria-busy=false]")
    return solved.value.json()


def test_ask_and_see_the_answer_and_the_steps(page):
    answer = ask(page, QUESTION)
    shown = answer["reply"] if answer["reply"] is not None else answer["error"]
    assert shown in page.locator(".answer").inner_text()
    steps = page.locator("#steps .step")
    assert steps.count() == len(answer["tuples"])
    written = [f"{one['relation']}({', '.join(one['arguments'])})" for one in answer["tuples"]]
    for place, one in enumerate(answer["steps"]):
        text = steps.nth(place).inner_text()
        assert text.startswith(str(place + 1)) and one["result"] in text and one["words"] in text
        assert written[place] not in text
    if answer["steps"]:
        page.get_by_text("The program", exact=True).click()
        assert all(f"#{place}  {one}" in page.locator("#program").inner_text() for place, one in enumerate(written))
    assert all(one in steps.nth(place).inner_text() for place, one in enumerate(written))
    assert page.locator("#words").inner_text().split() == QUESTION.split()
    assert "confidence" in page.locator("#confidence").inner_text()
    assert page.locator("#alternatives .choice").count() == 1 + len(answer["alternatives"])
    assert "answer" in page.locator("#status").inner_text().lower()


def test_an_example_is_asked_with_a_click(page):
    example = page.locator("#examples button").first
    text = example.inner_text()
    with page.expect_response("**/api/solve") as solved:
        example.click()
    assert page.get_by_label("Your question").input_value() == text
    assert "".join(word["text"] for word in solved.value.json()["words"]) == text.replace(" ", "")


@pytest.mark.parametrize("way", ["hover", "focus"])
def test_a_tuple_shows_its_attention_over_the_words(page, way):
    ask(page, QUESTION)
    step = page.locator("#steps .step").first
    assert page.locator("#words .word.seen").count() == 0
    getattr(step, way)()
    assert page.locator("#words .word.seen").count() > 0
    assert "Step 1 attends" in page.locator("#caption").inner_text()
    page.mouse.move(1, 1)
    page.get_by_label("Your question").focus()
    assert page.locator("#words .word.seen").count() == 0


def test_a_click_holds_the_attention_and_escape_lets_it_go(page):
    ask(page, QUESTION)
    step = page.locator("#steps .step").first
    step.click()
    page.mouse.move(1, 1)
    assert step.get_attribute("aria-pressed") == "true" and page.locator("#words .word.seen").count() > 0
    page.keyboard.press("Escape")
    assert step.get_attribute("aria-pressed") == "false"


def test_numbers_are_linked_to_where_they_are_used(page, url):
    answer = ask(page, QUESTION)
    candidates = [answer, *answer["alternatives"]]
    names = [{name for one in candidate["tuples"] for name in one["arguments"]} for candidate in candidates]
    place = next(place for place, found in enumerate(names) if found & {"n0", "n1", "n2"})
    page.locator("#alternatives .choice").nth(place).click()
    if candidates[place]["steps"]:
        page.get_by_text("The program", exact=True).click()
        # What opens moves the steps, so that the mouse might come to lie on one.
        page.mouse.move(1, 1)
        page.wait_for_selector("#steps:not(.told)")
    name = sorted(names[place] & {"n0", "n1", "n2"})[0]
    uses = page.locator(f"#steps .argument[data-name={name}]")
    word = page.locator(f"#words .word[data-name={name}]")
    word.focus()
    assert "linked" in uses.first.get_attribute("class")
    word.blur()
    assert "linked" not in uses.first.get_attribute("class")
    uses.first.hover()
    assert "linked" in word.get_attribute("class")


def test_words_are_coloured_by_roles_or_by_fillers(page):
    ask(page, QUESTION)
    for colour, letter in (("roles", "r"), ("fillers", "f")):
        page.get_by_role("radio", name=colour).check()
        labels = page.eval_on_selector_all("#words .tinted", "all => all.map(e => e.dataset.label)")
        assert labels and all(re.fullmatch(rf"{letter}\d+", label) for label in labels)
    page.get_by_role("radio", name="plain").check()
    assert page.locator("#words .tinted").count() == 0


def test_the_domain_can_be_changed_and_values_given(page):
    ask(page, QUESTION)
    page.get_by_role("radio", name="AlgoLisp").check()
    assert page.locator("#result").is_hidden() and page.get_by_label("Your question").input_value() == ""
    first = ask(page, TASK)
    assert [field["name"] for field in first["inputs"]] == ["a", "b"]
    assert "value above" in page.locator("#failure").inner_text()
    page.get_by_label(re.compile("^a int")).fill("[1, 2]")
    page.get_by_label(re.compile("^b int")).fill("oops")
    page.get_by_role("button", name="Solve").click()
    assert "not JSON" in page.get_by_role("alert").inner_text()
    page.get_by_label(re.compile("^b int")).fill("40")
    with page.expect_request("**/api/solve") as request, page.expect_response("**/api/solve"):
        page.get_by_role("button", name="Solve").click()
    assert json.loads(request.value.post_data)["values"] == {"a": [1, 2], "b": 40}
    assert page.locator("#lisp").inner_text().startswith("(")


def test_a_link_restores_the_view(page, browser, url):
    ask(page, QUESTION)
    page.get_by_role("radio", name="fillers").check()
    choice = page.locator("#alternatives .choice").nth(1)
    choice.click()
    page.wait_for_function("location.hash.includes('pick=1')")
    other = browser.new_page()
    other.goto(page.url)
    other.wait_for_selector("#words .tinted")
    for selector in ("#answer", "#steps .step >> nth=0", "#alternatives", "#confidence"):
        assert other.locator(selector).inner_text() == page.locator(selector).inner_text()
    assert other.get_by_label("Your question").input_value() == QUESTION
    assert other.get_by_role("radio", name="fillers").is_checked()
    assert other.locator("#alternatives .choice").nth(1).get_attribute("aria-pressed") == "true"
    other.close()


def test_a_broken_link_harms_nothing(page, url):
    page.goto(f"{url}#model=nobody&beam=999&colour=%3Cb%3E&pick=-7&values=%7B&q=")
    page.reload()
    page.wait_for_selector("#examples button")
    assert page.get_by_role("alert").is_hidden()


def test_an_empty_question_is_an_error_that_is_heard(page):
    page.get_by_role("button", name="Solve").click()
    alert = page.get_by_role("alert")
    assert alert.is_visible() and "type a question" in alert.inner_text()
    assert page.get_by_label("Your question").get_attribute("aria-invalid") == "true"
    assert page.locator("#result").is_hidden()
    ask(page, QUESTION)
    assert alert.is_hidden()


def test_what_the_api_refuses_is_shown(page):
    page.get_by_label("Your question").fill("word " * 500)
    page.get_by_role("button", name="Solve").click()
    page.wait_for_selector("#error:not([hidden])")
    assert "500 words; at most 400" in page.get_by_role("alert").inner_text()


def test_markup_in_a_question_is_shown_and_not_run(page):
    ask(page, MARKUP)
    assert page.title() == "tpn2f explorer"
    assert page.locator("main img, #words b").count() == 0
    assert "<b>bold</b>" in page.locator("#words").inner_text().replace(" ", "")


def test_the_map_shows_the_relations_in_clusters(page):
    page.wait_for_selector("#map svg")
    assert page.locator("#map .point").count() == 6
    page.get_by_role("radio", name="5").check()
    assert page.locator("#cluster-list li").count() == 5


@pytest.mark.parametrize(("width", "scheme"), [(375, "light"), (375, "dark"), (1280, "dark")])
def test_it_fits_a_phone_and_the_dark(browser, url, width, scheme):
    context = browser.new_context(viewport={"width": width, "height": 800}, color_scheme=scheme)
    page = context.new_page()
    page.goto(url)
    page.wait_for_selector("#examples button")
    ask(page, QUESTION)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    ground, ink = (
        sum(map(int, re.findall(r"\d+", page.evaluate(f"getComputedStyle(document.body).{name}"))[:3]))
        for name in ("backgroundColor", "color")
    )
    assert (ground < ink) == (scheme == "dark")
    folder = os.environ.get("SCREENSHOTS")
    if folder:
        page.screenshot(path=f"{folder}/explorer-{width}-{scheme}.png", full_page=True)
    context.close()


def test_everything_can_be_reached_by_keyboard(page):
    ask(page, QUESTION)
    page.get_by_label("Your question").focus()
    reached: set[str] = set()
    for _ in range(60):
        page.keyboard.press("Tab")
        reached.add(page.evaluate("document.activeElement.className || document.activeElement.id"))
    for expected in ("primary", "quiet", "step", "choice", "word named"):
        assert any(name.startswith(expected) for name in reached), expected
