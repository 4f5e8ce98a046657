"""What uncertainties are propagated through: programs and Python functions, their values and slopes."""

from __future__ import annotations

import inspect
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from math import prod
from typing import Any

import numpy as np

from tadc.apps.dual.dual_derivatives import is_numeric, partials_of, value_of
from tadc.apps.dual.dual_number import Dual
from tadc.apps.dual.lifting import lifted
from tadc.apps.dual.numbers import TracedNumber, unboxed
from tadc.apps.uncertainty.enclosures import enclose
from tadc.apps.uncertainty.float_intervals import Interval
from tadc.apps.uncertainty.input_errors import misfit, raise_all
from tadc.apps.uncertainty.shared_axes import shared_axes
from tadc.apps.uncertainty.subdivision import Bounded
from tadc.apps.uncertainty.uncertain_numbers import Array, InputLayout, layout_of
from tadc.toolkit.reporting import CompileWarning, Diagnostic, usage
from tadc.toolkit.running import Function, batched, jvp, numpy_type, value_and_vjp

#: So many directions go through a kernel at once.
_CHUNK = 64
#: So many bytes of slopes are held.
_LIMIT = 1 << 32
#: So many preparations are kept.
_KEPT = 64


Ends = Mapping[str, Array]


@dataclass(frozen=True)
class Slopes:
    """Outputs at all points, and their derivatives: by output, an array of quantities, points, output."""

    layout: InputLayout
    values: dict[str, Any]
    slopes: dict[str, Any]


class Model(ABC):
    """A function of named inputs. `at` gives values their places, `slopes` differentiates."""

    inputs: tuple[str, ...]
    #: Those that need no value.
    optional: frozenset[str] = frozenset()

    @abstractmethod
    def slopes(self, values: Mapping[str, Any], names: Sequence[str], whole: bool = False) -> Slopes:
        """Values and derivatives by the inputs `names`.

        Elements that are computed alike are points of their own, unless the outputs are wanted `whole`.
        """

    @abstractmethod
    def layout(self, values: Mapping[str, Any], names: Sequence[str], whole: bool = False) -> InputLayout:
        """The quantities of the inputs `names`."""

    @abstractmethod
    def shape(self, name: str, values: Mapping[str, Any]) -> tuple[int, ...]:
        """The shape of an input at one measurement."""

    @abstractmethod
    def points(self, values: Mapping[str, Any]) -> tuple[int, ...]:
        """The shape of the set of measurements. Raises ArgumentError where inputs do not agree on it."""

    @abstractmethod
    def samples(self, values: Mapping[str, Any], moved: Mapping[str, Array]) -> dict[str, Array]:
        """The outputs of one measurement at many values of some inputs, a dimension in front of these."""

    @abstractmethod
    def enclosed(self, values: Mapping[str, Any], low: Ends, high: Ends) -> Bounded:
        """Bounds of the outputs of one measurement, where some inputs lie between ends.

        Raises ArgumentError (TAD0908) where there are none.
        """


def model_of(fn: Function | Callable[..., Any]) -> Model:
    """The model of a compiled or a plain function. Raises TypeError for what is neither."""
    return ProgramModel(fn) if isinstance(fn, Function) else PythonModel(fn)


