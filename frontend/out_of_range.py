"""The error for a read out of range: the point where it fails, and what would mend it."""

from __future__ import annotations

from collections.abc import Callable

from tadc.frontend import syntax
from tadc.frontend.context import Context
from tadc.frontend.diagnostics import GUESS, SAFE, Diagnostic, Edit
from tadc.frontend.extents import Extent, as_form, extent, extent_text, type_text
from tadc.frontend.index_expr import LONG
from tadc.frontend.index_sets import set_text
from tadc.frontend.print_index import form_text
from tadc.frontend.proof import Point, TooManyCases, joined, values, violation
from tadc.frontend.report import error
from tadc.frontend.scope import Scope, ScopedTensor
from tadc.frontend.size_conditions import excluded_sizes
from tadc.frontend.source import Span
from tadc.frontend.terms import Domain
from tadc.lattice.affine import Affine
from tadc.lattice.late_dataclasses import dataclass


@dataclass(frozen=True)
class Access:
    """One dimension of a read, where it stands."""

    tensor: ScopedTensor
    dimension: int
    read: syntax.Subscript
    form: Affine
    context: Context
    scope: Scope
    text: Callable[[Span], str]

    @property
    def size(self) -> Extent:
        """The number of elements along the dimension."""
        return self.tensor.shape[self.dimension]

    @property
    def span(self) -> Span:
        """Where the index stands."""
        return self.read.indices[self.dimension].span


def check_access(access: Access) -> list[Domain] | Diagnostic:
    """Prove that an index is in range wherever the read runs, else build the error.

    Where that depends on the sizes, the sets of sizes for which it is not.
    """
    excluded: list[Domain] = []
    try:
        for outside, past in ((access.form, False), (access.size - 1 - access.form, True)):
            point = violation(outside, access.context)
            if point is None:
                continue
            sets = excluded_sizes(outside, access.context) if access.context.sizes else None
            if sets is None:
                return _out_of_range(access, point, past)
            excluded += sets
    except TooManyCases:
        return error(
            "TAD0312",
            f"cannot prove that `{access.tensor.name}` is read in range",
            access.span,
            "the guards and bounds around it leave too many cases",
            notes=index_set(access.form, access.context, access.scope),
            helps=["put the read under a guard of its own that states its range"],
        )
    return excluded


def index_set(form: Affine, context: Context, scope: Scope) -> list[str]:
    """The indices that bear on a form, and what is known of them besides their ranges, as a note."""
    facts, names = joined(form, context)
    spoken = spoken_names(context, scope)
    own = [index.name for index in scope.indices.values() if index.key in names]
    rows = [fact.substitute(spoken) for fact in facts]
    return [f"its indices run over {set_text(own, rows)}"] if own else []


def spoken_names(context: Context, scope: Scope) -> dict[str, Affine]:
    """The variables of a context as a person writes them: indices, and the elements of index arrays."""
    spoken = {index.key: Affine.var(index.name) for index in scope.indices.values()}
    for name, lookup in context.lookups.items():
        spoken[name] = Affine.atom(lookup).substitute(spoken)
    return spoken


def _out_of_range(access: Access, point: Point, past: bool) -> Diagnostic:
    tensor, size = access.tensor, access.size
    found = None if access.context.sizes else values(access.form, access.context, point)
    if found is None or found[0] == found[1]:
        label = f"takes the value {access.form.evaluate(point)} here"
    else:
        label = f"takes values {found[0]}..{found[1]} here"
    held = "no elements" if size == 0 else "only element 0" if size == 1 else f"only elements 0..{size - 1}"
    where = f"`{tensor.name}` holds {held}" + (" in this dimension" if len(tensor.shape) > 1 else "")
    shown = point_text(access.form, access.context, access.scope, point)
    end = _from_the_end(access, past)
    return error(
        "TAD0302",
        f"`{tensor.name}` is read {'past its end' if past else 'before its start'}",
        access.span,
        label,
        secondary=[(tensor.dims[access.dimension], where)],
        notes=[f"out of range at `{shown}`"] if shown else [],
        helps=_counted(access, end, found, past) if end else _helps(access, found, past),
        # `x[-1]` counts from the end elsewhere too; `x[N]` is the last where elements are counted from 1.
        edits=[Edit(access.span, end, GUESS if past else SAFE)] if end else [],
    )


def _counted(access: Access, end: str, found: tuple[int, int] | None, past: bool) -> list[str]:
    """How elements are counted, and what the one is that is meant."""
    shown = f"{access.tensor.name}[{end}]" if len(access.tensor.shape) == 1 else end
    which = "the last one" if past else "from the end, this one"
    helps = [f"elements are counted from 0: {which} is `{shown}`"]
    return [", or ".join(helps + (_helps(access, found, past) if isinstance(access.size, int) else []))]


