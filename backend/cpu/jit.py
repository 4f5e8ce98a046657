"""Object bytes to addresses in this process."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache

from tadc.backend.cpu.kept_code import linked
from tadc.backend.cpu.linking import Library, link
from tadc.backend.runtime.thread_count import PARALLEL
from tadc.passes.cpu.passing_on import AS_IT_IS_IN_TEXT, MANY


def load(code: bytes, symbols: Sequence[str], externals: Mapping[str, int] | None = None) -> Library:
    """Link an object file into this process, as `link`; code that splits work calls the pool of threads.

    Raises:
        LinkError: the code or the process lacks a symbol.
        ArgumentError: TAD0509, the environment gives no number of threads.
    """
    externals = dict(externals or {})
    if PARALLEL.encode() in code and PARALLEL not in symbols:
        from tadc.backend.cpu.thread_pool import address_of_pool

        externals.setdefault(PARALLEL, address_of_pool())
    return link(code, symbols, externals)


@cache
def trampoline(count: int) -> Library:
    """Code for `call(function, array)`: calls a function with `count` pointers that an array holds."""
    return linked(passing(count, "call"), ["call"], level=1)


def passing(count: int, name: str) -> str:
    """LLVM IR of a function that calls another with `count` pointers that an array holds."""
    left = AS_IT_IS_IN_TEXT if count > MANY else ""
    lines = [f"define void @{name}(ptr %function, ptr %array){left} {{"]
    for n in range(count):
        lines.append(f"  %at{n} = getelementptr ptr, ptr %array, i64 {n}")
        lines.append(f"  %a{n} = load ptr, ptr %at{n}")
    arguments = ", ".join(f"ptr %a{n}" for n in range(count))
    return "\n".join([*lines, f"  call void %function({arguments})", "  ret void", "}", ""])
