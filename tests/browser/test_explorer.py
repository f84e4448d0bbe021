"""The explorer in a real Chromium: what a person does, seen through the page.

Needs Chromium and Playwright; `make browser` runs it, and plain `make test` leaves it out. The models learn for a
moment only, so nothing here depends on answers being right: the page must show what the API says. Where a test is about
a state, the API's answer is replaced on its way to the page.
"""

from __future__ import annotations

import csv
import io
import json
import os
import re
from pathlib import Path

import pytest

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

# Not a conftest: there is one above, which other tests import by its name.
pytest_plugins = ("serving",)

QUESTION = "What is the sum of 12 and the product of 3 and 4?"
TASK = "Given an array of numbers a and a number b, add b to every element of a."
MARKUP = "<img src=x onerror=\"document.title='owned'\"> 3 and 4 <b>bold</b>"
PHONE = {"viewport": {"width": 390, "height": 664}, "has_touch": True, "is_mobile": True}


def ask(page, question: str) -> dict:
    """Types a question, presses Enter, waits for the answer; what the API said."""
    page.get_by_label("Your question").fill(question)
    with page.expect_response("**/api/solve") as solved:
        page.get_by_label("Your question").press("Enter")
    page.wait_for_selector("#result[aria-busy=false]:not([hidden])")
    return solved.value.json()


def look_inside(page) -> None:
    page.locator(".inside > summary").first.click()
    page.wait_for_selector(".tuple .attends", state="attached")
    # The page's policy forbids the strings that wait_for_function would evaluate.
    playwright.expect(page.locator(".inside-body > .note[aria-live]").first).not_to_have_text(
        "Looking …", timeout=60_000
    )


def pretend(page, **changes: object) -> None:
    """Changes what the API says on its way to the page."""

    def answer(route) -> None:
        response = route.fetch()
        route.fulfill(response=response, json={**response.json(), **changes})

    page.route("**/api/solve", answer)


def verdict(
    state: str, words: str, *why: str, chance: str = "Answers like this are right about 6 times in 10."
) -> dict:
    return {"state": state, "words": words, "chance": chance, "why": list(why)}


SURE, GUESS, NONE = (
    verdict("sure", "Sure"),
    verdict("guess", "A guess", "odd"),
    verdict("none", "I cannot answer this", "odd"),
)


# The answer


def test_the_answer_comes_first_then_the_steps_and_the_rest_is_folded(page):
    pretend(page, verdict=SURE, reply="$24", calibrated=True)
    answer = ask(page, QUESTION)
    card = page.locator(".answer")
    lines = [line for line in card.inner_text().splitlines() if line.strip() and line != "Answer"]
    assert lines[:2] == ["$24", "Sure"]
    assert card.get_attribute("data-state") == "sure"
    steps = page.locator(".steps li")
    assert steps.count() == len(answer["steps"])
    for place, step in enumerate(answer["steps"]):
        assert step["text"] in steps.nth(place).inner_text() and step["words"] in steps.nth(place).inner_text()
    assert page.locator(".inside").get_attribute("open") is None and page.locator(".tuple").count() == 0
    assert page.locator(".asked").inner_text() == QUESTION
    assert "The answer is $24" in page.locator("#status").inner_text()
    assert not re.search(r"#\d|n\d\b|const_", card.inner_text()), "no codes before the inside is opened"


@pytest.mark.parametrize(("state", "told"), [("guess", "Why only a guess: "), ("none", "Why: ")])
def test_guesses_and_refusals_say_why(page, state, told):
    pretend(page, verdict={"guess": GUESS, "none": NONE}[state], reply="24", calibrated=True)
    ask(page, QUESTION)
    card = page.locator(".answer")
    assert card.get_attribute("data-state") == state
    assert f"{told}odd" in card.inner_text()
    assert card.locator(".value").first.is_visible() == (state == "guess")
    if state == "none":
        card.get_by_text("Show the guess anyway").click()
        assert "24" in card.locator(".anyway").inner_text()


