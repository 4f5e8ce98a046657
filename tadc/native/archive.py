"""Static libraries: objects in an archive with an index of symbols, as linkers of Linux take them.

The format is that of System V and GNU: "!<arch>", then members, each behind a head of 60 characters; the
first, of the name "/", is the index (FreeBSD, ar(5)).
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

_MAGIC = b"!<arch>\n"
_HEAD = 60


def archive(name: str, code: bytes, symbols: Sequence[str]) -> bytes:
    """An archive of one object, which defines these symbols; the same bytes whenever it is made."""
    names = b"".join(symbol.encode() + b"\0" for symbol in symbols)
    size = 4 + 4 * len(symbols) + len(names)
    # Members begin at even places.
    begin = len(_MAGIC) + _HEAD + size + size % 2
    index = struct.pack(f">{1 + len(symbols)}I", len(symbols), *[begin] * len(symbols)) + names
    return _MAGIC + _member("/", index) + _member(f"{name[:13]}.o"[:15] + "/", code)


def _member(name: str, content: bytes) -> bytes:
    head = f"{name:<16}{0:<12}{0:<6}{0:<6}{'100644':<8}{len(content):<10}`\n".encode()
    assert len(head) == _HEAD
    return head + content + b"\n" * (len(content) % 2)
