"""Recurrences along diagonals become recurrences along one index, with contiguous elements in each step.

    scan{i + j} d[i: N, j: M] = F(c[i, j], d[i - 1, j], d[i, j - 1])
    f = d[N - 1, M - 1]

becomes

    let scan{t} d_0[t: N + M - 1, i: N] = if {i <= t and t - i <= M - 1} then (
        F(c[i, t - i], d_0[t - 1, i - 1], d_0[t - 1, i])) else (0)
    f = d_0[N + M - 2, N - 1]

so that the elements of a wavefront are computed in vectors and read contiguous elements of d_0 (Wolfe, Loop
skewing: the wavefront method revisited, 1986). The order replaces an index with coefficient 1. If loops over
single indices leave a long enough index parallel, the recurrence stays. Elementwise functions of d, such as
exp(d[i, j]), are stored in skewed form too, and so is c if wavefronts read it more than once, as gradients
do: a copy costs as much as one read along diagonals. A result, or a tensor that sums read, is copied back.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence

from tadc.frontend.extents import Shape, as_form, extent
from tadc.frontend.program import Definition, Program
from tadc.frontend.terms import Read, Reduce, Term, is_bound, reachable
from tadc.lattice.affine import ZERO, Affine, Constraint
from tadc.lattice.late_dataclasses import dataclass, replace
from tadc.passes.terms.algebra import Algebra
from tadc.passes.terms.checked_reads import own_reads
from tadc.passes.terms.costs import ELEMENT, LANES, LARGER, LINE, UNKNOWN
from tadc.passes.terms.loop_sequences import StepRead, lexicographic
from tadc.passes.terms.names import Names
from tadc.passes.terms.simplify import simplified
from tadc.passes.where import TAKE_ALL, Takes

ROW = 8 * LINE
"""Rows of a multiple of so many bytes are a line of the cache longer: elements of a column are then in more
of its sets."""


@dataclass(frozen=True)
class _Skewed:
    """A recurrence by its order: tensor `name` has the index `step`, from 0 on, in the place of `gone`."""

    name: str
    indices: tuple[str, ...]
    shape: Shape
    step: str
    own: tuple[str, ...]
    order: Affine
    gone: str

    def renamed(self, name: str, own: tuple[str, ...]) -> _Skewed:
        """The same of a tensor with other names of indices."""
        names = dict(zip(self.own, own, strict=True))
        order = self.order.substitute({old: Affine.var(new) for old, new in names.items()})
        indices = tuple(names.get(index, index) for index in self.indices)
        return _Skewed(name, indices, self.shape, self.step, own, order, names[self.gone])

    def at(self, forms: Sequence[Affine]) -> list[Affine]:
        """Where the element is that the recurrence has at these forms."""
        there = dict(zip(self.own, forms, strict=True))
        return [self.order.substitute(there) if n == self.step else there[n] for n in self.indices]

    def replaced(self) -> Affine:
        k = self.order.coefficient(self.gone)
        return (Affine.var(self.step) - self.order) * k + Affine.var(self.gone)


def skew_recurrences(program: Program, limit: int | None = None, takes: Takes = TAKE_ALL) -> Program:
    """The program with recurrences that it `takes`, along diagonals, in wavefronts; `limit` bounds bytes."""
    names = Names(program)
    skewed: dict[str, _Skewed] = {}
    copied: dict[str, _Skewed] = {}
    definitions: list[Definition] = []
    fitting = ((d.name, _skewed(program, names, d, limit)) for d in program.definitions)
    along = {name: found for name, found in fitting if found is not None and takes(name)}
    gathered = _gathered(program, along.keys())
    for definition in program.definitions:
        found = along.get(definition.name) or _beside(program, names, skewed, definition)
        if found is not None:
            skewed[definition.name] = found
            for name in (n for n in gathered.get(definition.name, ()) if n not in skewed):
                copied[name] = found.renamed(names.free(f"{name}_0"), found.own)
                definitions.append(_copy(program, copied[name], name, definition))
            definitions.append(_by_wavefronts(program, skewed | copied, definition))
            body = program.terms.read(found.name, found.at(definition.own), definition.type)
        else:
            body = _reading(program, skewed, definition)
        order = None if found else definition.order
        definitions.append(replace(definition.with_body(body), order=order))
    return replace(program, definitions=tuple(definitions)) if skewed else program


def _gathered(program: Program, along: Collection[str]) -> dict[str, list[str]]:
    """The tensors that these recurrences read more than once, of as many elements as these, by the name of
    the first that does."""
    shapes = program.shapes()
    readers: dict[str, list[str]] = {}
    for definition in program.definitions:
        for term in reachable([definition.body]) if definition.name in along else ():
            if isinstance(term, Read) and term.tensor not in along and not any(map(is_bound, term.free)):
                if shapes[term.tensor] == definition.shape:
                    readers.setdefault(term.tensor, []).append(definition.name)
    found: dict[str, list[str]] = {}
    for tensor, names in readers.items():
        if len(names) > 1:
            found.setdefault(names[0], []).append(tensor)
    return found


def _copy(program: Program, found: _Skewed, name: str, like: Definition) -> Definition:
    """A tensor stored as a recurrence is, which has its indices."""
    type = next(d.type for d in (*program.arguments, *program.definitions) if d.name == name)
    body = program.terms.read(name, like.own, type)
    made = replace(like, name=name, type=type, body=body, order=None)
    return _by_wavefronts(program, {name: found}, made, reads=False)


def _skewed(program: Program, names: Names, definition: Definition, limit: int | None) -> _Skewed | None:
    """How a recurrence is computed by wavefronts; None of one that is better as it is."""
    order = definition.order
    if order is None or len(order.terms) < 2:
        return None
    extents = dict(zip(definition.indices, map(as_form, definition.shape), strict=True))
    counts = {name: size.constant if size.is_constant else UNKNOWN for name, size in extents.items()}
    along = [name for name in definition.indices if order.coefficient(name)]
    steps = sum(abs(order.coefficient(name)) * (counts[name] - 1) for name in along) + 1
    gone = [name for name in along if abs(order.coefficient(name)) == 1]
    if not gone or min(counts.values()) < 1:
        return None
    # The longest goes: what stays in its place is longer still.
    last = max(gone, key=lambda name: (counts[name], definition.indices.index(name)))
    elements = math.prod(counts[name] for name in along)
    if elements // steps < LANES or steps > LARGER * counts[last]:
        return None
    others = math.prod(counts.values()) // counts[last]
    if limit is not None and steps * others * ELEMENT[definition.type] > limit:
        return None
    if _has_free_index(program, definition, counts):
        return None
    return _along(names, definition, last, steps)


def _along(names: Names, definition: Definition, gone: str, steps: int) -> _Skewed:
    """A recurrence by its order, which takes `steps` values if sizes are known, without the index `gone`."""
    assert definition.order is not None
    order, extents = (
        definition.order,
        dict(zip(definition.indices, map(as_form, definition.shape), strict=True)),
    )
    along = [name for name in definition.indices if order.coefficient(name)]
    low = sum(((extents[n] - 1) * k for n in along if (k := order.coefficient(n)) < 0), ZERO)
    # Of unknown sizes one more than it needs, for an extent is not negative.
    size = sum((extents[n] * abs(order.coefficient(n)) for n in along), ZERO)
    size = Affine.const(steps) if size.is_constant else size
    step = names.free("t")
    kept = iter([step, *(n for n in along if n != gone)])
    indices = tuple(next(kept) if n in along else n for n in definition.indices)
    extents[step] = size
    shape = tuple(extent(_apart(extents[n], definition.type, n == indices[-1])) for n in indices)
    name = names.free(f"{definition.name}_0")
    return _Skewed(name, indices, shape, step, definition.indices, order - low, gone)


def _apart(size: Affine, type: str, is_last: bool) -> Affine:
    """The extent of an index: a longer one of the last index, where rows would share few sets of a cache."""
    is_row = is_last and size.is_constant and size.constant * ELEMENT[type] % ROW == 0
    return size + LINE // ELEMENT[type] if is_row else size


def _beside(
    program: Program, names: Names, skewed: Mapping[str, _Skewed], definition: Definition
) -> _Skewed | None:
    """How a tensor is stored that is computed of each element of a recurrence; None of another.

    A result is that of several elements: one gather for each is left, where it is copied.
    """
    if definition.order is not None:
        return None
    own, shapes = definition.own, program.shapes()
    terms = list(reachable([definition.body]))
    if any(isinstance(term, Reduce) for term in terms):
        return None
    if definition.is_output and sum(isinstance(t, Read) and t.tensor in skewed for t in terms) < 2:
        return None
    for term in terms:
        if isinstance(term, Read) and term.tensor in skewed and shapes[term.tensor] == definition.shape:
            if all((form - index).is_constant for form, index in zip(term.indices, own, strict=True)):
                return skewed[term.tensor].renamed(names.free(f"{definition.name}_0"), definition.indices)
    return None


def _has_free_index(program: Program, definition: Definition, counts: Mapping[str, int]) -> bool:
    """Whether loops over single indices leave one, last in memory, that fills vectors."""
    reads = [
        StepRead(tuple(zip(definition.indices, read.indices, strict=True)), facts)
        for read, facts in own_reads(program, definition)
    ]
    batch = {n for n in definition.indices if all(read.back(n) == ZERO for read in reads)}
    found = lexicographic([n for n in definition.indices if n not in batch], reads)
    last = definition.indices[-1]
    return found is not None and last not in found[0] and counts[last] >= LANES


def _by_wavefronts(
    program: Program, skewed: Mapping[str, _Skewed], definition: Definition, *, reads: bool = True
) -> Definition:
    """A tensor stored by an order: 0 where a step has no element; it `reads` others that are stored so."""
    terms, found = program.terms, skewed[definition.name]
    order = definition.order and Affine.var(found.step)
    made = definition.between(found.name, shape=found.shape, indices=found.indices, order=order)
    gone = found.replaced()
    size = definition.shape[definition.indices.index(found.gone)]
    within = {name: as_form(size) for name, size in zip(definition.indices, definition.shape, strict=True)}
    longer = (
        Constraint(within[name] - 1 - Affine.var(name))
        for name, size in zip(found.indices, found.shape, strict=True)
        if name in within and as_form(size) != within[name]
    )
    rows = (Constraint(gone), Constraint(as_form(size) - 1 - gone), *longer)
    body = _reading(program, skewed, definition) if reads else definition.body
    body = terms.substitute(body, {found.gone: gone})
    body = Algebra(terms).guard(rows, body, Algebra(terms).zero)
    return simplified(program, replace(made, body=body))


def _reading(program: Program, skewed: Mapping[str, _Skewed], definition: Definition) -> Term:
    """The body of a definition where it reads wavefronts: in each case of itself and where no sum reads."""

    def moved(read: Read) -> Term | None:
        found = skewed.get(read.tensor)
        if found is None or (read.tensor != definition.name and any(map(is_bound, read.free))):
            return None
        return program.terms.reread(read, found.name, found.at(read.indices))

    return program.terms.with_reads(definition.body, moved) if skewed else definition.body
