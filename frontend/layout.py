"""Long definitions over several lines.

A line goes on inside open brackets, so a definition breaks there alone: after an opening bracket
or a comma, before an operator. Text that fits a line stays as it is. Where the last operand alone is too
long, what stands before it shares a line with its bracket: `relu(b[j] + sum{m}_0^1 (sum{n}_0^2 (`.
"""

from __future__ import annotations

from itertools import pairwise

WIDTH = 100
_STEP = "    "
#: Below this a bracket stays on its line.
_SHORT = 40
#: Text beyond this is not for reading; breaking it would take time for nothing.
_LONGEST = 20_000

#: Indented further than this nothing is broken.
_DEEPEST = 60

_OPERATORS = ((" + ", " - "), (" * ", " / "))


def wrapped(line: str, width: int = WIDTH) -> str:
    """A definition broken into lines of at most `width` where brackets allow it."""
    if len(line) <= width or len(line) > _LONGEST:
        return line
    head, equals, body = line.partition(" = ")
    if len(_split(body, _depths(body), _OPERATORS[0])) > 1:
        shared = _sharing(body, head + equals, "", width)
        if shared:
            return "\n".join(shared)
        # Brackets around the whole, so that there is something to break in.
        return "\n".join([f"{head}{equals}(", *_lay(body, _STEP, width, is_inside=True)]) + ")"
    return "\n".join(_lay(line, "", width, is_inside=False))


def _lay(text: str, indent: str, width: int, *, is_inside: bool) -> list[str]:
    if len(indent) + len(text) <= width or len(indent) >= _DEEPEST:
        return [indent + text]
    depths = _depths(text)
    if is_inside:
        for pieces in (_arguments(text, depths), *(_split(text, depths, ops) for ops in _OPERATORS)):
            if len(pieces) > 1:
                return _in_pieces(pieces, indent, width)
    return _open_groups(text, depths, indent, width)


def _in_pieces(pieces: list[str], indent: str, width: int) -> list[str]:
    lines: list[str] = []
    for piece in pieces:
        if lines and len(lines[-1]) + 1 + len(piece) <= width:
            lines[-1] += " " + piece
        elif lines and piece is pieces[-1] and (shared := _sharing(piece, lines[-1] + " ", indent, width)):
            lines[-1:] = shared
        else:
            lines += _lay(piece, indent, width, is_inside=True)
    return lines


def _sharing(text: str, line: str, indent: str, width: int) -> list[str]:
    """The line goes on with the text up to the bracket that ends it; nothing where that is no gain."""
    *before, (start, end) = _groups(text, _depths(text)) or [(0, 0)]
    is_last = end == len(text) - 1 and end - start > _SHORT
    if not is_last or len(indent) + len(_STEP) + len(text) <= width or len(line) + start + 1 > width:
        return []
    if any(end - start > _SHORT for start, end in before):
        return []
    lines = _in_brackets(text[start + 1 : end], line + text[: start + 1], indent, width)
    return [*lines[:-1], lines[-1] + text[end]]


def _in_brackets(text: str, line: str, indent: str, width: int, *, may_share: bool = True) -> list[str]:
    """A line that opens a bracket, and lines of what stands in it."""
    shared = _sharing(text, line, indent, width) if may_share else []
    return shared or [line, *_lay(text, indent + _STEP, width, is_inside=True)]


def _open_groups(text: str, depths: list[int], indent: str, width: int) -> list[str]:
    """What stands in the long brackets of a text on lines of its own."""
    lines = [indent]
    at = 0
    for start, end in _groups(text, depths):
        if end - start <= _SHORT:
            continue
        line, inside = lines[-1] + text[at : start + 1], text[start + 1 : end]
        lines[-1:] = _in_brackets(inside, line, indent, width, may_share=not at)
        at = end
    lines[-1] += text[at:]
    return lines


def _depths(text: str) -> list[int]:
    """How many brackets are open before each character."""
    depth = 0
    depths: list[int] = []
    for char in text:
        depth -= char in ")]}"
        depths.append(depth)
        depth += char in "([{"
    return depths


def _split(text: str, depths: list[int], operators: tuple[str, ...]) -> list[str]:
    """Cut before operators outside all brackets of the text."""
    cuts = [
        n + 1
        for n in range(1, len(text) - 3)
        if not depths[n] and text[n] == " " and text[n : n + 3] in operators
    ]
    bounds = [0, *cuts, len(text)]
    return [text[a:b].rstrip() for a, b in pairwise(bounds)]


def _arguments(text: str, depths: list[int]) -> list[str]:
    """Cut after commas outside all brackets of the text."""
    cuts = [n + 1 for n, char in enumerate(text[:-1]) if char == "," and not depths[n]]
    return [text[a:b].strip() for a, b in pairwise([0, *cuts, len(text)])]


def _groups(text: str, depths: list[int]) -> list[tuple[int, int]]:
    """The outermost brackets, from the opening to the closing one."""
    opened = -1
    found: list[tuple[int, int]] = []
    for n, char in enumerate(text):
        if depths[n] == 0:
            if char in "([{":
                opened = n
            elif char in ")]}" and opened >= 0:
                found.append((opened, n))
    return found
