"""The sizes of pictures on pages, by which a browser keeps their place free until they are loaded."""

from __future__ import annotations

import re
import struct
from pathlib import Path

#: A picture in Markdown, and one in HTML with a width.
MARKDOWN = re.compile(r"!\[([^\]]*)\]\(([\w./-]+\.(?:png|svg))\)")
HTML = re.compile(r'<img src="([\w./-]+\.(?:png|svg))" width="(\d+)"')


def with_sizes(text: str, folder: Path) -> str:
    """The text of a page with the sizes of its pictures; those behind the first wait until they are near."""
    first = True

    def loading() -> str:
        nonlocal first
        lazy, first = "" if first else ' loading="lazy"', False
        return lazy

    def markdown(found: re.Match[str]) -> str:
        width, height = size_of(folder / found[2])
        return f'{found[0]}{{ width="{width}" height="{height}"{loading()} }}'

    def html(found: re.Match[str]) -> str:
        width, height = size_of(folder / found[1])
        return f'{found[0]} height="{round(int(found[2]) * height / width)}"{loading()}'

    return HTML.sub(html, MARKDOWN.sub(markdown, text))


def size_of(path: Path) -> tuple[int, int]:
    """Width and height of a PNG or an SVG, in pixels."""
    content = path.read_bytes()
    if path.suffix == ".png":
        width, height = struct.unpack(">II", content[16:24])
        return width, height
    box = re.search(rb'viewBox="[\d.-]+ [\d.-]+ ([\d.]+) ([\d.]+)"', content)
    if box is None:
        raise ValueError(f"{path} says no viewBox")
    return round(float(box[1])), round(float(box[2]))
