"""A function with all that JAX's transformations make of it, each made once, when it is asked for.

Derivatives and batches of a function are functions again, so that this closes: each is differentiated and
batched in its turn. What a function does not read is left out of its inputs, so that JAX need not keep it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

from tadc.api.batches import batched
from tadc.api.derivatives import derived_for_framework
from tadc.api.function import Function, function_of
from tadc.api.two_calls import TwoCalls, in_two_calls
from tadc.compiler.kernel_interface import size_symbols_of
from tadc.frontend.extents import size_sources
from tadc.frontend.forks import new_rlock
from tadc.frontend.program import Argument, Program
from tadc.frontend.terms import Affine, tensors_read
from tadc.jax.traced_shapes import Shapes
from tadc.lattice.late_dataclasses import dataclass, replace
from tadc.passes.terms.liveness import needed, used_sizes
from tadc.passes.terms.names import Names


@dataclass(frozen=True)
class DerivedPart:
    """A function of some of the values that are at hand: `take` are their positions."""

    of: Derived
    take: tuple[int, ...]


class Derived:
    """A function, and what is made of it. `base` has the function that this one gives the tangents of.

    In a `fixed_order` parts of sums that several devices compute are joined as those of `f.block`.
    """

    def __init__(self, function: Function, base: Base | None = None, fixed_order: bool = False) -> None:
        self.function = function
        self.base = base
        self.fixed_order = fixed_order
        #: Dimensions of inputs of which a warning said that all devices get all.
        self.gathered: set[tuple[str, int]] = set()
        self._made: dict[Any, Any] = {}
        self._lock = new_rlock()

    def __repr__(self) -> str:
        # Shown in a jaxpr.
        names = ", ".join(self.function.outputs)
        return f"{names}({', '.join(self.function.inputs)})"

    @cached_property
    def shapes(self) -> Shapes:
        """What is known of the shapes of a call."""
        return Shapes(self.function.program)

    @cached_property
    def read(self) -> frozenset[str]:
        """The inputs whose elements are read, and not their extents alone."""
        return frozenset(tensors_read([d.body for d in self.function.program.definitions]))

    def tangents(self, moving: tuple[int, ...]) -> DerivedPart:
        """The tangents of all outputs; takes the inputs, then the tangents of those that move."""

        def make() -> DerivedPart:
            wrt = [self.function.inputs[n] for n in moving]
            made = derived_for_framework(self.function, "tangents", wrt)
            return self._trimmed(made, Base(self, {name: name for name in wrt}))

        return self._once(("tangents", moving), make)

    def value_for_gradient(self, moving: tuple[int, ...]) -> ValueForGradient | None:
        """The outputs and what the gradient for inputs that move reads of them; None where that is little."""
        return self._once(("value", moving), lambda: self._value_for_gradient(moving))

    def transposed(self, unknown: tuple[int, ...], seen: tuple[int, ...]) -> DerivedPart:
        """Of a function that is linear in some inputs: what transposes it.

        Takes the inputs, then the cotangents of the outputs that are `seen`; gives those of the `unknown`.
        """
        return self._once(("transposed", unknown, seen), lambda: self._transposed(unknown, seen))

    def batched(self, which: tuple[int, ...]) -> Derived:
        """The function over one more leading index of some inputs and of all outputs."""

        def make() -> Derived:
            made = batched(self.function, [self.function.inputs[n] for n in which])
            return Derived(made, fixed_order=self.fixed_order)

        return self._once(("batched", which), make)

    def _once(self, key: Any, make: Callable[[], Any]) -> Any:
        if key not in self._made:
            with self._lock:
                if key not in self._made:
                    self._made[key] = make()
        return self._made[key]

    def _value_for_gradient(self, moving: Sequence[int]) -> ValueForGradient | None:
        wrt = [self.function.inputs[n] for n in moving]
        two = in_two_calls(self.function, wrt)
        if two is None:
            return None
        outputs = two.value.outputs
        made = derived_for_framework(self.function, "tangents", wrt)
        names, count = Names(made.program), len(self.function.inputs)
        kept = [
            replace(a, name=names.free(a.name)) for a in two.gradient.program.arguments if a.name in two.kept
        ]
        arguments = made.program.arguments
        made = _with(made, arguments=(*arguments[:count], *kept, *arguments[count:]))
        base = Base(self, {name: name for name in wrt}, two, tuple(a.name for a in kept))
        return ValueForGradient(
            Derived(two.value, fixed_order=self.fixed_order),
            [outputs.index(name) for name in self.function.outputs],
            [outputs.index(name) for name in two.kept],
            self._trimmed(made, base),
        )

    def _transposed(self, unknown: Sequence[int], seen: Sequence[int]) -> DerivedPart:
        wrt = [self.function.inputs[n] for n in unknown]
        if self.base is not None and set(wrt) <= self.base.moves.keys():
            # The gradient of the function itself, rather than the transposed tangents.
            found = self._by_base(self.base, [self.base.moves[name] for name in wrt], seen)
            if found is not None:
                return found
        return self._trimmed(derived_for_framework(_with_outputs(self.function, seen), "vjp", wrt))

    def _by_base(self, base: Base, wrt: Sequence[str], seen: Sequence[int]) -> DerivedPart | None:
        """The gradient, if it reads no input that the tangents do not read."""
        function = base.of.function
        inputs, here = function.inputs, self.function.inputs
        two = base.two
        if two is not None and len(seen) == len(function.outputs) and wrt == list(two.gradient.gradients):
            made, inputs = self._trimmed(two.gradient), (*inputs, *base.kept)
        else:
            made = self._trimmed(derived_for_framework(_with_outputs(function, seen), "vjp", wrt))
        count = len(inputs)
        names = [inputs[n] for n in made.take if n < count]
        if not set(names) <= set(here):
            return None
        cotangents = [n - count + len(here) for n in made.take if n >= count]
        return DerivedPart(made.of, (*(here.index(name) for name in names), *cotangents))

    def _trimmed(self, function: Function, base: Base | None = None) -> DerivedPart:
        """A function without the inputs that it does not read, unless they alone tell a size that it uses."""
        program = function.program
        kept = _kept(program, () if base is None else base.kept)
        take = tuple(n for n, a in enumerate(program.arguments) if a in kept)
        if base is not None:
            names = {a.name for a in kept}
            tangents = function.tangents.items()
            moves = {name: of for of, name in tangents if of in base.moves and name in names}
            base = replace(base, moves=moves)
        if len(take) < len(program.arguments):
            sizes = tuple(name for name in program.sizes if name in used_sizes(program, kept))
            # Sets of other sizes were looked at for the function that this one is derived of.
            excluded = tuple(
                rows for rows in program.excluded if all(row.form.variables <= set(sizes) for row in rows)
            )
            function = _with(function, arguments=kept, sizes=sizes, excluded=excluded)
        return DerivedPart(Derived(function, base, self.fixed_order), take)


@dataclass(frozen=True)
class Base:
    """The function that tangents are of, and for each input that is a tangent the input that it moves.

    Inputs of the names `kept` are there for the gradient in two calls.
    """

    of: Derived
    moves: dict[str, str]
    two: TwoCalls | None = None
    kept: tuple[str, ...] = ()


@dataclass(frozen=True)
class ValueForGradient:
    """A value with more outputs: the positions of the function's own, and of those that are kept for the
    gradient. The `tangents` take the inputs, what is kept, which they hand on, and tangents of inputs."""

    of: Derived
    outputs: Sequence[int]
    kept: Sequence[int]
    tangents: DerivedPart


def telling(function: Function) -> Function:
    """The function with one more input, without elements, whose shape tells the sizes that no other tells.

    So one kernel is that of all their values.
    """
    program = function.program
    told = size_symbols_of(program).untold
    if not told:
        return function
    shape = (0, *map(Affine.var, told))
    more = Argument(Names(program).free("told"), program.outputs[0].type, shape)
    return _with(function, arguments=(*program.arguments, more))


def _kept(program: Program, handed_on: Sequence[str]) -> tuple[Argument, ...]:
    """The arguments that are read or handed on, and those that tell the sizes that are used."""
    read = tensors_read([d.body for d in program.definitions]) | {*handed_on}
    kept = tuple(a for a in program.arguments if a.name in read)
    for argument in program.arguments:
        missing = used_sizes(program, kept) - _told(kept)
        if not missing:
            return kept
        if missing & _told((*kept, argument)):
            kept = tuple(a for a in program.arguments if a in kept or a is argument)
    return program.arguments if used_sizes(program, kept) - _told(kept) else kept


def _told(arguments: Sequence[Argument]) -> set[str]:
    return {source.symbol for source in size_sources([a.shape for a in arguments])}


def _with_outputs(function: Function, seen: Sequence[int]) -> Function:
    """The function with some of its outputs alone."""
    names = {function.outputs[n] for n in seen}
    if len(names) == len(function.outputs):
        return function
    definitions = [replace(d, is_output=d.name in names) for d in function.program.definitions]
    return _with(function, definitions=needed(definitions))


def _with(function: Function, **changes: Any) -> Function:
    program = replace(function.program, **changes)
    return function_of(lambda: program, None, function.options)
