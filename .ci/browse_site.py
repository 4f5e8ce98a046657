"""Looks at the built site in a browser, opened as files: `python .ci/browse_site.py`, after `make site`.

On pages of each kind, on a desk and a phone, light and dark, it looks for: requests that leave the machine,
errors on the console, pages wider than the screen, what axe-core finds, a search that finds nothing, a
playground that is not ready. Then it prints how fast pages are and what they load, which has bounds.
Whatever it waits for has a limit. `--pictures FOLDER` keeps pictures. Where there is no Chromium it says so
and ends well.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any

from page_figures import figures_of_pages

HTML = Path(__file__).parent.parent / "build" / "site" / "html"
PAGES = "index arrays gallery/index gallery/gauge_block api/jax errors/TAD0302 playground 404".split()
#: The pages whose figures are shown: one of each kind.
FIGURES = "index tutorial language jax api/functions gallery/gauge_block errors/TAD0302 playground".split()
#: Milliseconds for each thing that is waited for.
PATIENCE = 60_000
#: How often the keys of the search are pressed, every half second.
TRIES = 20
OPTIONS = (
    "--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync"
).split()
#: axe-core on a page that is there; what it has not found in time is said.
AXE = """(patience) => Promise.race([
    axe.run({preload: false}).then((found) => found.violations),
    new Promise((_, fail) => setTimeout(() => fail(new Error("axe-core has not ended in time")), patience)),
])"""
SCREENS = {
    "desk": {"viewport": {"width": 1280, "height": 900}, "color_scheme": "light"},
    "desk, dark": {"viewport": {"width": 1280, "height": 900}, "color_scheme": "dark"},
    "phone": {"viewport": {"width": 390, "height": 844}, "color_scheme": "light", "has_touch": True},
}


def main() -> int:
    """Look at all pages; the exit code."""
    made = argparse.ArgumentParser(description="look at the built site in Chromium")
    made.add_argument("--pictures", type=Path, help="a folder for pictures of all pages")
    options = made.parse_args()
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if chromium is None:
        print("the site was not looked at in a browser: there is no Chromium (apt-get install chromium)")
        return 0
    if not (HTML / "index.html").exists():
        print("there is no build/site/html: `make site` builds it", file=sys.stderr)
        return 1
    from playwright.sync_api import sync_playwright

    found: list[str] = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=OPTIONS, timeout=PATIENCE)
        for screen, settings in SCREENS.items():
            context = browser.new_context(**settings)
            context.set_default_timeout(PATIENCE)
            for line in looked_at(context, options.pictures, screen):
                found.append(f"{screen}: {line}")
                print(found[-1], flush=True)
            context.close()
        for screen in ("desk", "phone"):
            print(f"\n{screen}, from a server on this machine:\n")
            for line in figures_of_pages(browser, HTML, FIGURES, SCREENS[screen]):
                found.append(f"{screen}: {line}")
                print(found[-1], flush=True)
        browser.close()
    print(f"{len(PAGES)} pages on {len(SCREENS)} screens: {len(found)} problems")
    return bool(found)


def looked_at(context: Any, pictures: Path | None, screen: str) -> Iterator[str]:
    """What is wrong with the pages on a screen."""
    page = context.new_page()
    heard: list[str] = []
    page.on("request", lambda request: heard.append(request.url) if is_remote(request.url) else None)
    page.on("console", lambda message: heard.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: heard.append(str(error)))
    axe = (files("axe_playwright_python") / "axe.min.js").read_text(encoding="utf-8")
    for name in PAGES:
        page.goto((HTML / f"{name}.html").as_uri(), wait_until="domcontentloaded")
        if name == "playground":
            yield from tried(page, screen)
        if pictures:
            pictures.mkdir(parents=True, exist_ok=True)
            page.screenshot(path=pictures / f"{name.replace('/', '-')}, {screen}.png")
        if page.evaluate("document.documentElement.scrollWidth > window.innerWidth"):
            yield f"{name}: wider than the screen"
        page.evaluate(axe)
        for violation in page.evaluate(AXE, PATIENCE):
            places = ", ".join(str(node["target"][0]) for node in violation["nodes"][:3])
            yield f"{name}: {violation['id']}: {violation['help']}: {len(violation['nodes'])} times, {places}"
    yield from searched(page)
    yield from dict.fromkeys(heard)


def tried(page: Any, screen: str) -> Iterator[str]:
    """What is wrong with the playground, where the site has it; its times are printed."""
    if not page.locator("#pg-text").count():
        print(f"{screen}: this copy of the site has no playground")
        return
    try:
        page.wait_for_function("globalThis.tadcPlayground?.edits.length")
        page.locator("#pg-text").press("End")
        for letter in "# edits":
            edits = page.evaluate("tadcPlayground.edits.length")
            page.keyboard.type(letter)
            page.wait_for_function(f"tadcPlayground.edits.length > {edits}")
    except Exception as error:
        yield f"the playground does not answer: {str(error).splitlines()[0]}"
        return
    times = page.evaluate("tadcPlayground")
    check, edit = (sorted(times[name][1:])[len(times[name]) // 2 - 1] for name in ("checks", "edits"))
    results, ready = times["results"] / 1000, times["ready"] / 1000
    print(
        f"{screen}: the playground has results after {results:.1f} s and is ready after {ready:.1f} s; "
        f"after an edit it says in {check:.0f} ms what is wrong, and has the gradient in {edit:.0f} ms"
    )
    if screen == "desk":
        yield from examples_run(page)


def examples_run(page: Any) -> Iterator[str]:
    """What is wrong with examples: the kernel of the compiler or that of the browser does not run, or they do
    not agree."""
    for title in page.locator("#pg-examples option").all_text_contents():
        if title == "an error":
            continue
        page.locator("#pg-examples").select_option(title)
        try:
            page.wait_for_function("tadcPlayground.apart !== null")
        except Exception as error:
            yield f"the playground does not run {title}: {str(error).splitlines()[0]}"
            continue
        apart = page.evaluate("tadcPlayground.apart")
        calls = page.evaluate("tadcPlayground.calls")
        print(f"{title}: {calls['stored']:.2g} ms a call, {calls['browser']:.2g} ms made in the browser")
        if not apart < 1e-5:
            yield f"the playground's kernels of {title} differ by {apart:.0e}"


def is_remote(url: str) -> bool:
    """Whether a request leaves the machine."""
    return not url.startswith(("file:", "data:", "blob:", "about:"))


def searched(page: Any) -> Iterator[str]:
    """What is wrong with the search."""
    page.goto((HTML / "index.html").as_uri(), wait_until="load")
    # Until the page's script runs nothing answers the keys.
    for _ in range(TRIES):
        page.keyboard.press("Control+k")
        page.wait_for_timeout(500)
        if page.evaluate("document.activeElement !== document.body"):
            break
    page.keyboard.type("checkpoints")
    try:
        page.get_by_text("States that a gradient reads").first.wait_for()
    except Exception as error:
        yield f"the search for `checkpoints` shows nothing: {str(error).splitlines()[0]}"


if __name__ == "__main__":
    sys.exit(main())