def _from_the_end(access: Access, past: bool) -> str:
    """The index of the last element, where `x[-1]` or `x[N]` stands, or of one that `x[-2]` means."""
    size, form = as_form(access.size), access.form
    if not past and form.is_constant and not (isinstance(access.size, int) and -form.constant > access.size):
        return extent_text(extent(size + form))
    if past and form == size and access.size:
        return extent_text(extent(size - 1))
    return ""


def point_text(form: Affine, context: Context, scope: Scope, point: Point) -> str:
    """The coordinates that matter for a form, by the names that its place sees."""
    _, names = joined(form, context)
    for clause in context.clauses:
        for fact in clause:
            if not names.isdisjoint(fact.form.variables):
                names |= fact.form.variables
    looked_up = [name for name in context.lookups if name in names]
    names = names.union(*(form.variables for name in looked_up for form in context.lookups[name].at))
    # A constant index fails wherever it is read: any point shows it.
    shown = [index for index in scope.indices.values() if not names or index.key in names]
    sizes = [name for name in point if name in context.sizes and name in (names or point)]
    parts = [f"{name} = {point[name]}" for name in sizes]
    parts += [f"{index.name} = {point[index.key]}" for index in shown]
    spoken = spoken_names(context, scope)
    return ", ".join(parts + [f"{form_text(spoken[name])} = {point[name]}" for name in looked_up])


def _helps(access: Access, found: tuple[int, int] | None, past: bool) -> list[str]:
    tensor, size = access.tensor, access.size
    options: list[str] = []
    bound = [i for i in access.scope.indices.values() if i.kind and access.form == Affine.var(i.key)]
    if past and bound and _ends_at_the_size(access):
        kind, name, last = bound[0].kind, bound[0].name, extent_text(extent(as_form(size) - 1))
        last = f"({last})" if isinstance(size, Affine) else last
        range = f"{kind}{{{name}}}_0^{last} (…)"
        return [f"elements are counted from 0, and both bounds are taken: write `{range}`"]
    if past and bound and (after := _element_after(access)):
        kind, name = bound[0].kind, bound[0].name
        return [f"both bounds are taken: write `{kind}{{{name}}}_(…)^({after} - 1) (…)`"]
    if found is not None and isinstance(size, int):
        excess = found[1] - (size - 1) if past else -found[0]
        options = _other_range(access, excess, past)
        if past and tensor.is_argument:
            shape = list(tensor.shape)
            shape[access.dimension] = found[1] + 1
            options.append(f"declare `{tensor.name}: {type_text(tensor.type, tuple(shape), tensor.below)}`")
    if not options and size and access.form.variables:
        index, read = access.text(access.span), access.text(access.read.span)
        if len(read) <= LONG:
            condition = f"{index} <= {size - 1}" if past else f"{index} >= 0"
            options = [f"guard it: `if {{{condition}}} then ({read}) else (0)`"]
    return [", or ".join(options)] if options else []


def _ends_at_the_size(access: Access) -> bool:
    """Whether the index runs from 0 or 1 to the size: as if ends were left out, or elements began at 1."""
    context, form = access.context, access.form
    (name,) = form.variables
    low, high = context.intervals[name]
    rows = {row.form for row in (*context.ranges, *context.facts)}
    last = access.size
    begins = low in (0, 1) or form in rows or form - 1 in rows
    return begins and (high == last or as_form(last) - form in rows)


def _element_after(access: Access) -> str:
    """The element `ptr[i + 1]` of an index array up to which the index runs, if that may be the size."""
    context = access.context
    rows = {row.form for row in (*context.ranges, *context.facts)}
    spoken = spoken_names(context, access.scope)
    ends = (
        name
        for name, at in context.lookups.items()
        if Affine.var(name) - access.form in rows and at.below == as_form(access.size) + 1
    )
    return next((form_text(spoken[name]) for name in ends), "")


def _other_range(access: Access, excess: int, past: bool) -> list[str]:
    """A range of one index, the innermost that can, that takes the excess away."""
    scope, context = access.scope, access.context
    if joined(access.form, context)[0] or not access.form.is_linear:
        return []
    bound = [index for index in scope.indices.values() if index.kind]
    others = [index for index in scope.indices.values() if not index.kind]
    for index in (*reversed(bound), *reversed(others)):
        factor = access.form.coefficient(index.key)
        if not factor:
            continue
        low, high = context.intervals[index.key]
        by = -(-excess // abs(factor))
        if high - by < low:
            continue
        at_end = (factor > 0) == past
        if index.kind:
            which = f"the {index.kind}" + (f" over `{index.name}`" if len(bound) > 1 else "")
            return [f"let {which} {'end' if at_end else 'start'} at {high - by if at_end else low + by}"]
        if past and factor > 0:
            return [f"state the range `{index.name}: {high - by + 1}`"]
    return []
