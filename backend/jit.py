"""Object bytes to addresses in this process."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from functools import cache
from typing import Any

from tadc.backend.object_code import LLVM_LOCK, object_code
from tadc.backend.pool import address_of_pool
from tadc.backend.splitting import PARALLEL
from tadc.backend.target import binding, host_machine

_numbers = itertools.count()
_jit: Any = None


class Library:
    """Loaded object code; its code stays in memory as long as this object does."""

    def __init__(self, tracker: Any, addresses: dict[str, int]) -> None:
        self._tracker = tracker
        self.addresses = addresses

    def __getitem__(self, symbol: str) -> int:
        """The address of a symbol that `load` was asked for."""
        return self.addresses[symbol]


def load(code: bytes, symbols: Sequence[str]) -> Library:
    """Link an object file into this process; each call has a namespace of its own.

    Code that splits work calls the pool of threads.

    Raises:
        LinkError: the code or the process lacks a symbol.
        ArgumentError: TAD0509, the environment gives no number of threads.
    """
    global _jit
    llvm = binding()
    pool = address_of_pool() if PARALLEL.encode() in code and PARALLEL not in symbols else None
    with LLVM_LOCK:
        if _jit is None:
            _jit = llvm.create_lljit_compiler(host_machine(2))
        builder = llvm.JITLibraryBuilder().add_object_img(code).add_current_process()
        if pool is not None:
            builder.import_symbol(PARALLEL, pool)
        for symbol in symbols:
            builder.export_symbol(symbol)
        try:
            tracker = builder.link(_jit, f"tadc.{next(_numbers)}")
            return Library(tracker, {symbol: tracker[symbol] for symbol in symbols})
        except (RuntimeError, KeyError) as error:
            raise LinkError(f"cannot link {', '.join(symbols)}: {error}") from error


class LinkError(RuntimeError):
    """Object code that needs or lacks a symbol."""


@cache
def trampoline(count: int) -> Library:
    """Code for `call(function, array)`: calls a function with `count` pointers that an array holds."""
    lines = ["define void @call(ptr %function, ptr %array) {"]
    for n in range(count):
        lines.append(f"  %at{n} = getelementptr ptr, ptr %array, i64 {n}")
        lines.append(f"  %a{n} = load ptr, ptr %at{n}")
    arguments = ", ".join(f"ptr %a{n}" for n in range(count))
    lines += [f"  call void %function({arguments})", "  ret void", "}", ""]
    return load(object_code("\n".join(lines), 1), ["call"])