def test_a_program_that_fails_is_never_green(page):
    error = "step 0, divide(n0, n1): division by zero"
    failed = verdict("none", "I cannot answer this", "the program that I found does not run", chance="")
    pretend(page, verdict=failed, reply=None, answer=None, error=error, steps=[], calibrated=True, confidence=1.0)
    ask(page, QUESTION)
    card = page.locator(".answer")
    green = page.evaluate("getComputedStyle(document.querySelector('.dot') ?? document.body).backgroundColor")
    assert card.get_attribute("data-state") == "none" and card.locator(".bar").is_hidden()
    assert card.locator(".value").first.is_hidden() and green != "rgb(47, 158, 68)"
    assert "does not run" in card.inner_text()


@pytest.mark.parametrize("text", ["   ", "word " * 500, "(add n0 (add n0 n1))"])
def test_what_cannot_be_answered_says_so(page, text):
    page.get_by_label("Your question").fill(text)
    page.get_by_role("button", name="Solve").click()
    if text.strip():
        page.wait_for_selector(".answer")
        assert "I cannot answer this" in page.locator(".answer").inner_text()
        assert page.locator(".answer").get_attribute("data-state") == "none"
    else:
        alert = page.get_by_role("alert")
        assert alert.is_visible() and "type a question" in alert.inner_text()
        assert page.get_by_label("Your question").get_attribute("aria-invalid") == "true"
        assert page.locator("#result").is_hidden()


def test_the_nearest_known_question_is_the_evidence(page):
    pretend(page, verdict=SURE, nearest={"text": "How much is 1 and 2?", "similarity": 0.5})
    ask(page, QUESTION)
    assert "50\u00a0% alike" in page.locator(".evidence").inner_text()
    assert "How much is 1 and 2?" in page.locator(".evidence").inner_text()


def test_loading_is_seen(page):
    page.route("**/api/solve", lambda route: None)
    page.get_by_label("Your question").fill(QUESTION)
    page.get_by_role("button", name="Solve").click()
    assert page.locator("#loading").is_visible() and page.locator("#solve").inner_text() == "Solving …"
    assert page.locator("#solve").get_attribute("aria-busy") == "true"


def test_numbers_are_linked_to_their_words(page):
    pretend(page, verdict=SURE, steps=[STEP], reply="7")
    ask(page, QUESTION)
    word, number = page.locator(".asked [data-name=n0]"), page.locator(".steps [data-name=n0]")
    word.focus()
    assert "linked" in number.get_attribute("class")
    word.blur()
    assert "linked" not in number.get_attribute("class")
    number.hover()
    assert "linked" in word.get_attribute("class")
    assert word.get_attribute("data-colour") == number.get_attribute("data-colour")


PARTS = [("12", "n0"), (" + ", ""), ("3", "n1"), (" = ", ""), ("15", "")]
STEP = {
    **{"values": ["12", "3"], "result": "15", "text": "12 + 3 = 15", "words": "add"},
    "parts": [{"text": text, "name": name} for text, name in PARTS],
}


def test_examples_are_whole_questions_by_kind_and_asked_with_a_click(page):
    page.wait_for_selector("#examples button")
    assert page.locator("#examples h2").count() > 1
    example = page.locator("#examples button").first
    text = example.inner_text()
    assert text.endswith(("?", ".")) and "…" not in text
    with page.expect_response("**/api/solve") as solved:
        example.click()
    assert page.get_by_label("Your question").input_value() == text
    assert "".join(word["text"] for word in solved.value.json()["words"]) == text.replace(" ", "")
    assert page.locator("#try").get_attribute("open") is None


def test_the_question_box_has_two_lines_and_grows(page):
    box = page.get_by_label("Your question")
    assert box.get_attribute("rows") == "2"
    low = box.bounding_box()["height"]
    box.fill("many words " * 60)
    assert box.bounding_box()["height"] > 1.5 * low


