"""What the inspector does for each kind of index array that is made of others: calls, one after the other.

A call is of a function of `backend/cpu/inspector.ll`: its operands are names of arrays, none, and numbers,
which may be forms of sizes. `backend/runtime/index_arguments.py` runs calls by machine code or NumPy, kernels
of a GPU do the same, and `tadc/native/inspection.py` writes calls in LLVM IR.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, get_args

from tadc.backend.runtime.parameters import Parameter
from tadc.frontend.dtypes import INDEX_TYPE
from tadc.frontend.extents import Extent, as_form, count_of, extent, is_static, shape_at
from tadc.frontend.functions import complete
from tadc.frontend.program import Made
from tadc.lattice.affine import ZERO, Affine, Floor, Lookup
from tadc.lattice.late_dataclasses import dataclass

if TYPE_CHECKING:
    from tadc.frontend.program import Inspected

Operand: TypeAlias = "str | Extent | tuple[Extent, ...] | None"
"""The name of an array, none, a number, or the extents whose product a number is."""


class InspectorCall(NamedTuple):
    """A call of a function; arrays that no call before names are written."""

    function: str
    operands: tuple[Operand, ...]


class InspectorStep(NamedTuple):
    """Some calls, after which arrays may be kept: those `made` depend on some index arrays and on `facts`."""

    of: tuple[str, ...]
    facts: tuple[Hashable, ...]
    made: tuple[str, ...]
    calls: tuple[InspectorCall, ...]


class InspectorCalls:
    """The calls that make the index arrays of a kernel, step by step, and the arrays that they name."""

    def __init__(self, given: Iterable[Parameter], made: Sequence[Parameter]) -> None:
        """What is `made` may be made of what is made before."""
        self.steps: list[InspectorStep] = []
        self.given, self.made = tuple(given), tuple(made)
        self.arrays = {p.name: p for p in (*self.given, *self.made)}
        #: What is needed on the way.
        self.work: list[Parameter] = []
        self._calls: list[InspectorCall] = []
        self._free: dict[tuple[Extent, ...], list[str]] = {}
        self._sorted: dict[tuple[str, ...], tuple[str, str]] = {}
        for parameter, about in _inspected(made):
            KINDS[about.kind].calls(self, parameter, about)
            self._step(about.of, (parameter.name,), about.kind, about.axis, about.form, parameter.shape)

    @property
    def calls(self) -> list[InspectorCall]:
        """Those of all steps."""
        return [call for step in self.steps for call in step.calls]

    def call(self, function: str, *operands: Operand) -> None:
        """Append a call to the step at hand."""
        self._calls.append(InspectorCall(function, tuple(map(_number, operands))))

    def _step(self, of: tuple[str, ...], made: tuple[str, ...], *facts: Hashable) -> None:
        """End the step at hand, if it has calls."""
        if self._calls:
            below = [self.arrays[name].below for name in of]
            self.steps.append(InspectorStep(of, (*facts, *below), made, tuple(self._calls)))
            self._calls = []

    def below(self, name: str) -> Extent:
        """The number that elements are less than."""
        return self.arrays[name].below or 0

    def count(self, name: str) -> Affine:
        """How many elements an array has."""
        return as_form(count_of(name, self.arrays[name].shape))

    def room(self, *shape: Extent) -> str:
        """An array that is needed on the way; one that is free, if there is."""
        if self._free.get(shape):
            return self._free[shape].pop()
        work = Parameter(f"work {len(self.work)}", INDEX_TYPE, shape)
        self.work.append(work)
        self.arrays[work.name] = work
        return work.name

    def free(self, name: str | None) -> None:
        """Say that no later call reads what is in an array."""
        if name is not None:
            self._free.setdefault(self.arrays[name].shape, []).append(name)

    def sorted(self, of: tuple[str, ...]) -> tuple[str, str]:
        """Where the values of the first array start, and the places in the order of all: asked for first."""
        if of not in self._sorted:
            order = self.sorted(of[1:])[1] if of[1:] else None
            shape, below = self.arrays[of[0]].shape, self.below(of[0])
            starts = self._wanted("ptr", of) if order is None else None
            starts = starts or self.room(extent(as_form(below) + 1))
            places = (self._wanted("perm", of) if len(shape) == 1 else None) or self.room(*shape)
            assert not self._calls
            self.call("sort", of[0], order, shape, below, starts, places)
            self._step(of, (starts, places), "sorted")
            self._sorted[of] = starts, places
        return self._sorted[of]

    def _wanted(self, kind: str, of: tuple[str, ...]) -> str | None:
        """An array of a kind that is made."""
        return next((p.name for p, a in _inspected(self.made) if (a.kind, a.of) == (kind, of)), None)

    def ranges(self, length: int) -> list[tuple[str, str | None]]:
        """Arrays between whose neighbours a range may have so many elements, and pairs between which one may.

        Ranges of blocks of values are as long as asked.
        """
        blocks = {p.name for p, about in _inspected(self.made) if _is_of_blocks(about)}
        named = {(about.kind, about.of): p.name for p, about in _inspected(self.made)}
        found: list[tuple[str, str | None]] = []
        for p in (*self.given, *self.made):
            about, kind = p.inspected, KINDS[p.inspected.kind] if p.inspected else None
            if isinstance(p.below, int) and p.below <= length:
                continue
            if about is not None and kind is not None and kind.ends:
                found.append((p.name, named.get((kind.ends, about.of))))
            elif p.increasing or (kind is not None and kind.is_of_ranges):
                if about is None or blocks.isdisjoint(about.of):
                    found.append((p.name, None))
        return found

    def value(self, form: Affine, shape: tuple[Extent, ...]) -> str:
        """The values of a form at all places of a shape, of 64 bits."""
        to = self.room(2, *shape)
        known = Affine.of({atom: k for atom, k in form.terms if _is_size(atom)}, form.constant)
        self.call("filled", to, shape, extent(known))
        for atom, k in form.terms:
            if isinstance(atom, Lookup):
                self._look_up(to, atom, k, shape)
            elif isinstance(atom, Floor) and not _is_size(atom):
                numerator = self.value(atom.numerator, shape)
                self.call("quotients", to, shape, numerator, atom.denominator, k)
                self.free(numerator)
            elif not _is_size(atom):
                n = int(str(atom)[1:])
                self.call("counted", to, shape, shape[n + 1 :], shape[n], k)
        return to

    def _look_up(self, to: str, atom: Lookup, factor: int, shape: tuple[Extent, ...]) -> None:
        """Add multiples of elements, those at places that are out of range as 0."""
        extents = self.arrays[atom.array].shape
        if extents == shape and atom.at == tuple(Affine.var(f"#{n}") for n in range(len(shape))):
            self.call("summed", to, shape, atom.array, factor)
            return
        place = self.value(atom.at[0] if atom.at else ZERO, shape)
        for n, part in enumerate(atom.at[1:], 1):
            subscript = self.value(part, shape)
            self.call("crossed", place, shape, extents[:n], subscript, extents[n])
            self.free(subscript)
        self.call("looked", to, shape, place, atom.array, extents, factor)
        self.free(place)


def _inspected(made: Iterable[Parameter]) -> Iterator[tuple[Parameter, Inspected]]:
    return ((p, p.inspected) for p in made if p.inspected is not None)


def _number(operand: Operand) -> Operand:
    """An operand, a number where extents are known."""
    return prod(shape_at(operand, {})) if isinstance(operand, tuple) and is_static(operand) else operand


def _is_size(atom: str | Floor | Lookup) -> bool:
    """Whether an atom is a number, and none of each place."""
    form = Affine.atom(atom)
    return not form.has_lookups and not any(name.startswith("#") for name in form.variables)


def _ptr(calls: InspectorCalls, made: Parameter, about: Inspected) -> None:
    if len(about.of) == 1:
        calls.sorted(about.of)
        return
    shape = calls.arrays[about.of[0]].shape
    cells = calls.room(2, *shape)  # of 64 bits
    calls.call("filled", cells, shape, 0)
    for array, size in zip(about.of, made.shape, strict=True):
        calls.call("cells", cells, array, shape, size)
    calls.call("starts", cells, shape, made.name, made.shape)
    calls.free(cells)


def _perm(calls: InspectorCalls, made: Parameter, about: Inspected) -> None:
    _, places = calls.sorted(about.of)
    if places != made.name:
        _subscripts(calls, places, calls.arrays[about.of[0]].shape, made, about.axis)


def _subscripts(
    calls: InspectorCalls, places: str, shape: tuple[Extent, ...], made: Parameter, axis: int
) -> None:
    calls.call("subscripts", places, made.shape, shape[axis + 1 :], shape[axis], made.name)


def _taken(calls: InspectorCalls, made: Parameter, about: Inspected) -> None:
    first, *by = about.of
    calls.call("taken", first, calls.sorted(tuple(by))[1], made.shape, made.name)


def _owner(calls: InspectorCalls, made: Parameter, about: Inspected) -> None:
    of = calls.arrays[about.of[0]]
    found = made.name if len(of.shape) == 1 else calls.room(*made.shape)
    calls.call("owners", of.name, of.shape, made.shape, found)
    if found != made.name:
        _subscripts(calls, found, of.shape, made, about.axis)
        calls.free(found)


def _values(calls: InspectorCalls, made: Parameter, about: Inspected) -> None:
    assert about.form is not None
    found = calls.value(about.form, made.shape)
    calls.call("narrowed", found, made.shape, made.name)
    calls.free(found)


def _whole(calls: InspectorCalls, made: Parameter, about: Inspected) -> None:
    begins, *ends = about.of
    most = (as_form(calls.below(about.of[-1])) - 1).floordiv(_length(about))
    calls.call("wholes", begins, *(ends or [None]), made.shape, _length(about), extent(most), made.name)


def _rest(calls: InspectorCalls, made: Parameter, about: Inspected) -> None:
    calls.call("rests", *about.of, made.shape, _length(about), made.name)


def _start(calls: InspectorCalls, made: Parameter, about: Inspected) -> None:
    counted = calls.arrays[about.of[1]].shape
    calls.call("parts", *about.of, counted, _length(about), made.name, made.shape)


def _length(about: Inspected) -> int:
    """Of the parts that are asked for."""
    assert about.form is not None
    return about.form.constant


def _ranks(calls: InspectorCalls, made: Parameter, about: Inspected) -> None:
    """Both are sorted as one, those that ask before equal ones or behind them."""
    half, is_after = len(about.of) // 2, about.kind == "until"
    count, asked = calls.count(about.of[0]), calls.count(about.of[half])
    both, order = extent(count + asked), None
    for compared, asking in reversed(list(zip(about.of[:half], about.of[half:], strict=True))):
        below = calls.below(compared)
        starts, joined, places = calls.room(extent(as_form(below) + 1)), calls.room(both), calls.room(both)
        one, two = [(compared, extent(count)), (asking, extent(asked))][:: 1 if is_after else -1]
        calls.call("joined", *one, *two, joined)
        calls.call("sort", joined, order, both, below, starts, places)
        for name in (starts, joined, order):
            calls.free(name)
        order = places
    calls.call("ranks", order, both, extent(count) if is_after else 0, extent(asked), made.name)
    calls.free(order)


def _spread(calls: InspectorCalls, made: Parameter, about: Inspected) -> None:
    (starts, _), rows = calls.sorted(about.of[1:]), calls.below(about.of[1])
    calls.call("spread", made.name, made.shape, about.axis, starts, rows)


@dataclass(frozen=True)
class IndexKind:
    """What calls make arrays of a kind, and what their elements are."""

    calls: Callable[[InspectorCalls, Parameter, Inspected], None]
    #: Between neighbours are ranges, or between elements and those of an array of that kind.
    is_of_ranges: bool = False
    ends: str = ""


KINDS: dict[str, IndexKind] = complete(
    "what the inspector does",
    {
        "ptr": IndexKind(_ptr, is_of_ranges=True),
        "perm": IndexKind(_perm),
        "owner": IndexKind(_owner),
        "values": IndexKind(_values),
        "taken": IndexKind(_taken),
        "whole": IndexKind(_whole),
        "rest": IndexKind(_rest),
        "start": IndexKind(_start),
        "before": IndexKind(_ranks, ends="until"),
        "until": IndexKind(_ranks),
        "spread": IndexKind(_spread),
    },
    get_args(Made),
)


def _is_of_blocks(about: Inspected) -> bool:
    """Whether values are numbers of blocks, `src[e] // 1024`."""
    terms = about.form.terms if about.form is not None else ()
    return len(terms) == 1 and isinstance(terms[0][0], Floor)


class Rooms(dict[str, Any]):
    """The arrays that calls of known sizes name, each made when it is first named."""

    def __init__(
        self, about: Mapping[str, Parameter], given: Mapping[str, Any], new: Callable[[Any], Any]
    ) -> None:
        super().__init__(given)
        self._about, self._new = about, new

    def __missing__(self, name: str) -> Any:
        made = self[name] = self._new(self._about[name].shape)
        return made


def run(calls: Iterable[InspectorCall], arrays: Rooms, function: Callable[[str], Callable[..., Any]]) -> None:
    """Do calls whose numbers are known, one after the other."""
    for name, operands in calls:
        function(name)(*[arrays[o] if isinstance(o, str) else o for o in operands])
