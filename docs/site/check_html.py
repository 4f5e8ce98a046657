"""What is wrong with a built site: links that lead nowhere, and what pages would load from a network."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

#: The attributes by which a page loads something; `href` does in `<link>` alone.
LOADED = {"src", "srcset", "data", "poster"}
#: What `<link>` says of pages, which is not loaded.
RELATIONS = {"canonical", "prev", "next", "alternate", "describedby"}


class Page(NamedTuple):
    """What a page has: the ids of its elements, its links, and what it loads."""

    ids: set[str]
    links: list[str]
    loaded: list[str]


class PageReader(HTMLParser):
    """Reads a page."""

    def __init__(self) -> None:
        super().__init__()
        self.page = Page({"__skip"}, [], [])

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Keep what the attributes of an element name."""
        found = {name: value or "" for name, value in attrs}
        self.page.ids.update(found[name] for name in ("id", "name") if name in found)
        self.page.loaded.extend(found[name] for name in LOADED & found.keys())
        if "href" not in found:
            return
        if tag == "link" and found.get("rel") not in RELATIONS:
            self.page.loaded.append(found["href"])
        elif tag == "a":
            self.page.links.append(found["href"])


def read_page(path: Path) -> Page:
    """A page of HTML."""
    reader = PageReader()
    reader.feed(path.read_text(encoding="utf-8"))
    return reader.page


def problems(site: Path) -> list[str]:
    """A line for each link that leads nowhere, and each file that is missing or comes from a network."""
    pages = {path.resolve(): read_page(path) for path in site.rglob("*.html") if path.name != "404.html"}
    found: list[str] = []
    for path, page in pages.items():
        place = path.relative_to(site.resolve())
        found += [f"{place}: {url} is loaded from a network" for url in page.loaded if is_remote(url)]
        for url in (*page.loaded, *page.links):
            parts = urlsplit(url)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if target.is_dir():
                target = target / "index.html"
            if not target.exists():
                found.append(f"{place}: there is no {url}")
            elif parts.fragment and target in pages and unquote(parts.fragment) not in pages[target].ids:
                found.append(f"{place}: no place has the name of {url}")
    return found


def is_remote(url: str) -> bool:
    """Whether a browser would ask a network for it."""
    return url.startswith("//") or urlsplit(url).scheme in ("http", "https")
