"""Figures of pages that a browser loads from this machine: paints, shifts, blocking, requests and bytes.

Requests, bytes and shifts hardly depend on the machine, and have bounds; times are only shown. Bytes are
those that a host sends which compresses texts with gzip.
"""

from __future__ import annotations

import gzip
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache, partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit

#: What hosts compress.
TEXTS = (".css", ".html", ".js", ".json", ".svg", ".xml")
#: What the browser tells while a page loads. A task blocks by what it has above 50 ms, as in Lighthouse.
OBSERVE = """
globalThis.pageFigures = { shift: 0, largest: 0, blocked: 0 };
const seen = (type, take) =>
    new PerformanceObserver((list) => list.getEntries().forEach(take)).observe({ type, buffered: true });
seen("layout-shift", (entry) => { if (!entry.hadRecentInput) pageFigures.shift += entry.value; });
seen("largest-contentful-paint", (entry) => { pageFigures.largest = entry.startTime; });
seen("longtask", (entry) => { pageFigures.blocked += entry.duration - 50; });
"""
READ = """() => ({
    ...pageFigures,
    first: performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? 0,
    loaded: [location.href, ...performance.getEntriesByType("resource").map((entry) => entry.name)],
})"""


class Bounds(NamedTuple):
    """The most that a page may load, in files and KiB, and how far its parts may move: 0.1 counts as good."""

    requests: int
    kib: int
    shift: float = 0.02


#: What a page may load; the index of the search is most of it. The playground has Python and the compiler.
USUAL, PLAYGROUND = Bounds(14, 480), Bounds(24, 9_500, 0.1)


class Figures(NamedTuple):
    """What a page took: milliseconds, requests, KiB, and the sum of its layout shifts."""

    first: float
    largest: float
    blocked: float
    requests: int
    kib: float
    shift: float

    def beyond(self, bounds: Bounds) -> Iterator[str]:
        """What is above its bound, in words."""
        for name, found, limit in zip(
            bounds._fields, (self.requests, self.kib, self.shift), bounds, strict=True
        ):
            if found > limit:
                yield f"{name}: {found:.3g}, above {limit}"


def figures_of_pages(browser: Any, site: Path, pages: list[str], settings: dict[str, Any]) -> Iterator[str]:
    """Print a table of pages on a screen, each without a cache; what is above its bound."""
    print("| page | first paint ms | largest paint ms | blocked ms | requests | KiB | shift |")
    print("|---|--:|--:|--:|--:|--:|--:|")
    with served(site) as address:
        for name in pages:
            context = browser.new_context(**settings)
            found = figures_of(context, f"{address}/{name}.html", site)
            context.close()
            print(
                f"| {name} | {found.first:.0f} | {found.largest:.0f} | {found.blocked:.0f} "
                f"| {found.requests} | {found.kib:.0f} | {found.shift:.3f} |",
                flush=True,
            )
            for line in found.beyond(PLAYGROUND if name == "playground" else USUAL):
                yield f"{name}: {line}"


def figures_of(context: Any, address: str, site: Path) -> Figures:
    """The figures of a page once it asks for nothing more."""
    page = context.new_page()
    page.add_init_script(OBSERVE)
    page.goto(address, wait_until="networkidle")
    if page.locator("#pg-text").count():
        page.wait_for_function("globalThis.tadcPlayground?.edits.length")
    found = page.evaluate(READ)
    loaded = [url for url in found.pop("loaded") if url.startswith("http")]
    kib = sum(sent_bytes(site / unquote(urlsplit(url).path).lstrip("/")) for url in loaded) / 1024
    return Figures(requests=len(loaded), kib=kib, **found)


@cache
def sent_bytes(path: Path) -> int:
    """The bytes of a file as hosts send it."""
    content = path.read_bytes()
    return len(gzip.compress(content, 6)) if path.suffix in TEXTS else len(content)


class Quiet(SimpleHTTPRequestHandler):
    """A handler that prints nothing."""

    def log_message(self, format: str, *args: Any) -> None:
        """Leave it out."""


@contextmanager
def served(site: Path) -> Iterator[str]:
    """The address of a folder on this machine, while it is served."""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(site))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
