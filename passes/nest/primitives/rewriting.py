"""What primitives share: loops of a nest made anew, and what stands in the way."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from tadc.frontend.terms import Domain
from tadc.lattice.affine import Affine, Constraint
from tadc.passes.maps.map import Block, Choice, Fold, Let, Load, Value
from tadc.passes.nest.nest import At, Body, Bound, Compute, Either, Extreme, For, If, Nest, Statement


class DoesNotFit(Exception):
    """A primitive cannot be applied to a nest; the text says why."""


def rewrite_loops(body: Body, index: str, rule: Callable[[For], Body]) -> Body:
    """The body with each loop of an index replaced."""
    made: list[Statement] = []
    for statement in body:
        match statement:
            case For() if statement.index == index:
                made += rule(statement)
            case For():
                made.append(replace(statement, body=rewrite_loops(statement.body, index, rule)))
            case If():
                then, otherwise = (
                    rewrite_loops(b, index, rule) for b in (statement.then, statement.otherwise)
                )
                made.append(replace(statement, then=then, otherwise=otherwise))
            case _:
                made.append(statement)
    return tuple(made)


def with_loops(nest: Nest, index: str, rule: Callable[[For], Body]) -> Nest:
    """The nest with each loop of an index replaced. Raises DoesNotFit where there is none."""
    if not any(loop.index == index for loop in loops_in(nest.body)):
        raise DoesNotFit(f"there is no loop `{index}`")
    return replace(nest, body=rewrite_loops(nest.body, index, rule))


def rewrite_computes(body: Body, rule: Callable[[Compute], Compute]) -> Body:
    """The body with each computation replaced."""
    made: list[Statement] = []
    for statement in body:
        match statement:
            case For():
                made.append(replace(statement, body=rewrite_computes(statement.body, rule)))
            case If():
                then, otherwise = (rewrite_computes(b, rule) for b in (statement.then, statement.otherwise))
                made.append(replace(statement, then=then, otherwise=otherwise))
            case Compute():
                made.append(rule(statement))
            case _:
                made.append(statement)
    return tuple(made)


def loops_in(body: Body) -> Iterator[For]:
    """All loops, each before those inside."""
    for statement in body:
        match statement:
            case For():
                yield statement
                yield from loops_in(statement.body)
            case If(then=then, otherwise=otherwise):
                yield from loops_in((*then, *otherwise))
            case _:
                pass


def computes_in(body: Body) -> Iterator[Compute]:
    """All computations."""
    for statement in body:
        match statement:
            case For():
                yield from computes_in(statement.body)
            case If(then=then, otherwise=otherwise):
                yield from computes_in((*then, *otherwise))
            case Compute():
                yield statement
            case _:
                pass


def loads_in(block: Block) -> Iterator[Load]:
    """All reads of a block, those of blocks inside too."""
    return (let.value for let in block.all_lets() if isinstance(let.value, Load))


def rewrite_lets(block: Block, rule: Callable[[Let], Let]) -> Block:
    """The block with every value replaced, those inside of others first."""
    return replace(block, lets=tuple(rule(_inside(let, rule)) for let in block.lets))


def _inside(let: Let, rule: Callable[[Let], Let]) -> Let:
    match let.value:
        case Choice(then=then, otherwise=otherwise) as choice:
            both = (rewrite_lets(branch, rule) for branch in (then, otherwise))
            return replace(let, value=replace(choice, **dict(zip(("then", "otherwise"), both, strict=True))))
        case Fold(body=body) as fold:
            return replace(let, value=replace(fold, body=rewrite_lets(body, rule)))
        case _:
            return let


def rewrite_value(nest: Nest, name: str, rule: Callable[[Value], Value]) -> Nest:
    """The nest with the value of a name replaced. Raises DoesNotFit where there is none."""
    found = False

    def one(let: Let) -> Let:
        nonlocal found
        if name not in let.names:
            return let
        found = True
        return replace(let, value=rule(let.value))

    body = rewrite_computes(nest.body, lambda c: replace(c, block=rewrite_lets(c.block, one)))
    if not found:
        raise DoesNotFit(f"there is no value `{name}`")
    return replace(nest, body=body)


def fold_named(value: Value, name: str) -> Fold:
    """A value that is to be a fold."""
    if not isinstance(value, Fold):
        raise DoesNotFit(f"`{name}` is no reduction")
    return value


def form_of(bound: Bound) -> Affine | None:
    """A bound that is one form."""
    return bound if isinstance(bound, Affine) else None


def rename_bound(bound: Bound, names: dict[str, Affine]) -> Bound:
    """A bound where indices are replaced by forms."""
    match bound:
        case Extreme():
            return replace(bound, forms=tuple(form.substitute(names) for form in bound.forms))
        case Either():
            rows = tuple(row.substitute(names) for row in bound.rows)
            return Either(rows, bound.then.substitute(names), bound.otherwise.substitute(names))
        case form:
            return form.substitute(names)


def bound_forms(bound: Bound) -> tuple[Affine, ...]:
    """All forms of a bound, those of its condition too."""
    match bound:
        case Extreme(forms=forms):
            return forms
        case Either():
            return (*(row.form for row in bound.rows), bound.then, bound.otherwise)
        case form:
            return (form,)


def least(*bounds: Bound) -> Bound:
    """The least of bounds that are forms, or least ones."""
    return _extreme("min", bounds)


def greatest(*bounds: Bound) -> Bound:
    """The greatest of bounds that are forms, or greatest ones."""
    return _extreme("max", bounds)


def _extreme(which: str, bounds: tuple[Bound, ...]) -> Bound:
    forms: dict[Affine, None] = {}
    for bound in bounds:
        if isinstance(bound, Extreme) and bound.which == which:
            forms |= dict.fromkeys(bound.forms)
        elif isinstance(bound, Affine):
            forms[bound] = None
        else:
            raise DoesNotFit("a bound is neither a form nor an extreme of forms")
    if len(forms) == 1:
        return next(iter(forms))
    return Extreme("min" if which == "min" else "max", tuple(forms))


def names_taken(nest: Nest) -> set[str]:
    """The names of indices, values' indices, sizes and tensors of a nest."""
    taken = {*nest.sizes, *nest.ranges, *(tensor.name for tensor in nest.tensors)}
    taken |= {loop.index for loop in loops_in(nest.body)} | {name for name, _ in all_named(nest.body)}
    for compute in computes_in(nest.body):
        for let in compute.block.all_lets():
            taken |= set(getattr(let.value, "indices", ()))
    return taken


def all_named(body: Body) -> Iterator[tuple[str, Bound]]:
    """The indices that are named anywhere in a body."""
    for statement in body:
        match statement:
            case At(index=index, value=value):
                yield index, value
            case For(body=inner):
                yield from all_named(inner)
            case If(then=then, otherwise=otherwise):
                yield from all_named((*then, *otherwise))
            case _:
                pass


def named_values(body: Body) -> dict[str, Affine]:
    """What the indices named as forms in a body stand for, over indices of loops and other names."""
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


def within(index: str, start: Affine, stop: Affine) -> Domain:
    """That an index is no less than one form, and less than another."""
    return (Constraint(Affine.var(index) - start), Constraint(stop - 1 - Affine.var(index)))
