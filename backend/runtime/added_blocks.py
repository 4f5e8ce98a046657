"""Machine code that adds the numbers of lists while they are in a cache: `backend/cpu/added_blocks.ll`.

A kernel computes some rows of all lists, which are added to their slots before it computes the next ones.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from tadc.backend.cpu.kept_code import own_code
from tadc.backend.runtime.addresses import addresses
from tadc.backend.runtime.thread_count import PARALLEL
from tadc.backend.runtime.workspace import ALIGNMENT, workspace
from tadc.frontend.dtypes import COMPUTED, DTYPES
from tadc.lattice.late_dataclasses import dataclass

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tadc.backend.cpu.linking import Library
    from tadc.backend.runtime.host_kernel import HostKernel

    Array = NDArray[Any]

_TYPES = {DTYPES[name].library: DTYPES[name].llvm for name in COMPUTED}

#: What the code takes besides the arguments of the kernel, in this order; those that are no addresses.
_ABOUT = ("starts", "count", "kernel", "slots", "sums", "rooms", "room.bytes")
_NUMBERS = ("count", "room.bytes")


@dataclass(frozen=True)
class Runs:
    """Where the numbers of rows are added, those of a run side by side: `length` of them.

    Parts of the rows begin at `starts`. `slots` has an element for each row and run; `places` says in
    elements where the first number of each run is in the memory of a block, and how far it is to the next.
    """

    starts: Array
    slots: Array
    places: tuple[tuple[int, int], ...]
    length: int


@lru_cache(64)
def _code(text: str) -> tuple[Callable[..., Any], Library]:
    """The function of LLVM IR, and what keeps its code in memory."""
    from tadc.backend.cpu.kept_code import linked
    from tadc.backend.cpu.thread_pool import address_of_pool

    library = linked(text, ["tadc_added_parts"], {PARALLEL: address_of_pool()}, level=2)
    kind = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)
    return kind(library["tadc_added_parts"]), library


class BlockKernel:
    """A kernel for so many rows of all lists, and those of its inputs that have rows."""

    def __init__(
        self, kernel: HostKernel, rows: int, with_rows: Sequence[str], sizes: Mapping[str, int]
    ) -> None:
        self.kernel, self.rows = kernel, rows
        self.with_rows = frozenset(with_rows)
        self.sizes = tuple(sizes[name] for name in kernel.sizes.names)
        self.outputs = [p.at(sizes) for p in kernel.outputs]
        self.dtypes = {p.dtype for p in self.outputs}
        between = workspace([t.at(sizes) for t in kernel.temporaries])
        places, end = list[int](), 0
        for output in self.outputs:
            places.append(end)
            end += -(-output.bytes // ALIGNMENT) * ALIGNMENT
        #: Where each of its outputs is in the memory for a block, and then what is in between.
        self.places = (*places, *(end + offset for offset in between.offsets))
        self.bytes = -(-(end + between.bytes) // ALIGNMENT) * ALIGNMENT
        #: The code of the last call, with the runs that it was made for.
        self._added: tuple[Runs, Callable[..., Any], Library] | None = None

    def add(self, inputs: Mapping[str, Array], runs: Runs, sums: Array, work: int) -> None:
        """Compute all rows of the inputs, and add them to sums, which are 0 before. Arrays are contiguous."""
        from tadc.backend.cpu.scratch_memory import scratch

        parts = len(runs.starts) - 1
        given = [inputs[p.name] for p in self.kernel.inputs]
        starts, slots, to, *at = (
            address or 0 for address in addresses((runs.starts, runs.slots, sums, *given))
        )
        known = self._added
        if known is None or known[0] is not runs:
            known = self._added = runs, *_code(self._text(runs))
        with scratch(self.bytes * parts) as room:
            about = [starts, int(runs.starts[-1]), self.kernel.address, slots, to, room, self.bytes]
            for array, address, parameter in zip(given, at, self.kernel.inputs, strict=True):
                about += [address, array.strides[0] if parameter.name in self.with_rows else 0]
            words = np.array([*about, *self.places, *self.sizes], np.int64)
            known[1](addresses((words,))[0], parts, work)

    def _text(self, runs: Runs) -> str:
        """LLVM IR for runs at these places."""
        (dtype,) = self.dtypes
        text = own_code("added_blocks.ll")
        words = {"LOADED": self._loaded(), "KERNEL": self._call(), "ADDED": _added(runs)}
        comment, _, code = text.partition("define")
        for word, lines in {**words, "ROWS": [str(self.rows)], "RUNS": [str(len(runs.places))]}.items():
            code = code.replace(word, "\n".join(lines))
        return comment + "define" + re.sub(r"\bT\b", _TYPES[dtype.name], code)

    def _loaded(self) -> list[str]:
        inputs = len(self.kernel.inputs)
        names = [*_ABOUT, *(f"{what}.{n}" for n in range(inputs) for what in ("base", "stride"))]
        names += [f"place.{n}" for n in range(len(self.places))] + [
            f"size.{n}" for n in range(len(self.sizes))
        ]
        lines: list[str] = []
        for n, name in enumerate(names):
            is_address = (name in _ABOUT and name not in _NUMBERS) or name.startswith("base.")
            lines.append(f"  %{name}.in = getelementptr i64, ptr %about, i64 {n}")
            lines.append(f"  %{name} = load {'ptr' if is_address else 'i64'}, ptr %{name}.in")
        return lines

    def _call(self) -> list[str]:
        lines: list[str] = []
        operands: list[str] = []
        for n in range(len(self.kernel.inputs)):
            lines.append(f"  %offset.{n} = mul i64 %at, %stride.{n}")
            lines.append(f"  %input.{n} = getelementptr i8, ptr %base.{n}, i64 %offset.{n}")
            operands.append(f"ptr %input.{n}")
        for n in range(len(self.places)):
            lines.append(f"  %output.{n} = getelementptr i8, ptr %room, i64 %place.{n}")
            operands.append(f"ptr %output.{n}")
        operands += [f"i64 %size.{n}" for n in range(len(self.sizes))]
        return [*lines, f"  call void %kernel({', '.join(operands)})"]


def _added(runs: Runs) -> list[str]:
    """All numbers of a run and their sums are read before one is written: they are apart."""
    lines: list[str] = []
    for n, (first, step) in enumerate(runs.places):
        lines += [
            f"  %slot.at.{n} = getelementptr i32, ptr %slots.lane, i64 {n}",
            f"  %slot.{n} = load i32, ptr %slot.at.{n}",
            f"  %slot.wide.{n} = zext i32 %slot.{n} to i64",
            f"  %sum.at.{n} = getelementptr T, ptr %sums, i64 %slot.wide.{n}",
        ]
        each = [f"{n}.{k}" for k in range(runs.length)]
        for k, name in enumerate(each):
            lines += [
                f"  %to.{name} = getelementptr T, ptr %sum.at.{n}, i64 {k}",
                f"  %from.{name} = getelementptr T, ptr %values, i64 {first + k * step}",
                f"  %value.{name} = load T, ptr %from.{name}",
                f"  %sum.{name} = load T, ptr %to.{name}",
                f"  %more.{name} = fadd T %sum.{name}, %value.{name}",
            ]
        lines += [f"  store T %more.{name}, ptr %to.{name}" for name in each]
    return lines