class ProgramModel(Model):
    """A program of the language."""

    def __init__(self, f: Function) -> None:
        self.f = f
        self.inputs = f.inputs

    def shape(self, name: str, values: Mapping[str, Any]) -> tuple[int, ...]:
        """As `Model.shape`: the declared dimensions."""
        rank = next(len(a.shape) for a in self.f.program.arguments if a.name == name)
        found = np.shape(values[name])
        return found[len(found) - rank :]

    def points(self, values: Mapping[str, Any]) -> tuple[int, ...]:
        """As `Model.points`: of arguments that have one more dimension than they are declared with."""
        several = measured(self.f, {name: np.shape(x) for name, x in values.items()})
        return np.shape(values[several[0]])[:1] if several else ()

    def samples(self, values: Mapping[str, Any], moved: Mapping[str, Array]) -> dict[str, Array]:
        """As `Model.samples`: a call of the function over a batch."""
        f = self._sized(values)
        sampled, types = repeated_function(f, tuple(moved)), f.program.types()
        typed = {name: x.astype(numpy_type(types[name]), copy=False) for name, x in moved.items()}
        return {name: np.asarray(y, float) for name, y in _named(f, sampled(**{**values, **typed})).items()}

    def enclosed(self, values: Mapping[str, Any], low: Ends, high: Ends) -> Bounded:
        """As `Model.enclosed`: on the terms of the program."""
        exact = {name: np.asarray(x, float) for name, x in values.items()}
        return enclose(self._sized(values).program, {**exact, **low}, {**exact, **high})

    def _sized(self, values: Mapping[str, Any]) -> Function:
        """The function for the sizes that one measurement tells, where it is another for each."""
        f = self.f
        if f.per_value is None:
            return f
        return f.at(f.per_value.values({name: self.shape(name, values) for name in values}, {}))

    def layout(self, values: Mapping[str, Any], names: Sequence[str], whole: bool = False) -> InputLayout:
        """As `Model.layout`."""
        return self._prepared(values, names, whole).layout

    def slopes(self, values: Mapping[str, Any], names: Sequence[str], whole: bool = False) -> Slopes:
        """As `Model.slopes`."""
        return self._prepared(values, names, whole).run(values)

    def _prepared(self, values: Mapping[str, Any], names: Sequence[str], whole: bool) -> _Prepared:
        """The compiled derivative for arrays of these shapes."""
        shapes = tuple((name, np.shape(values[name])) for name in self.inputs)
        return _prepared(self._sized(values), shapes, tuple(names), whole)


def measured(f: Function, shapes: Mapping[str, tuple[int, ...]]) -> tuple[str, ...]:
    """The arguments that have one more dimension than they are declared with: a value for each measurement.

    Raises ArgumentError where these differ in number.
    """
    found = {
        a.name: shapes[a.name][0] for a in f.program.arguments if len(shapes[a.name]) == len(a.shape) + 1
    }
    if len(set(found.values())) > 1:
        counts = ", ".join(f"`{name}` {count}" for name, count in found.items())
        raise_all([Diagnostic("TAD0903", f"inputs have unequal numbers of measurements: {counts}")])
    return tuple(found)


#: The function at many values of some of its arguments, a dimension in front of them.
repeated_function = lru_cache(_KEPT)(batched)


