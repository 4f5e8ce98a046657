"""Kernels within a function that a framework calls: compiled, or from disk, and put into memory."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass

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
    f: Function, framework: str, frame: Frame, externals: Mapping[str, int] | None = None
) -> Framed:
    """The kernel of a function within a frame, which a `framework` of this name and version calls.

    `externals` are addresses of what the frame calls. Raises CompileError as `compile`.
    """
    options = Options(reverse=f.options.reverse).storing(f.options.materialize, f.options.memory_limit)
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
    library = load(code, [symbol], called)
    return Framed(interface, library, library[symbol])


def _image(f: Function, options: Options, frame: Frame) -> bytes:
    """A line of JSON, which says what the code is, and the object code."""
    unit = unit_of(f.program, options)
    entry = entry_of(unit.interface)
    symbol, text = frame(unit.interface, entry)
    code = object_code(joined(unit.llvm_ir, entry.text, text))
    head = {"symbol": symbol, "interface": unit.interface.as_json()}
    return json.dumps(head).encode() + b"\n" + code
