"""`batched`: a function over a batch, by one more index of a symbolic size."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from tadc.api.function import Function, Origin
from tadc.api.recipes import Recipe
from tadc.caller.boundary import checked_function, public, shown_value, usage
from tadc.lattice.late_dataclasses import dataclass, replace

if TYPE_CHECKING:
    from tadc.frontend.per_value import PerValue
    from tadc.frontend.program import Program


@public
def batched(f: Function, names: str | Sequence[str] | None = None, size: str = "batch") -> Function:
    """The function over a batch: one more leading index of the named inputs (None: all) and of all results.

    The number of elements is a size symbol, the first of `size`, `size_1`, … that f has no use for, so one
    kernel does for any. Other inputs are the same for the whole batch, and what depends on them alone is
    computed once; a result that does is repeated. A derivative keeps what `cotangents`, `gradients` and
    `tangents` say. Batches of batches have two leading indices, that of the last call first.

    >>> import tadc
    >>> f = tadc.function("w: f64[2, 3]; x: f64[3]; f[i] = sum{k} (w[i, k]*x[k])")
    >>> tadc.batched(f, "x")
    <tadc.Function (w: f64[2, 3], x: f64[batch, 3]) -> (f: f64[batch, 2])>
    >>> tadc.batched(f, "x")(w=[[1, 1, 1], [0, 1, 0]], x=[[1, 2, 3], [4, 5, 6]])
    array([[ 6.,  2.],
           [15.,  5.]])

    Raises CompileError (TAD0401) for a name that is no input, UsageError for what is no name.
    """
    checked_function(f, Function, "batched")
    from tadc.frontend.naming import is_legal

    if not isinstance(size, str) or not is_legal(size):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise usage(f"size is the name of a size symbol, not {shown_value(size)}", 'write `size="batch"`')
    chosen = f.inputs if names is None else _names(f, names)
    made = Batched(f, f.options.of_derived, names=chosen, size=size).function()
    f.remember()
    made.remember()
    return made


@dataclass(frozen=True)
class Batched(Origin):
    """What a function over a batch was made from; `count` is how many elements it has, if that is given."""

    names: tuple[str, ...] = ()
    size: str = "batch"
    count: int | None = None

    def again(self, sizes: Mapping[str, int]) -> Function:
        """The function at values of size symbols, of which one may be the batch's."""
        size = self._size()
        rest = {name: value for name, value in sizes.items() if name != size}
        base = self.base.at(rest) if rest else self.base
        count = sizes.get(size, self.count)
        return replace(self, base=base, size=size, count=count).function()

    def script(self) -> str:
        """Python that makes the function, as `f`."""
        how = f"{self.options}, None, {self.names}, {self.size!r}, {self.count}"
        return f"{self.base.script()}f = tadc.api.batches.Batched(f, {how}).function()\n"

    def recipe(self) -> Recipe | None:
        """What the function is known by on disk."""
        return self.base.recipe and self.base.recipe.then("batched", self.names, self.size, self.count)

    def per_value(self) -> PerValue | None:
        """The symbols that need values first, and the shapes over the batch that tell them."""
        found = self.base.per_value
        if found is None:
            return None
        from tadc.lattice.affine import Affine

        # A cotangent has the shape of its output, which the call looks up by the output's name.
        cotangents = self.base.cotangents.items()
        every = {*self.names, *(of for of, name in cotangents if name in self.names)}
        size = Affine.var(self._size())
        shapes = {name: (size, *shape) if name in every else shape for name, shape in found.shapes.items()}
        return replace(found, shapes=shapes)

    def derived_from(self) -> Program | None:
        """No program: this is no derivative."""
        return None

    def program(self) -> Program:
        """The program over the batch."""
        from tadc.frontend.specialise import specialised
        from tadc.passes.terms.batched import batched

        size = self._size()
        made = batched(self.base.program, self.names, size)
        return made if self.count is None else specialised(made, {size: self.count})

    def _size(self) -> str:
        from tadc.passes.terms.batched import batch_size

        return batch_size(self.base.program, self.size)


def _names(f: Function, names: str | Sequence[str]) -> tuple[str, ...]:
    """The inputs of these names, in their order. Raises as `batched`."""
    asked = (names,) if isinstance(names, str) else names
    if not isinstance(asked, list | tuple | set | frozenset) or not all(isinstance(n, str) for n in asked):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise usage(
            f"names is a name or a sequence of names, not {shown_value(names)}",
            'write `tadc.batched(f, ["x"])`',
        )
    from tadc.compiler.derive import unknown_argument
    from tadc.frontend.diagnostics import CompileError

    problems = [unknown_argument(name, f.program, "batch", "names") for name in asked if name not in f.inputs]
    if problems:
        raise CompileError(problems)
    return tuple(name for name in f.inputs if name in asked)
