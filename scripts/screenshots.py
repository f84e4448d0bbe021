"""Pictures of the running explorer for README and docs, and of the built site for a visual check.

    python scripts/screenshots.py                       # docs/figures/explorer*.png: every picture of the explorer
    python scripts/screenshots.py --states --out /tmp/pictures       # its states and odd inputs, for a look
    python scripts/screenshots.py --site site --out /tmp/pictures    # every page of `make docs`, desktop and phone

Needs the extra `browser` and Chromium (Debian: apt-get install chromium).
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Literal

from PIL import Image
from playwright.sync_api import Browser, Page, sync_playwright

ROOT = Path(__file__).resolve().parents[1]
QUESTION = "I had 50 dollars and bought 3 pizzas for 9 dollars each. How much money is left?"
STRANGE = "zork 5 flibber has 7 quux. how many glorp?"
PENS = "If 3 pens cost $4.50, how much do 7 pens cost?"
LISP = "(reduce (filter a (lambda1 (== (% arg1 2) 0))) 0 +)"
SITE_SIZES = {"": (1400, 900), "-phone": (390, 844)}
PHONE = (390, 844)
COLOURS = 256
"""A screenshot with this many colours looks the same and is half the size."""


@dataclass(frozen=True)
class Shot:
    """A picture: what is done on the page, and the screen."""

    prepare: Callable[[Page], object]
    size: tuple[int, int] = (1000, 760)
    scheme: Literal["light", "dark"] = "light"


def ask(page: Page, question: str) -> None:
    """Asks, and waits for the answer."""
    page.get_by_label("Your question").fill(question)
    page.get_by_label("Your question").press("Enter")
    settle(page)


def settle(page: Page) -> None:
    page.wait_for_selector("#loading", state="hidden", timeout=120_000)
    page.wait_for_load_state("networkidle")
    # Whoever reads a picture does not care where the cursor was.
    page.evaluate("document.activeElement.blur()")


def ask_two(page: Page) -> None:
    page.locator("#settings summary").click()
    page.locator("#second").select_option(index=1)
    ask(page, PENS)


def open_inside(page: Page) -> None:
    ask(page, QUESTION)
    page.locator(".inside > summary").click()
    page.wait_for_selector(".map svg", timeout=120_000)
    page.locator(".tuple").last.click()
    page.mouse.move(1, 1)
    page.locator(".answer").evaluate("card => window.scrollTo(0, card.offsetTop - 12)")


def ask_lisp(page: Page) -> None:
    page.get_by_role("radio", name="AlgoLisp").check()
    page.locator("#examples button").first.click()
    settle(page)
    page.wait_for_selector(".passed[data-passed=true], .passed[data-passed=false]", timeout=60_000)
    page.locator(".lisp .call").nth(1).hover(position={"x": 6, "y": 8}, force=True)


def answer_file(page: Page) -> None:
    page.locator("#many summary").click()
    lines = "\n".join([QUESTION, PENS, STRANGE, "2+2", "hello"])
    page.locator("#file").set_input_files({"name": "homework.txt", "mimeType": "text/plain", "buffer": lines.encode()})
    page.wait_for_selector("#file-save", state="visible", timeout=120_000)
    page.evaluate("document.activeElement.blur()")


def ask_with_options(page: Page) -> None:
    page.get_by_role("radio", name="MathQA").check()
    page.locator("#settings summary").click()
    page.locator("#options").fill("a ) 20 , b ) 60 , c ) 70")
    ask(page, "A car covers a distance of 270 km in 4.5 hours. Find the speed of the car.")


def fail(page: Page) -> None:
    """An input on which the program does not run."""
    page.get_by_role("radio", name="AlgoLisp").check()
    ask(page, "Given an array of numbers a, what is the first element of a?")
    page.get_by_label("a, row 1").fill("[]")
    page.wait_for_timeout(1500)
    settle(page)


DOCS = {
    "explorer": Shot(lambda page: ask(page, QUESTION)),
    "explorer-phone": Shot(lambda page: ask(page, QUESTION), PHONE),
    "explorer-guess": Shot(lambda page: ask(page, STRANGE)),
    "explorer-inside": Shot(open_inside, (1000, 1620)),
    "explorer-pair": Shot(ask_two),
    "explorer-lisp": Shot(ask_lisp, (1000, 800)),
    "explorer-file": Shot(answer_file, (1000, 720)),
}
"""The pictures of README and docs."""
STATES = {
    "start": Shot(lambda page: None),
    "sum": Shot(lambda page: ask(page, "2+2")),
    "hello": Shot(lambda page: ask(page, "hello")),
    "president": Shot(lambda page: ask(page, "who is the president")),
    "empty": Shot(lambda page: page.get_by_role("button", name="Solve").click()),
    "long": Shot(lambda page: ask(page, "Tom has 3 apples and 4 pears. " + "word " * 388 + "How many?")),
    "too-long": Shot(lambda page: ask(page, "Tom has 3 apples. " + "word " * 400)),
    "program": Shot(lambda page: ask(page, LISP)),
    "options": Shot(ask_with_options),
    "settings": Shot(lambda page: page.locator("#settings summary").click()),
    "failed": Shot(fail),
}
"""What else should be looked at: states, and texts that are no questions."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "figures", help="where the pictures go")
    parser.add_argument("--states", action="store_true", help="take the states and odd inputs, each in four ways")
    parser.add_argument("--only", action="append", default=[], help="take this picture alone; may be repeated")
    parser.add_argument("--site", type=Path, help="a built site: take its pages instead of the explorer")
    parser.add_argument("--model", action="append", default=[], help="a model to serve; default: all bundled")
    parser.add_argument("--address", help="an explorer that runs already, instead of a new one")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    with chromium() as browser:
        if options.site:
            for path in sorted(options.site.glob("*.html")):
                for suffix, size in SITE_SIZES.items():
                    shot = Shot(lambda page: None, size)
                    take(browser, path.resolve().as_uri(), options.out / f"{path.stem}{suffix}.png", shot, whole=True)
            return
        shots = every_way(DOCS | STATES) if options.states else DOCS
        with nullcontext(options.address) if options.address else explorer(options.model) as address:
            for name, shot in shots.items():
                if not options.only or name in options.only:
                    take(browser, address, options.out / f"{name}.png", shot)


