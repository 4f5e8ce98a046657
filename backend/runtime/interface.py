"""What calls of a kernel need to know about its code, also as JSON."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

from tadc.backend.runtime.call_checks import CallCheck, checks_of
from tadc.backend.runtime.call_sizes import Recheck, SizeSymbols
from tadc.backend.runtime.parameters import Parameter
from tadc.backend.runtime.size_list import SizeList
from tadc.backend.runtime.workspace import Temporary
from tadc.lattice.affine import Affine, Constraint
from tadc.lattice.form_json import Json, form_json, form_of
from tadc.lattice.late_dataclasses import dataclass, replace

if TYPE_CHECKING:
    from tadc.frontend.extents import Extent
    from tadc.frontend.terms import Domain
    from tadc.lattice.amounts import Count, Counted

_GROUPS = ("inputs", "outputs", "temporaries")


@dataclass(frozen=True)
class Interface:
    """The arguments of a kernel's function `symbol`, and the sizes that calls may give it.

    `sizes` are symbols that a call gives values, `excluded` sets of them that are refused, and `given` the
    values that the kernel was compiled for. `work` is about how many operations each of its maps takes.
    """

    symbol: str
    inputs: tuple[Parameter, ...]
    outputs: tuple[Parameter, ...]
    temporaries: tuple[Temporary, ...] = ()
    sizes: tuple[str, ...] = ()
    excluded: tuple[Domain, ...] = ()
    given: tuple[tuple[str, int], ...] = ()
    work: tuple[Counted, ...] = ()

    @property
    def arguments(self) -> tuple[Parameter, ...]:
        """The inputs that callers pass: they come first."""
        return tuple(p for p in self.inputs if p.inspected is None)

    @property
    def made(self) -> tuple[Parameter, ...]:
        """The inputs that are made of index arrays."""
        return tuple(p for p in self.inputs if p.inspected is not None)

    @cached_property
    def told(self) -> SizeList:
        """How a call tells sizes, and what must hold of them."""
        return SizeList(self.sizes, self.inputs, self.excluded)

    @property
    def asked_sizes(self) -> tuple[str, ...]:
        """The sizes that a caller gives: all but the numbers of elements of index arrays."""
        counts = dict(self.told.counts)
        return tuple(name for name in self.sizes if name not in counts)

    @cached_property
    def checks(self) -> tuple[CallCheck, ...]:
        """What is looked at of a call."""
        return checks_of(self.told.arguments)

    def number(self, check: CallCheck) -> int:
        """The number by which code says that something does not hold."""
        return self.checks.index(check) + 1

    def size_symbols(self, recheck: Recheck | None = None) -> SizeSymbols:
        """How calls give sizes values; sets of sizes that are refused may be looked at once more."""
        return SizeSymbols(self.sizes, self.inputs, self.excluded, recheck, dict(self.given))

    def as_json(self) -> Json:
        """Lists, strings and numbers that `from_json` reads."""
        between = [t.tensor for t in self.temporaries]
        groups = zip(_GROUPS, (self.inputs, self.outputs, between), strict=True)
        parameters = {name: [_parameter_json(p) for p in group] for name, group in groups}
        excluded = [[[form_json(row.form), row.equality] for row in rows] for rows in self.excluded]
        return {
            "symbol": self.symbol,
            **parameters,
            "in use": [
                [t.first, t.last, t.line, t.column, t.cotangent_of, t.has_steps] for t in self.temporaries
            ],
            "sizes": self.sizes,
            "excluded": excluded,
            "given": self.given,
            "work": [_counted_json(counted) for counted in self.work],
        }

    @staticmethod
    def from_json(found: Json) -> Interface:
        """The interface that `as_json` wrote. Raises KeyError, TypeError or ValueError for anything else."""
        inputs, outputs, between = (_parameters(found[name]) for name in _GROUPS)
        temporaries = tuple(
            Temporary(p, int(first), int(last), int(line), int(column), str(of), bool(has_steps))
            for p, (first, last, line, column, of, has_steps) in zip(between, found["in use"], strict=True)
        )
        excluded = (
            tuple(Constraint(form_of(form), bool(equality)) for form, equality in rows)
            for rows in found["excluded"]
        )
        given = tuple((str(name), int(value)) for name, value in found["given"])
        sizes, symbol = tuple(found["sizes"]), str(found["symbol"])
        work = tuple(_counted_of(counted) for counted in found["work"])
        return Interface(symbol, inputs, outputs, temporaries, sizes, tuple(excluded), given, work)


def _parameter_json(parameter: Parameter) -> Json:
    """Name, type, shape, and what else there is to say of index arrays and of sparse tensors."""
    more: dict[str, Any] = {}
    if parameter.below is not None:
        more["below"] = _extent_json(parameter.below)
        more["increasing"] = parameter.increasing
    if parameter.inspected is not None:
        about = parameter.inspected
        more["made"] = [about.kind, about.of, about.axis, about.form and form_json(about.form)]
    if parameter.pattern is not None:
        more["pattern"] = [parameter.pattern.at, list(map(_extent_json, parameter.pattern.shape))]
    found = [parameter.name, parameter.type, list(map(_extent_json, parameter.shape))]
    return [*found, more] if more else found


def _parameters(found: Json) -> tuple[Parameter, ...]:
    return tuple(_parameter(*parameter) for parameter in found)


def _parameter(name: str, type: str, shape: Json, more: Json = None) -> Parameter:
    made = Parameter(name, type, tuple(map(_extent, shape)))
    if more is None:
        return made
    from tadc.frontend.program import Inspected, Pattern

    if "below" in more:
        made = replace(made, below=_extent(more["below"]), increasing=bool(more["increasing"]))
    if "made" in more:
        kind, of, axis, form = more["made"]
        made = replace(made, inspected=Inspected(kind, tuple(of), int(axis), form and form_of(form)))
    if "pattern" in more:
        at, whole = more["pattern"]
        made = replace(made, pattern=Pattern(tuple(at), tuple(map(_extent, whole))))
    return made


def _extent(found: Json) -> Extent:
    return found if isinstance(found, int) else form_of(found)


def _extent_json(size: Extent) -> Json:
    return size if isinstance(size, int) else form_json(size)


def _counted_json(counted: Counted) -> Json:
    names = [[name, which, [form_json(form) for form in forms]] for name, which, forms in counted.names]
    return [names, _count_json(counted.count)]


def _counted_of(found: Json) -> Counted:
    from tadc.lattice.amounts import Counted, Together

    def count_of(found: Json) -> Count:
        if isinstance(found, int):
            return found
        if len(found) == 1:
            return form_of(found[0])
        kind, *of = found
        return Together(kind, tuple(map(count_of, of)))

    names, count = found
    read = ((str(name), which, tuple(form_of(form) for form in forms)) for name, which, forms in names)
    return Counted(tuple(read), count_of(count))


def _count_json(count: Count) -> Json:
    """A number, a form in a list, or `["sum" or "product", …]`."""
    match count:
        case int():
            return count
        case Affine():
            return [form_json(count)]
        case (kind, of):
            return [kind, *map(_count_json, of)]
