"""Declarations of index arrays and of sparse tensors, whose elements stand where index arrays tell."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from itertools import chain, count, islice

from tadc.frontend import syntax
from tadc.frontend.diagnostics import Diagnostic
from tadc.frontend.extents import INDEX_LIMIT, Extent, extent_text, shape_text
from tadc.frontend.program import Pattern
from tadc.frontend.report import Rejected, Reporter, error
from tadc.frontend.scope import ProgramNames, Scope, ScopedTensor
from tadc.frontend.source import Span
from tadc.frontend.wording import counted
from tadc.lattice.affine import Affine


def check_index_array(statement: syntax.Declare, below: Extent, *, is_defined: bool) -> None:
    """Raise Rejected (TAD0213) where an index array is declared badly, with elements below an extent."""
    assert statement.below is not None
    name, rank = statement.name, len(statement.shape)
    if isinstance(below, int) and below > INDEX_LIMIT:
        message, label = f"the elements of `{name}` are beyond 32 bits", f"more than {INDEX_LIMIT}"
        raise Rejected(error("TAD0213", message, statement.below.span, label))
    if statement.increasing is not None and rank != 1:
        message, label = (
            "only an index array of one dimension is `increasing`",
            f"`{name}` has {counted(rank, 'dimension')}",
        )
        raise Rejected(error("TAD0213", message, statement.increasing, label))
    if is_defined:
        helps = [
            "an index array is an argument: leave out its definition",
            f"a tensor that is computed has floating numbers: `{name}: f64[…]`",
        ]
        message = f"`{name}` is defined, so it is no index array"
        raise Rejected(error("TAD0213", message, statement.type_span, "declared as one", helps=helps))


def sparse_tensor(statement: syntax.Declare, whole: ScopedTensor, names: ProgramNames) -> ScopedTensor:
    """The sparse tensor that is declared; `whole` has all its elements, or neither type nor shape.

    Raises Rejected (TAD0214) where it is declared badly.
    """
    arrays = _index_arrays(statement, names)
    shape, dims = whole.shape, whole.dims
    belows = tuple(array.below for array in arrays if array.below is not None)
    if not statement.element_type:
        if statement.name not in names.outputs:
            helps = [
                f"state the type of what it stores: `{statement.name}: f64[{shape_text(belows)}] at (…)`"
            ]
            message = f"the argument `{statement.name}` has no type"
            raise Rejected(error("TAD0214", message, statement.name_span, helps=helps))
        shape, dims = belows, tuple(at.span for at in statement.at)
    if len(shape) < len(arrays):
        label = f"{counted(len(shape), 'dimension')} and {counted(len(arrays), 'index array')}"
        raise Rejected(error("TAD0214", f"`{statement.name}` has too few dimensions", statement.span, label))
    for size, array, dim in zip(shape, arrays, dims, strict=False):
        if size != array.below:
            below = extent_text(array.below or 0)
            message = f"`{array.name}` tells places in a dimension of another size"
            secondary = [(array.span, f"its elements are below {below}")]
            raise Rejected(error("TAD0214", message, dim, f"not {below}", secondary=secondary))
    return replace(
        whole,
        shape=(*arrays[0].shape, *shape[len(arrays) :]),
        dims=(*arrays[0].dims, *dims[len(arrays) :]),
        pattern=Pattern(tuple(array.name for array in arrays), shape),
        whole=dims,
    )


def _index_arrays(statement: syntax.Declare, names: ProgramNames) -> list[ScopedTensor]:
    """The index arrays that tell the places, all of one shape."""
    found: list[ScopedTensor] = []
    nowhere = Scope(statement.name, statement.span, {})
    for at in statement.at:
        array = names.resolve(at.id, at.span, nowhere)
        if not isinstance(array, ScopedTensor) or array.below is None:
            helps = [f"declare it: `{at.id}: index[E] in N`"]
            raise Rejected(
                error("TAD0214", f"`{at.id}` is no index array", at.span, "tells no places", helps=helps)
            )
        found.append(array)
        if array.shape != found[0].shape:
            message = f"`{found[0].name}` and `{array.name}` have different shapes"
            secondary = [(found[0].span, "declared here"), (array.span, "and here")]
            raise Rejected(
                error("TAD0214", message, at.span, "they tell one place together", secondary=secondary)
            )
    if not found[0].shape:
        raise Rejected(
            error("TAD0214", f"`{found[0].name}` is a scalar", statement.at[0].span, "tells one place")
        )
    return found


def own_indices(
    statement: syntax.Define,
    own: tuple[str, ...],
    stored: ScopedTensor | None,
    names: ProgramNames,
    reporter: Reporter,
) -> tuple[tuple[str, ...], dict[str, Affine]]:
    """The indices of what a definition stores, and for each index of its head, `own`, the place it is at.

    `C[i, j] = …` of a sparse tensor gives what is stored at e, where i is `row[e]` and j is `col[e]`.
    """
    if stored is None or stored.pattern is None:
        if statement.stored:
            reporter.add(not_sparse(statement.name, statement.name_span))
        return own, {}
    if statement.order is not None:
        label = "index arrays tell its elements"
        reporter.add(error("TAD0214", "a recurrence is not sparse", statement.name_span, label))
    if statement.stored:
        return own, {}
    arrays = pattern_arrays(stored.pattern, names)
    fresh = _fresh(len(arrays[0].shape), {*own, *names.sites})
    return (*fresh, *own[len(arrays) :]), dict(
        zip(own, places(arrays, list(map(Affine.var, fresh))), strict=False)
    )


def not_sparse(name: str, span: Span) -> Diagnostic:
    """Build the error for `x[at e]`."""
    helps = [f"it holds all its elements: leave out `at`, or declare it sparse: `{name}: f64[…] at (…)`"]
    return error("TAD0214", f"`{name}` is not sparse", span, helps=helps)


def pattern_arrays(pattern: Pattern, names: ProgramNames) -> list[ScopedTensor]:
    """The index arrays of a pattern."""
    found = [names.known[name] for name in pattern.at]
    return [array for array in found if isinstance(array, ScopedTensor)]


def places(arrays: Sequence[ScopedTensor], at: Sequence[Affine]) -> list[Affine]:
    """Where what is stored at some place stands: the elements of index arrays there."""
    return [form for array in arrays if (form := array.lookup(at)) is not None]


def _fresh(number: int, taken: Collection[str]) -> tuple[str, ...]:
    names = chain(["e"], (f"e{n}" for n in count(1)))
    return tuple(islice((name for name in names if name not in taken), number))
