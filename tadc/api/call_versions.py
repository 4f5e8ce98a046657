"""What calls make of a kernel: versions for their sizes, for long fibres, and versions that take less memory.

A version takes less memory where large tensors in between are computed again. First the largest is not
stored, then the next, until all fits; if that is not enough, the same without those that the compiler makes.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Protocol

from tadc.backend.compile_steps import log
from tadc.backend.runtime.fitting import Fitted
from tadc.lattice.late_dataclasses import dataclass, replace

if TYPE_CHECKING:
    from tadc.api.compiled import Compiled
    from tadc.backend.runtime.interface import Interface
    from tadc.compiler.compile_options import Options
    from tadc.frontend.program import Program

ROUNDS = 8
"""So many times the largest tensors are left out."""


class VersionedFunction(Protocol):
    """What is asked of a function."""

    @property
    def program(self) -> Program:
        """The checked program."""
        ...

    @property
    def outputs(self) -> tuple[str, ...]:
        """The names of the results."""
        ...

    @property
    def options(self) -> Options:
        """Which tensors it stores, among others."""
        ...

    def at(self, sizes: Mapping[str, int]) -> VersionedFunction:
        """The function for values of size symbols."""
        ...

    def storing(
        self, materialize: str | None = None, memory_limit: int | str | None = None
    ) -> VersionedFunction:
        """The function that stores other tensors in between."""
        ...

    def compiled_for(self, options: Options) -> Compiled:
        """The kernel of other options."""
        ...


def adapt_to_calls(kernel: Any, f: VersionedFunction, options: Options) -> None:
    """Let calls of a kernel compile versions of the function that it was made from."""
    if options.schedule is not None:
        return
    if getattr(kernel, "versions", None) is not None:
        kernel.versions.make = partial(_version, f, options)
    if not hasattr(kernel, "fitting"):
        return
    kernel.limit = options.memory_limit
    kernel.fitting.make = partial(_fitted, f, options)
    if options.memory_limit is None and options.reverse == "store":
        kernel.saving.make = partial(_saving, f, options)
    if not options.long_fibres:
        kernel.cutting.make = partial(_cutting, f, options)


def _version(f: VersionedFunction, options: Options, sizes: Mapping[str, int]) -> Any:
    """The kernel for some sizes. Raises CompileError as `compile`."""
    log(
        logging.INFO,
        "a call is worth a version for %s",
        ", ".join(f"{name}={n}" for name, n in sizes.items()),
    )
    return f.at(sizes).compiled_for(options).kernel


def _cutting(f: VersionedFunction, options: Options) -> Any:
    """The kernel that cuts long fibres. Raises CompileError as `compile`."""
    log(logging.INFO, "a call has long fibres: a version that cuts them")
    return f.compiled_for(replace(options, long_fibres=True)).kernel


def _fitted(f: VersionedFunction, options: Options, sizes: Mapping[str, int], free: int) -> Fitted[Any]:
    """The first kernel tried that takes no more than so many bytes. Raises CompileError as `compile`."""
    log(
        logging.INFO,
        "a call has %d bytes for results and tensors in between: a version that takes less",
        free,
    )
    tried: list[_Tried] = []
    for found in _smaller(f.at(sizes), options, free):
        if found.bytes <= free:
            return Fitted(found.function.compiled_for(options).kernel, found.bytes)
        tried.append(found)
    least = min(tried, key=lambda found: found.bytes)
    helps = tuple(_results_that_fit(least.function, options, free))
    return Fitted(None, least.bytes, least.interface.temporaries, least.reason, helps)


def _saving(f: VersionedFunction, options: Options, sizes: Mapping[str, int], most: int) -> Fitted[Any]:
    """The kernel that saves some steps of recurrences, if its tensors in between then take no more than so
    many bytes. Raises CompileError as `compile`."""
    options = replace(options, steps_limit=most)
    found = _tried(f.at(sizes), options)
    kernel = found.function.compiled_for(options).kernel if found.between <= most else None
    return Fitted(kernel, found.between)


@dataclass(frozen=True)
class _Tried:
    """A function, and what calls know of its kernel, which is not compiled."""

    function: VersionedFunction
    form: Program
    interface: Interface

    @cached_property
    def between(self) -> int:
        from tadc.backend.runtime.workspace import workspace

        return workspace(self.interface.temporaries).bytes

    @property
    def bytes(self) -> int:
        """The memory of a call: of its results, and of what is in between."""
        return sum(p.bytes for p in self.interface.outputs) + self.between

    @property
    def reason(self) -> str:
        """Why the largest tensor in between is not computed again."""
        from tadc.passes.rewrites.recomputed import reason_to_store

        largest = max(self.interface.temporaries, key=lambda t: t.tensor.bytes)
        return reason_to_store(self.form, largest.tensor.name)


def _smaller(f: VersionedFunction, options: Options, free: int) -> Iterator[_Tried]:
    """The function with fewer and fewer tensors in between."""
    for materialize in dict.fromkeys((options.materialize, "never")):
        limit = min(free, free if options.memory_limit is None else options.memory_limit)
        for _ in range(ROUNDS):
            found = _tried(f.storing(materialize, limit), options)
            yield found
            stored = [t.tensor.bytes for t in found.interface.temporaries]
            left = [size for size in stored if size <= limit]
            # What is larger than the limit cannot be computed again.
            if max(stored, default=0) > free or not left:
                break
            room = free - sum(p.bytes for p in found.interface.outputs)
            limit = max(0, min(max(left) - 1, room))


def _tried(f: VersionedFunction, options: Options, program: Program | None = None) -> _Tried:
    """What calls would know of a function, or of a program in the place of its own."""
    from tadc.compiler.all_stages import compile_until
    from tadc.compiler.kernel_interface import interface_of
    from tadc.compiler.stages import Compilation, fuse
    from tadc.dialect.mlir import LOCK

    program = f.program if program is None else program
    how = options.storing(f.options.materialize, f.options.memory_limit).of_derived
    state = Compilation(how, program.source, program=program)
    compile_until(state, "hoist", first="tad")
    assert state.form is not None
    with LOCK:
        fuse(state)
    return _Tried(f, state.form, interface_of(state, program))


def _results_that_fit(f: VersionedFunction, options: Options, free: int) -> Iterator[str]:
    """What to ask for instead: results of which one alone fits, among the first few."""
    from tadc.backend.runtime.free_memory import format_bytes
    from tadc.passes.terms.liveness import needed

    program = f.program
    for name in f.outputs[:ROUNDS] if len(f.outputs) > 1 else ():
        definitions = [replace(d, is_output=d.name == name) for d in program.definitions]
        size = _tried(f, options, replace(program, definitions=needed(definitions))).bytes
        if size <= free:
            yield f"ask for fewer results at a time: `{name}` alone takes {format_bytes(size)}"
