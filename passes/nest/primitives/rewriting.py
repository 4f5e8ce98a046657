"""Tools of primitives: parts of a nest found, and made anew."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import replace
from typing import Literal

from tadc.lattice.affine import Affine
from tadc.passes.maps.blocks import Placing, expand_lets, with_reads
from tadc.passes.maps.map import Fold, Let, Load
from tadc.passes.nest.loop_bounds import extreme_of, parts_of
from tadc.passes.nest.nest import At, Body, Bound, Compute, For, If, Nest, Stage, Statement, Store


class DoesNotFit(Exception):
    """A primitive cannot be applied to a nest; the text says why."""


def rewritten(body: Body, rule: Callable[[Statement], Body | None]) -> Body:
    """The body with statements replaced for which a rule gives others; it looks into those for which not."""
    made: list[Statement] = []
    for statement in body:
        new = rule(statement)
        if new is not None:
            made += new
        elif isinstance(statement, For):
            made.append(replace(statement, body=rewritten(statement.body, rule)))
        elif isinstance(statement, If):
            then, otherwise = (rewritten(b, rule) for b in (statement.then, statement.otherwise))
            made.append(replace(statement, then=then, otherwise=otherwise))
        else:
            made.append(statement)
    return tuple(made)


def rewrite_loops(body: Body, indices: Collection[str], rule: Callable[[For], Body]) -> Body:
    """The body with each loop of some indices replaced."""
    return rewritten(body, lambda s: rule(s) if isinstance(s, For) and s.index in indices else None)


def with_loops(nest: Nest, index: str, rule: Callable[[For], Body]) -> Nest:
    """The nest with each loop of an index replaced. Raises DoesNotFit where there is none."""
    check_loops(nest, [index])
    return replace(nest, body=rewrite_loops(nest.body, [index], rule))


def rewrite_computes(body: Body, rule: Callable[[Compute], Compute]) -> Body:
    """The body with each computation replaced."""
    return rewritten(body, lambda s: (rule(s),) if isinstance(s, Compute) else None)


def rewrite_stores(body: Body, rule: Callable[[Store], Store]) -> Body:
    """The body with each store replaced."""
    return rewrite_computes(body, lambda c: replace(c, stores=tuple(map(rule, c.stores))))


def statements_in(body: Body) -> Iterator[Statement]:
    """All statements, each before those inside."""
    for statement in body:
        yield statement
        if isinstance(statement, For):
            yield from statements_in(statement.body)
        elif isinstance(statement, If):
            yield from statements_in((*statement.then, *statement.otherwise))


def loops_in(body: Body) -> Iterator[For]:
    """All loops, each before those inside."""
    return (statement for statement in statements_in(body) if isinstance(statement, For))


def computes_in(body: Body) -> Iterator[Compute]:
    """All computations."""
    return (statement for statement in statements_in(body) if isinstance(statement, Compute))


def lets_in(body: Body) -> Iterator[Let]:
    """All values, each before those inside."""
    return (let for compute in computes_in(body) for let in compute.block.all_lets())


def folds_in(body: Body) -> Iterator[Fold]:
    """All reductions, each before those inside."""
    return (fold for compute in computes_in(body) for fold in compute.block.folds())


def shared_folds(body: Body) -> Iterator[Fold]:
    """The reductions that several threads of a GPU share, in the order of the nest."""
    return (fold for fold in folds_in(body) if fold.loop == "thread")


def is_of_fold(nest: Nest, index: str) -> bool:
    """Whether an index is that of a reduction, and of no loop."""
    is_loop = any(loop.index == index for loop in loops_in(nest.body))
    return not is_loop and any(index in fold.indices for fold in folds_in(nest.body))


def load_of(fold: Fold, read: str) -> Load | None:
    """The read of a name directly in a reduction."""
    loads = (let.value for let in fold.body.lets if read in let.names)
    return next((load for load in loads if isinstance(load, Load)), None)


def bounds_in(fold: Fold, index: str) -> tuple[list[Affine], list[Affine]]:
    """Where an index of a reduction starts, and what it stops before, by rows on no other index of it.

    The rows of a block come first, and are the closest ones. Raises DoesNotFit where there are none.
    """
    own = frozenset(fold.indices)
    return bounds_by((row.form for row in fold.rows if row.form.variables & own == frozenset([index])), index)


def bounds_by(forms: Iterable[Affine], index: str) -> tuple[list[Affine], list[Affine]]:
    """Where an index starts, and what it stops before, by forms that are at least 0. Raises DoesNotFit."""
    value, rows = Affine.var(index), list(forms)
    starts = [value - form for form in rows if form.coefficient(index) == 1]
    stops = [value + form + 1 for form in rows if form.coefficient(index) == -1]
    if not starts or not stops:
        raise DoesNotFit(f"`{index}` has no bounds of its own")
    return starts, stops


def rewrite_values(body: Body, rule: Callable[[Let], Let]) -> Body:
    """The body with every value of its computations replaced."""
    return expand_values(body, lambda let: (rule(let),))


def expand_values(body: Body, rule: Callable[[Let], Iterable[Let]]) -> Body:
    """The body with some values in the place of each one of its computations."""
    return rewrite_computes(body, lambda c: replace(c, block=expand_lets(c.block, rule)))


def rewrite_folds(body: Body, rule: Callable[[Fold], Fold]) -> Body:
    """The body with every reduction replaced, those inside of others first."""

    def one(let: Let) -> Let:
        return replace(let, value=rule(let.value)) if isinstance(let.value, Fold) else let

    return rewrite_values(body, one)


def with_places(body: Body, place: Placing) -> Body:
    """The body that reads, asks for and stores elements in other places."""

    def read(compute: Compute) -> Compute:
        return replace(compute, block=with_reads(compute.block, place))

    def stored(store: Store) -> Store:
        tensor, at = place(store.tensor, store.at)
        return replace(store, tensor=tensor, at=at)

    return rewrite_stores(rewrite_computes(body, read), stored)


def check_folds(nest: Nest, name: str) -> None:
    """Raise DoesNotFit where a name is that of no reduction."""
    found = [let.value for let in lets_in(nest.body) if name in let.names]
    if not found or not all(isinstance(value, Fold) for value in found):
        raise DoesNotFit(f"`{name}` is no reduction" if found else f"there is no value `{name}`")


def least(*bounds: Bound) -> Bound:
    """The least of bounds that are forms, or least ones."""
    return extreme_of("min", _parts("min", bounds))


def greatest(*bounds: Bound) -> Bound:
    """The greatest of bounds that are forms, or greatest ones."""
    return extreme_of("max", _parts("max", bounds))


def _parts(which: Literal["min", "max"], bounds: Iterable[Bound]) -> Iterator[Affine]:
    for bound in bounds:
        found = parts_of(bound, which)
        if not found:
            raise DoesNotFit("a bound is neither a form nor an extreme of forms")
        yield from found


def names_taken(nest: Nest) -> set[str]:
    """The names of indices, values' indices, sizes and tensors of a nest."""
    taken = {*nest.sizes, *nest.ranges, *(tensor.name for tensor in nest.tensors)}
    taken |= {loop.index for loop in loops_in(nest.body)} | {name for name, _ in all_named(nest.body)}
    return taken.union(*(fold.indices for fold in folds_in(nest.body)))