def test_markup_in_a_question_is_shown_and_not_run(page):
    ask(page, MARKUP)
    look_inside(page)
    assert page.title() == "tpn2f explorer"
    assert page.locator("main img, .words b, .asked b").count() == 0
    assert "<b>bold</b>" in page.locator(".words").inner_text().replace(" ", "")


# Settings


def test_settings_travel_with_the_question(page):
    page.locator("#settings summary").click()
    page.locator("#beam").select_option("3")
    page.locator("#below").select_option("0.9")
    page.get_by_label("No guesses").check()
    with page.expect_request("**/api/solve") as request:
        ask(page, QUESTION)
    sent = json.loads(request.value.post_data)
    assert (sent["beam"], sent["guess_below"], sent["abstain"]) == (3, 0.9, True)
    assert "set: guesses, search" in page.locator("#settings-set").inner_text()


def test_options_are_sent_where_the_language_has_them(page):
    def with_options(route) -> None:
        response = route.fetch()
        found = response.json()
        for model in found["models"]:
            model["options"] = True
        route.fulfill(response=response, json=found)

    option = {"label": "b", "text": "15", "exact": False}
    page.route("**/api/models", with_options)
    page.reload()
    page.route("**/api/solve", lambda route: sent.append(json.loads(route.request.post_data)) or route.fallback())
    sent: list[dict] = []
    page.wait_for_selector("#examples button")
    page.locator("#settings summary").click()
    page.locator("#options").fill("a ) 12 , b ) 15")
    page.get_by_label("Your question").fill(QUESTION)
    page.get_by_role("button", name="Solve").click()
    page.wait_for_selector(".answer")
    assert sent[0]["options"] == "a ) 12 , b ) 15"
    page.unroute("**/api/solve")
    page.route("**/api/solve", lambda route: route.fulfill(json={**SOLVED, "option": option}))
    page.get_by_role("button", name="Solve").click()
    page.wait_for_selector(".option")
    assert "The nearest option is b ) 15" in page.locator(".option").inner_text()


SOLVED = {
    **{"program": "add(n0, n1)", "tuples": [], "tree": None, "steps": [], "answer": "15", "reply": "15", "value": 15},
    **{"error": "", "confidence": 0.9, "verdict": SURE, "guess_below": 0.8, "model": "arithmetic", "words": []},
    **{
        "domain": "arithmetic",
        "rest": "",
        "inputs": [],
        "unknown": [],
        "notes": [],
        "calibrated": True,
        "guess": False,
    },
    **{"doubts": [], "nearest": None, "alternatives": [], "milliseconds": 1.0, "option": None},
}


def test_two_models_answer_side_by_side(page):
    page.locator("#settings summary").click()
    page.locator("#second").select_option("arithmetic-2")
    ask(page, QUESTION)
    page.wait_for_selector(".answer >> nth=1")
    boxes = [page.locator(".answer").nth(place).bounding_box() for place in (0, 1)]
    assert boxes[0]["y"] == boxes[1]["y"] and boxes[0]["x"] + boxes[0]["width"] <= boxes[1]["x"]
    assert [text.split(" · ")[1] for text in page.locator(".answer h2").all_inner_texts()] == [
        "arithmetic",
        "arithmetic-2",
    ]


def test_a_link_restores_the_view(page, browser):
    page.locator("#settings summary").click()
    page.locator("#beam").select_option("3")
    page.locator("#second").select_option("arithmetic-2")
    ask(page, QUESTION)
    look_inside(page)
    page.wait_for_url("**inside=1**")
    other = browser.new_page()
    other.goto(page.url)
    other.wait_for_selector(".tuple .attends")
    other.wait_for_selector(".answer >> nth=1")
    for selector in (".verdict >> nth=0", ".steps >> nth=0", ".asked >> nth=0"):
        if page.locator(selector).count():
            assert other.locator(selector).inner_text() == page.locator(selector).inner_text()
    assert other.get_by_label("Your question").input_value() == QUESTION
    assert other.locator("#beam").input_value() == "3"
    other.close()


