"""Elements of a recurrence that the next steps read, kept in registers.

A loop that stores element i of a buffer and loads elements i - 1, i - 2, … of it waits for memory at each
step, as LLVM carries the last of them alone, and none that is scattered.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from tadc.dialect.index_maps import NotAffine, parse
from tadc.dialect.mlir import ir
from tadc.lattice.affine import Floor

#: Elements farther back are loaded.
_MOST = 4


def carry(module: ir.Module, *, in_windows: bool = False) -> None:
    """Carry the last elements through the innermost loops of a module that run from 0, in place.

    Only those of buffers of the last steps, `in_windows`, and what is scattered: of others LLVM carries the
    last one.
    """
    loops, stores = list[Any](), dict[Any, list[Any]]()

    def visit(op: ir.Operation) -> ir.WalkResult:
        if op.name == "scf.for" and not len(op.results):
            loops.append(op)
        elif op.name in _LOADS:
            stores.setdefault(op.block, []).append(op)
        return ir.WalkResult.ADVANCE

    module.operation.walk(visit)
    with module.context, ir.Location.unknown(module.context):
        for loop in loops:
            _carry(loop, stores.get(loop.regions[0].blocks[0], []), in_windows)


def _carry(loop: Any, stores: list[Any], in_windows: bool) -> None:
    block = loop.regions[0].blocks[0]
    if len(stores) != 1 or _constant(loop.operands[0]) != 0 or _constant(loop.operands[2]) != 1:
        return
    store = _access(stores[0])
    moving = [n for n, place in enumerate(store.places) if _form(place, block.arguments[0]) is not None]
    stored = _form(store.places[moving[0]], block.arguments[0]) if len(moving) == 1 else None
    if stored is None or (in_windows and not stored.rows and not store.lanes):
        return
    loads = _loads(block, store.buffer, _LOADS[stores[0].name])
    distances: list[int | None] = []
    for load in loads or [None]:
        found = None if load is None else _access(load)
        is_same = found is not None and found.beside(moving[0]) == store.beside(moving[0])
        place = _form(found.places[moving[0]], block.arguments[0]) if found is not None and is_same else None
        distances.append(_distance(place, stored))
    known = [d for d in distances if d is not None and 0 < d <= _MOST]
    if len(known) < len(distances):
        return
    _rebuild(loop, store.value, dict(zip(loads, known, strict=True)))


#: What loads what these store.
_LOADS = {"memref.store": "memref.load", "vector.scatter": "vector.gather"}


class _Access(NamedTuple):
    """A buffer, a place for each of its axes, the lanes and the mask of a vector, and what is stored."""

    buffer: Any
    places: tuple[Any, ...]
    lanes: tuple[Any, ...] = ()
    value: Any = None

    def beside(self, axis: int) -> list[Any]:
        """What is the same for elements along one axis."""
        return [*(place for n, place in enumerate(self.places) if n != axis), *self.lanes]


def _access(op: Any) -> _Access:
    operands = list(op.operands)
    match op.name:
        case "memref.store":
            return _Access(operands[1], tuple(operands[2:]), (), operands[0])
        case "memref.load":
            return _Access(operands[0], tuple(operands[1:]))
        case _:
            return _Access(operands[0], tuple(operands[1:-3]), tuple(operands[-3:-1]), operands[-1])


def _loads(block: Any, buffer: Any, kind: str) -> list[Any]:
    """The loads of a buffer in a block and in what is nested in it; one None if there is another loop."""
    found: list[Any] = []
    for op in block.operations:
        operation = op.operation
        if operation.name == kind and operation.operands[0] == buffer:
            found.append(operation)
        elif operation.name in {"scf.for", "scf.while", "scf.parallel"}:
            return [None]
        for region in operation.regions:
            for inner in region.blocks:
                found += _loads(inner, buffer, kind)
    return [None] if any(load is None for load in found) else found


def _constant(value: Any) -> int | None:
    owner = value.owner
    if isinstance(owner, ir.Block) or owner.operation.name != "arith.constant":
        return None
    return ir.IntegerAttr(owner.operation.attributes["value"]).value


class _Place(NamedTuple):
    """A place `sign*index + constant`, or that modulo `rows`."""

    sign: int
    constant: int
    rows: int = 0


def _form(place: Any, index: Any) -> _Place | None:
    """A place of a buffer, by the index of a loop; None if it is of another form."""
    if place == index:
        return _Place(1, 0)
    owner = place.owner
    if isinstance(owner, ir.Block) or owner.operation.name != "affine.apply":
        return None
    if len(owner.operation.operands) != 1 or owner.operation.operands[0] != index:
        return None
    try:
        found = parse(str(owner.operation.attributes["map"]))
    except NotAffine:
        return None
    form, rows = found.forms[0], 0
    for atom, factor in form.terms:
        if isinstance(atom, Floor) and factor == -atom.denominator:
            rows = atom.denominator
            form = atom.numerator if form == atom.numerator.mod(rows) else form
    sign = form.coefficient("d0")
    is_place = form.is_linear and sign in (1, -1) and not found.symbols
    return _Place(sign, form.constant, rows) if is_place else None


def _distance(place: _Place | None, stored: _Place) -> int | None:
    """How many steps ago the element at a place was stored; if modulo `rows`, less than that."""
    if place is None or (place.sign, place.rows) != (stored.sign, stored.rows):
        return None
    back = (stored.constant - place.constant) * place.sign
    return back % stored.rows if stored.rows else back


def _rebuild(loop: Any, value: Any, loads: dict[Any, int]) -> None:
    """A loop made anew, with the last elements as arguments."""
    count = max(loads.values())
    before = ir.InsertionPoint(loop)
    is_vector = isinstance(value.type, ir.VectorType)
    scalar = ir.FloatAttr.get(value.type.element_type if is_vector else value.type, 0.0)
    zeros = ir.DenseElementsAttr.get_splat(value.type, scalar) if is_vector else scalar
    attributes = {"value": zeros}
    zero = ir.Operation.create("arith.constant", [value.type], [], attributes, ip=before).result
    operands = [*loop.operands, *[zero] * count]
    types = [value.type] * count
    made = ir.Operation.create("scf.for", types, operands, regions=1, loc=loop.location, ip=before)
    block = loop.regions[0].blocks[0]
    inside = ir.Block.create_at_start(made.regions[0], [block.arguments[0].type, *types])
    index, *last = list(inside.arguments)
    old = list(block.operations)
    end = ir.Operation.create("scf.yield", [], [value, *last[:-1]], ip=ir.InsertionPoint(inside))
    for op in old[:-1]:
        op.operation.move_before(end)
    block.arguments[0].replace_all_uses_with(index)
    for load, distance in loads.items():
        load.result.replace_all_uses_with(last[distance - 1])
        load.erase()
    loop.erase()
