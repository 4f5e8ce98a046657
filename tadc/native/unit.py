"""A function and its derivatives as one unit of native code: what C calls, by a prefix that is chosen."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cached_property

from tadc.api.execute import unit_of
from tadc.api.function import Function, Origin
from tadc.backend.backend_errors import backend_error
from tadc.backend.base import Target, Unit
from tadc.backend.cpu.processors import processor_of
from tadc.backend.cpu.thread_pool import pool_text, system_of
from tadc.backend.object_code import one_object
from tadc.backend.runtime.interface import Interface
from tadc.backend.runtime.thread_count import MOST
from tadc.backend.splitting import on_one_thread
from tadc.compiler.compile_options import Options
from tadc.frontend.diagnostics import CompileError, Diagnostic
from tadc.lattice.late_dataclasses import dataclass, replace
from tadc.native.checked import checked_functions, kernel_symbol
from tadc.native.inspection import NativeInspection

THREADS = ("none", "host", "pool")
"""Who shares work among threads: nobody, a function of the host, or threads of the library itself."""


@dataclass(frozen=True)
class UnitPart:
    """A function of a unit: its name in C, what it is of the program, its kernel; and that which takes calls
    with long fibres, which has no name outside."""

    name: str
    about: str
    unit: Unit
    cutting: UnitPart | None = None

    @property
    def interface(self) -> Interface:
        """What calls need to know of the kernel."""
        return self.unit.interface

    def texts(self, threads: str) -> list[str]:
        """LLVM IR that defines the function, its kernel inside; of that which cuts fibres too."""
        symbol = re.escape(self.interface.symbol)
        kernel = kernel_symbol(self.interface)
        text = re.sub(rf"^define void @{symbol}\(", f"define internal void @{kernel}(", self.unit.llvm_ir,
                      flags=re.M)  # fmt: skip
        text = on_one_thread(text) if threads == "none" else text
        cutting = self.cutting.name if self.cutting is not None else ""
        others = self.cutting.texts(threads) if self.cutting is not None else []
        return [f"{text}\n{checked_functions(self.name, self.interface, cutting)}", *others]


@dataclass(frozen=True)
class NativeUnit:
    """Functions that belong together, for one processor."""

    prefix: str
    parts: tuple[UnitPart, ...]
    options: Options
    threads: str = "none"

    @cached_property
    def symbols(self) -> tuple[str, ...]:
        """The names that a linker sees, in order."""
        names = [name for part in self.parts for name in (part.name, f"{part.name}_scratch")]
        return (*names, f"{self.prefix}_threads") if self.threads == "pool" else tuple(names)

    def texts(self) -> list[str]:
        """LLVM IR that defines all functions."""
        texts = [text for part in self.parts for text in part.texts(self.threads)]
        return [*texts, self._pool()] if self.threads == "pool" else texts

    def _pool(self) -> str:
        """The pool of threads, and what sets their number: 1 at first, so that programs have none unasked."""
        processor = processor_of(self.options.target.architecture, self.options.target.backend)
        return (
            pool_text(system_of(processor) or "", processor.machine)
            + f"""
@asked = internal global i32 0
declare i32 @pthread_atfork(ptr, ptr, ptr)
define void @{self.prefix}_threads(i64 %threads) {{
  %before = atomicrmw xchg ptr @asked, i32 1 acq_rel
  %is.first = icmp eq i32 %before, 0
  br i1 %is.first, label %first, label %set
first:
  call i32 @pthread_atfork(ptr null, ptr null, ptr @tadc_pool_forget)
  br label %set
set:
  %some = icmp sgt i64 %threads, 1
  %least = select i1 %some, i64 %threads, i64 1
  %many = icmp sgt i64 %least, {MOST}
  %count = select i1 %many, i64 {MOST}, i64 %least
  call void @tadc_pool_resize(i64 %count)
  ret void
}}
"""
        )

    def object(self) -> bytes:
        """One object file of all functions."""
        processor = processor_of(self.options.target.architecture, self.options.target.backend)
        return one_object(self.texts(), frozenset(self.symbols), self.options.level, processor)


def native_unit(
    f: Function,
    derivatives: Sequence[tuple[str, str, Function]],
    options: Options,
    prefix: str | None = None,
    threads: str = "none",
) -> NativeUnit:
    """The unit of a function and of derivatives: `(suffix of the name, what it is, function)`.

    Without a prefix names begin with `tad_` and the first output.

    Raises CompileError as `compile`, TAD0405 for a program without outputs.
    """
    if not f.outputs:
        raise CompileError([Diagnostic("TAD0405", "the program defines no output", source=f.program.source)])
    _check_threads(threads, options.target)
    prefix = prefix or f"tad_{f.outputs[0]}"
    wanted = [("", "the value", f), *derivatives]
    parts = tuple(_part(prefix + suffix, about, g, options) for suffix, about, g in wanted)
    return NativeUnit(prefix, parts, options, threads)


def _part(name: str, about: str, f: Function, options: Options) -> UnitPart:
    options = replace(options.of_derived, **_storing(f))
    whole = unit_of(f.program, replace(options, long_fibres=False))
    if not NativeInspection(whole.interface).has_long:
        return UnitPart(name, about, whole)
    cutting = unit_of(f.program, replace(options, long_fibres=True))
    is_cut = cutting.interface != whole.interface
    return UnitPart(name, about, whole, UnitPart(f"{name}_cutting", about, cutting) if is_cut else None)


def _check_threads(threads: str, target: Target) -> None:
    """Raises CompileError (TAD0706) for threads that a target does not have."""
    if threads == "none":
        return
    processor = processor_of(target.architecture, target.backend)
    if not processor.has_libm:
        raise backend_error("TAD0706", f"target `{target}` has one thread", [], ["leave `threads` out"])
    if threads == "pool" and system_of(processor) is None:
        note = "the threads of a library are for Linux and macOS, on x86-64 and AArch64"
        help = "with `host` a function of the program shares work among threads"
        raise backend_error("TAD0706", f"target `{target}` has no threads of its own", [note], [help])


def _storing(f: Function) -> dict[str, object]:
    return {name: getattr(f.options, name) for name in ("materialize", "memory_limit", "reverse")}


def derivatives_of(
    f: Function, wrt: Sequence[str], mode: str = "vjp", *, values: bool = False, reverse: str = "store"
) -> list[tuple[str, str, Function]]:
    """The derivatives of a unit by inputs: gradients, with `values` also those beside the value, or tangents.

    Raises CompileError where there are none.
    """

    def derivative(mode: str) -> Function:
        return Origin(f, replace(f.options, mode=mode, wrt=tuple(wrt), reverse=reverse)).function()

    if mode == "jvp":
        return [("_jvp", "the value and its tangents", derivative("jvp"))]
    found = [("_vjp", "gradients from cotangents", derivative("vjp"))]
    if values:
        found.append(
            ("_value_and_vjp", "the value, and gradients from cotangents", derivative("value-and-vjp"))
        )
    return found
