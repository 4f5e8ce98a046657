"""`f.explain(i=3)`: what one element of a result is made of."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from tadc.analysis.element_reads import MOST, ElementReads, TooManyReads
from tadc.analysis.random_inputs import told_sizes
from tadc.api.derivatives import vjp
from tadc.api.execute import evaluate
from tadc.caller.boundary import public, usage
from tadc.caller.showing import ShownAsTables
from tadc.frontend.extents import shape_at
from tadc.frontend.suggest import did_you_mean
from tadc.lattice.late_dataclasses import dataclass
from tadc.passes.numpy_types import numpy_type

if TYPE_CHECKING:
    from rich.table import Table

    from tadc.api.function import Function
    from tadc.frontend.program import Definition, Program

#: So many rows a table has.
_SHOWN = 50


@dataclass(frozen=True)
class ReadElement:
    """An element of an input that an element of a result reads, so many `times`.

    With arrays, its `value`, and the `slope`: the derivative of the result's element by it.
    """

    tensor: str
    place: tuple[int, ...]
    times: int
    value: float | None = None
    slope: float | None = None

    @property
    def contribution(self) -> float | None:
        """slope * value: of a result that is linear in an input, these add up to the result."""
        return None if self.slope is None or self.value is None else self.slope * self.value

    def __str__(self) -> str:
        return element_text(self.tensor, self.place)


@dataclass(frozen=True, repr=False)
class Explanation(ShownAsTables):
    """What an element of a result is made of; `reads` in the order of inputs and of their elements.

    `f.explain(i=3, x=…)` makes one. Given by name are the indices of the element, and sizes that no array
    tells. With arrays for all inputs each read has its value and the slope, the derivative of the element by
    it. Of several outputs the first argument names one. Raises UsageError for what is missing or unknown.

    >>> import tadc
    >>> f = tadc.function("x: f64[5]; w: f64[2]; y[i: 4] = sum{k} (x[i + k] * w[k])")
    >>> [str(read) for read in f.explain(i=3).reads]
    ['x[3]', 'x[4]', 'w[0]', 'w[1]']
    >>> found = f.explain(i=3, x=[1, 2, 3, 4, 5], w=[10, 1])
    >>> [(read.slope, read.contribution) for read in found.reads]
    [(10.0, 40.0), (1.0, 5.0), (4.0, 40.0), (5.0, 5.0)]
    """

    tensor: str
    place: tuple[int, ...]
    reads: tuple[ReadElement, ...]
    value: float | None = None

    def __repr__(self) -> str:
        return f"<tadc.Explanation of {element_text(self.tensor, self.place)}: {len(self.reads)} elements>"

    def _tables(self) -> list[Table]:
        from rich.table import Table

        is_valued = self.value is not None
        title = element_text(self.tensor, self.place) + (f" = {self.value:.6g}" if is_valued else "")
        table = Table(title=title)
        for head in ("reads", "times", *(("value", "slope", "slope * value") if is_valued else ())):
            table.add_column(head, justify="left" if head == "reads" else "right")
        for read in self.reads[:_SHOWN]:
            numbers = (read.value, read.slope, read.contribution) if is_valued else ()
            table.add_row(str(read), str(read.times), *("" if n is None else f"{n:.6g}" for n in numbers))
        if len(self.reads) > _SHOWN:
            table.caption = f"and {len(self.reads) - _SHOWN:,} more"
        return [table]


def element_text(tensor: str, place: tuple[int, ...]) -> str:
    """An element as programs write it."""
    return f"{tensor}[{', '.join(map(str, place))}]" if place else tensor


def made(f: Function) -> Callable[..., Explanation]:
    """`f.explain` of a function."""

    @public
    def explain(output: str = "", /, **named: Any) -> Explanation:
        """What an element of a result reads; see `Explanation`."""
        return explained(f, output, named)

    return explain


def explained(f: Function, output: str, named: Mapping[str, Any]) -> Explanation:
    """What an element of a result reads. Raises UsageError, and CompileError as calls do."""
    arrays = {name: value for name, value in named.items() if name in f.inputs}
    f = f.at_call((), arrays)
    f.require_types()
    definition = _asked(f.program, output)
    allowed = {*definition.indices, *f.inputs, *f.program.sizes}
    for name in named:
        if name not in allowed:
            others = ", ".join(f"`{each}`" for each in dict.fromkeys((*definition.indices, *f.program.sizes)))
            help = next(iter(did_you_mean(name, allowed)), f"there are {others}" if others else "")
            raise usage(f"`explain`: `{name}` is no index of `{definition.name}`, input or size", help)
    told = told_sizes(f.program, named)
    if missing := [name for name in f.program.sizes if name not in told]:
        raise usage(f"`explain` needs the size `{missing[0]}`", f"give `{missing[0]}=…`, or arrays")
    f = f.at(told) if told else f
    program = f.program
    place = _place(_asked(program, definition.name), named)
    is_valued = all(a.name in arrays for a in program.arguments)
    indices = {name: np.asarray(arrays[name]) for name in program.index_arrays() if name in arrays}
    if missing := [name for name in program.index_arrays() if name not in arrays]:
        raise usage(f"`explain` needs the index array `{missing[0]}`", f"give `{missing[0]}=…`")
    try:
        found = ElementReads(program, indices).of(definition.name, place)
    except TooManyReads:
        raise usage(f"`explain`: the element takes more than {MOST:,} reads", "give smaller sizes") from None
    except (IndexError, TypeError):
        raise usage("`explain`: an index array has an element out of range, or another shape") from None
    order = {a.name: n for n, a in enumerate(program.arguments)}
    elements = sorted(found, key=lambda element: (order[element[0]], element[1]))
    if not is_valued:
        rows = tuple(ReadElement(*element, found[element]) for element in elements)
        return Explanation(definition.name, place, rows)
    inputs = {name: np.asarray(arrays[name]) for name in order}
    value = evaluate(f.compiled(), inputs)[definition.name]
    slopes = _slopes(f, definition.name, place, inputs)
    rows = tuple(
        ReadElement(name, at, found[name, at], float(inputs[name][at]), float(slopes[name][at]))
        for name, at in elements
    )
    return Explanation(definition.name, place, rows, float(np.asarray(value)[place]))


def _asked(program: Program, output: str) -> Definition:
    names = [d.name for d in program.outputs]
    if not output and len(names) == 1:
        return program.outputs[0]
    if output not in names:
        wrong = f"there is no output `{output}`" if output else "there are several outputs"
        raise usage(
            f"`explain`: {wrong}", f'name one of {", ".join(names)} first: `f.explain("{names[0]}", …)`'
        )
    return next(d for d in program.outputs if d.name == output)


def _place(definition: Definition, named: Mapping[str, Any]) -> tuple[int, ...]:
    """The subscripts that are given, which are in range."""
    found: list[int] = []
    for index, length in zip(definition.indices, shape_at(definition.shape, {}), strict=True):
        value: Any = named.get(index)
        if not hasattr(value, "__index__") or not 0 <= value.__index__() < length:
            what = f"`explain` needs `{index}`, an integer from 0 to {length - 1}"
            raise usage(what if value is None else f"{what}, not {value!r}")
        found.append(value.__index__())
    return tuple(found)


def _slopes(f: Function, output: str, place: tuple[int, ...], inputs: Mapping[str, Any]) -> dict[str, Any]:
    """The derivatives of one element by all inputs: a gradient whose cotangent is 1 there and 0 elsewhere."""
    gradient = vjp(f)
    cotangents: dict[str, Any] = {}
    for of, name in gradient.cotangents.items():
        result = _asked(f.program, of)
        cotangents[name] = np.zeros(shape_at(result.shape, {}), numpy_type(result.type))
        if of == output:
            cotangents[name][place] = 1
    found = evaluate(gradient.compiled(), {**inputs, **cotangents})
    return {d.gradient_of: np.asarray(found[d.name]) for d in gradient.program.outputs}