def test_the_link_can_be_copied_or_is_shown(page):
    ask(page, QUESTION)
    page.evaluate("() => { navigator.clipboard.writeText = () => Promise.reject(new Error('no')) }")
    page.locator("#link").click()
    page.wait_for_selector("#link-text:not([hidden])")
    assert page.locator("#link-text").input_value() == page.url


def test_a_broken_link_harms_nothing(page, url):
    page.goto(f"{url}#model=nobody&beam=999&below=x&with=%3Cb%3E&values=%7B&q=")
    page.reload()
    page.wait_for_selector("#examples button")
    assert page.get_by_role("alert").is_hidden()


def test_the_history_stays_in_the_browser(page):
    requests: list[str] = []
    ask(page, QUESTION)
    page.on("request", lambda request: requests.append(request.url))
    page.locator("#past > summary").click()
    assert page.locator("#past-list a").inner_text() == QUESTION
    assert requests == [] and not page.context.cookies()
    page.get_by_label("Your question").fill("")
    page.locator("#past-list a").click()
    page.get_by_role("button", name="Forget them").click()
    assert page.locator("#past").is_hidden()


# Look inside


def test_inside_there_are_the_program_the_roles_the_candidates_and_the_map(page):
    answer = ask(page, QUESTION)
    look_inside(page)
    written = [f"{one['relation']}({', '.join(one['arguments'])})" for one in answer["tuples"]]
    assert page.locator(".tuple code").all_inner_texts() == written
    assert page.locator(".choice").count() == (1 + len(answer["alternatives"]) if answer["alternatives"] else 0)
    for colour, letter in (("roles", "r"), ("fillers", "f")):
        page.get_by_role("radio", name=colour).check()
        labels = page.eval_on_selector_all(".words .tinted", "all => all.map(e => e.dataset.label)")
        assert labels and all(re.fullmatch(rf"{letter}\d+", label) for label in labels)
    page.get_by_role("radio", name="plain").check()
    assert page.locator(".words .tinted").count() == 0
    page.wait_for_selector(".map svg")
    assert page.locator(".map .point").count() == 6
    page.get_by_role("radio", name="5", exact=True).check()
    assert page.locator(".map li").count() == 5


@pytest.mark.parametrize("way", ["hover", "focus"])
def test_a_tuple_shows_its_attention_over_the_words(page, way):
    ask(page, QUESTION)
    look_inside(page)
    line = page.locator(".tuple").first
    getattr(line, way)()
    page.wait_for_selector(".words .seen")
    page.mouse.move(1, 1)
    page.get_by_label("Your question").focus()
    assert page.locator(".words .seen").count() == 0
    line.click()
    page.mouse.move(1, 1)
    assert line.get_attribute("aria-pressed") == "true" and page.locator(".words .seen").count() > 0
    page.keyboard.press("Escape")
    assert line.get_attribute("aria-pressed") == "false"


# AlgoLisp


def test_a_program_is_shown_with_the_value_of_every_part(page):
    page.get_by_role("radio", name="AlgoLisp").check()
    assert page.locator("#result").is_hidden() and page.get_by_label("Your question").input_value() == ""
    ask(page, TASK)
    assert "The program is ready" in page.locator(".answer").inner_text()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url.rpartition("/")[2]))
    page.get_by_label("a, row 1").fill("[1, 2]")
    with page.expect_response("**/api/run") as ran:
        page.get_by_label("b, row 1").fill("40")
    case = ran.value.json()["cases"][0]
    page.wait_for_selector(".answer:not([data-state=open])")
    assert (case["answer"] or case["error"]) in page.locator(".answer").inner_text()
    assert "solve" not in asked, "the model is not asked again"
    page.locator(".lisp .call").first.hover(position={"x": 4, "y": 8})
    assert "→" in page.locator(".readout").inner_text()
    page.get_by_text("What every part gives").click()
    assert page.locator(".all-values tbody tr").count() == len(ran.value.json()["calls"])


