"""Pictures of the running explorer for README and docs, and of the built site for a visual check.

    python scripts/screenshots.py                       # docs/figures/explorer.png and explorer-phone.png
    python scripts/screenshots.py --site site --out /tmp/pictures    # every page of `make docs`, desktop and phone

Needs the extra `browser` and Chromium (Debian: apt-get install chromium).
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path

from PIL import Image
from playwright.sync_api import Browser, Page, sync_playwright

ROOT = Path(__file__).resolve().parents[1]
QUESTION = "I had 50 dollars and bought 3 pizzas for 9 dollars each. How much money is left?"
SIZES = {"": (1100, 1030), "-phone": (390, 844)}
SITE_SIZES = {"": (1400, 900), "-phone": (390, 844)}
COLOURS = 128
"""A screenshot with this many colours looks the same and is a third of the size."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "figures", help="where the pictures go")
    parser.add_argument("--site", type=Path, help="a built site: take its pages instead of the explorer")
    parser.add_argument("--model", action="append", default=[], help="a model to serve; default: all bundled")
    parser.add_argument("--question", default=QUESTION)
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    with chromium() as browser:
        if options.site:
            for path in sorted(options.site.glob("*.html")):
                take(browser, path.resolve().as_uri(), options.out / path.stem, lambda page: None, SITE_SIZES)
        else:
            with explorer(options.model) as address:
                take(browser, address, options.out / "explorer", lambda page: ask(page, options.question))


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


def ask(page: Page, question: str) -> None:
    """Asks, waits for the answer, and points at the last step, so that its attention shows."""
    page.locator("#try").evaluate("part => part.open = window.innerWidth > 800")
    page.get_by_label("Your question").fill(question)
    page.get_by_label("Your question").press("Enter")
    page.wait_for_selector("#result[aria-busy=false]", timeout=60_000)
    page.locator("#steps .step").last.click()
    page.mouse.move(1, 1)
    page.evaluate("window.scrollTo(0, 0)")


def take(
    browser: Browser,
    address: str,
    place: Path,
    prepare: Callable[[Page], None],
    sizes: dict[str, tuple[int, int]] = SIZES,
) -> None:
    """One picture for each width of screen."""
    for suffix, (width, height) in sizes.items():
        context = browser.new_context(viewport={"width": width, "height": height}, color_scheme="light")
        page = context.new_page()
        page.goto(address, timeout=120_000)
        prepare(page)
        picture = Image.open(BytesIO(page.screenshot(full_page=sizes is SITE_SIZES)))
        path = place.with_name(f"{place.name}{suffix}.png")
        picture.convert("RGB").quantize(COLOURS).save(path, optimize=True)
        print(f"{path}  {path.stat().st_size / 1000:.0f} kB")
        context.close()


if __name__ == "__main__":
    main()
