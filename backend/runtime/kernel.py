"""A compiled kernel as a Python callable."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from tadc.backend.runtime.arrays import Array, Parameter, bind
from tadc.backend.runtime.memory import check_memory
from tadc.backend.runtime.outputs import given_outputs, share_memory

#: Below this many bytes memory is not asked for.
_SMALL = 1 << 24

#: A function called through ctypes takes no more arguments than this.
_CTYPES_LIMIT = 1024


def _few(address: int, count: int) -> Callable[..., None]:
    return ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * count)(address)


def _many(address: int, count: int) -> Callable[..., None]:
    # The one place where a call needs a compiler, so it is imported only here.
    from tadc.backend.jit import trampoline

    library = trampoline(count)
    call = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)(library["call"])
    array = ctypes.c_void_p * count

    def run(*addresses: int) -> None:
        call(address, array(*addresses))

    return run


class Kernel:
    """A function `void f(double *, …)` over inputs, then outputs, then temporaries.

    `address` is where its code is, which `keepalive` keeps in memory. Calls from several
    threads at once are fine: each has outputs and temporaries of its own, and the interpreter lock is
    released while the code runs.
    """

    def __init__(
        self,
        address: int,
        symbol: str,
        inputs: Sequence[Parameter],
        outputs: Sequence[Parameter],
        temporaries: Sequence[Parameter] = (),
        keepalive: Any = None,
    ) -> None:
        self.symbol = symbol
        self.inputs = tuple(inputs)
        self.outputs = tuple(outputs)
        self.temporaries = tuple(temporaries)
        self._keepalive = keepalive
        count = len(self.inputs) + len(self.outputs) + len(self.temporaries)
        self._function = _few(address, count) if count <= _CTYPES_LIMIT else _many(address, count)
        self._new = [(p.shape, p.dtype) for p in (*self.outputs, *self.temporaries)]
        self._bytes = sum(p.bytes for p in (*self.outputs, *self.temporaries))

    def __call__(
        self, args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None, out: Any = None
    ) -> list[Array]:
        """Run once; the outputs in order, which are the arrays of `out` where it gives some.

        Raises:
            ArgumentError: all that is wrong with the arguments; nothing has run then.
        """
        inputs = bind(self.inputs, args, kwargs)
        given = None if out is None else given_outputs(self.outputs, out)
        if self._bytes > _SMALL:
            check_memory(self.outputs, self.temporaries)
        if given is None:
            made = [np.empty(shape, dtype) for shape, dtype in self._new]
            self._function(*[a.ctypes.data for a in inputs], *[a.ctypes.data for a in made])
            return made[: len(self.outputs)]
        return self._run_into(inputs, given)

    def _run_into(self, inputs: list[Array], given: list[Array | None]) -> list[Array]:
        written: list[Array] = []
        for (shape, dtype), array in zip(self._new, [*given, *[None] * len(self.temporaries)], strict=True):
            direct = (
                array is not None
                and array.flags.carray
                and not any(share_memory(array, other) for other in inputs)
            )
            written.append(array if direct else np.empty(shape, dtype))  # type: ignore[arg-type]
        self._function(*[a.ctypes.data for a in inputs], *[a.ctypes.data for a in written])
        results: list[Array] = []
        for array, result in zip(given, written, strict=False):
            if array is not None and array is not result:
                array[...] = result
            results.append(result if array is None else array)
        return results
