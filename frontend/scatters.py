"""How a definition at elements of index arrays, which is a scatter elsewhere, is written here: as a sum."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

_NAME = re.compile(r"[^\W\d]\w*(?!\w*\s*[\[(])")
_ARRAY = re.compile(r"([^\W\d]\w*)\s*\[[^\[\]]*\]\Z")


def split_items(text: str) -> list[str]:
    """What stands between the commas that are in no bracket."""
    items, depth = [""], 0
    for character in text:
        depth += (character in "[(") - (character in "])")
        if character == "," and not depth:
            items.append("")
        else:
            items[-1] += character
    return [item.strip() for item in items]


def is_element(item: str) -> bool:
    """Whether a form of elements of an index array stands where a definition has an index."""
    return "[" in item and ":" not in item


def gathered(name: str, items: Sequence[str], below: Mapping[str, str], body: str) -> str:
    """`y[n: N] = sum{e: src[e] = n} (w[e])` of y, `src[e]` and `w[e]`.

    `below` has what the elements of index arrays are below.
    """
    words = set(re.findall(r"\w+", " ".join([name, body, *items])))
    free = iter(word for word in ("n", "m", "k", "l", *(f"n{k}" for k in range(64))) if word not in words)
    own, conditions, bound = list[str](), list[str](), list[str]()
    for item in items:
        if not is_element(item):
            own.append(item)
            continue
        index, array = next(free), _ARRAY.match(item)
        own.append(f"{index}: {below.get(array[1], '…') if array else '…'}")
        conditions.append(f"{item} = {index}")
        bound += [word for word in _NAME.findall(item) if word not in bound]
    # An index that the head has as well is one of the result.
    bound = [word for word in bound if word not in items]
    where, head = " and ".join(conditions), f"{name}[{', '.join(own)}] ="
    if not bound:
        return f"{head} if {{{where}}} then ({body}) else (0)"
    return f"{head} sum{{{', '.join(bound)}: {where}}} ({body})"
