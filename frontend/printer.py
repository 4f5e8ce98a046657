"""Programs as text of the language, which the parser reads back."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tadc.frontend.diagnostics import CompileError
from tadc.frontend.functions import REDUCTIONS
from tadc.frontend.index_sets import IndexSetLimit, place_in
from tadc.frontend.layout import wrapped
from tadc.frontend.lexer import RESERVED
from tadc.frontend.print_index import (
    ATOM,
    POWER,
    PRIMARY,
    PRODUCT,
    SIGN,
    SUM,
    conditions_text,
    form_level,
    form_text,
    lower_text,
    upper_text,
)
from tadc.frontend.program import Argument, Definition, Program
from tadc.frontend.terms import Apply, Const, Guard, IndexValue, Read, Reduce, Select, Term
from tadc.lattice.affine import Affine, Constraint, box
from tadc.lattice.effort import EliminationLimit
from tadc.lattice.nest import loop_nest

#: Operators: text, how tightly the whole, the left and the right operand must hold together.
_INFIX = {
    "add": (" + ", SUM, SUM, PRODUCT),
    "sub": (" - ", SUM, SUM, PRODUCT),
    "mul": (" * ", PRODUCT, PRODUCT, SIGN),
    "div": (" / ", PRODUCT, PRODUCT, SIGN),
    "mod": (" % ", PRODUCT, PRODUCT, SIGN),
    "pow": ("**", POWER, ATOM, SIGN),
}


def print_program(program: Program) -> str:
    """The program as text: declarations, a blank line, definitions; ends with a newline.

    What the checker reads back has the same value everywhere. Raises Unbounded for a sum
    over infinitely many points, and CompileError (TAD0315) for one whose bounds cannot be worked out.
    """
    try:
        return _print_program(program)
    except IndexSetLimit as limit:
        raise CompileError([limit.diagnostic(program.source)]) from None


def _print_program(program: Program) -> str:
    declared = [*program.arguments, *program.outputs]
    lines = [f"{t.name}: {t.type}{_shape(t)}" for t in declared]
    if lines and program.definitions:
        lines.append("")
    tensors = frozenset(program.shapes())
    lines += [wrapped(_head(d) + term_text(d.body, d.indices, d.shape, tensors)) for d in program.definitions]
    return "".join([line + "\n" for line in lines])


def term_text(
    term: Term, indices: Sequence[str] = (), shape: Sequence[int] = (), tensors: frozenset[str] = frozenset()
) -> str:
    """An expression over indices that run over a shape; new names avoid those of tensors.

    Raises IndexSetLimit.
    """
    names = {name: Affine.var(name) for name in indices}
    scope = _Scope(names, tensors.union(indices, RESERVED), box(indices, shape))
    out: list[str] = []
    # A stack and not recursion: terms can be many thousand levels deep.
    stack: list[_Item] = [_Job(term, SUM, scope)]
    while stack:
        item = stack.pop()
        if isinstance(item, str):
            out.append(item)
        else:
            stack += reversed(_expand(item))
    return "".join(out)


def _shape(tensor: Argument | Definition) -> str:
    return f"[{', '.join([str(size) for size in tensor.shape])}]" if tensor.shape else ""


def _head(definition: Definition) -> str:
    specs = list(definition.indices)
    if not definition.is_output:
        specs = [f"{name}: {size}" for name, size in zip(specs, definition.shape, strict=True)]
    let = "" if definition.is_output else "let "
    return f"{let}{definition.name}{'[' + ', '.join(specs) + ']' if specs else ''} = "


@dataclass(frozen=True)
class _Scope:
    """The printed names of the indices at a place, all names in use there, what holds there."""

    names: dict[str, Affine]
    used: frozenset[str]
    facts: tuple[Constraint, ...]

    def rows(self, rows: Sequence[Constraint]) -> list[Constraint]:
        return [row.substitute(self.names) for row in rows]

    def knowing(self, rows: Sequence[Constraint]) -> _Scope:
        return _Scope(self.names, self.used, (*self.facts, *rows))


@dataclass(frozen=True)
class _Job:
    """A term that is still to print, holding together at least as tightly as `level`."""

    term: Term
    level: int
    scope: _Scope


_Item = str | _Job


def _expand(job: _Job) -> list[_Item]:
    """A term's text, its operands left as jobs."""
    own, items = _items(job.term, job.scope)
    return ["(", *items, ")"] if own < job.level else items


