"""Makes code of a nest: scf loops, vectors and memrefs.

Loops of the kinds `jam` and `lane` make no loop: they are the variables of a tile, and what is in them is
computed at all of its points in lockstep (`lockstep.py`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from tadc.dialect.mlir import ir
from tadc.frontend.terms import Domain
from tadc.lattice.affine import Affine, Constraint
from tadc.lattice.polyhedron import implied
from tadc.passes.maps.lower_body import BodyLowering
from tadc.passes.maps.map import Fold, Let
from tadc.passes.nest.exponentials import without_exponentials
from tadc.passes.nest.fold_kinds import lower_fold
from tadc.passes.nest.joins import Emit, Made, Point
from tadc.passes.nest.lockstep import InRegisters, Lockstep, LockstepContext
from tadc.passes.nest.loop_bounds import parts_of
from tadc.passes.nest.nest import (
    DIVIDED,
    At,
    Body,
    Bound,
    Call,
    Compute,
    Either,
    Extreme,
    For,
    If,
    Know,
    Stage,
    Statement,
)
from tadc.passes.nest.step_rows import StepRows
from tadc.passes.nest.stores import Elements, StorePlace, TileStores, store_residues
from tadc.passes.nest.tile import LANE, Copy, Dependence, Tile, TileValues, copies_of, lockstep_of
from tadc.passes.nest.vector_lanes import Lanes
from tadc.passes.terms.costs import LINE


class EmitTarget:
    """The machine that code of nests is made for: here one thread of a CPU. Tensors that are `held` have an
    element for each point of a tile, active or not."""

    held: frozenset[str] = frozenset()

    def lanes(self, low: BodyLowering, width: int) -> Lanes:
        """The maker of vectors of a width."""
        return Lanes(low, width)

    def fold(self, body: Lockstep, let: Let, fold: Fold, context: LockstepContext) -> None:
        """Give the names of a fold their values."""
        lower_fold(body, let, fold, context)

    def stores(
        self, compute: Compute, low: BodyLowering, places: list[StorePlace], scope: EmitScope
    ) -> TileStores:
        """The stores of a computation."""
        context, tile = LockstepContext(scope.point, scope.facts, scope.forms), tile_of(compute, scope)
        lanes, rows = self.lanes(low, tile.width), open_rows(compute, scope, tile)
        along = copies_of(compute.interleaved)
        return TileStores(lanes, tile, places, context, along, (*rows, *scope.only))

    def divided(self, loop: For, low: BodyLowering, scope: EmitScope) -> None:
        """A loop whose values are divided among threads; a CPU runs them one after the other."""
        serial_loop(loop, low, scope)

    def before(self, statement: Statement, scope: EmitScope) -> None:
        """Make what stands before a statement: threads may have to wait for others."""

    def after_turn(self, loop: For, scope: EmitScope) -> None:
        """Make what stands at the end of each turn of a loop."""

    def call(self, call: Call, low: BodyLowering, scope: EmitScope) -> None:
        """A call of a nest."""
        raise NotImplementedError(f"no code is made of `call {call.nest}` alone")

    def room(self, stage: Stage, low: BodyLowering, scope: EmitScope) -> ir.Value:
        """A buffer for a tensor."""
        return _room(stage.tensor.type, [e.constant for e in stage.tensor.shape], low, scope.point)


@dataclass(frozen=True)
class EmitScope:
    """Where code stands: the forms of indices, what holds there, the buffers of tensors, and the tile.

    `indices` are those of the map, `shapes` the extents of tensors, as forms over sizes.
    """

    point: Point
    forms: Mapping[str, Affine]
    facts: Domain
    buffers: Mapping[str, tuple[ir.Value, ...]]
    tile: Tile = field(default_factory=Tile)
    indices: tuple[str, ...] = ()
    target: EmitTarget = field(default_factory=EmitTarget)
    shapes: Mapping[str, tuple[Affine, ...]] = field(default_factory=dict[str, tuple[Affine, ...]])
    only: Domain = ()
    """Of threads that compute the same those store for which these rows hold."""

    def label(self, index: str) -> str:
        """The name of a loop's index for people: that of the map's index that it is a part of."""
        parts = re.compile(r"(_down)?[_0-9]*")
        found = [n for n in self.indices if index.startswith(n) and parts.fullmatch(index, len(n))]
        return max(found, key=len, default=index)

    def rows(self, rows: Domain) -> Domain:
        """Rows over what indices stand for."""
        return tuple(row.substitute(self.forms) for row in rows)

    def form(self, form: Affine) -> Affine:
        """A form over what indices stand for."""
        return form.substitute(self.forms)

    def naming(self, index: str, form: Affine) -> EmitScope:
        """The scope where an index has a value."""
        return replace(self, forms={**self.forms, index: form})

    def knowing(self, *rows: Constraint) -> EmitScope:
        """The scope where more rows hold."""
        return replace(self, facts=(*self.facts, *rows))


def emit_body(body: Body, low: BodyLowering, scope: EmitScope) -> None:
    """Make the code of statements. `scope` has the sizes and ranges, and the buffers of tensors by name."""
    for statement in body:
        scope.target.before(statement, scope)
        match statement:
            case If():
                _if(statement, low, scope)
            case For():
                _for(statement, low, scope)
            case Compute():
                _compute(statement, low, scope)
            case Call():
                scope.target.call(statement, low, scope)
            case _:
                scope = _after(statement, low, scope)


def _after(statement: At | Know | Stage, low: BodyLowering, scope: EmitScope) -> EmitScope:
    """The scope of what follows a name, what is known, or room."""
    match statement:
        case At(index=index, value=value):
            return named_as(index, value, _bound(value, low, scope), scope)
        case Know(rows=rows):
            return scope.knowing(*scope.rows(rows))
        case Stage(tensor=tensor):
            room = scope.target.room(statement, low, scope)
            return replace(scope, buffers={**scope.buffers, tensor.name: (room,)})


# -- indices -------------------------------------------------------------------------------------


def named_as(index: str, value: Bound, made: Affine, scope: EmitScope) -> EmitScope:
    """The scope where an index has a value that code was made for, and what is known of it."""
    scope = scope.naming(index, made)
    if isinstance(value, Either):
        return scope.knowing(*_of_either(value, made, scope))
    if not isinstance(value, Extreme) or made.is_constant:
        return scope
    forms = [scope.form(form) for form in value.forms]
    sign = 1 if value.which == "min" else -1
    rows = [Constraint((form - made) * sign) for form in forms]
    # What bounds one of the forms on the other side bounds the extreme, where it bounds the others too.
    for row in scope.facts:
        for form in forms if not row.equality else ():
            if not form.terms or row.form.variables.isdisjoint(form.variables):
                continue
            rest = form - row.form * sign
            others = (other for other in forms if other is not form)
            if rest.variables.isdisjoint(form.variables) and all(
                implied((other - rest) * sign, scope.facts) for other in others
            ):
                rows.append(Constraint((made - rest) * sign))
    return scope.knowing(*dict.fromkeys(rows))


def _of_either(value: Either, made: Affine, scope: EmitScope) -> list[Constraint]:
    """Rows of one of two forms: it is no less than the second where the first is not, or no more."""
    then, otherwise, holds = scope.form(value.then), scope.form(value.otherwise), scope.rows(value.rows)
    found: list[Constraint] = []
    for sign in (1, -1):
        if implied((then - otherwise) * sign, (*scope.facts, *holds)):
            found.append(Constraint((made - otherwise) * sign))
        if implied((then - otherwise) * sign, scope.facts):
            found.append(Constraint((then - made) * sign))
    return found


def _bound(bound: Bound, low: BodyLowering, scope: EmitScope) -> Affine:
    """A bound as a form over index values."""
    match bound:
        case Extreme(which=which, forms=forms):
            found = _extremes([scope.form(form) for form in forms], 1 if which == "max" else -1, scope.facts)
            return low.extreme(f"affine.{which}", found, scope.point)
        case Either(rows=rows, then=then, otherwise=otherwise):
            holds = low.holds(scope.rows(rows), scope.point)
            first, second = (low.affine([scope.form(form)], scope.point) for form in (then, otherwise))
            return low.variable(low.select(holds, first, second, scope.point))
        case form:
            return scope.form(form)


def _extremes(forms: list[Affine], sign: int, facts: Domain) -> list[Affine]:
    """The forms without those that another is known to be no less than, or for -1 no more."""
    kept = list(dict.fromkeys(forms))
    for form in list(kept):
        others = [other for other in kept if other != form]
        if any(implied((other - form) * sign, facts) for other in others):
            kept = others
    return kept


# -- loops and branches --------------------------------------------------------------------------


def _if(statement: If, low: BodyLowering, scope: EmitScope) -> None:
    rows = scope.rows(statement.rows)

    def fill(body: Body, *more: Constraint) -> Emit:
        def emit(inside: Point) -> Made:
            emit_body(body, low, replace(scope, point=inside).knowing(*more))
            return []

        return emit

    otherwise = fill(statement.otherwise) if statement.otherwise else None
    low.choose(low.holds(rows, scope.point), [], fill(statement.then, *rows), otherwise, scope.point)


def _for(loop: For, low: BodyLowering, scope: EmitScope) -> None:
    if loop.kind in ("jam", "lane"):
        emit_body(loop.body, low, in_tile(loop, scope))
    elif loop.kind == "unroll":
        _unrolled(loop, low, scope)
    elif loop.kind in DIVIDED:
        scope.target.divided(loop, low, scope)
    else:
        serial_loop(loop, low, scope)


def serial_loop(loop: For, low: BodyLowering, scope: EmitScope) -> None:
    """A loop of single steps; what its ends say of the index."""
    stop, start = _bound(loop.stop, low, scope), _bound(loop.start, low, scope)
    span = stop - start
    if span.is_constant and span.constant <= 0:
        return
    last = low.affine([stop], scope.point)
    ends = (low.affine([start], scope.point), last, loop.step)

    def fill(index: Affine, carried: Made, inside: Point) -> Made:
        inner = replace(scope, point=inside).naming(loop.index, index)
        emit_body(loop.body, low, inner.knowing(*facts_of(loop, index, (start, stop), scope)))
        scope.target.after_turn(loop, inner)
        return []

    low.loop(scope.label(loop.index), ends, [], fill, scope.point)


def facts_of(loop: For, index: Affine, ends: tuple[Affine, ...], scope: EmitScope) -> list[Constraint]:
    """Rows of the index of a loop: it is no less than each form that its start is the greatest of, …; its
    ends, if they are forms, tell whether it takes whole steps."""
    span = ends[1] - ends[0] if ends else Affine.const(1)
    is_whole = all(k % loop.step == 0 for _, k in span.terms) and span.constant % loop.step == 0
    last = loop.step if is_whole else 1
    lower = [scope.form(form) for form in parts_of(loop.start, "max")] or ends[:1]
    upper = [scope.form(form) for form in parts_of(loop.stop, "min")] or ends[1:]
    return [
        *(Constraint(index - form) for form in lower),
        *(Constraint(form - last - index) for form in upper),
    ]


def trips(loop: For) -> range:
    """The values of a loop whose bounds are numbers."""
    assert isinstance(loop.start, Affine)
    assert isinstance(loop.stop, Affine)
    assert loop.start.is_constant
    assert loop.stop.is_constant
    return range(loop.start.constant, loop.stop.constant, loop.step)


def in_tile(loop: For, scope: EmitScope) -> EmitScope:
    """The scope where the values of a loop are copies, or lanes."""
    values, tile = trips(loop), scope.tile
    if len(values) == 1:
        return scope.naming(loop.index, Affine.const(values.start))
    variable = LANE if loop.kind == "lane" else copies_of(loop.index)
    made = replace(tile, width=len(values))
    if loop.kind != "lane":
        made = replace(tile, copies={**tile.copies, variable: len(values)})
    return replace(scope.naming(loop.index, Affine.var(variable) * loop.step + values.start), tile=made)


def _unrolled(loop: For, low: BodyLowering, scope: EmitScope) -> None:
    """The body for each value; stores that are interleaved along the loop, where lanes are as many apart as
    there are values, are stored together."""
    scopes = [scope.naming(loop.index, Affine.const(value)) for value in trips(loop)]
    found = [_only_compute(loop.body, low, inner) for inner in scopes]
    inside = [(c, inner) for c, inner in found if c is not None and c.interleaved == loop.index]
    if len(inside) < len(scopes):
        for inner in scopes:
            emit_body(loop.body, low, inner)
        return
    places = [_places(compute, inner) for compute, inner in inside]
    if inside[0][0].within or not all(_is_residue(place, len(scopes)) for place in places[0]):
        if not _in_rows(loop.index, inside, places, low):
            for compute, inner in inside:
                _compute(compute, low, inner)
        return
    groups: list[list[tuple[Copy, Made]]] = []
    for compute, inner in inside:
        groups.append([])
        _values(compute, low, inner, groups[-1].extend)
    store_residues(scope.target.lanes(low, inside[0][1].tile.width), groups, places[0], scope.point)


def _in_rows(
    index: str, inside: list[tuple[Compute, EmitScope]], places: list[list[StorePlace]], low: BodyLowering
) -> bool:
    """Compute steps whose stores are rows of lanes, if they are."""
    compute, scope = inside[0]
    tile = tile_of(compute, scope)
    rows = StepRows(scope.target.lanes(low, tile.width), tile, places, scope.point)
    loads = list(without_exponentials(compute.block).loads())
    reads = [[(load.tensor, tuple(map(each.form, load.at))) for load in loads] for _, each in inside]
    if compute.within or scope.only or not rows.fits(reads):
        return False
    for number, load in enumerate(loads):
        if load.along == index:
            rows.read(scope.buffers[load.tensor][0], [step[number][1] for step in reads], scope.facts)
    for _, each in inside:
        elements: list[tuple[Copy, Made]] = []
        _values(compute, low, each, elements.extend, rows.given)
        rows.add(elements)
    rows.store()
    return True


def _only_compute(body: Body, low: BodyLowering, scope: EmitScope) -> tuple[Compute | None, EmitScope]:
    """The one computation of a body that has nothing else but loops of tiles and names, and its scope."""
    if any(isinstance(item, At) and not isinstance(item.value, Affine) for item in body):
        return None, scope
    for statement in body:
        match statement:
            case At() | Know():
                scope = _after(statement, low, scope)
            case For(kind="jam" | "lane") if statement is body[-1]:
                return _only_compute(statement.body, low, in_tile(statement, scope))
            case Compute() if statement is body[-1]:
                return statement, scope
            case _:
                return None, scope
    return None, scope


def _is_residue(place: StorePlace, count: int) -> bool:
    """Whether lanes are so far apart in memory, along the last dimension alone, and stored plainly."""
    if not place.forms or count == 1 or place.store.joins:
        return False
    *others, last = place.forms
    return last.coefficient(LANE) == count and not any(LANE in form.variables for form in others)


# -- elements ------------------------------------------------------------------------------------


def _places(compute: Compute, scope: EmitScope) -> list[StorePlace]:
    return [
        StorePlace(store, scope.buffers[store.tensor], tuple(scope.form(form) for form in store.at))
        for store in compute.stores
    ]


def _compute(compute: Compute, low: BodyLowering, scope: EmitScope) -> None:
    """Evaluate a block at the points of the tile, and store."""
    stores = scope.target.stores(compute, low, _places(compute, scope), scope)
    _values(compute, low, scope, stores.add)
    stores.end()


def tile_of(compute: Compute, scope: EmitScope) -> Tile:
    """The points: those of the lanes last, whose values are used up first; then those of reductions in
    lockstep."""
    tile = scope.tile
    along = _along(compute, scope)
    copies = {name: n for name, n in tile.copies.items() if name not in along}
    copies |= {name: n for name, n in tile.copies.items() if name in along}
    copies |= lockstep_of(compute.block)
    return Tile(copies.pop(LANE, tile.width), copies)


def _along(compute: Compute, scope: EmitScope) -> frozenset[str]:
    """The copies along the index of the lanes."""
    forms = [scope.form(form) for store in compute.stores for form in store.at]
    found = frozenset[str]().union(*(form.variables for form in forms if LANE in form.variables))
    return found & scope.tile.copies.keys()


def _values(
    compute: Compute,
    low: BodyLowering,
    scope: EmitScope,
    then: Callable[[Elements], None],
    given: InRegisters | None = None,
) -> None:
    """Hand over the values of the stores in the copies of a tile; some elements are `given`."""
    tile = tile_of(compute, scope)
    depends = Dependence(without_exponentials(compute.block), scope.forms, tile)
    buffers = {name: found[0] for name, found in scope.buffers.items()}
    target = scope.target
    low.checks = bool(open_rows(compute, scope, tile))
    body = Lockstep(
        low, tile, depends, buffers, target.fold, target.lanes(low, tile.width), TileValues(tile),
        scope.shapes, beyond=low.checks, held=target.held, given=given,
    )  # fmt: skip
    along = _along(compute, scope)
    own = [name for name in tile.copies if name in scope.tile.copies]

    def hand_over(turn: Copy) -> None:
        rest = [name for name in own if name not in turn]
        copies = [{**turn, **copy} for copy in tile.points(rest)]
        then([(copy, [body.value(store.value, copy) for store in compute.stores]) for copy in copies])

    context = LockstepContext(scope.point, scope.facts, scope.forms)
    body.in_turns(
        without_exponentials(compute.block), context, [name for name in own if name not in along], hand_over
    )
    low.checks = False


def open_rows(compute: Compute, scope: EmitScope, tile: Tile) -> Domain:
    """The rows that a computation is to be within, without those that hold at every point of its tile."""
    known = (*scope.facts, *tile.facts)
    return tuple(row for row in scope.rows(compute.within) if not implied(row.form, known))


def _room(type: str, extents: list[int], low: BodyLowering, point: Point) -> ir.Value:
    """A buffer on the stack of the lowered function, made where it starts: loops must not make more."""
    aligned = {
        "operandSegmentSizes": ir.DenseI32ArrayAttr.get([0, 0]),
        "alignment": ir.IntegerAttr.get(ir.IntegerType.get_signless(64, low.context), LINE),
    }
    memref = ir.MemRefType.get(extents, low.scalar_type(type))
    return low.create("memref.alloca", [memref], [], function_start(point), aligned).results[0]


def function_start(point: Point) -> Point:
    """Where the function that holds a point begins."""
    op = point.block.owner.operation
    while op.name != "func.func":
        op = op.parent.operation
    return ir.InsertionPoint.at_block_begin(op.regions[0].blocks[0])
