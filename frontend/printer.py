"""Programs as text of the language, which the parser reads back."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence

from tadc.frontend.extents import Shape, extent_text, required_text
from tadc.frontend.functions import NORM
from tadc.frontend.index_sets import limits_told
from tadc.frontend.layout import wrapped
from tadc.frontend.lexer import RESERVED
from tadc.frontend.limits import MAX_PIECES, too_large
from tadc.frontend.print_index import (
    ATOM,
    POWER,
    PRIMARY,
    PRODUCT,
    SIGN,
    SUM,
    conditions_text,
    element_text,
    form_level,
    form_text,
    held_text,
    lower_text,
    upper_text,
)
from tadc.frontend.printable import printable
from tadc.frontend.program import Definition, Program
from tadc.frontend.said_domains import is_told, over_box, told_apart
from tadc.frontend.stored_types import type_of_others
from tadc.frontend.terms import Apply, Const, Guard, IndexValue, Read, Reduce, Select, Term, natural_type
from tadc.lattice.affine import Affine
from tadc.lattice.bounds import level_of
from tadc.lattice.late_dataclasses import dataclass, field, replace

#: Operators: text, how tightly the whole, the left and the right operand must hold together.
_INFIX = {
    "add": (" + ", SUM, SUM, PRODUCT),
    "sub": (" - ", SUM, SUM, PRODUCT),
    "mul": (" * ", PRODUCT, PRODUCT, SIGN),
    "div": (" / ", PRODUCT, PRODUCT, SIGN),
    "mod": (" % ", PRODUCT, PRODUCT, SIGN),
    "pow": ("**", POWER, ATOM, SIGN),
}

#: The names of a reduction's indices, by the number of its term.
Hints = dict[int, tuple[str, ...]]


def print_program(program: Program) -> str:
    """The program as text: declarations, a blank line, definitions; ends with a newline.

    What the checker reads back has the same value everywhere, the same derivatives, and prints the same.
    Raises Unbounded for a sum over infinitely many points, and CompileError for one whose bounds cannot be
    worked out (TAD0315), or where all together take too much work (TAD0318).
    """
    with limits_told(program.source):
        return _print_program(program)


def size_conditions_text(program: Program) -> str:
    """What the reads ask of the sizes, as comments in front of the program; empty where they ask nothing."""
    return "".join(f"# holds for {required_text(rows)}\n" for rows in program.excluded)


def _print_program(program: Program) -> str:
    declared = [*program.arguments, *program.outputs]
    lines = [f"size {name}" for name in program.unbound_sizes()]
    lines += [f"{t.name}: {t.declared_type}" for t in declared]
    if lines and program.definitions:
        lines.append("")
    lines += [wrapped(_head(d) + body) for d, body in bodies(program, term_items, ("(", ")"))]
    return "".join([line + "\n" for line in lines])


def bodies(program: Program, items: Spelling, brackets: Sequence[str]) -> Iterator[tuple[Definition, str]]:
    """Each definition with the text of its body, whose indices have their own names."""
    shapes, sparse, hints = program.shapes(), program.sparse(), Hints()
    taken = frozenset(shapes).union(program.sizes, RESERVED)
    for d, body in zip(program.definitions, printable(program), strict=True):
        names = {name: Affine.var(name) for name in d.indices}
        scope = PrintScope(names, taken.union(d.indices), hints, shapes, sparse)
        yield d, assembled(body, scope, items, brackets)


def assembled(term: Term, scope: PrintScope, items: Spelling, brackets: Sequence[str]) -> str:
    """The text of a term."""
    opener, closer = brackets
    out: list[str] = []
    # A stack and not recursion: terms can be many thousand levels deep.
    stack: list[Item] = [Job(term, SUM, scope)]
    while stack:
        item = stack.pop()
        if isinstance(item, str):
            out.append(item)
            if len(out) > MAX_PIECES:
                raise too_large("as text, where nothing is shared, it has no end in sight")
        else:
            own, parts = items(item.term, item.scope)
            stack += reversed([opener, *parts, closer] if own < item.level else parts)
    return "".join(out)


def _head(definition: Definition) -> str:
    specs = list(definition.indices)
    if not definition.is_output:
        specs = [f"{name}: {extent_text(size)}" for name, size in zip(specs, definition.shape, strict=True)]
    if definition.pattern is not None and definition.is_output:
        specs[0] = f"at {specs[0]}"
    let = "" if definition.is_output else "let "
    natural = natural_type(definition.body) if definition.order is None else type_of_others(definition)
    is_natural = definition.is_output or definition.type == natural
    stated = "" if is_natural else f": {definition.type}"
    order = "" if definition.order is None else f"scan{{{form_text(definition.order)}}} "
    return f"{let}{order}{definition.name}{'[' + ', '.join(specs) + ']' if specs else ''}{stated} = "


@dataclass(frozen=True)
class PrintScope:
    """The printed names of the indices at a place, and all names in use there.

    `hints` are shared by all places: the names that a reduction got where it was printed first. Read
    back, all places are one reduction again, which has these names. `shapes` are those of tensors:
    reductions with conditions leave out the sizes that these tell. `sparse` are the names of those that are.
    """

    names: dict[str, Affine]
    used: frozenset[str]
    hints: Hints
    shapes: Mapping[str, Shape] = field(default_factory=dict[str, Shape])
    sparse: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Job:
    """A term that is still to print, holding together at least as tightly as `level`."""

    term: Term
    level: float
    scope: PrintScope


Item = str | Job

Spelling = Callable[[Term, PrintScope], tuple[float, list[Item]]]
"""A term's text, its operands left as jobs, and how tightly it holds together."""


