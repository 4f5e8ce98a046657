"""Calls of kernels' loops over ranges: `tad_f.0.split`, made of its declaration.

`tad_f.0.split(…, elements, multiple, operations)` calls `tad_f.0(…, begin, end)` on ranges that make up
[0, elements), by `tadc_parallel` (`pool.ll`), which the process that loads a kernel provides. It is a
weak symbol: a kernel linked without it works on one thread.
"""

from __future__ import annotations

import re

from tadc.passes.cpu.passing_on import AS_IT_IS_IN_TEXT, MANY

#: The symbol of what calls a function on ranges, from several threads.
PARALLEL = "tadc_parallel"

#: Functions that have calls of others alone: splits, chains, the entry.
_CALLERS = re.compile(
    r"^define (?:internal void @[\w.]+\.(?:split|range|rows)|void @\w+)\(.*?^}\n", re.M | re.S
)
_SPLIT = re.compile(r"^declare void @([\w.]+)\.split\(([^\n]*)\)[^\n]*\n", re.M)


def define_splits(text: str) -> str:
    """LLVM IR text with definitions in the place of declarations of splits."""
    bodies: list[str] = []

    def define(match: re.Match[str]) -> str:
        types = [parameter.split()[0] for parameter in match[2].split(",")]
        bodies.append(_definitions(match[1], types[:-3]))
        return ""

    text = _SPLIT.sub(define, text)
    if not bodies:
        return text
    declaration = f"declare extern_weak void @{PARALLEL}(ptr, ptr, i64, i64, i64)\n"
    return "\n".join([text.rstrip("\n"), "", *bodies, declaration])


def size_of_loops(text: str) -> int:
    """The characters of LLVM IR text, but for callers, which hold no code worth counting."""
    return len(text) - sum(len(found[0]) for found in _CALLERS.finditer(text))


def _definitions(name: str, types: list[str]) -> str:
    """The split of a function, whose arguments but for the range have these types, of 8 bytes each.

    It puts them in an array, out of which `NAME.range` takes them again on each thread.
    """
    numbers = range(len(types))
    left = AS_IT_IS_IN_TEXT if len(types) > MANY else ""
    given = "".join(f"{type} %a{n}, " for n, type in enumerate(types))
    at = [f"  %p{n} = getelementptr i64, ptr %arguments, i64 {n}" for n in numbers]
    store = [f"  store {type} %a{n}, ptr %p{n}" for n, type in enumerate(types)]
    load = [f"  %a{n} = load {type}, ptr %p{n}" for n, type in enumerate(types)]
    return "\n".join(
        [
            f"define internal void @{name}.range(ptr %arguments, i64 %begin, i64 %end){left} {{",
            *at,
            *load,
            f"  call void @{name}({given}i64 %begin, i64 %end)",
            "  ret void",
            "}",
            "",
            f"define internal void @{name}.split({given}i64 %elements, i64 %multiple, i64 %operations)"
            f"{left} {{",
            f"  %arguments = alloca [{len(types)} x i64]",
            *at,
            *store,
            f"  %alone = icmp eq ptr @{PARALLEL}, null",
            "  br i1 %alone, label %one, label %several",
            "one:",
            f"  call void @{name}({given}i64 0, i64 %elements)",
            "  ret void",
            "several:",
            f"  call void @{PARALLEL}(ptr @{name}.range, ptr %arguments, "
            "i64 %elements, i64 %multiple, i64 %operations)",
            "  ret void",
            "}",
            "",
        ]
    )
