"""Kernels within a function that a framework calls: compiled, or from disk, and put into memory."""

from __future__ import annotations

import ctypes
import json
import logging
import time
import weakref
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cached_property
from typing import Any
from weakref import WeakValueDictionary

from tadc.api.execute import unit_of
from tadc.api.function import Function, function_of, log_kernel
from tadc.api.recipes import Recipe
from tadc.backend.compile_steps import is_logged
from tadc.backend.cpu import scratch_memory
from tadc.backend.cpu.jit import load
from tadc.backend.cpu.linking import Library
from tadc.backend.disk_cache import configured
from tadc.backend.object_code import object_code
from tadc.backend.runtime import inspector
from tadc.backend.runtime.interface import Interface
from tadc.caller.progress import shown_progress
from tadc.compiler.compile_options import Options
from tadc.frontend.forks import new_lock
from tadc.frontend.program import Program
from tadc.frontend.source import Source
from tadc.lattice.late_dataclasses import dataclass
from tadc.native.entry import Entry, entry_of, entry_symbol, joined
from tadc.native.kept_inspection import forget_symbol, has_indices

Frame = Callable[[Interface, Entry], tuple[str, str]]
"""The symbol of the function that the framework calls, and LLVM IR that defines it around the entry."""


@dataclass(frozen=True, eq=False)
class Framed:
    """The function in memory: its code, and what that keeps of calls, stay as long as this does."""

    interface: Interface
    library: Library
    address: int
    #: The address of the kernel's entry, by which those who watch calls know it, and what it computes.
    entry: int
    asked: _Asked
    #: The kernel that the code asks for where calls have long fibres, and the function by which it asks.
    cutting: _Cutting | None = None
    finder: Any = None

    @cached_property
    def function(self) -> Function:
        """The function of the kernel."""
        return function_of(lambda: self.asked.program, self.asked.recipe, self.asked.options)

    def forget(self) -> None:
        """Free what the code keeps of the last call; another call looks at its index arrays anew."""
        if has_indices(self.interface):
            _forget(self.library, self.interface)
        if self.cutting is not None and self.cutting.made is not None:
            self.cutting.made.forget()


def framed_kernel(
    f: Function, framework: str, frame: Frame, externals: Mapping[str, int] | None = None
) -> Framed:
    """The kernel of a function within a frame, which a `framework` of this name and version calls.

    `externals` are addresses of what the frame calls. Calls with long fibres run another kernel, which cuts
    these. Raises CompileError as `compile`.
    """
    return _framed(_Asked(str(f), f.program, f.options, f.recipe), framework, frame, externals or {})


@dataclass(frozen=True)
class _Asked:
    """What is wanted of a function, which need not stay for it."""

    text: str
    program: Program
    options: Options
    recipe: Recipe | None


#: Those of this process, by the addresses of their entries.
FRAMED: WeakValueDictionary[int, Framed] = WeakValueDictionary()


def _framed(
    asked: _Asked, framework: str, frame: Frame, externals: Mapping[str, int], cuts: bool = False
) -> Framed:
    options = Options(reverse=asked.options.reverse, long_fibres=cuts)
    options = options.storing(asked.options.materialize, asked.options.memory_limit)
    cache = configured()
    key = Recipe(Source(asked.text)).key(framework, repr(options), options.backend.tools())
    image, begin = cache.get(key) if cache else None, None
    if image is None:
        begin = time.perf_counter()
        with shown_progress():
            image = _image(asked.program, options, frame)
        if cache:
            cache.put(key, image)
    head, _, code = image.partition(b"\n")
    about = json.loads(head)
    symbol = str(about["symbol"])
    interface = Interface.from_json(about["interface"])
    called = {**externals, **scratch_memory.addresses()}
    entry = entry_symbol(interface)
    symbols = dict.fromkeys([symbol, entry])
    if not has_indices(interface):
        library = load(code, [*symbols], called)
        plain = Framed(interface, library, library[symbol], library[entry], asked)
        return _known(plain, framework, begin)
    cutting = None if cuts else _Cutting(asked, f"entry of {framework}")
    finder = cutting and _Finder(cutting)
    called |= inspector.symbols()
    if finder is not None:
        called[FIND] = ctypes.cast(finder, ctypes.c_void_p).value or 0
    library = load(code, [*symbols, forget_symbol(interface)], called)
    made = Framed(interface, library, library[symbol], library[entry], asked, cutting, finder)
    _known(made, framework, begin)
    # The code stays until this has run. At the end of the process all is freed anyway.
    weakref.finalize(made, _forget, library, interface).atexit = False
    return made


def _known(made: Framed, framework: str, begin: float | None) -> Framed:
    FRAMED[made.entry] = made
    if is_logged(logging.INFO):
        log_kernel(made.function, framework, begin)
    return made


def _forget(library: Library, interface: Interface) -> None:
    ctypes.CFUNCTYPE(None)(library[forget_symbol(interface)])()


class _Cutting:
    """The kernel that cuts long fibres, compiled when it is first asked for."""

    def __init__(self, asked: _Asked, framework: str) -> None:
        self._asked, self._framework = asked, framework
        self._lock, self._is_asked = new_lock(), False
        self.made: Framed | None = None

    def __call__(self) -> int:
        """The address of its entry; 0 where it cannot be compiled."""
        with self._lock:
            if not self._is_asked:
                # Nothing may pass through a framework; the other kernel computes the same.
                with suppress(Exception):
                    self.made = _framed(self._asked, self._framework, _entry_alone, {}, cuts=True)
                self._is_asked = True
        return self.made.address if self.made is not None else 0


def _entry_alone(interface: Interface, entry: Entry) -> tuple[str, str]:
    return entry.symbol, ""


_Finder = ctypes.CFUNCTYPE(ctypes.c_size_t)

FIND = "tadc.find.cutting"
"""The function that code of kernels asks."""


def _image(program: Program, options: Options, frame: Frame) -> bytes:
    """A line of JSON, which says what the code is, and the object code."""
    unit = unit_of(program, options)
    asks = has_indices(unit.interface) and not options.long_fibres
    entry = entry_of(unit.interface, FIND if asks else "")
    symbol, text = frame(unit.interface, entry)
    code = object_code(joined(unit.llvm_ir, entry.text, text))
    head = {"symbol": symbol, "interface": unit.interface.as_json()}
    return json.dumps(head).encode() + b"\n" + code
