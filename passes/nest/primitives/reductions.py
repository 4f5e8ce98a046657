"""Primitives on reductions: split, reordered, written out, in lockstep, cut in blocks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tadc.frontend.functions import REDUCTIONS
from tadc.frontend.terms import Domain
from tadc.lattice.affine import ZERO, Affine, Constraint
from tadc.lattice.bounds import Unbounded
from tadc.lattice.effort import EliminationLimit
from tadc.lattice.loop_nests import loop_nest
from tadc.lattice.polyhedron import implied
from tadc.passes.maps.blocks import Renaming, values_of
from tadc.passes.maps.closest_bounds import closest_bounds
from tadc.passes.maps.map import Block, Fold, FoldLoop, Let
from tadc.passes.nest.exponentials import exponentials
from tadc.passes.nest.facts import Loops, certain, named
from tadc.passes.nest.loop_bounds import extreme_of
from tadc.passes.nest.nest import At, Body, Extreme, For, Nest, Store
from tadc.passes.nest.primitives import rewriting as rw
from tadc.passes.nest.primitives.rewriting import DoesNotFit
from tadc.passes.nest.steps import Cut, Reorder, Split
from tadc.passes.nest.tile import without
from tadc.passes.terms.index_ranges import Range, ranges_within


def split_fold(nest: Nest, step: Split) -> Nest:
    """An index of a reduction becomes two: it is `factor*outer + inner`, counted from where it starts."""
    if step.tail not in ("clip", "exact"):
        raise DoesNotFit(f"the steps of a reduction are split `clip`, not `{step.tail}`")

    is_shared = any(loop.kind == "thread" for loop in rw.loops_in(nest.body))
    known = frozenset({*nest.sizes, *nest.ranges}) if is_shared else None

    def one(fold: Fold) -> Fold:
        return _split(whole(fold), step, known) if step.index in fold.indices else fold

    return replace(nest, body=rw.rewrite_folds(nest.body, one))


def whole(fold: Fold) -> Fold:
    """A reduction whose loops stand in no parts. Raises DoesNotFit."""
    if fold.parts:
        raise DoesNotFit(f"the loop over `{fold.parted}` stands in parts: this step is before `peel`")
    return fold


def _split(fold: Fold, step: Split, known: frozenset[str] | None = None) -> Fold:
    """A reduction over two indices in the place of one; for all threads that copy what they read in a turn of
    the first, its turns begin at values that they all know, if not by bounds a number apart."""
    place = fold.indices.index(step.index)
    first, start = _start(fold, step.index)
    if known is not None and not start.variables <= known and closest_bounds(step.index, fold.rows) is None:
        first, start = None, ZERO
    outer, inner, old = Affine.var(step.outer), Affine.var(step.inner), Affine.var(step.index)
    rows: list[Constraint] = [Constraint(inner), Constraint(step.factor - 1 - inner)]
    if first is not None or start != ZERO:
        rows.insert(0, Constraint(outer))
    value = Renaming(forms={step.index: start + outer * step.factor + inner})
    divides = False
    for row in fold.rows:
        count = row.form + old - start + 1
        if row != first and not row.equality and count.is_constant and count.constant % step.factor == 0:
            divides = True
            rows.append(Constraint(count.constant // step.factor - 1 - outer))
        elif row != first:
            rows += value.rows((row,))
    if step.tail == "exact" and not divides:
        raise DoesNotFit(f"{step.factor} does not divide the values of `{step.index}`")
    indices = (*fold.indices[:place], step.outer, step.inner, *fold.indices[place + 1 :])
    return fold.over(indices, tuple(rows), value.block(fold.body))


def _start(fold: Fold, index: str) -> tuple[Constraint | None, Affine]:
    """Where an index of a reduction starts, with the row that says so, if one does: of several rows that of
    its closest bounds, else the first, for blocks put theirs there."""
    place = fold.indices.index(index)
    closest = closest_bounds(index, fold.rows)
    for row in sorted(fold.rows, key=lambda row: closest is None or row.form != closest[0]):
        k, rest = row.form.coefficient(index), without(row.form, [index])
        if k > 0 and not row.equality and rest.variables.isdisjoint(fold.indices[place:]):
            return row, -rest.floordiv(k)
    try:
        level = loop_nest(fold.indices, fold.rows, ()).levels[place]
    except (Unbounded, EliminationLimit):
        raise DoesNotFit(f"it is not known where `{index}` starts") from None
    return None, level.lower[0].ceil()


def bind_fold(nest: Nest, kind: FoldLoop, index: str) -> Nest:
    """The values of an index of a reduction have a result each, computed in lockstep."""
    return replace(nest, body=rw.expand_values(nest.body, lambda let: _bound(let, (index,), kind)))


def _bound(let: Let, indices: tuple[str, ...], kind: FoldLoop, warp: int = 1) -> tuple[Let, ...]:
    """A reduction over some indices as one of reductions: each value of these has a result of its own, and
    they are joined then."""
    fold = let.value
    if not isinstance(fold, Fold) or not {*indices} <= {*fold.indices}:
        return (let,)
    if fold.first:
        raise DoesNotFit(f"the reduction over `{', '.join(indices)}` goes on from turn to turn")
    if not REDUCTIONS[whole(fold).kind].in_loops:
        return tuple(made for each in exponentials(let, fold) for made in _bound(each, indices, kind, warp))
    known = {frozenset([index]) for index in indices}
    own = tuple(row for row in fold.rows if row.form.variables in known)
    if len(own) != 2 * len(indices) or not {*own} >= {Constraint(Affine.var(index)) for index in indices}:
        raise DoesNotFit(f"the values of `{', '.join(indices)}` are not from 0 to a number")
    body, rest = fold.body, tuple(name for name in fold.indices if name not in indices)
    if rest:
        names = tuple(f"{name}_{indices[0]}" for name in let.names)
        rows = tuple(row for row in fold.rows if row not in own)
        body = Block((Let(names, fold.over(rest, rows, fold.body), let.place),), names)
    return (replace(let, value=Fold(fold.kind, indices, own, body, fold.type, loop=kind, warp=warp)),)


def share_fold(nest: Nest, indices: Sequence[str], warp: int) -> Nest:
    """Threads have a result for each point of some indices of reductions; as many share each of these."""

    def rule(let: Let) -> tuple[Let, ...]:
        own = getattr(let.value, "indices", ())
        found = tuple(index for index in own if index in indices)
        return _bound(let, found, "thread", warp) if found else (let,)

    made = replace(nest, body=rw.expand_values(nest.body, rule))
    shared = {fold.count for fold in rw.shared_folds(made.body)}
    if len(shared) > 1 or any(count % warp for count in shared):
        raise DoesNotFit("as many threads, in whole warps, share each reduction that is shared")
    return made


def reorder_fold(nest: Nest, step: Reorder) -> Nest:
    """Some indices of a reduction in another order, in the places that they have."""

    def one(fold: Fold) -> Fold:
        if fold.is_in_lockstep or not {*step.indices} <= {*fold.indices}:
            return fold
        wanted = iter(step.indices)
        order = (next(wanted) if index in step.indices else index for index in fold.indices)
        return replace(whole(fold), indices=tuple(order))

    body = rw.rewrite_folds(nest.body, one)
    orders = (tuple(i for i in fold.indices if i in step.indices) for fold in rw.folds_in(body))
    if step.indices not in orders:
        raise DoesNotFit(f"`{', '.join(step.indices)}` are no indices of one reduction")
    return replace(nest, body=body)


def unroll_fold(nest: Nest, index: str, together: int) -> Nest:
    """The steps of the innermost loop of a reduction are written out, all or so many together."""

    def one(fold: Fold) -> Fold:
        if fold.is_in_lockstep or fold.indices[-1:] != (index,):
            return fold
        ends = closest_bounds(index, fold.rows)
        if ends is None:
            raise DoesNotFit(f"the number of values of `{index}` is not known")
        k, span = ends[0].coefficient(index), (ends[0] + ends[1]).constant
        if together and (k != -ends[1].coefficient(index) or (span // k + 1) % together):
            raise DoesNotFit(f"{together} does not divide the number of values of `{index}`")
        return replace(fold, loop="unroll", together=together)

    made = replace(nest, body=rw.rewrite_folds(nest.body, one))
    if made == nest:
        raise DoesNotFit(f"`{index}` is no innermost index of a reduction")
    return made


def cut(nest: Nest, step: Cut) -> Nest:
    """A reduction in blocks of an index, in a loop around all: results are in memory between two blocks."""
    rw.check_new(nest, step.outer)
    if step.inside:
        rw.check_folds(nest, step.fold)

        def within(loop: For) -> Body:
            if all(step.fold not in let.names for let in rw.lets_in(loop.body)):
                return (loop,)
            if len(list(rw.computes_in(loop.body))) > 1:
                raise DoesNotFit(f"more than this reduction is in `{step.inside}`")
            known = (*nest.known, *(row for fact in Loops().inside(loop) for row in fact[0]))
            own = replace(nest, body=loop.body, ranges=(*nest.ranges, loop.index), known=known)
            alone = replace(step, inside="")
            return (replace(loop, body=(_one_by_one(own, alone) or cut(own, alone)).body),)

        return rw.with_loops(nest, step.inside, within)
    fold = _the_value(nest, step.fold)
    lower, upper = _ends(nest, fold, step.index)
    first, stop, last, end = (f"{step.outer}_{word}" for word in ("first", "stop", "last", "end"))
    start, limit, outer, index = (Affine.var(name) for name in (first, stop, step.outer, step.index))
    bounds: Body = (
        At(first, extreme_of("max", lower)),
        At(stop, extreme_of("min", (form + 1 for form in upper))),
        # It runs once at least: then all elements are stored, also where the reduction has no term.
        At(last, Extreme("max", (limit, start + 1))),
    )
    block_end = At(end, Extreme("min", (outer + step.steps, limit)))
    rows: Domain = (Constraint(index - outer), Constraint(Affine.var(end) - 1 - index))
    is_first = Constraint(outer - start, True)

    own = {*fold.indices, *nest.sizes, *nest.ranges}
    moves = any(step.index in row.form.variables and not row.form.variables <= own for row in fold.rows)

    def narrowed(let: Let) -> Let:
        found = let.value
        if step.fold not in let.names or not isinstance(found, Fold):
            return let
        return replace(let, value=in_block(found))

    def in_block(found: Fold) -> Fold:
        if step.steps > 1 or len(whole(found).indices) == 1 or moves:
            return replace(found, rows=(*rows, *found.rows))
        # Of one value no loop is left inside.
        fixed = Renaming(forms={step.index: outer})
        kept = tuple(name for name in found.indices if name != step.index)
        return found.over(kept, fixed.rows(found.rows), fixed.block(found.body))

    def joining(store: Store) -> Store:
        return replace(store, joins=fold.kind, fresh=(*store.fresh, is_first))

    inner = rw.rewrite_values(nest.body, narrowed)
    body = (block_end, *rw.rewrite_stores(inner, joining))
    loop = For(step.outer, start, Affine.var(last), step.steps, "seq", body)
    return replace(nest, body=(*bounds, loop))


def _one_by_one(nest: Nest, step: Cut) -> Nest | None:
    """A reduction over one index, which has a value always, is a loop over it, and none is left inside; None
    of any other."""
    value = _the_value(nest, step.fold)
    lowest, upper = _ends(nest, value, step.index)
    if not step.steps == len(lowest) == len(value.indices) == 1:
        return None
    lower, kind, at = lowest[0], value.kind, Renaming(forms={})
    if not all(implied(form - lower, nest.known) for form in upper):
        return None

    def one(let: Let) -> tuple[Let, ...]:
        if step.fold not in let.names or not isinstance(fold := let.value, Fold):
            return (let,)
        at.forms[fold.indices[0]] = Affine.var(step.outer)
        at.values |= zip(fold.body.gives, let.names, strict=True)
        if not {*fold.body.gives} <= {*values_of(fold.body)}:
            raise DoesNotFit(f"what `{step.fold}` adds up is computed outside of it")
        return at.block(fold.body).lets

    first = Constraint(Affine.var(step.outer) - lower, True)
    body = rw.rewrite_stores(
        rw.expand_values(nest.body, one),
        lambda store: replace(store, joins=kind, fresh=(*store.fresh, first)),
    )
    stop = extreme_of("min", (form + 1 for form in upper))
    return replace(nest, body=(For(step.outer, lower, stop, 1, "seq", body),))


def _the_value(nest: Nest, name: str) -> Fold:
    """The reduction that is the one value of a nest, as it stands."""
    for compute in rw.computes_in(nest.body):
        for let in compute.block.lets:
            if name in let.names and compute.block.gives == let.names and isinstance(let.value, Fold):
                if not REDUCTIONS[let.value.kind].in_loops or let.value.first:
                    raise DoesNotFit("two results by `logsumexp`, or of turns, do not join")
                return let.value
    raise DoesNotFit(f"`{name}` is not the one reduction that is stored")


def _ends(nest: Nest, fold: Fold, index: str) -> tuple[list[Affine], list[Affine]]:
    """The forms of sizes that an index of a reduction is at least and at most, for all elements."""
    if index not in fold.indices:
        raise DoesNotFit(f"`{index}` is no index of the reduction")
    try:
        levels = loop_nest(fold.indices, fold.rows, nest.known).levels
    except Unbounded:
        raise DoesNotFit("the set of the reduction has no bounds of its own") from None
    level = levels[fold.indices.index(index)]
    lower, upper = [b.ceil() for b in level.lower], [b.floor() for b in level.upper]
    known = frozenset({*nest.sizes, *nest.ranges})
    if all(form.variables <= known for form in (*lower, *upper)):
        return lower, upper
    widest = ranges_within(fold.indices, fold.rows, _ranges_around(nest, known), known)[index]
    if widest is None:
        raise DoesNotFit(f"the bounds of `{index}` move with other indices")
    return [widest.low], [widest.high]


def _ranges_around(nest: Nest, known: frozenset[str]) -> dict[str, Range | None]:
    """The ranges of the indices of loops, and of those that are named, where one statement gives each."""
    rows: dict[str, Domain] = {}
    for statement in rw.statements_in(nest.body):
        if isinstance(statement, For | At):
            facts = Loops().inside(statement) if isinstance(statement, For) else named(statement)
            rows[statement.index] = () if statement.index in rows else certain(facts)
    found = [row for each in rows.values() for row in each]
    names = {name for row in found for name in row.form.variables} - known
    return ranges_within(sorted(names), found, {}, known)
