"""Object code put into memory, its symbols bound to addresses."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from tadc.backend.compile_steps import step
from tadc.backend.cpu import elf

_numbers = itertools.count()
_jit: Any = None


class Library:
    """Loaded object code; its code stays in memory as long as this object does."""

    def __init__(self, keepalive: Any, addresses: dict[str, int]) -> None:
        self._keepalive = keepalive
        self.addresses = addresses

    def __getitem__(self, symbol: str) -> int:
        """The address of a symbol that `load` was asked for."""
        return self.addresses[symbol]


def link(code: bytes, symbols: Sequence[str], externals: Mapping[str, int] | None = None) -> Library:
    """Link an object file into this process; each call has a namespace of its own.

    `externals` are addresses of symbols that the code calls, by name; others are those of the process.

    Raises:
        LinkError: the code or the process lacks a symbol.
    """
    externals = externals or {}
    try:
        with step("link"):
            image = elf.place(code, symbols, elf.resolver(externals))
    except elf.Unsupported:
        return _load_by_llvm(code, symbols, externals)
    except (LookupError, OSError) as error:
        raise LinkError(f"cannot link {', '.join(symbols)}: {error}") from error
    return Library(image, image.addresses)


def _load_by_llvm(code: bytes, symbols: Sequence[str], externals: Mapping[str, int]) -> Library:
    """Link by LLVM, which knows every object format; it takes 40 ms to load."""
    global _jit
    from tadc.backend.binding import binding
    from tadc.backend.cpu.processors import host
    from tadc.frontend.forks import LLVM_LOCK

    llvm = binding()
    with LLVM_LOCK:
        if _jit is None:
            # LLVM's older linker, Windows' one, ends a process on AArch64 whose libraries are far away.
            jit_link = sys.platform != "win32"
            _jit = llvm.create_lljit_compiler(host().target_machine(2), use_jit_link=jit_link)
        builder = llvm.JITLibraryBuilder().add_object_img(code)
        for name, address in externals.items():
            builder.import_symbol(name, address)
        builder.add_current_process()
        for symbol in symbols:
            builder.export_symbol(symbol)
        try:
            tracker = builder.link(_jit, f"tadc.{next(_numbers)}")
            return Library(tracker, {symbol: tracker[symbol] for symbol in symbols})
        except (RuntimeError, KeyError) as error:
            raise LinkError(f"cannot link {', '.join(symbols)}: {error}") from error


class LinkError(RuntimeError):
    """Object code that needs or lacks a symbol."""