def test_tests_pass_and_fail_in_a_table(page):
    page.get_by_role("radio", name="AlgoLisp").check()
    ran = {"answer": "[41]", "error": "", "passed": True}
    bad = {"answer": "[2]", "error": "", "passed": False}
    page.route(
        "**/api/run",
        lambda route: route.fulfill(
            json={"cases": answers[: len(json.loads(route.request.post_data)["cases"])], "calls": []}
        ),
    )
    answers = [ran, bad]
    ask(page, TASK)
    page.get_by_label("a, row 1").fill("[1]")
    page.get_by_label("b, row 1").fill("40")
    page.get_by_label("should give, row 1").fill("[41]")
    page.wait_for_selector(".passed[data-passed=true]")
    page.get_by_role("button", name="Try other inputs").click()
    page.wait_for_selector(".passed[data-passed=false]")
    assert page.locator(".passed").all_inner_texts() == ["pass", "fail"]
    assert "It fails 1 of 2 tests" in page.locator(".answer").inner_text()
    assert page.locator(".answer").get_attribute("data-state") != "sure"
    page.get_by_label("a, row 2").fill("oops")
    page.wait_for_selector(".gives.bad")
    assert "is not a value" in page.locator(".gives.bad").inner_text()


# Files


def answers_of(page, tmp_path: Path, name: str, text: str, count: int) -> list[dict[str, str]]:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    page.locator("#many summary").click()
    page.locator("#file").set_input_files(path)
    page.wait_for_selector("#file-save", state="visible", timeout=600_000)
    assert f"{count:,} of {count:,} answered" in page.locator("#file-state").inner_text()
    with page.expect_download() as saved:
        page.locator("#file-save").click()
    assert saved.value.suggested_filename == f"{path.stem}-answers.csv"
    return list(csv.DictReader(io.StringIO(Path(saved.value.path()).read_text(encoding="utf-8"))))


def test_a_thousand_questions_come_back_as_csv(page, tmp_path):
    texts = [f"What is the sum of {number} and {number + 1}?" for number in range(1000)]
    rows = answers_of(page, tmp_path, "thousand.txt", "\n".join(texts), 1000)
    assert [row["question"] for row in rows] == texts
    assert {row["state"] for row in rows} <= {"sure", "guess", "none"} and all(row["program"] for row in rows)


def test_a_table_keeps_its_commas_and_its_broken_lines(page, tmp_path):
    table = 'id,question\n1,"What, please, is ""3"" plus 4?"\n2,=1+1\n3,"  "\n4,"add 3\nto 4"\n'
    rows = answers_of(page, tmp_path, "table.csv", table, 3)
    assert rows[0]["question"] == 'What, please, is "3" plus 4?'
    assert rows[1]["question"] == "'=1+1", "a spreadsheet must not compute it"


def test_json_lines_that_are_broken_have_a_row(page, tmp_path):
    rows = answers_of(page, tmp_path, "lines.jsonl", '{"question": "3 plus 4"}\n{"question"\n{"x": 1}\n', 3)
    assert [row["state"] for row in rows][1:] == ["none", "none"]
    assert "not valid JSON" in rows[1]["why"] and "question" in rows[2]["why"]


# Everybody


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("screen", ["desktop", "phone"])
def test_the_answer_is_seen_without_scrolling(browser, url, screen, scheme):
    shape = PHONE if screen == "phone" else {"viewport": {"width": 1280, "height": 800}}
    context = browser.new_context(**shape, color_scheme=scheme)
    page = context.new_page()
    page.goto(url)
    page.wait_for_selector("#examples button")
    pretend(page, verdict=GUESS, reply="24")
    for question in (QUESTION, "Mary has 4 boxes with 12 pens in each. " * 6):
        ask(page, question)
        box = page.locator(".answer .value").first.bounding_box()
        assert box["y"] >= 0 and box["y"] + box["height"] <= page.viewport_size["height"]
        assert page.evaluate("document.documentElement.scrollWidth") <= page.viewport_size["width"]
    ground, ink = (
        sum(map(int, re.findall(r"\d+", page.evaluate(f"getComputedStyle(document.body).{name}"))[:3]))
        for name in ("backgroundColor", "color")
    )
    assert (ground < ink) == (scheme == "dark")
    look_inside(page)
    assert ("Tap a line" in page.locator(".inside").inner_text()) == (screen == "phone")
    assert page.evaluate("document.documentElement.scrollWidth") <= page.viewport_size["width"]
    folder = os.environ.get("SCREENSHOTS")
    if folder:
        page.screenshot(path=f"{folder}/explorer-{screen}-{scheme}.png", full_page=True)
    context.close()


