"""What helps say in the language, as it is written in Python."""

from __future__ import annotations

import re
from collections.abc import Callable

from tadc.frontend.dtypes import FLOATS
from tadc.frontend.functions import SPELLED_REDUCTIONS

_KIND, _TYPE = "|".join(SPELLED_REDUCTIONS), "|".join(FLOATS)
_RELATION = re.compile(r"(?<![<>!=])=(?!=)")


def _condition(text: str) -> str:
    parts = [_RELATION.sub("==", part) for part in text.split(" and ")]
    return parts[0] if len(parts) == 1 else " & ".join(f"({part})" for part in parts)


#: Forms of the language, each with what it is in Python.
_FORMS: tuple[tuple[str, Callable[[re.Match[str]], str]], ...] = (
    (
        rf"({_KIND})\{{(\w+)\}}_(\w+|\([^()]*\))\^(\w+|\([^()]*\)) \((.*)\)",
        lambda m: f"tadc.{m[1]}({m[2]}, {m[3].strip('()')}, {m[4].strip('()')}, {m[5]})",
    ),
    (rf"({_KIND})\{{(\w+): ([^:{{}}]+)\}} \((.*)\)", lambda m: f"tadc.{m[1]}({{{m[2]}: {m[3]}}}, {m[4]})"),
    (rf"({_KIND})\{{(\w+)\}} \((.*)\)", lambda m: f"tadc.{m[1]}({m[2]}, {m[3]})"),
    (
        r"if \{(.*?)\} then \((.*)\) else \((.*)\)",
        lambda m: f"tadc.where({_condition(m[1])}, {m[2]}, {m[3]})",
    ),
    (r"select\(([^,]*), (.*)\)", lambda m: f"tadc.select({_condition(m[1])}, {m[2]})"),
    (r"(\w+)\[at (.*)\]", lambda m: f"{m[1]}.at[{m[2]}]"),
    (r"(\w+): index\[(.*)\] in (.*)", lambda m: f'tadc.index_array("{m[1]}", ({m[2]},), {m[3]})'),
    (rf"(\w+): ({_TYPE})\[(.*)\]", lambda m: f'tadc.argument("{m[1]}", "{m[2]}", ({m[3]},))'),
    (rf"(\w+): ({_TYPE})", lambda m: f'tadc.argument("{m[1]}", "{m[2]}")'),
    (r"size (\w+) = (\d+)", lambda m: f'tadc.size("{m[1]}", {m[2]})'),
    (r"size (\w+)", lambda m: f'tadc.size("{m[1]}")'),
    (r"scan\{(.*?)\} (\w+)\[.*\] = .*", lambda m: f'tadc.let("{m[2]}", …, lambda {m[2]}: …, order={m[1]})'),
    (r"let", lambda _: "tadc.let"),
    (r"(\w+): (\w[^:]*)", lambda m: f"{{{m[1]}: {m[2]}}}"),
)


def in_python(help: str) -> str:
    """A help with the forms that stand in it as code.

    >>> in_python("guard it: `if {i + 1 <= 7} then (x[i + 1]) else (0)`")
    'guard it: `tadc.where(i + 1 <= 7, x[i + 1], 0)`'
    """
    return re.sub(r"`([^`]*)`", lambda code: f"`{_spoken(code[1])}`", help)


def _spoken(code: str) -> str:
    for pattern, python in _FORMS:
        if found := re.fullmatch(pattern, code):
            return python(found)
    return code