class _Prepared:
    """A derivative compiled for given shapes of the inputs."""

    def __init__(
        self,
        f: Function,
        shapes_of: tuple[tuple[str, tuple[int, ...]], ...],
        names: tuple[str, ...],
        whole: bool,
    ) -> None:
        shapes = dict(shapes_of)
        several = measured(f, shapes)
        self.f = repeated_function(f, several) if several else f
        self.shapes, self.names = shapes, names
        rank, carried = (1, several) if several else self._axes(whole)
        points = shapes[carried[0]][:rank] if rank else ()
        self.layout = layout_of(
            [(n, shapes[n][rank if n in carried else 0 :], n in carried) for n in names], points
        )
        self.types = self.f.program.types()
        outputs = self._output_shapes(rank)
        reverse = outputs is not None and all(s.is_carried or not rank for s in self.layout.slots)
        self.reverse = reverse and outputs is not None and outputs < self.layout.size
        self.chunk = min(self.layout.size, _CHUNK)

    @cached_property
    def derivative(self) -> Function:
        """The function to call: value and gradients, or value and tangents."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", CompileWarning)
            if self.reverse:
                return value_and_vjp(self.f, wrt=self.names)
            return jvp(self.f, wrt=self.names, chunk=self.chunk)

    @cached_property
    def _units(self) -> dict[str, Any]:
        return self._tangents(0)

    def _axes(self, whole: bool) -> tuple[int, tuple[str, ...]]:
        """How many dimensions in front are points, and which arguments have them: fewest quantities win."""
        ranks = [(0, ())] if whole else list(enumerate(shared_axes(self.f.program)))

        def quantities(choice: tuple[int, tuple[str, ...]]) -> int:
            rank, carried = choice
            return sum(prod(self.shapes[n][rank if n in carried else 0 :]) for n in self.names)

        return min((c for c in ranks if c[1] or not c[0]), key=quantities)

    def _output_shapes(self, rank: int) -> int | None:
        """The number of outputs at a point, where no size symbol is in it."""
        total = 0
        for d in self.f.program.outputs:
            sizes = d.shape[rank:]
            if not all(isinstance(size, int) for size in sizes):
                return None
            total += prod(size for size in sizes if isinstance(size, int))
        return total

    def run(self, values: Mapping[str, Any]) -> Slopes:
        """Values and slopes at these inputs."""
        given = {name: values[name] for name in self.f.inputs}
        if not self.layout.size:
            found = _named(self.f, self.f(**given))
            empty = {n: np.zeros((0, *np.shape(y))) for n, y in found.items()}
            return Slopes(self.layout, found, empty)
        return self._reverse(given) if self.reverse else self._forward(given)

    def _forward(self, given: dict[str, Any]) -> Slopes:
        derivative = self.derivative
        dots = derivative.output_tangents
        size = self.layout.size
        parts: list[dict[str, Any]] = []
        for begin in range(0, size, self.chunk):
            tangents = self._units if begin == 0 else self._tangents(begin)
            parts.append(_named(derivative, derivative(**given, **tangents)))
            if not begin:
                _check_memory(sum(parts[0][dot].nbytes for dot in dots.values()) / self.chunk * size)
        values = {name: parts[0][name] for name in self.f.outputs}
        slopes = {
            name: parts[0][dots[name]]
            if len(parts) == 1
            else np.concatenate([p[dots[name]] for p in parts])[:size]
            for name in self.f.outputs
        }
        return Slopes(self.layout, values, slopes)

    def _tangents(self, begin: int) -> dict[str, Any]:
        """Unit tangents in the directions of the quantities from `begin` on."""
        found: dict[str, Any] = {}
        for slot in self.layout.slots:
            front = self.layout.points if slot.is_carried else ()
            dtype = numpy_type(self.types[slot.name])
            units = np.eye(self.chunk, slot.size, begin - slot.begin, dtype)
            units = units.reshape(self.chunk, *[1] * len(front), *slot.shape)
            wide = np.broadcast_to(units, (self.chunk, *front, *slot.shape))
            found[self.derivative.tangents[slot.name]] = np.ascontiguousarray(wide)
        return found

    def _reverse(self, given: dict[str, Any]) -> Slopes:
        derivative = self.derivative
        rank = len(self.layout.points)
        zeros = self._zero_cotangents()
        values: dict[str, Any] = {}
        slopes: dict[str, Any] = {}
        for output, name in derivative.cotangents.items():
            shape = zeros[name].shape
            slope = np.empty((self.layout.size, *shape))
            for at in np.ndindex(shape[rank:]):
                weight = zeros[name].copy()
                place = (*[slice(None)] * rank, *at)
                weight[place] = 1
                found = _named(derivative, derivative(**given, **{**zeros, name: weight}))
                for slot in self.layout.slots:
                    part = found[derivative.gradients[slot.name]]
                    part = part.reshape(*self.layout.points, slot.size)
                    slope[(slice(slot.begin, slot.begin + slot.size), *place)] = np.moveaxis(part, -1, 0)
                values = {n: found[n] for n in self.f.outputs}
            slopes[output] = slope
        return Slopes(self.layout, values, slopes)

    def _zero_cotangents(self) -> dict[str, Any]:
        rank = len(self.layout.points)
        found: dict[str, Any] = {}
        for d in self.f.program.outputs:
            shape = self.layout.points + tuple(size for size in d.shape[rank:] if isinstance(size, int))
            dtype = numpy_type(d.type)
            found[self.derivative.cotangents[d.name]] = np.zeros(shape, dtype)
        return found


_prepared = lru_cache(_KEPT)(_Prepared)


def _check_memory(bytes: float) -> None:
    """Raise ArgumentError (TAD0506) for more slopes than can be held."""
    if bytes > _LIMIT:
        message = f"the slopes of all outputs by all inputs take {bytes / 2**30:.0f} GiB"
        helps = ["leave outputs out that combine all elements, and ask for them on their own"]
        raise_all([Diagnostic("TAD0506", message, helps=helps)])


def _named(f: Function, found: Any) -> dict[str, Any]:
    return dict(zip(f.outputs, found if len(f.outputs) > 1 else (found,), strict=True))


class PythonModel(Model):
    """A plain Python function of numbers; an array for an input has a value for each measurement."""

    def __init__(self, fn: Callable[..., Any]) -> None:
        if not callable(fn):
            help = "make a function of a text: `tadc.function(text)`" if isinstance(fn, str) else ""
            raise usage(f"`propagate` takes a function, not {type(fn).__name__}", help)
        self.fn = fn
        self.lifted = lifted(fn)
        try:
            parameters = inspect.signature(fn).parameters.values()
        except ValueError:
            raise TypeError(
                f"`{fn.__name__}` does not say what its arguments are: wrap it in a function"
            ) from None
        self.inputs = tuple(p.name for p in parameters if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD))
        self.optional = frozenset(p.name for p in parameters if p.default is not p.empty)
        name = getattr(fn, "__name__", "f")
        self.name = name if name.isidentifier() else "f"

    def shape(self, name: str, values: Mapping[str, Any]) -> tuple[int, ...]:
        """As `Model.shape`: inputs are numbers."""
        return ()

    def points(self, values: Mapping[str, Any]) -> tuple[int, ...]:
        """As `Model.points`: inputs are broadcast."""
        shapes = {name: np.shape(values[name]) for name in values}
        try:
            return np.broadcast_shapes(*shapes.values())
        except ValueError:
            first, *others = [(n, s) for n, s in shapes.items() if s]
            wrong = [misfit("the value", n, s, first[1]) for n, s in others if s != first[1]]
            raise_all(wrong)
            raise

    def layout(self, values: Mapping[str, Any], names: Sequence[str], whole: bool = False) -> InputLayout:
        """As `Model.layout`."""
        return layout_of([(name, (), np.ndim(values[name]) > 0) for name in names], self.points(values))

    def slopes(self, values: Mapping[str, Any], names: Sequence[str], whole: bool = False) -> Slopes:
        """As `Model.slopes`: by dual numbers, a run for each measurement."""
        layout = self.layout(values, names)

        def seeded(given: dict[str, Any]) -> dict[str, Any]:
            units = np.eye(len(names)).tolist()
            return given | {n: Dual(given[n], units[k]) for k, n in enumerate(names)}

        rows = [self.outputs(self.lifted(**seeded(point))) for point in self.each(values)]
        columns = {name: [row[name] for row in rows] for name in rows[0]}
        found = {n: np.array(value_of(ys), float).reshape(layout.points) for n, ys in columns.items()}
        slopes = {
            n: np.array([partials_of(y, len(names)) for y in ys]).T.reshape(len(names), *layout.points)
            for n, ys in columns.items()
        }
        return Slopes(layout, {n: y if y.ndim else y[()] for n, y in found.items()}, slopes)

    def samples(self, values: Mapping[str, Any], moved: Mapping[str, Array]) -> dict[str, Array]:
        """As `Model.samples`: a call for each."""
        rows = [self.outputs(self.fn(**point)) for point in self.each({**values, **moved})]
        return {name: np.array([row[name] for row in rows], float) for name in rows[0]}

    def enclosed(self, values: Mapping[str, Any], low: Ends, high: Ends) -> Bounded:
        """As `Model.enclosed`: by a run on intervals."""
        boxes = {name: Interval(float(x), float(high[name])) for name, x in low.items()}
        found = self.outputs(self.lifted(**{name: plain(x) for name, x in values.items()} | boxes))
        return {
            name: (y.lo, y.hi) if isinstance(y, Interval) else (float(y), float(y))
            for name, y in found.items()
        }

    def each(self, values: Mapping[str, Any]) -> list[dict[str, Any]]:
        """The inputs at each measurement."""
        points = self.points(values)
        if not points:
            return [{name: plain(values[name]) for name in values}]
        columns = {name: np.broadcast_to(values[name], points).ravel().tolist() for name in values}
        return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]

    def outputs(self, found: Any) -> dict[str, Any]:
        """Results by name: of a dictionary or named tuple its own, of a tuple numbered, else the function's.

        Raises TypeError for a result that is no number.
        """
        y: Any = found
        if isinstance(found, Mapping):
            named = {str(name): part for name, part in y.items()}
        elif isinstance(found, tuple | list):
            fields = getattr(y, "_fields", None) or [f"{self.name}_{n}" for n in range(len(y))]
            named = dict(zip(fields, y, strict=True))
        else:
            named = {self.name: y}
        named = {name: unboxed(part) for name, part in named.items()}
        for name, part in named.items():
            if np.ndim(part) or not (isinstance(part, TracedNumber) or is_numeric(np.asarray(part)[()])):
                raise TypeError(
                    f"output `{name}` of a Python function has to be a number, not {type(part).__name__}"
                )
        return named


def plain(x: Any) -> Any:
    """A number as Python's own."""
    return x.item() if hasattr(x, "item") else x
