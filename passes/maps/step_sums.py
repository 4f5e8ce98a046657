"""Sums over the steps of a recurrence, added up as these are made.

    y[i: N] = sum{t} (w[t] * u[t, i])

becomes

    let scan{t} s[t: T, i: N] = if {t = 0} then (0) else (s[t - 1, i]) + w[t] * u[t, i]
    y[i: N] = if {T >= 1} then (s[T - 1, i]) else (0)

which reads u at its own step alone, and of which few steps are kept. A sum over more indices adds up for each
step what it has over the others.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace

from tadc.dialect.scalar_ops import ONE_ROUNDING
from tadc.frontend.terms import Domain
from tadc.lattice.affine import ZERO, Affine, Constraint, box
from tadc.lattice.polyhedron import implied
from tadc.passes.maps.blocks import BlockNames, Renaming, indices_bound, numbered, without_unused
from tadc.passes.maps.map import Applied, Block, Choice, Constant, Fold, Let, Load, Map, TensorDecl, Value

_SO_FAR = "%so_far"
"""The name of the sum over the steps before."""


def sums_by_step(
    item: Map,
    steps: Mapping[str, tuple[int, int]],
    count: Affine,
    down: bool,
    names: BlockNames,
    known: Domain,
    later: Collection[str] = (),
) -> tuple[list[Map], Map] | None:
    """A map's sums over steps as recurrences, and the map that reads the last step of these; None without.

    `steps` says of each tensor that has them which of its subscripts counts them, and from where; there are
    `count`, up or `down`. What a recurrence reads is not computed `later`.
    """
    found: dict[int, list[Map]] = {}
    for number, let in enumerate(item.body.lets):
        fold = let.value
        if not isinstance(fold, Fold) or fold.kind != "sum":
            continue
        facts = (*fold.rows, *box(item.indices, item.extents), *known)
        index = _index(fold, steps, down, count, facts)
        if index is not None and not _is_triangular(fold, index[0], item):
            made = [
                _recurrence(item, number, place, index, count, down, names) for place in range(len(let.names))
            ]
            if not any(name in later for each in made for name in each.read):
                found[number] = made
    if not found:
        return None
    lets: list[Let] = []
    last = ZERO if down else count - 1
    has_steps = implied(count - 1, known)
    for number, let in enumerate(item.body.lets):
        for name, made in zip(let.names, found.get(number, ()), strict=False):
            (tensor,) = made.tensors
            at = (last, *map(Affine.var, item.indices))
            read = _block(Load(tensor.name, at, tensor.type), f"{name}l")
            zero = _block(Constant(0.0, tensor.type), f"{name}z")
            value: Value = Choice((Constraint(count - 1),), read, zero, tensor.type)
            lets.append(Let((name,), read.lets[0].value if has_steps else value, let.place))
        if number not in found:
            lets.append(let)
    rest = replace(item, body=without_unused(Block(tuple(lets), item.body.gives)))
    return [made for number in sorted(found) for made in found[number]], numbered(rest)


def _index(
    fold: Fold, steps: Mapping[str, tuple[int, int]], down: bool, count: Affine, facts: Domain
) -> tuple[str, int] | None:
    """The index of a sum that follows steps, and how far behind them it is: behind the last that it reads.

    By the facts, each of its values has a step.
    """
    found: dict[str, int] = {}
    for form in _step_forms(fold.body, steps):
        if form.is_linear and len(form.terms) == 1:
            ((name, factor),) = form.terms
            if factor == 1 and name in fold.indices:
                ends = form.constant, found.get(str(name), form.constant)
                found[str(name)] = min(ends) if down else max(ends)
    for name, behind in found.items():
        at = Affine.var(name) + behind
        if implied(at, facts) and implied(count - 1 - at, facts):
            return name, behind
    return None


def _is_triangular(fold: Fold, name: str, item: Map) -> bool:
    """Whether elements have sums over different steps: each step would be added to all of them."""
    bounds = (row.form.variables for row in fold.rows if name in row.form.variables)
    return any(not found.isdisjoint(item.indices) for found in bounds)


def _step_forms(block: Block, steps: Mapping[str, tuple[int, int]]) -> Iterator[Affine]:
    """The steps of the elements that a block reads."""
    for let in block.all_lets():
        if isinstance(let.value, Load) and let.value.tensor in steps:
            axis, offset = steps[let.value.tensor]
            yield let.value.at[axis] + offset


def _recurrence(
    item: Map, number: int, place: int, index: tuple[str, int], count: Affine, down: bool, names: BlockNames
) -> Map:
    """The recurrence that adds up one value of a sum by the steps that an index follows."""
    let = item.body.lets[number]
    fold = let.value
    assert isinstance(fold, Fold)
    name, behind = index
    sizes = {name for extent in item.extents for name in extent.variables}
    step = BlockNames({*item.indices, *indices_bound(item.body), *sizes}).new("step")
    here = Affine.var(step)
    renaming = Renaming(forms={name: here - behind})
    others = tuple(n for n in fold.indices if n != name)
    rows = renaming.rows(fold.rows)
    alone = tuple(row for row in rows if row.form.variables.isdisjoint(others))
    inner = renaming.block(fold.body)
    inner = Block(inner.lets, (inner.gives[place],))
    if others:
        left = tuple(row for row in rows if row not in alone)
        inner = _block(replace(fold, indices=others, rows=left, body=inner), "%of_step")
    tensor = TensorDecl(names.like(item.name), fold.type, (count, *item.extents), place=item.place)
    back = (here + 1 if down else here - 1, *map(Affine.var, item.indices))
    is_later = Constraint(count - 2 - here if down else here - 1)
    zero = _block(Constant(0.0, fold.type), "%first")
    before = Choice((is_later,), _block(Load(tensor.name, back, fold.type), "%before"), zero, fold.type)
    facts = box([step, *item.indices], [count, *item.extents])
    added = _added(inner, fold.type)
    if not all(implied(row.form, facts) and not row.equality for row in alone):
        added = _block(Choice(alone, added, Block((), (_SO_FAR,)), fold.type), "%added")
    lets = (*item.body.lets[:number], Let((_SO_FAR,), before, let.place), *added.lets)
    body = without_unused(Block(lets, added.gives))
    order = -here if down else here
    return numbered(Map((tensor,), (step, *item.indices), tensor.shape, body, order, place=item.place))


def _added(block: Block, type: str) -> Block:
    """The sum so far and what a block gives: a product is added in one rounding, as where it joins a sum."""
    (name,) = block.gives
    made = {let.names[0]: let.value for let in block.lets if let.names}
    match made.get(name):
        case Applied(function="mul", operands=(x, y)):
            total = Applied(ONE_ROUNDING, (x, y, _SO_FAR), type)
        case Applied(function="powi", operands=(base,), exponent=2):
            total = Applied(ONE_ROUNDING, (base, base, _SO_FAR), type)
        case _:
            total = Applied("add", (_SO_FAR, name), type)
    return without_unused(Block((*block.lets, Let(("%total",), total)), ("%total",)))


def _block(value: Value, name: str) -> Block:
    return Block((Let((name,), value),), (name,))
