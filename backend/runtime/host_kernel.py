"""A compiled kernel as a Python callable."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from numpy import ndarray

from tadc.backend.runtime.addresses import addresses, overlap, span_of
from tadc.backend.runtime.free_memory import check_memory
from tadc.backend.runtime.host_arrays import Array, Parameter, bind
from tadc.backend.runtime.outputs import given_outputs
from tadc.backend.runtime.workspace import Temporary, new_array, new_memory, workspace
from tadc.frontend.diagnostics import ArgumentError, Diagnostic
from tadc.frontend.size_values import size_values

if TYPE_CHECKING:
    from tadc.backend.runtime.call_sizes import SizeSymbols
    from tadc.backend.runtime.versions import Versions

#: Below this many bytes memory is not asked for.
_SMALL = 1 << 24

#: NumPy's flags C_CONTIGUOUS, ALIGNED and WRITEABLE.
_WRITTEN = 0x0501
_IN_ORDER = (tuple, list)

#: A function called through ctypes takes no more arguments than this.
_CTYPES_LIMIT = 1024

#: The shapes of this many calls are kept with what was found out about them.
_PLANS = 256


def _few(address: int, pointers: int, sizes: int) -> Callable[..., None]:
    return ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * pointers, *[ctypes.c_int64] * sizes)(address)


def _many(address: int, count: int) -> Callable[..., None]:
    # The one place where a call needs a compiler, so it is imported only here. Sizes pass as
    # pointers: both take one integer register or stack slot on every machine we compile for.
    from tadc.backend.cpu.jit import trampoline

    library = trampoline(count)
    call = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)(library["call"])
    array = ctypes.c_void_p * count

    def run(*addresses: int) -> None:
        call(address, array(*addresses))

    return run


class _Plan:
    """What a call with certain sizes runs, and what that writes."""

    def __init__(
        self,
        function: Callable[..., None],
        outputs: Sequence[Parameter],
        temporaries: Sequence[Temporary],
        sizes: Sequence[int],
    ):
        self.function = function
        self.outputs = tuple(outputs)
        self.temporaries = tuple(t.tensor for t in temporaries)
        self.sizes = tuple(sizes)
        self.new: list[tuple[Any, Any, int]] = [(p.shape, p.dtype, p.bytes) for p in outputs]
        self.between = workspace(temporaries)
        self.bytes = sum(p.bytes for p in outputs) + self.between.bytes

    def places(self, inputs: list[Array], out: Any) -> list[int] | None:
        """Where the inputs are, then the arrays of `out=`, if a kernel can write these as they are: each in
        order, of the right type, shape and layout, where no two arrays share memory. None for any other."""
        if type(out) is ndarray:
            arrays: list[Any] = [out]
        elif isinstance(out, _IN_ORDER):
            arrays = list(cast("tuple[Any, ...]", out))
        else:
            return None
        if len(arrays) != len(self.new):
            return None
        # A `zip` with `strict` takes longer than all that is tested here.
        for n, (shape, dtype, _) in enumerate(self.new):
            array = arrays[n]
            if type(array) is not ndarray or array.dtype is not dtype or array.shape != shape:
                return None
            if array.flags.num & _WRITTEN != _WRITTEN:
                return None
        arrays = inputs + arrays
        places = [at or 0 for at in addresses(arrays)]
        last = 0
        for begin, end in sorted([(places[n], places[n] + a.nbytes) for n, a in enumerate(arrays)]):
            if begin < last:
                return None
            last = end
        return places

    def room(self) -> tuple[Array | None, list[int]]:
        """Memory for the temporaries, and where they are in it."""
        if not self.between.offsets:
            return None, []
        memory, start = new_memory(self.between.bytes)
        return memory, [start + offset for offset in self.between.offsets]


class Kernel:
    """A function `void f(double *, …, int64_t, …)` over inputs, then outputs, then temporaries, then sizes.

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
        temporaries: Sequence[Temporary] = (),
        keepalive: Any = None,
        sizes: SizeSymbols | None = None,
    ) -> None:
        self.symbol = symbol
        self.inputs = tuple(inputs)
        self.outputs = tuple(outputs)
        self.temporaries = tuple(temporaries)
        self.sizes = sizes if sizes and (sizes.names or sizes.fixed) else None
        self._keepalive = keepalive
        pointers = len(self.inputs) + len(self.outputs) + len(self.temporaries)
        count = len(self.sizes.names) if self.sizes else 0
        few = pointers + count <= _CTYPES_LIMIT
        self._function = _few(address, pointers, count) if few else _many(address, pointers + count)
        # Of a kernel that is compiled for all its sizes, a call may repeat one, which is then checked.
        self._repeated = tuple(self.sizes.fixed) if self.sizes else ()
        static = self.sizes is None or not (self.sizes.names or self.sizes.excluded)
        self._static = _Plan(self._function, self.outputs, self.temporaries, ()) if static else None
        #: Of a kernel for all sizes: those for the sizes of some calls, which stay as long as it does.
        self.versions: Versions[Kernel] | None = None
        self._plans: dict[Any, _Plan] = {}
        self._known = (*self.sizes.names, *self.sizes.fixed) if self.sizes else ()
        self._size_names = frozenset(self._known)

    def __call__(
        self, args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None, out: Any = None
    ) -> list[Array]:
        """Run once; the outputs in order, which are the arrays of `out` where it gives some.

        Raises:
            ArgumentError: all that is wrong with the arguments; nothing has run then.
        """
        plan = self._static
        if plan is not None and not (self._repeated and kwargs and any(n in kwargs for n in self._repeated)):
            inputs = bind(self.inputs, args, kwargs, self._repeated)
        else:
            inputs, plan = self._sized(args, kwargs or {})
        if out is not None and plan.bytes <= _SMALL:
            places = plan.places(inputs, out)
            if places is not None:
                _room, between = plan.room()
                plan.function(*places, *between, *plan.sizes)
                return [out] if type(out) is ndarray else list(out)
        given = None if out is None else given_outputs(plan.outputs, out)
        if plan.bytes > _SMALL:
            check_memory(plan.outputs, plan.temporaries, plan.bytes)
        if given is None:
            made = [new_array(*about) for about in plan.new]
            if plan.temporaries:
                _room, between = plan.room()
                plan.function(*addresses(inputs), *addresses(made), *between, *plan.sizes)
            else:
                plan.function(*addresses(inputs + made), *plan.sizes)
            return made
        return self._run_into(plan, inputs, given)

    def _sized(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> tuple[list[Array], _Plan]:
        """The inputs, and the plan for the sizes that they tell."""
        assert self.sizes is not None
        sizes: dict[str, int] = {}
        if self.sizes.untold or not self._size_names.isdisjoint(kwargs):
            inputs, sizes = self._given_sizes(self.sizes, args, kwargs)
        else:
            inputs = bind(self.inputs, args, kwargs, self._known)
        shapes = tuple([a.shape for a in inputs])
        key = (shapes, *sizes.items())
        plan = self._plans.get(key)
        if plan is None:
            plan = self._planned(self.sizes.values(shapes, sizes))
            if len(self._plans) >= _PLANS:
                self._plans = {}
            self._plans[key] = plan
        return inputs, plan

    def _planned(self, sizes: Mapping[str, int]) -> _Plan:
        """The plan for sizes that have been checked."""
        version = self.versions and self.versions.at(sizes)
        if version:
            return _Plan(version._function, version.outputs, version.temporaries, ())
        outputs = [p.at(sizes) for p in self.outputs]
        temporaries = [t.at(sizes) for t in self.temporaries]
        return _Plan(self._function, outputs, temporaries, tuple(sizes.values()))

    def _given_sizes(
        self, symbols: SizeSymbols, args: Sequence[Any], kwargs: Mapping[str, Any]
    ) -> tuple[list[Array], dict[str, int]]:
        """The inputs, and the sizes that are given by name."""
        given = {name: value for name, value in kwargs.items() if name in self._size_names}
        arrays = {name: value for name, value in kwargs.items() if name not in given}
        wrong: list[Diagnostic] = []
        sizes = size_values(given, wrong)
        wrong += symbols.missing(given)
        try:
            inputs = bind(self.inputs, args, arrays, self._known)
        except ArgumentError as error:
            raise ArgumentError([*error.diagnostics, *wrong]) from None
        if wrong:
            raise ArgumentError(wrong)
        return inputs, sizes

    def _run_into(self, plan: _Plan, inputs: list[Array], given: list[Array | None]) -> list[Array]:
        read = addresses(inputs)
        taken = [(at or 0, (at or 0) + a.nbytes) for at, a in zip(read, inputs, strict=True)]
        written: list[Array] = []
        for about, array in zip(plan.new, given, strict=True):
            if array is None or not array.flags.carray or _meets(array, taken):
                array = new_array(*about)
            written.append(array)
        _room, between = plan.room()
        plan.function(*read, *addresses(written), *between, *plan.sizes)
        results: list[Array] = []
        for array, result in zip(given, written, strict=False):
            if array is not None and array is not result:
                array[...] = result
            results.append(result if array is None else array)
        return results


def _meets(array: Array, taken: Sequence[tuple[int, int]]) -> bool:
    """Whether a contiguous array has a byte in one of these spans."""
    span = span_of(array)
    return any([overlap(span, other) for other in taken])