def all_named(body: Body) -> Iterator[tuple[str, Bound]]:
    """The indices that are named anywhere in a body."""
    return ((item.index, item.value) for item in statements_in(body) if isinstance(item, At))


def room_name(nest: Nest, tensor: str) -> str:
    """A name for room for what is read of a tensor."""
    taken = {s.tensor.name for s in statements_in(nest.body) if isinstance(s, Stage)}
    return next(name for n in itertools.count() if (name := f"{tensor}.{n}") not in taken)


def named_values(body: Body) -> dict[str, Affine]:
    """The forms that indices named in a body stand for, over indices of loops and other names."""
    found: dict[str, Affine] = {}
    for index, value in all_named(body):
        if isinstance(value, Affine):
            found.setdefault(index, value.substitute(found))
    return found


def check_new(nest: Nest, *names: str) -> None:
    """Raise DoesNotFit for a name that something has already."""
    taken = names_taken(nest)
    for name in names:
        if name in taken:
            raise DoesNotFit(f"the name `{name}` is taken")


def check_loops(nest: Nest, indices: Iterable[str]) -> None:
    """Raise DoesNotFit for an index that has no loop."""
    found = {loop.index for loop in loops_in(nest.body)}
    for index in indices:
        if index not in found:
            raise DoesNotFit(f"there is no loop `{index}`")
