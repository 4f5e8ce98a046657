"""A compiled kernel as a Python callable."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from numpy import ndarray

from tadc.backend.runtime.addresses import addresses, overlap, span_of
from tadc.backend.runtime.cut_kernels import Cutting
from tadc.backend.runtime.direct_calls import DirectCall, direct_call
from tadc.backend.runtime.fitting import Fitting
from tadc.backend.runtime.free_memory import SMALL, free_for
from tadc.backend.runtime.host_arrays import HOST, Array
from tadc.backend.runtime.interface import Interface
from tadc.backend.runtime.memory_errors import too_little
from tadc.backend.runtime.new_arrays import new_array
from tadc.backend.runtime.outputs import given_outputs
from tadc.backend.runtime.parameters import Parameter
from tadc.backend.runtime.read_calls import ReadCall, by_position, read_call
from tadc.backend.runtime.versions import Versions
from tadc.backend.runtime.workspace import Temporary, workspace

if TYPE_CHECKING:
    from tadc.backend.runtime.call_sizes import Recheck
    from tadc.backend.runtime.index_arguments import IndexArguments
    from tadc.frontend.source import Source

#: The shapes of this many calls are kept with what was found out about them.
_PLANS = 256


class _Plan:
    """What a call with certain sizes runs, and what that reads and writes."""

    def __init__(
        self,
        kernel: HostKernel,
        inputs: Sequence[Parameter],
        outputs: Sequence[Parameter],
        temporaries: Sequence[Temporary],
        sizes: Sequence[int],
        known: Mapping[str, int],
        asked: Sequence[Parameter] = (),
    ):
        """`sizes` are passed to the kernel, `known` those that a call may give by name.

        `asked` are the inputs as the kernel for all sizes has them.
        """
        self.address = kernel.address
        self.outputs = tuple(outputs)
        self.temporaries = tuple(temporaries)
        self.largest = max([t.tensor.bytes for t in temporaries], default=0)
        self.sizes = tuple(sizes)
        self.known = known
        made = [p.at(known) for p in kernel.made]
        # Of a version errors are to say what the program says, which has names for its sizes.
        self.indices: IndexArguments | None = None
        if any(p.below is not None for p in kernel.inputs):
            from tadc.backend.runtime.index_arguments import IndexArguments

            self.indices = IndexArguments(asked or kernel.inputs, kernel.made, known)
        self.new: list[tuple[Any, Any, int]] = [(p.shape, p.dtype, p.bytes) for p in outputs]
        self.between = workspace(temporaries)
        self.steps = sum(t.tensor.bytes for t in temporaries if t.has_steps)
        self.bytes = sum(p.bytes for p in outputs) + self.between.bytes
        # Larger calls ask for memory first.
        self.direct: DirectCall | None = None
        if self.bytes <= SMALL:
            read = [*inputs, *made]
            self.direct = direct_call(kernel.address, read, outputs, self.between, self.sizes)

    def new_arrays(self) -> list[Array]:
        return [new_array(*about) for about in self.new]

    def run(self, read: Sequence[int | None], written: Sequence[int | None]) -> None:
        """Run on inputs and outputs at these addresses."""
        from tadc.backend.cpu.python_calls import run
        from tadc.backend.cpu.scratch_memory import scratch

        if not self.between.offsets:
            run(self.address, [*read, *written, *self.sizes])
            return
        with scratch(self.between.bytes) as start:
            between = [start + offset for offset in self.between.offsets]
            run(self.address, [*read, *written, *between, *self.sizes])


class HostKernel:
    """A function `void f(double *, …, int64_t, …)` over inputs, then outputs, then temporaries, then sizes.

    `address` is where its code is, which `keepalive` keeps in memory. Calls from several
    threads at once are fine: each has outputs and temporaries of its own, and the interpreter lock is
    released while the code runs.
    """

    def __init__(
        self,
        interface: Interface,
        address: int,
        keepalive: Any = None,
        recheck: Recheck | None = None,
        source: Source | None = None,
    ) -> None:
        """`source` is what it was made of, for errors."""
        self.inputs, self.made, self.outputs = interface.arguments, interface.made, interface.outputs
        self.temporaries, self.source = interface.temporaries, source
        self.sizes = interface.size_symbols(recheck)
        self._keepalive = keepalive
        self.address = address
        #: Of a kernel for all sizes: those for the sizes of some calls, which stay as long as it does.
        self.versions: Versions[HostKernel] | None = None
        if interface.work and self.sizes.names:
            self.versions = Versions(interface.work)
        #: The most bytes that a tensor in between is to have; None where nothing is said.
        self.limit: int | None = None
        #: Versions for calls that there is too little memory for.
        self.fitting: Fitting[HostKernel] = Fitting()
        #: Those for calls of which the steps of recurrences would take most of what is free.
        self.saving: Fitting[HostKernel] = Fitting()
        #: The one for calls with long fibres.
        self.cutting: Cutting[HostKernel] = Cutting()
        self._plans: dict[Any, _Plan] = {}
        self._names, self._untold = self.sizes.input_names, self.sizes.untold
        self._results = tuple(p.name for p in self.outputs)
        #: The plan of the last call.
        self._last: _Plan | None = None

    def __call__(
        self, args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None, out: Any = None
    ) -> list[Array]:
        """Run once; the outputs in order, which are the arrays of `out` where it gives some.

        Raises:
            ArgumentError: all that is wrong with the arguments; nothing has run then.
        """
        kwargs = kwargs or {}
        found = self.again(args, kwargs, out)
        return self.anew(args, kwargs, out) if found is None else found

    def anew(self, args: Sequence[Any], kwargs: Mapping[str, Any], out: Any = None) -> list[Array]:
        """Run once, whatever the call before was. Raises as a call does."""
        call = read_call(self.sizes, args, kwargs, HOST)
        plan, inputs = self._plan_for(call), call.arrays
        self._last = plan
        if plan.bytes > SMALL:
            plan = self._that_fits(plan)
        if plan.indices is not None:
            index_arrays, made_of_them, is_long = plan.indices.anew(inputs)
            cutting = self.cutting.kernel() if is_long else None
            if cutting is not None:
                return cutting(plan.indices.related(inputs, index_arrays), call.sizes, out)
            inputs = plan.indices.placed(inputs, index_arrays, made_of_them)
        if out is None and plan.direct is not None:
            written = plan.new_arrays()
            if plan.direct(*inputs, *written):
                return written
        none: list[Array | None] = [None] * len(plan.outputs)
        return self._run_into(plan, inputs, none if out is None else given_outputs(plan.outputs, out))

    def _that_fits(self, plan: _Plan) -> _Plan:
        """The plan, or that of a version which takes less memory where there is not enough.

        Raises ArgumentError (TAD0506) where no version fits.
        """
        free = free_for(plan.bytes)
        if free is None:
            return self._saving(plan)
        sizes = self._sizes_of(plan)
        results = sum([size for _, _, size in plan.new])
        found = self.fitting.at(sizes, free) if plan.temporaries and results <= free else None
        if found is None or found.kernel is None:
            raise too_little(plan.outputs, plan.temporaries, plan.bytes, free, self.source, found)
        return _plan_of(found.kernel, plan.known, self.inputs)

    def _saving(self, plan: _Plan) -> _Plan:
        """The plan, or that of a version which saves some steps of recurrences and takes others again, where
        these would take more than half of the memory that is free."""
        free = free_for(2 * plan.steps) if plan.steps else None
        if free is None:
            return plan
        # A power of two: versions are for calls with about as much.
        found = self.saving.at(self._sizes_of(plan), 1 << ((free // 2).bit_length() - 1))
        return _plan_of(found.kernel, plan.known, self.inputs) if found and found.kernel else plan

    def _sizes_of(self, plan: _Plan) -> dict[str, int]:
        return {name: plan.known[name] for name in self.sizes.names}

    def again(self, args: Sequence[Any], kwargs: Mapping[str, Any], out: Any = None) -> list[Any] | None:
        """What a call gives whose arrays can be read and written as they are, and have the shapes of the call
        before. None, and nothing is done, for any other."""
        plan = self._last
        if plan is None or plan.direct is None:
            return None
        if kwargs or self._untold:
            arranged = self._arranged(plan, args, kwargs)
            if arranged is None:
                return None
            args = arranged
        if plan.indices is not None:
            looked = plan.indices.again(args)
            if looked is None:
                return None
            index_arrays, made_of_them, is_long = looked
            cutting = self.cutting.kernel() if is_long else None
            if cutting is not None:
                untold = {name: plan.known[name] for name in self._untold}
                return cutting(plan.indices.related(args, index_arrays), untold, out)
            args = plan.indices.placed(args, index_arrays, made_of_them)
        if out is None:
            new = plan.new
            written = [new_array(*new[0])] if len(new) == 1 else [new_array(*about) for about in new]
        elif len(args) == len(self.inputs):
            written = self._in_order(out)
        else:
            return None
        return written if plan.direct(*args, *written) else None  # type: ignore[misc]

    def _arranged(self, plan: _Plan, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Sequence[Any] | None:
        """The inputs in order; None where sizes are not those of the plan, or a name is unknown."""
        if self._untold or len(args) + len(kwargs) != len(self._names):
            if not all([name in kwargs for name in self._untold]):
                return None
            known = plan.known
            arrays: dict[str, Any] = {}
            for name, value in kwargs.items():
                if name not in known:
                    arrays[name] = value
                elif type(value) is not int or value != known[name]:
                    return None
            kwargs = arrays
        return by_position(self._names, args, kwargs)

    def _in_order(self, out: Any) -> list[Any]:
        """The arrays of `out=` in the order of the outputs; none where that is not easily said."""
        if type(out) is ndarray:
            return [out]
        if isinstance(out, tuple | list):
            return [*out]  # pyright: ignore[reportUnknownVariableType]
        if type(out) is dict and len(out) == len(self._results):  # pyright: ignore[reportUnknownArgumentType]
            return [out.get(name) for name in self._results]  # pyright: ignore[reportUnknownMemberType]
        return []

    def _plan_for(self, call: ReadCall) -> _Plan:
        """The plan for the sizes that a call tells. Raises ArgumentError for what is wrong with these."""
        shapes = call.shapes
        key = (shapes, *call.sizes.items())
        plan = self._plans.get(key)
        if plan is None:
            plan = self._planned(self.sizes.values(shapes, call.sizes))
            if len(self._plans) >= _PLANS:
                self._plans = {}
            self._plans[key] = plan
        return plan

    def _planned(self, sizes: Mapping[str, int]) -> _Plan:
        """The plan for sizes that have been checked."""
        known = {**sizes, **self.sizes.fixed}
        inputs = [p.at(sizes) for p in self.inputs]
        outputs = [p.at(sizes) for p in self.outputs]
        temporaries = [t.at(sizes) for t in self.temporaries]
        plan = _Plan(self, inputs, outputs, temporaries, tuple(sizes.values()), known)
        is_over = self.limit is not None and plan.largest > self.limit
        version = self.versions and self.versions.at(sizes, always=is_over)
        if not version:
            return plan
        made = _plan_of(version, known, self.inputs)
        if is_over and made.largest >= plan.largest:
            self.limit = None  # what it stores cannot be computed again, of whatever size
        return made

    def _run_into(self, plan: _Plan, inputs: list[Array], given: list[Array | None]) -> list[Array]:
        read = addresses(inputs)
        taken = [(at or 0, (at or 0) + a.nbytes) for at, a in zip(read, inputs, strict=True)]
        written: list[Array] = []
        for about, array in zip(plan.new, given, strict=True):
            if array is None or not array.flags.carray or _meets(array, taken):
                array = new_array(*about)
            written.append(array)
        plan.run(read, addresses(written))
        results: list[Array] = []
        for array, result in zip(given, written, strict=False):
            if array is not None and array is not result:
                array[...] = result
            results.append(result if array is None else array)
        return results


def loaded(
    interface: Interface, code: bytes, recheck: Recheck | None = None, source: Source | None = None
) -> HostKernel:
    """A kernel that runs the object code in this process, made of a source. Raises LinkError."""
    from tadc.backend.cpu.jit import load

    library = load(code, [interface.symbol])
    return HostKernel(interface, library[interface.symbol], library, recheck, source)


def _plan_of(version: HostKernel, known: Mapping[str, int], asked: Sequence[Parameter]) -> _Plan:
    """The plan of a kernel for given sizes."""
    return _Plan(version, version.inputs, version.outputs, version.temporaries, (), known, asked)


def _meets(array: Array, taken: Sequence[tuple[int, int]]) -> bool:
    """Whether a contiguous array has a byte in one of these spans."""
    span = span_of(array)
    return any([overlap(span, other) for other in taken])
