"""Kernels within a function that a framework calls: compiled, or from disk, and put into memory."""

from __future__ import annotations

import ctypes
import json
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from tadc.api.execute import unit_of
from tadc.api.function import Function
from tadc.api.recipes import Recipe
from tadc.backend.cpu.jit import load
from tadc.backend.cpu.linking import Library
from tadc.backend.disk_cache import configured
from tadc.backend.object_code import object_code
from tadc.backend.runtime import inspector
from tadc.backend.runtime.interface import Interface
from tadc.compiler.compile_options import Options
from tadc.frontend.source import Source
from tadc.native import scratch_memory
from tadc.native.entry import Entry, entry_of, joined

Frame = Callable[[Interface, Entry], tuple[str, str]]
"""The symbol of the function that the framework calls, and LLVM IR that defines it around the entry."""


@dataclass(frozen=True)
class Framed:
    """The function in memory: its code stays there as long as the library does."""

    interface: Interface
    library: Library
    address: int


def framed_kernel(
    f: Function, framework: str, frame: Frame, externals: Mapping[str, int] | None = None, cuts: bool = False
) -> Framed:
    """The kernel of a function within a frame, which a `framework` of this name and version calls.

    `externals` are addresses of what the frame calls. The kernel `cuts` long fibres, or has calls with these
    run another that does. Raises CompileError as `compile`.
    """
    options = Options(reverse=f.options.reverse, long_fibres=cuts)
    options = options.storing(f.options.materialize, f.options.memory_limit)
    cache = configured()
    key = Recipe(Source(str(f))).key(framework, repr(options), options.backend.tools())
    image = cache.get(key) if cache else None
    if image is None:
        image = _image(f, options, frame)
        if cache:
            cache.put(key, image)
    head, _, code = image.partition(b"\n")
    about = json.loads(head)
    symbol = str(about["symbol"])
    interface = Interface.from_json(about["interface"])
    called = {**(externals or {}), **scratch_memory.addresses()}
    if any(p.below is not None for p in interface.inputs):
        called |= inspector.symbols()
        called |= {} if cuts else {FIND: _finder(f, framework)}
    library = load(code, [symbol], called)
    return Framed(interface, library, library[symbol])


def _finder(f: Function, framework: str) -> int:
    """The address of a function that tells where the entry of a kernel is that cuts long fibres.

    It compiles that at the first call; 0 where it cannot be.
    """
    lock, found = threading.Lock(), list[int]()

    def find() -> int:
        with lock:
            if not found:
                try:
                    made = framed_kernel(f, f"entry of {framework}", _entry_alone, cuts=True)
                except Exception:  # nothing may pass through a framework; the other kernel computes the same
                    found.append(0)
                else:
                    _KEPT.append(made.library)
                    found.append(made.address)
        return found[0]

    called = _Finder(find)
    _KEPT.append(called)
    return ctypes.cast(called, ctypes.c_void_p).value or 0


def _entry_alone(interface: Interface, entry: Entry) -> tuple[str, str]:
    return entry.symbol, ""


_Finder = ctypes.CFUNCTYPE(ctypes.c_size_t)

#: What frameworks may call at any time.
_KEPT: list[Any] = []

FIND = "tadc.find.cutting"
"""The function that code of kernels asks."""


def _image(f: Function, options: Options, frame: Frame) -> bytes:
    """A line of JSON, which says what the code is, and the object code."""
    unit = unit_of(f.program, options)
    has_indices = any(p.below is not None for p in unit.interface.inputs)
    entry = entry_of(unit.interface, FIND if has_indices and not options.long_fibres else "")
    symbol, text = frame(unit.interface, entry)
    code = object_code(joined(unit.llvm_ir, entry.text, text))
    head = {"symbol": symbol, "interface": unit.interface.as_json()}
    return json.dumps(head).encode() + b"\n" + code
