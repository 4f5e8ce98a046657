"""The order of what searches find alike: that of the navigation, with internals behind what users read."""

from __future__ import annotations

import json
from pathlib import Path


def order_search(site: Path, pages: list[str]) -> None:
    """Sort the index of searches by the navigation; pages that are not in it come last, errors first."""
    index = json.loads((site / "search.json").read_text(encoding="utf-8"))
    places = {page.removesuffix(".md") + ".html": place for place, page in enumerate(pages)}

    def rank(item: dict[str, str]) -> tuple[int, bool]:
        page = item["location"].partition("#")[0]
        return places.get(page, len(places)), not page.startswith("errors/")

    index["items"].sort(key=rank)
    text = json.dumps(index, ensure_ascii=False, separators=(",", ":"))
    (site / "search.json").write_text(text, encoding="utf-8")
    # Pages that are opened as files read the same as a script.
    (site / "search.js").write_text(f"var __index = {text}", encoding="utf-8")