def every_way(shots: Mapping[str, Shot]) -> dict[str, Shot]:
    """Desktop and phone, light and dark."""
    found: dict[str, Shot] = {}
    for name, shot in shots.items():
        for scheme in ("light", "dark"):
            found[f"{name}-{scheme}"] = Shot(shot.prepare, shot.size, scheme)
            found[f"{name}-phone-{scheme}"] = Shot(shot.prepare, PHONE, scheme)
    return found


@contextmanager
def chromium() -> Iterator[Browser]:
    """A browser. Chromium refuses its sandbox to root, as which containers run."""
    program = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
    if program is None:
        raise SystemExit("there is no Chromium: install it, or name it with CHROMIUM=PATH")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield browser
        browser.close()


@contextmanager
def explorer(models: list[str]) -> Iterator[str]:
    """The address of an explorer that runs meanwhile."""
    named = [part for model in models for part in ("--model", model)]
    command = [sys.executable, "-m", "tpn2f", "serve", *named, "--port", "0", "--no-open"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        try:
            yield server.stdout.readline().strip()
        finally:
            server.terminate()


def take(browser: Browser, address: str, path: Path, shot: Shot, whole: bool = False) -> None:
    """One picture, with few colours."""
    width, height = shot.size
    phone = shot.size == PHONE
    context = browser.new_context(
        viewport={"width": width, "height": height}, color_scheme=shot.scheme, has_touch=phone, is_mobile=phone
    )
    page = context.new_page()
    page.goto(address, timeout=120_000)
    if not whole:
        page.wait_for_selector("#examples button", timeout=120_000)
    shot.prepare(page)
    picture = Image.open(BytesIO(page.screenshot(full_page=whole)))
    picture.convert("RGB").quantize(COLOURS).save(path, optimize=True)
    print(f"{path}  {path.stat().st_size / 1000:.0f} kB")
    context.close()


if __name__ == "__main__":
    main()
