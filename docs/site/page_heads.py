"""What stands in front of a page for its generator: its title and description."""

from __future__ import annotations

import json
import re

#: Pages that, as files, have more to show than a column holds: they have no menus beside them.
#: Pages of the gallery have long lines and no sections: they have no menu on the right.
WIDE = ("index.md", "playground.md")
#: The titles of pages whose first line does not tell them from others.
TITLES = {"index.md": "Formulas over arrays and their gradients, compiled"}
#: What searches show of a description.
LENGTH = 170


def with_head(page: str, text: str) -> str:
    """The text of a page behind its head; ValueError where it has no sentence that says what it is for."""
    lines = [f"title: {json.dumps(title_of(page, text))}", f"description: {json.dumps(description_of(text))}"]
    is_wide = page in WIDE or page.startswith("files/")
    hidden = ["navigation", "toc"] if is_wide else ["toc"] if page.startswith("gallery/") else []
    if hidden:
        lines += ["hide:", *(f"  - {menu}" for menu in hidden)]
    return "\n".join(["---", *lines, "---", text])


def title_of(page: str, text: str) -> str:
    """The title of a page: its first line, where that says enough."""
    first = plain(text.partition("\n")[0].removeprefix("# "))
    if page in TITLES:
        return TITLES[page]
    is_part = page.startswith("api/") and page != "api/index.md" and not first.startswith("tadc.")
    return f"Python API: {first}" if is_part else first


def description_of(text: str) -> str:
    """What a reader can do with a page: its first sentence, in at most `LENGTH` letters."""
    paragraph = next(iter(text.partition("\n")[2].strip().split("\n\n")), "")
    if not paragraph or paragraph.startswith(("#", "|", "<", "```", "    ")):
        raise ValueError(f"there is no sentence below {text.partition(chr(10))[0]!r}")
    sentence = re.split(r"(?<=\.)\s", plain(paragraph), maxsplit=1)[0].rstrip(":")
    sentence = re.sub(r"^With this page you (?:can )?(\w)", lambda found: found[1].upper(), sentence)
    return sentence if len(sentence) <= LENGTH else sentence[: LENGTH - 2].rpartition(" ")[0] + " …"


def plain(markdown: str) -> str:
    """Text without links, stars and backticks, in one line."""
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", markdown)
    return " ".join(re.sub(r"[`*]", "", text).split())