def _items(term: Term, scope: _Scope) -> tuple[int, list[_Item]]:
    match term:
        case Const():
            return _constant(term.value)
        case IndexValue():
            form = term.form.substitute(scope.names)
            return form_level(form), [form_text(form, " * ")]
        case Read():
            forms = [form_text(form.substitute(scope.names)) for form in term.indices]
            return ATOM, [f"{term.tensor}[{', '.join(forms)}]" if forms else term.tensor]
        case Apply():
            return _apply(term, scope)
        case Reduce():
            return PRIMARY, _reduce(term, scope)
        case Guard():
            return PRIMARY, _guard(term, scope)
        case Select():
            condition: list[_Item] = [
                _Job(term.lhs, SUM, scope),
                f" {term.relation} ",
                _Job(term.rhs, SUM, scope),
            ]
            branches: list[_Item] = [_Job(term.then, SUM, scope), ", ", _Job(term.otherwise, SUM, scope)]
            return ATOM, ["select(", *condition, ", ", *branches, ")"]
        case _:
            raise TypeError(f"no term of the language: {term!r}")


def _constant(value: int | float) -> tuple[int, list[_Item]]:
    if math.isnan(value):
        return ATOM, ["(0 / 0)"]
    text = repr(abs(value))
    if math.isinf(value):
        text = "(1 / 0)"
    elif abs(value) == math.pi:
        text = "pi"
    return (SIGN, [f"-{text}"]) if math.copysign(1, value) < 0 else (ATOM, [text])


def _apply(term: Apply, scope: _Scope) -> tuple[int, list[_Item]]:
    below = term.operands
    if term.function == "neg":
        return SIGN, ["-", _Job(below[0], SIGN, scope)]
    if term.function in _INFIX:
        text, own, left, right = _INFIX[term.function]
        return own, [_Job(below[0], left, scope), text, _Job(below[1], right, scope)]
    items: list[_Item] = [f"{term.function}("]
    for operand in below:
        items += [_Job(operand, SUM, scope), ", "]
    items[-1] = ")"
    return ATOM, items


def _guard(term: Guard, scope: _Scope) -> list[_Item]:
    rows = scope.rows(term.conditions)
    conditions = [row for row in rows if not (row.form.is_constant and row.holds({}))]
    then = _Job(term.then, SUM, scope.knowing(rows))
    if not conditions:
        return ["(", then, ")"]
    outside = scope
    if len(rows) == 1 and not rows[0].equality:
        outside = scope.knowing([Constraint(-rows[0].form - 1)])
    otherwise = _Job(term.otherwise, SUM, outside)
    return [f"if {{{conditions_text(conditions)}}} then (", then, ") else (", otherwise, ")"]


def _reduce(term: Reduce, scope: _Scope) -> list[_Item]:
    inner = _bind(term, scope)
    binders = [str(inner.names[name]) for name in term.binders]
    rows = inner.rows(term.domain)
    try:
        nest = loop_nest(binders, rows, scope.facts)
    except EliminationLimit:
        raise IndexSetLimit(binders, rows, place_in(term)) from None
    nothing = _Job(Const(REDUCTIONS[term.kind]), SUM, scope)
    opening: list[_Item] = []
    closing: list[_Item] = []
    if nest.outside:
        opening.append(f"if {{{conditions_text(nest.outside)}}} then (")
        closing += [")", nothing, ") else ("]
    for level in nest.levels:
        lower, upper = lower_text(level.lower), upper_text(level.upper)
        opening.append(f"{term.kind}{{{level.name}}}_{lower}^{upper} (")
        closing.append(")")
    if nest.inside:
        opening.append(f"if {{{conditions_text(nest.inside)}}} then (")
        closing += [")", nothing, ") else ("]
    return [*opening, _Job(term.body, SUM, inner.knowing(rows)), *reversed(closing)]


def _bind(term: Reduce, scope: _Scope) -> _Scope:
    """The scope under a sum: its indices by their hints where these are free, else `z0`, `z1`, …"""
    names, used = dict(scope.names), set(scope.used)
    hints = term.hints or ("",) * len(term.binders)
    for binder, hint in zip(term.binders, hints, strict=True):
        name = hint if _is_free(hint, used) else next(n for n in _new_names() if n not in used)
        names[binder] = Affine.var(name)
        used.add(name)
    return _Scope(names, frozenset(used), scope.facts)


def _is_free(name: str, used: set[str]) -> bool:
    return name.isascii() and name.isidentifier() and name not in used


def _new_names() -> Iterator[str]:
    return (f"z{number}" for number in itertools.count())
