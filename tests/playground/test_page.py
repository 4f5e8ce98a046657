"""The playground in Chromium, opened as a file: typing, errors, running, sharing, phones, keyboards."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from docs.site.npm_packages import NoPackage
from docs.site.playground_files import write_files

pytestmark = [pytest.mark.sweep, pytest.mark.xdist_group("playground")]

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
OPTIONS = (
    "--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync"
).split()
#: Milliseconds for whatever the page is waited for: the machine may have other things to do.
PATIENCE = 90_000
PAGE = """<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Playground</title>
<meta name="viewport" content="width=device-width"><link rel="stylesheet" href="playground/page.css"></head>
<body><div id="tadc-playground"></div><script src="playground/page.js"></script></body></html>"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Chromium."""
    if CHROMIUM is None:
        pytest.skip("no Chromium, which shows the page")
    api = pytest.importorskip("playwright.sync_api", reason="no Playwright, which drives Chromium")
    with api.sync_playwright() as playwright:
        made = playwright.chromium.launch(executable_path=CHROMIUM, args=OPTIONS, timeout=PATIENCE)
        yield made
        made.close()


@pytest.fixture(scope="module")
def page(browser: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """The page, ready, which has asked no network and had no error when all tests are through."""
    folder = tmp_path_factory.mktemp("site")
    try:
        write_files(folder / "playground")
    except NoPackage as reason:
        pytest.skip(str(reason))
    (folder / "index.html").write_text(PAGE, encoding="utf-8")
    heard: list[str] = []
    made = opened(browser, folder / "index.html", heard)
    yield made
    assert heard == []


def opened(browser: Any, file: Path, heard: list[str], fragment: str = "") -> Any:
    """A page that is ready; what it asks of a network, and its errors, are `heard`."""
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    page.set_default_timeout(PATIENCE)
    page.on("request", lambda request: heard.append(request.url) if is_remote(request.url) else None)
    page.on("console", lambda message: heard.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: heard.append(str(error)))
    page.goto(file.as_uri() + fragment, wait_until="commit")
    page.wait_for_function("globalThis.tadcPlayground?.ready")
    return page


def is_remote(url: str) -> bool:
    """Whether a request leaves the machine."""
    return not url.startswith(("file:", "data:", "blob:"))


def write(page: Any, text: str) -> None:
    """Replace the program, as somebody who types."""
    page.get_by_role("textbox", name="Program", exact=True).fill(text)


def values(page: Any, name: str) -> np.ndarray:
    """The numbers of a result."""
    return np.array([float(v) for v in page.locator(f"[data-values={name}]").text_content().split(",")])


def test_a_program_runs_and_its_gradient_is_shown(page: Any) -> None:
    write(page, "x: f64[6]\nw: f64[3]\ny[i: 4] = sum{k} (x[i + k] * w[k])\n")
    page.get_by_text("y[4]", exact=True).wait_for()
    page.locator("#pg-panel").get_by_text("dw[k] = sum{i}_0^3 (dy[i] * x[i + k])").wait_for()
    for name, numbers in (("x", "1, 2, 3, 4, 5, 6"), ("w", "1, 0, -1")):
        page.locator(f"input[type=text][data-input={name}]").fill(numbers)
        page.locator(f"input[type=text][data-input={name}]").press("Tab")
    x = np.arange(1.0, 7)
    page.wait_for_function("document.querySelector('[data-values=y]')?.textContent === '-2, -2, -2, -2'")
    np.testing.assert_allclose(values(page, "dx"), np.convolve(np.ones(4), [1, 0, -1]))
    np.testing.assert_allclose(values(page, "dw"), [x[k : k + 4].sum() for k in range(3)])


def test_scalars_have_numbers_whatever_was_there_before(page: Any) -> None:
    """A cotangent without dimensions is 1, and an argument whose rank changes is filled anew."""
    for shape, used in (("", "a"), ("[3]", "a[i]"), ("", "a")):
        write(page, f"a: f64{shape}\nx: f64[3]\ny = sum{{i}} ({used}**2 * x[i])\n")
        page.get_by_text(f"da, the gradient by a{shape}", exact=True).wait_for()
        given = page.locator("input[data-input=a]").input_value()
        a = np.array([float(v) for v in given.split(",")])
        np.testing.assert_allclose(values(page, "dx"), np.broadcast_to(a**2, 3), rtol=1e-4)


def test_examples_run_by_stored_kernels(page: Any) -> None:
    """Of the compiler, before Python is ready; the browser's own agree, and are the only ones of an edit."""
    assert page.evaluate("tadcPlayground.results < tadcPlayground.ready")
    for title in ("A graph network", "Attention in a sliding window"):
        page.locator("#pg-examples").select_option(title)
        page.wait_for_function("tadcPlayground.apart !== null")
        assert page.evaluate("tadcPlayground.apart") < 1e-5
        assert page.evaluate("Object.keys(tadcPlayground.calls)") == ["stored", "browser"]
    page.locator("#pg-examples").select_option("a moving average")
    slider = page.get_by_label("size N")
    slider.evaluate("(input) => { input.value = 20; input.dispatchEvent(new Event('input')); }")
    page.get_by_text("y[16]", exact=True).wait_for()
    x = np.sin(2 * np.pi * np.arange(20) / 20)
    given = page.locator("input[type=text][data-input=w]").input_value()
    w = np.array([float(v) for v in given.split(",")])
    np.testing.assert_allclose(values(page, "y"), np.correlate(x, w, "valid"), atol=1e-3)
    page.get_by_text("results differ by").wait_for()
    page.locator("#pg-text").press("Control+End")
    page.keyboard.type("# mine")
    page.wait_for_function("Object.keys(tadcPlayground.calls).join() === 'browser'")
    assert "stored" not in page.locator("#pg-run-status").text_content()


def test_a_view_that_is_answered_stays(page: Any) -> None:
    """The compiler does not start again, though ten seconds pass without an answer: nothing was asked."""
    write(page, "x: f64[4]\ny[i] = 3*x[i]\n")
    page.locator("[data-values=y]").wait_for(state="attached")
    page.locator("#pg-tab-counts").click()
    page.locator("#pg-panel").get_by_text("bytes stored").wait_for()
    page.wait_for_timeout(11_000)
    assert page.locator("#pg-panel").get_by_text("bytes stored").is_visible()
    assert page.locator("#pg-errors").text_content() == ""


def test_errors_are_underlined_and_mended(page: Any) -> None:
    write(page, "x: f64[4]\ny[i] = sine(x[i])\n")
    page.locator(".pg-mark-error").get_by_text("sine").wait_for()
    assert "TAD0201" in page.locator("#pg-errors").text_content()
    page.get_by_role("button", name="Mend it").click()
    page.wait_for_function("!document.querySelector('.pg-mark-error')")
    assert page.locator("#pg-text").input_value() == "x: f64[4]\ny[i] = sin(x[i])\n"
    page.locator("[data-values=y]").wait_for(state="attached")


def test_sliders_choose_sizes(page: Any) -> None:
    write(page, "a: f64\nx: f64[N]\ny[i] = a * x[i]\n")
    slider = page.get_by_label("size N")
    slider.wait_for()
    slider.evaluate("(input) => { input.value = 7; input.dispatchEvent(new Event('input')); }")
    page.get_by_text("y[7]", exact=True).wait_for()
    assert values(page, "y").size == 7


@pytest.mark.parametrize("view", ["check", "picture", "latex", "counts", "certificate", "header"])
def test_all_views_answer(page: Any, view: str) -> None:
    write(page, "x: f64[N]\ny[i: N - 2] = exp(x[i + 2])\n")
    page.locator(f"#pg-tab-{view}").click()
    page.wait_for_function("!document.querySelector('#pg-panel').classList.contains('pg-old')")
    shown = page.locator("#pg-panel").inner_html()
    assert "no answer" not in shown
    wanted = {
        "check": "y: f64[N - 2]",
        "picture": "<svg",
        "latex": "<mtable",
        "counts": "operations, weighted",
        "certificate": "Smith normal form",
        "header": "int tad_y_vjp(",
    }
    assert wanted[view] in shown.replace("&amp;", "&")


def test_a_link_holds_the_program(page: Any) -> None:
    text = "x: f64[N]  # an angle, \u03b2\ny[i] = sin(x[i]) + 1\n"
    write(page, text)
    page.get_by_label("size N").wait_for()
    page.get_by_role("button", name="Share").click()
    link = page.get_by_label("Link to this program").input_value()
    page.evaluate("history.replaceState(null, '', location.pathname)")
    write(page, "x: f64\ny = x\n")
    page.goto(link)
    page.wait_for_function("(text) => document.querySelector('#pg-text').value === text", arg=text)


def test_keys_are_enough(page: Any) -> None:
    """Tab goes from the program to the tabs, arrows choose one, and Tab goes on to what it shows."""
    write(page, "x: f64[4]\ny[i] = 2*x[i]\n")
    page.wait_for_function("!document.querySelector('#pg-errors').children.length")
    page.locator("#pg-tab-check").click()
    page.locator("#pg-text").focus()
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.id") == "pg-tab-check"
    page.keyboard.press("ArrowRight")
    assert page.evaluate("document.activeElement.id") == "pg-tab-gradient"
    assert page.locator("#pg-tab-gradient").get_attribute("aria-selected") == "true"
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.id") == "pg-panel"
    page.locator("#pg-text").focus()
    page.keyboard.press("End")
    page.keyboard.type(" # typed")
    page.wait_for_function("location.hash.includes('typed')")


def test_a_phone_shows_it_without_scrolling_sideways(page: Any) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    write(page, "x: f64[N, N]\ny[i, j] = sum{k} (x[i, k] * x[k, j])\n")
    page.locator("[data-values=y]").wait_for(state="attached")
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


def test_edits_are_answered_at_once(page: Any) -> None:
    """Within a second where the machine has much else to do: 100 ms where it has not."""
    page.set_viewport_size({"width": 1280, "height": 900})
    before = page.evaluate("tadcPlayground.edits.length")
    for n in range(5):
        write(page, f"x: f64[N]\nw: f64[K]\ny[i: N - K + 1] = sum{{k}} (x[i + k] * w[k]) + {n}\n")
        page.wait_for_function(f"tadcPlayground.edits.length > {before + n}")
    assert min(page.evaluate("tadcPlayground.edits")) < 1000