def test_a_keyboard_is_enough(page):
    page.keyboard.press("Tab")
    for _ in range(8):
        if page.evaluate("document.activeElement.id") == "question":
            break
        page.keyboard.press("Tab")
    page.keyboard.type(QUESTION)
    page.keyboard.press("Enter")
    page.wait_for_selector(".answer")
    reached: list[str] = []
    for _ in range(60):
        page.keyboard.press("Tab")
        name = page.evaluate(
            "document.activeElement.className || document.activeElement.id || document.activeElement.textContent"
        )
        reached.append(name)
        if name == "Look inside" and reached.count(name) == 1:  # a second Enter would close it
            page.keyboard.press("Enter")
            page.wait_for_selector(".tuple")
    for expected in ("primary", "Options and settings", "A file of questions", "num", "Look inside", "tuple", "quiet"):
        assert any(name.startswith(expected) for name in reached), (expected, reached)


def test_nothing_is_asked_off_the_machine_and_the_page_is_light(browser, url):
    context = browser.new_context()
    page = context.new_page()
    found: list[tuple[str, int]] = []
    page.on("response", lambda response: found.append((response.url, len(response.body()))))
    page.goto(url)
    page.wait_for_selector("#examples button")
    page.wait_for_load_state("networkidle")
    assert all(address.startswith((url, "blob:")) for address, _ in found)
    assert sum(size for address, size in found if "/api/" not in address) < 150_000
    context.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious(browser, url, axe, scheme):
    """Screen-reader names, contrast, order: axe-core's rules on every part of the page, all of it unfolded."""
    context = browser.new_context(color_scheme=scheme)
    page = context.new_page()
    page.goto(url)
    page.wait_for_selector("#examples button")
    assert_accessible(page, axe, "the start")
    for state in (SURE, GUESS, NONE):
        pretend(page, verdict=state, reply="24", steps=[STEP], calibrated=True)
        ask(page, QUESTION)
        page.unroute("**/api/solve")
        assert_accessible(page, axe, state["state"])
    page.get_by_role("radio", name="AlgoLisp").check()
    page.locator("#try").evaluate("part => part.open = true")
    page.locator("#examples button").first.click()
    page.wait_for_selector(".answer")
    assert_accessible(page, axe, "a program")
    context.close()


def assert_accessible(page, axe: str, where: str) -> None:
    page.evaluate("document.querySelectorAll('details').forEach(part => part.open = true)")
    page.wait_for_timeout(500)
    page.evaluate(axe)
    found = page.evaluate("axe.run()")["violations"]
    serious = [
        (rule["id"], rule["nodes"][0]["html"][:200]) for rule in found if rule["impact"] in ("serious", "critical")
    ]
    assert serious == [], where


# A domain of one's own


def test_an_own_domain_has_its_examples_and_no_empty_cards(browser, own_url):
    context = browser.new_context()
    page = context.new_page()
    page.goto(own_url)
    page.wait_for_selector("#examples button", timeout=120_000)
    assert page.locator("#examples h2").count() >= 1
    with page.expect_response("**/api/solve"):
        page.locator("#examples button").first.click()
    page.wait_for_selector(".answer")
    page.locator(".inside > summary").click()
    page.wait_for_selector(".tuple, .tuples .note")
    for card in page.locator(".card:visible").all():
        assert card.inner_text().strip()
    context.close()
