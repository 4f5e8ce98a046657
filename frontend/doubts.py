"""Warnings about programs that are unlikely to be meant: what nothing reads, sizes that stay small, rows of
which nothing says that they are apart."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from tadc.frontend import syntax
from tadc.frontend.diagnostics import Diagnostic, Label
from tadc.frontend.extents import required_text
from tadc.frontend.program import Program
from tadc.frontend.source import Source, Span
from tadc.frontend.terms import Domain, Reduce, reachable
from tadc.frontend.tree import children, walk
from tadc.lattice.affine import Affine, Constraint, at_least_zero
from tadc.lattice.fibre import fibres_in
from tadc.lattice.polyhedron import is_empty

#: A size that cannot be as large as this is bounded by a constant.
_LARGE = 2**32
#: Smaller sizes leave a sum or a shift without meaning: what holds for them alone was not meant.
_SMALL = 2
#: So many names are shown of those that nothing reads.
_SHOWN = 4
#: The most parts of the sizes for which a program has a meaning that are looked at.
_PARTS = 200


def doubts(program: Program, module: syntax.Module, source: Source) -> list[Diagnostic]:
    """All warnings about a checked program, in the order of their places."""
    found = [*unread(module), *bounded_sizes(program, module)]
    found += rows_that_may_overlap(program, module)
    for warning in found:
        warning.severity, warning.source = "warning", source
    return sorted(found, key=lambda d: d.primary.span.start if d.primary else -1)


# -- names --------------------------------------------------------------------


def unread(module: syntax.Module) -> list[Diagnostic]:
    """Arguments, intermediates and sizes that nothing reads, and indices that others of their names hide."""
    definitions = [s for s in module.statements if isinstance(s, syntax.Define)]
    counts = Counter(name for s in module.statements for name in _names_read(s))
    found = [warning for s in definitions for warning in _hidden(s)]
    defined = {s.name for s in definitions}
    if defined and not _is_derivative(module, defined):
        arguments = [s for s in module.statements if isinstance(s, syntax.Declare) and s.name not in defined]
        told = {name for s in arguments if s.name in counts for name in _names_read(s)}
        idle = [s for s in arguments if s.name not in counts and not _tells_a_size(s, told, counts)]
        found += _nothing_reads(idle, "argument")
    if any(not s.is_let for s in definitions):
        found += _nothing_reads([s for s in definitions if s.is_let and s.name not in counts], "intermediate")
    sizes = [s for s in module.statements if isinstance(s, syntax.SizeDecl)]
    return found + _nothing_reads([s for s in sizes if s.name not in counts], "size")


def _names_read(statement: syntax.Statement) -> Iterator[str]:
    """The names in a statement, that of a recurrence in its own body left out."""
    for _, _, node in walk(statement):
        name = node.tensor if isinstance(node, syntax.Subscript) else getattr(node, "id", "")
        if name and name != statement.name:
            yield name


def _is_derivative(module: syntax.Module, defined: set[str]) -> bool:
    """Whether names are those of a derivative that was printed, which has all arguments of its program."""
    arguments = {s.name for s in module.statements if isinstance(s, syntax.Declare)} - defined
    gradient = re.compile(r"d(\w+?)(_\d+)?$")
    tangent = re.compile(r"(\w+?)_dot(_\d+)?$")
    bases = [*(gradient.match(name) for name in defined), *(tangent.match(name) for name in arguments)]
    return any(base is not None and base[1] in arguments for base in bases)


def _tells_a_size(declared: syntax.Declare, told: set[str], counts: Mapping[str, int]) -> bool:
    """Whether a shape has a size that is read elsewhere, and that no argument tells that is read itself."""
    own = Counter(_names_read(declared))
    return any(counts[name] > count for name, count in own.items() if name not in told)


def _nothing_reads(statements: Sequence[syntax.Statement], what: str) -> list[Diagnostic]:
    """One warning about all statements of a kind."""
    if not statements:
        return []
    names = [f"`{s.name}`" for s in statements]
    shown = ", ".join(names[:_SHOWN]) + (f" and {len(names) - _SHOWN} more" if names[_SHOWN:] else "")
    message = f"nothing reads the {what}{'s' if names[1:] else ''} {shown}"
    helps = ["leave it out, or read it where it was meant"]
    if what == "intermediate":
        helps = ["leave it out, or leave out `let`: it is an output then"]
    first, *others = [Label(s.name_span) for s in statements[:_SHOWN]]
    return [Diagnostic("TAD0408", message, first, others, helps=helps)]


def _hidden(definition: syntax.Define) -> list[Diagnostic]:
    """Indices that nothing reads, though a reduction inside has another index of the same name."""
    found: list[Diagnostic] = []
    bodies: list[tuple[Sequence[syntax.IndexSpec], syntax.Node]] = [(definition.indices, definition.body)]
    bodies += [
        (node.indices, node.body) for _, _, node in walk(definition) if isinstance(node, syntax.ReduceExpr)
    ]
    names = [spec.name for specs, _ in bodies for spec in specs]
    if len(set(names)) == len(names):
        return found
    for specs, body in bodies:
        inner = {
            spec.name: spec.span
            for _, _, node in walk(body)
            if isinstance(node, syntax.ReduceExpr)
            for spec in node.indices
        }
        if not inner.keys() & {spec.name for spec in specs}:
            continue
        free = set(_free_names(body))
        for spec in specs:
            if spec.name in inner and spec.name not in free:
                found.append(
                    Diagnostic(
                        "TAD0408",
                        f"nothing reads the index `{spec.name}`",
                        Label(spec.span),
                        [Label(inner[spec.name], "another index of this name, which hides it inside")],
                        helps=["give one of them another name, or leave the first out"],
                    )
                )
    return found


def _free_names(body: syntax.Node) -> Iterator[str]:
    """The names that an expression reads and does not bind."""
    pending: list[tuple[syntax.Node, frozenset[str]]] = [(body, frozenset())]
    while pending:
        node, bound = pending.pop()
        if isinstance(node, syntax.Name) and node.id not in bound:
            yield node.id
        below = [child for _, child in children(node)]
        if isinstance(node, syntax.ReduceExpr):
            inside = bound | {spec.name for spec in node.indices}
            pending += [(child, inside if child is node.body else bound) for child in below]
        else:
            pending += [(child, bound) for child in below]


# -- sizes that stay small -----------------------------------------------------------------


def bounded_sizes(program: Program, module: syntax.Module) -> list[Diagnostic]:
    """Sizes that cannot be large where all others are 2 or more.

    Where no sizes of 2 and more fit together, the one of them that can be largest is to blame.
    """
    if not program.excluded:
        return []
    least = {name: at_least_zero(Affine.var(name) - _SMALL) for name in program.sizes}
    bounds = {name: _greatest(name, program, least) for name in program.sizes}
    found = {name: bound for name, bound in bounds.items() if bound is not None}
    if found and not _is_possible(program.excluded, list(least.values())):
        name = max(found, key=lambda name: found[name])
        found = {name: found[name]}
    return [_bounded(name, bound, program, module) for name, bound in found.items()]


def _greatest(name: str, program: Program, least: Mapping[str, Constraint]) -> int | None:
    """The greatest value of a size where the others are not small; None where it can be large."""
    others, size = [row for other, row in least.items() if other != name], Affine.var(name)
    low, high = -1, _LARGE
    if _is_possible(program.excluded, [*others, at_least_zero(size - high)]):
        return None
    while high - low > 1:
        middle = (low + high) // 2
        possible = _is_possible(program.excluded, [*others, at_least_zero(size - middle)])
        low, high = (middle, high) if possible else (low, middle)
    return low


def _grouped(text: str) -> str:
    return f"({text})" if " or " in text else text


def _bounded(name: str, bound: int, program: Program, module: syntax.Module) -> Diagnostic:
    asked = [required_text(rows) for rows in program.excluded if any(name in r.form.variables for r in rows)]
    message = (
        f"`{name}` can be at most {bound}" if bound >= 0 else f"no sizes of {_SMALL} and more fit together"
    )
    return Diagnostic(
        "TAD0407",
        message,
        Label(_place(name, module), "a size that calls give"),
        notes=["the reads are in range for " + " and ".join(map(_grouped, asked) if asked[1:] else asked)],
        helps=[
            "an output that is shorter than what it reads has its size stated:"
            " `y[i: N - K + 1] = sum{k} (w[k] * x[i + k])`"
        ],
    )


def _place(name: str, module: syntax.Module) -> Span:
    """Where a size is named first."""
    for statement in module.statements:
        if statement.name == name:
            return statement.name_span
        for _, _, node in walk(statement):
            if isinstance(node, syntax.Name) and node.id == name:
                return node.span
    return Span(0, 0)


def _is_possible(excluded: Sequence[Domain], rows: Sequence[Constraint]) -> bool:
    """Whether some sizes satisfy rows and are in none of the sets; so where that is too much to look at."""
    parts: list[list[Constraint]] = [list(rows)]
    for refused in excluded:
        sides = [Constraint(-form - 1) for row in refused for form in row.inequalities]
        parts = [part for known in parts for side in sides if not is_empty(part := [*known, side])]
        if len(parts) > _PARTS:
            return True
    return bool(parts)


# -- rows -----------------------------------------------------------------------------------


def rows_that_may_overlap(program: Program, module: syntax.Module) -> list[Diagnostic]:
    """Index arrays between whose neighbours something is reduced, though nothing says that they increase."""
    arrays = {name for name, argument in program.index_arrays().items() if not argument.increasing}
    bodies = [d.body for d in program.definitions] if arrays else []
    found: dict[str, None] = {}
    for term in reachable(bodies):
        if not isinstance(term, Reduce):
            continue
        found |= dict.fromkeys(fibre.array for fibre in fibres_in(term.domain, arrays))
    return [_may_overlap(name, module) for name in found]


def _may_overlap(name: str, module: syntax.Module) -> Diagnostic:
    return Diagnostic(
        "TAD0411",
        f"rows between neighbours in `{name}`, which may overlap",
        Label(_place(name, module), "nothing says that its elements do not fall"),
        notes=[
            "a gradient looks at all rows for each place, which is in one at most where elements do not fall"
        ],
        helps=["where they do not, say so: `increasing` behind the declaration; calls test it"],
    )
