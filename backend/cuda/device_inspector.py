"""Index arrays that lie on a GPU: looked at, and others made of them, where they are.

The kernels are `inspector.mlir`; what they make is bit for bit what the CPU makes. A thread counts a run of
its own, so a sort takes a table of digits by threads. Keys are sorted by 8 bits after 8 bits, always stably.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, partial
from hashlib import sha256
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tadc.backend.cuda.architectures import CUDA_ARCHITECTURES
from tadc.backend.cuda.device_arrays import DeviceArray
from tadc.backend.disk_cache import configured
from tadc.backend.fingerprint import fingerprint
from tadc.backend.runtime.inspector import INDEX_LIMIT, signatures
from tadc.frontend.diagnostics import CompileError

if TYPE_CHECKING:
    from tadc.backend.cuda.device import Device
    from tadc.backend.cuda.device_arrays import View

    Placed = DeviceArray | View

_INDEX = np.dtype(np.int32)

#: Threads of a block, and digits of 8 bits.
_BLOCK, _DIGIT, _DIGITS = 256, 8, 256

#: Functions that a kernel does with a thread for each place.
_EACH = frozenset(
    "cells counted crossed filled looked narrowed quotients rests subscripts summed taken".split()
)

#: How far apart the sequences of two seeds begin.
_SEED = 2135587861

#: A run has at least so many elements, and the table of a sort at most so many columns.
_RUN, _COLUMNS = 64, 1 << 14


@cache
def kernels() -> bytes:
    """PTX that every architecture takes, from disk where it is there."""
    text = Path(__file__).with_name("inspector.mlir").read_text()
    cache = configured()
    key = sha256(f"device inspector {fingerprint()} {text}".encode()).hexdigest()
    found = cache.get(key) if cache else None
    if found is None:
        found = _compiled(text)
        if cache:
            cache.put(key, found)
    return found


@cache
def has_kernels() -> bool:
    """Whether there are kernels: kernels of programs run without the compiler that makes these."""
    try:
        return bool(kernels())
    except (CompileError, ImportError):
        return False


def _compiled(text: str) -> bytes:
    from tadc.backend.cuda.lowering import lower
    from tadc.backend.cuda.ptx import emit_ptx
    from tadc.backend.pipelines import translate
    from tadc.dialect import mlir

    with mlir.LOCK, mlir.new_context():
        module = mlir.ir.Module.parse(text)
        module.operation.attributes["gpu.container_module"] = mlir.ir.UnitAttr.get()
        lower(module, with_lines=False)
        llvm = translate(module, "nvvm")
    return emit_ptx(llvm, CUDA_ARCHITECTURES[0], use_libdevice=False).encode()


class DeviceInspector:
    """The functions of `backend/cpu/inspector.ll`, of arrays on a device, in the order of a stream.

    Arrays are contiguous, of 32-bit integers; those of 64 bits are memory of twice as many.
    """

    def __init__(self, device: Device, stream: int) -> None:
        self.device, self.stream = device, stream

    def largest(self, array: Placed) -> int:
        """The largest element, taken as unsigned; -1 of none. Waits for it."""
        return self._most(array) if prod(array.shape) else -1

    def falls(self, array: Placed) -> bool:
        """Whether an element is less than the one before. Waits for it."""
        pairs = prod(array.shape) - 1
        if pairs < 1:
            return False
        threads = -(-pairs // _RUN)
        found = self.new((threads,))
        self._launch("falls", [array, found], [pairs, _RUN], threads)
        return bool(self._most(found))

    def differ(self, some: Sequence[Placed], others: Sequence[Placed]) -> bool:
        """Whether an element differs from that of the array at its place, of as many. Waits for it."""
        found = self.new((1,))
        self._fill(found)
        for one, other in zip(some, others, strict=True):
            count = prod(one.shape)
            self._launch("differs", [one, other, found], [count, _RUN], -(-count // _RUN))
        return bool(np.asarray(found)[0])

    def copy(self, array: Placed) -> DeviceArray:
        """An array with the same elements."""
        made = self.new(array.shape)
        self._copy(array, made, prod(array.shape))
        return made

    def function(self, name: str) -> Callable[..., None]:
        """What does a function of the inspector."""
        return partial(self._each, name) if name in _EACH else getattr(self, f"_{name}")

    def _each(self, name: str, *operands: Any) -> None:
        """A kernel for as many places as the first number says."""
        kinds = signatures()[name][1]
        arrays = [operand for operand, kind in zip(operands, kinds, strict=True) if kind == "ptr"]
        count, *numbers = [operand for operand, kind in zip(operands, kinds, strict=True) if kind != "ptr"]
        self._launch(name, arrays, numbers, count)

    def _sort(
        self, keys: Placed, order: Placed | None, count: int, below: int, starts: Placed, places: Placed
    ) -> None:
        if order is None:
            order = self.new((count,))
            self._launch("numbers", [order], [], count)
        for shift in range(0, max(below - 1, 0).bit_length() if count else 0, _DIGIT):
            order = self._by_digit(keys, order, count, shift)
        self._copy(order, places, count)
        self._launch("starts", [keys, places, starts], [count], below + 1)

    def _starts(self, cells: Placed, count: int, starts: Placed, extent: int) -> None:
        numbers, places = self.new((count,)), self.new((count,))
        self._each("narrowed", cells, count, numbers)
        self._sort(numbers, None, count, extent - 1, starts, places)

    def _owners(self, starts: Placed, ends: int, count: int, to: Placed) -> None:
        self._launch("owners", [starts, to], [ends, ends - 1], count)

    def _wholes(
        self, begins: Placed, ends: Placed | None, count: int, length: int, most: int, to: Placed
    ) -> None:
        behind = ends or _start(begins) + _INDEX.itemsize
        self._launch("counts", [begins, behind, to], [length], count)
        if count:
            self._scan(to, count, most)

    def _parts(self, begins: Placed, before: Placed, count: int, length: int, to: Placed, most: int) -> None:
        owners, rows = self.new((most,)), max(count - 1, 0)
        self._launch("owners", [before, owners], [count, rows], most)
        self._launch("parts", [begins, before, owners, to], [length, rows], most)

    def _joined(self, one: Placed, count: int, other: Placed, more: int, to: Placed) -> None:
        self._copy(one, to, count)
        self._copy(other, _start(to) + count * _INDEX.itemsize, more)

    def _ranks(self, order: Placed, count: int, first: int, asked: int, to: Placed) -> None:
        others = self.new((count,))
        self._launch("others", [order, others], [first, asked], count)
        if count:
            self._scan(others, count)
        self._launch("ranks", [order, others, to], [first, asked], count)

    def _spread(self, to: Placed, count: int, seed: int, starts: Placed, rows: int) -> None:
        lengths = self.new((rows + 1,))
        self._launch("counts", [starts, _start(starts) + _INDEX.itemsize, lengths], [1], rows + 1)
        longest = max(self._most(lengths), 1)
        self._launch("spread", [to], [seed * _SEED & 0xFFFFFFFF, longest], count)

    def _by_digit(self, keys: Placed, order: Placed, count: int, shift: int) -> DeviceArray:
        """The places in the order of a digit of their keys, of equal ones in the order given."""
        run = max(_RUN, -(-count // _COLUMNS))
        threads = -(-count // run)
        table, made = self.new((_DIGITS * threads,)), self.new((count,))
        self._launch("tally", [keys, order, table], [count, run], threads, shift)
        self._scan(table, _DIGITS * threads)
        self._launch("place", [keys, order, table, made], [count, run], threads, shift)
        return made

    def _scan(self, cells: Placed, count: int, most: int = INDEX_LIMIT - 1) -> None:
        """Each cell becomes the sum of those before it, at most so much: of runs, of runs of these, down to
        one."""
        threads = -(-count // _RUN)
        bases = self.new((threads,))
        if threads > 1:
            self._launch("sums", [cells, bases], [count, _RUN], threads, most)
            self._scan(bases, threads, most)
        else:
            self._fill(bases)
        self._launch("scan", [cells, bases], [count, _RUN], threads, most)

    def _fill(self, one: DeviceArray) -> None:
        """The number of the only thread, 0, to the only element."""
        self._launch("numbers", [one], [], 1)

    def _most(self, array: Placed) -> int:
        count = prod(array.shape)
        while True:
            threads = -(-count // _RUN)
            made = self.new((threads,))
            self._launch("most", [array, made], [count, _RUN], threads)
            if threads == 1:
                return int(np.asarray(made).view(np.uint32)[0])
            array, count = made, threads

    def _copy(self, of: Placed, to: Placed | int, count: int) -> None:
        """The first elements of an array to another, or to an address."""
        if count:
            with self.device.current() as driver:
                driver.copy_within(_start(to), _start(of), count * _INDEX.itemsize, self.stream)

    def new(self, shape: Sequence[int]) -> DeviceArray:
        """An array of any content."""
        memory = self.device.allocate(prod(shape) * _INDEX.itemsize, self.stream)
        return DeviceArray(memory, shape, _INDEX)

    def _launch(
        self, name: str, arrays: Sequence[Placed | int], sizes: Sequence[int], threads: int, *more: int
    ) -> None:
        """Run a kernel of so many threads. It takes arrays, sizes, the threads, and what is left."""
        if not threads:
            return
        function = self.device.function(kernels(), name)
        arguments = [*map(_start, arrays), *sizes, threads, *more]
        with self.device.current() as driver:
            grid = (-(-threads // _BLOCK), 1, 1)
            driver.launch(function, grid, (_BLOCK, 1, 1), arguments, self.stream)


def _start(array: Placed | int) -> int:
    if isinstance(array, int):
        return array
    return array.start if isinstance(array, DeviceArray) else array.address


for _name, (_result, _) in signatures().items():
    if _result == "void" and "_" not in _name and _name not in _EACH:
        getattr(DeviceInspector, f"_{_name}")  # what is missing shows before anything runs