def term_items(term: Term, scope: PrintScope) -> tuple[int, list[Item]]:
    """The text of a term in a program."""
    match term:
        case Const():
            return _constant(term.value)
        case IndexValue():
            form = term.form.substitute(scope.names)
            return form_level(form), [form_text(form, " * ")]
        case Read():
            forms = [form.substitute(scope.names) for form in term.indices]
            return ATOM, [element_text(term.tensor, forms, stored=term.tensor in scope.sparse)]
        case Apply():
            norm = norm_of(term)
            return _apply(term, scope) if norm is None else (PRIMARY, _reduce(*norm, scope, NORM))
        case Reduce():
            return PRIMARY, _reduce(term, term.body, scope, term.kind)
        case Guard():
            return PRIMARY, _guard(term, scope)
        case Select():
            condition: list[Item] = [
                Job(term.lhs, SUM, scope),
                f" {term.relation} ",
                Job(term.rhs, SUM, scope),
            ]
            branches: list[Item] = [Job(term.then, SUM, scope), ", ", Job(term.otherwise, SUM, scope)]
            return ATOM, ["select(", *condition, ", ", *branches, ")"]
        case _:
            raise TypeError(f"no term of the language: {term!r}")


def _constant(value: int | float) -> tuple[int, list[Item]]:
    text = "pi" if abs(value) == math.pi else repr(abs(value))
    return (SIGN, [f"-{text}"]) if math.copysign(1, value) < 0 else (ATOM, [text])


def _apply(term: Apply, scope: PrintScope) -> tuple[int, list[Item]]:
    below = term.operands
    if term.function == "neg":
        return SIGN, ["-", Job(below[0], SIGN, scope)]
    if term.function in _INFIX:
        text, own, left, right = _INFIX[term.function]
        return own, [Job(below[0], left, scope), text, Job(below[1], right, scope)]
    items: list[Item] = [f"{term.function}("]
    for operand in below:
        items += [Job(operand, SUM, scope), ", "]
    items[-1] = ")"
    return ATOM, items


def _guard(term: Guard, scope: PrintScope) -> list[Item]:
    conditions = conditions_text([row.substitute(scope.names) for row in term.conditions])
    then, otherwise = Job(term.then, SUM, scope), Job(term.otherwise, SUM, scope)
    return [f"if {{{conditions}}} then (", then, ") else (", otherwise, ")"]


def norm_of(term: Apply) -> tuple[Reduce, Term] | None:
    """Of the root of a sum of squares, the sum and what is squared; None of another formula."""
    match term:
        case Apply(
            function="sqrt",
            operands=(
                Reduce(kind="sum", body=Apply(function="pow", operands=(e, Const(value=int() as n)))) as s,
            ),
        ) if n == 2:
            return s, e
        case _:
            return None


def _reduce(term: Reduce, element: Term, scope: PrintScope, kind: str) -> list[Item]:
    inner = bind(term, scope)
    names = [str(inner.names[name]) for name in term.binders]
    body = Job(element, SUM, inner)
    ranging, held = told_apart(term.binders, term.domain)
    box = over_box(term.binders, term.domain) if held or len(names) > 1 else None
    # Else the size depends on an index, and is stated as a bound.
    if box is not None and not any(size.variables & scope.names.keys() for size in box[0]):
        sizes, held = box
        where = held_text([row.substitute(inner.names) for row in held])
        told = [
            bool(held) and is_told(binder, size, term, scope.shapes)
            for binder, size in zip(term.binders, sizes, strict=True)
        ]
        texts = ["" if known else f": {form_text(size)}" for known, size in zip(told, sizes, strict=True)]
        specs = ", ".join(map("".join, zip(names, texts, strict=True)))
        return [f"{kind}{{{specs}{f': {where}' if held else ''}}} (", body, ")"]
    where = held_text([row.substitute(inner.names) for row in held])
    indices = f"{names[0]}: {where}" if held else names[0]
    level = level_of(names[0], [row.substitute(inner.names) for row in ranging])
    return [f"{kind}{{{indices}}}_{lower_text(level.lower)}^{upper_text(level.upper)} (", body, ")"]


def bind(term: Reduce, scope: PrintScope) -> PrintScope:
    """The scope under a sum: its indices by their hints where these are free, else `z0`, `z1`, …"""
    names, used = dict(scope.names), set(scope.used)
    hints = scope.hints.get(term.number, term.hints) or ("",) * len(term.binders)
    chosen: list[str] = []
    for binder, hint in zip(term.binders, hints, strict=True):
        name = hint if _is_free(hint, used) else next(n for n in _new_names() if n not in used)
        names[binder] = Affine.var(name)
        used.add(name)
        chosen.append(name)
    scope.hints.setdefault(term.number, tuple(chosen))
    return replace(scope, names=names, used=frozenset(used))


def _is_free(name: str, used: set[str]) -> bool:
    return name.isascii() and name.isidentifier() and name not in used


def _new_names() -> Iterator[str]:
    return (f"z{number}" for number in itertools.count())
