"""Maps to which a thin set adds what is known last, after all else and in the same memory.

    %d[i, j] = (if {i = j} then %t[i] else 0) + %s[i]*%e[i, j]

where %t is computed late becomes

    %d_all[i, j] = %s[i]*%e[i, j]
    %d[i, j] = if {i = j} then %t[i] + %d_all[i, j] else %d_all[i, j]

and the second is stored at i = j alone, where the first is. The first waits for nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tadc.dialect.index_maps import map_attribute, parse_set
from tadc.dialect.mlir import ir
from tadc.frontend.terms import Domain
from tadc.lattice.affine import Affine, Constraint
from tadc.passes.cpu.set_loops import set_loops
from tadc.passes.cpu.splits import PLAIN
from tadc.passes.cpu.tile_loops import TileLoops
from tadc.passes.cpu.tile_schedule import Schedule
from tadc.passes.maps.lower_body import BodyLowering
from tadc.passes.maps.marks import IN_PLACE
from tadc.passes.maps.tile_values import owner, yielded
from tadc.passes.maps.unused import erase_unused


def thin_addends(op: Any) -> list[Any]:
    """The guards on one thin set that a map adds to something else, 0 elsewhere; empty where there are none,
    or where its elements are not all that a caller gets."""
    if op.name != "tad.map" or any(use.owner.name != "func.return" for use in op.results[0].uses):
        return []
    found, others = list[Any](), 0
    waiting = [yielded(op.regions[0].blocks[0])]
    while waiting:
        made = owner(waiting.pop())
        if made is not None and made.name == "arith.addf" and len(list(made.results[0].uses)) == 1:
            waiting += made.operands
        elif made is not None and made.name == "tad.guard" and _is_thin(made, op):
            found.append(made)
        else:
            others += 1
    same = {(str(guard.attributes["where"]), *guard.operands) for guard in found}
    return found if others and len(same) == 1 else []


def _is_thin(guard: Any, op: Any) -> bool:
    """Whether a guard is 0 but where an equation gives one of the map's indices, and is used once."""
    own = set(op.regions[0].blocks[0].arguments)
    other = owner(yielded(guard.regions[1].blocks[0]))
    if other is None or other.name != "arith.constant" or ir.FloatAttr(other.attributes["value"]).value != 0:
        return False
    if len(list(guard.results[0].uses)) > 1 or not own.issuperset(guard.operands):
        return False
    rows = parse_set(str(guard.attributes["where"])).constraints
    return any(row.equality and any(abs(k) == 1 for _, k in row.form.terms) for row in rows)


def split_thin(op: Any, guards: Sequence[Any]) -> tuple[Any, Any]:
    """What a map computes without these guards, and what is left for their set, in place of the map."""
    places = [n for n, inner in enumerate(op.regions[0].blocks[0].operations) if inner.operation in guards]
    whole, last = (op.clone(ip=ir.InsertionPoint(op)).operation for _ in range(2))
    for guard in _at(whole, places):
        (use,) = guard.results[0].uses
        total = use.owner.operation if hasattr(use.owner, "operation") else use.owner
        (rest,) = [v for v in total.operands if v != guard.results[0]]
        total.results[0].replace_all_uses_with(rest)
        total.erase()
        guard.erase()
    _complete(last, _at(last, places), whole.results[0])
    for made in (whole, last):
        erase_unused(made.regions[0].blocks[0])
    op.results[0].replace_all_uses_with(last.results[0])
    op.erase()
    return whole, last


def _at(op: Any, places: Sequence[int]) -> list[Any]:
    operations = list(op.regions[0].blocks[0].operations)
    return [operations[n].operation for n in places]


def _complete(op: Any, guards: Sequence[Any], whole: Any) -> None:
    """Let a map yield the sum of its guards and of a tensor's own elements on the set, these elsewhere."""
    block = op.regions[0].blocks[0]
    last, type = list(block.operations)[-1].operation, whole.type.element_type
    total = guards[0].results[0]
    point = ir.InsertionPoint(last)
    for guard in guards[1:]:
        total = _add(total, guard.results[0], op.location, point)
    made = ir.Operation.create(
        "tad.guard", results=[type], operands=list(guards[0].operands),
        attributes={"where": guards[0].attributes["where"]}, regions=2, loc=op.location, ip=point,
    )  # fmt: skip
    names = [f"d{n}" for n in range(len(block.arguments))]
    at = map_attribute([Affine.var(name) for name in names], names, op.context)
    for region, more in zip(made.regions, (total, None), strict=True):
        inside = ir.InsertionPoint(ir.Block.create_at_start(region, []))
        value = ir.Operation.create(
            "tad.read", results=[type], operands=[whole, *block.arguments], attributes={"at": at},
            loc=op.location, ip=inside,
        ).results[0]  # fmt: skip
        if more is not None:
            value = _add(more, value, op.location, inside)
        ir.Operation.create("tad.yield", operands=[value], loc=op.location, ip=inside)
    ir.Operation.create("tad.yield", operands=[made.results[0]], loc=op.location, ip=point)
    last.erase()
    op.attributes[IN_PLACE] = ir.UnitAttr.get(op.context)


def _add(x: Any, y: Any, location: Any, point: Any) -> Any:
    made = ir.Operation.create("arith.addf", results=[x.type], operands=[x, y], loc=location, ip=point)
    return made.results[0]


def in_place_loops(op: Any, sizes: Sequence[Affine], low: BodyLowering, point: Any) -> None:
    """Lower a map that is marked IN_PLACE to loops over the points of its set."""
    tiles = TileLoops(op, sizes, low, Schedule(1, tuple(range(len(sizes)))), [PLAIN] * len(sizes))
    set_loops(tiles, thin_set(op), low.known, point)


def thin_set(op: Any) -> Domain:
    """The rows of the set, over indices `d0, d1, …` of a map that is marked."""
    block = op.regions[0].blocks[0]
    guard = owner(yielded(block))
    number = {value: Affine.var(f"d{n}") for n, value in enumerate(block.arguments)}
    names = {f"d{n}": number[value] for n, value in enumerate(guard.operands)}
    rows = parse_set(str(guard.attributes["where"])).constraints
    return tuple(Constraint(row.form.substitute(names), row.equality) for row in rows)
