"""The same program as other people would write it.

A program whose speed depends on how it is spelled was looked at in one spelling. `spellings` gives three:

- as it is written,
- in formulas: no tensors in between, nested sums, products for squares, powers for roots and quotients,
- in tensors: a tensor for each sum, sums over several indices, squares, roots and quotients.

They are equal over the reals where values are in the domains of all their functions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import reduce

from tadc.frontend.printer import print_program
from tadc.frontend.program import Definition, Program
from tadc.frontend.terms import (
    Apply,
    Const,
    Guard,
    Read,
    Reduce,
    Select,
    Term,
    Terms,
    bottom_up,
    outside_regions,
    reachable,
    tensors_read,
)
from tadc.passes.terms.names import Names

WRITTEN, FORMULAS, TENSORS = "written", "formulas", "tensors"

Rule = Callable[[Terms, Term], Term]

#: Squares up to this power are products in formulas.
WRITTEN_OUT = 4


def spellings(program: Program) -> Mapping[str, str]:
    """The text of a program by spelling."""
    made = {WRITTEN: program, FORMULAS: in_formulas(program), TENSORS: in_tensors(program)}
    return {way: print_program(each) for way, each in made.items()}


def in_formulas(program: Program) -> Program:
    """The program with formulas in the place of tensors in between, where these do not read themselves."""
    terms, formulas = program.terms, dict[str, Definition]()
    kept: list[Definition] = []
    for definition in program.definitions:
        made = definition.with_body(_inlined(terms, definition.body, formulas))
        if made.is_output or made.order is not None or made.pattern is not None:
            kept.append(made)
        else:
            formulas[made.name] = made
    return _respelled(replace(program, definitions=tuple(kept)), _as_formula)


def in_tensors(program: Program) -> Program:
    """The program with a tensor for each sum whose terms depend on no sum around it."""
    program = _respelled(program, _as_tensor)
    names = Names(program)
    definitions: list[Definition] = []
    for definition in program.definitions:
        definitions += _with_sums_apart(program, names, definition)
    return replace(program, definitions=tuple(definitions))


def _inlined(terms: Terms, term: Term, formulas: Mapping[str, Definition]) -> Term:
    if tensors_read([term]).isdisjoint(formulas):
        return term
    match term:
        case Read():
            made = formulas[term.tensor]
            return terms.substitute(made.body, made.at(term.indices))
        case Reduce():
            names, domain, body = terms.open(term)
            return terms.reduce_like(term, names, domain, _inlined(terms, body, formulas))
        case _:
            return terms.rebuild(term, [_inlined(terms, below, formulas) for below in term.below])


def _respelled(program: Program, rule: Rule) -> Program:
    known: dict[int, Term] = {}
    terms = program.terms

    def respelled(node: Term, below: list[Term]) -> Term:
        return rule(terms, terms.rebuild(node, below))

    return program.with_bodies(bottom_up(d.body, known, respelled) for d in program.definitions)


def _as_formula(terms: Terms, node: Term) -> Term:
    match node:
        case Apply(function="pow", operands=(base, Const(value=int(n)))) if 2 <= n <= WRITTEN_OUT:
            return reduce(lambda one, other: terms.apply("mul", [one, other]), [base] * n)
        case Apply(function="sqrt", operands=(base,)):
            return terms.apply("pow", [base, terms.const(0.5)])
        case Apply(function="div", operands=(over, Apply(function="pow", operands=(base, Const(value=n))))):
            return terms.apply("mul", [over, terms.apply("pow", [base, terms.const(-n)])])
        case Apply(function="div", operands=(over, under)) if under.free and not _is(over, 1):
            return terms.apply("mul", [over, terms.apply("pow", [under, terms.const(-1)])])
        case Apply(function="sub", operands=(one, Apply(function="mul", operands=(Const(value=k), other)))):
            return terms.apply("add", [one, terms.apply("mul", [terms.const(-k), other])])
        case Reduce(kind="sum" | "prod" | "max" | "min", binders=(_, _, *_)):
            return _nested(terms, node)
        case _:
            return node


def _as_tensor(terms: Terms, node: Term) -> Term:
    match node:
        case Apply(function="mul", operands=(one, other)) if one is other and one.free:
            return terms.apply("pow", [one, terms.const(2)])
        case Apply(function="add" | "mul" as function, operands=(one, other)):
            return terms.apply(function, [other, one])
        case Apply(function="pow", operands=(base, Const(value=0.5))):
            return terms.apply("sqrt", [base])
        case Apply(function="pow", operands=(base, Const(value=-0.5))):
            return terms.apply("div", [terms.const(1), terms.apply("sqrt", [base])])
        case Apply(function="pow", operands=(base, Const(value=int(n)))) if -WRITTEN_OUT <= n < 0:
            power = base if n == -1 else terms.apply("pow", [base, terms.const(-n)])
            return terms.apply("div", [terms.const(1), power])
        case _:
            return node


def _is(term: Term, value: int) -> bool:
    return isinstance(term, Const) and term.value == value


def _nested(terms: Terms, node: Reduce) -> Term:
    """`sum{i, j} (…)` as `sum{i} (sum{j} (…))`, where the domain of each index names none within it."""
    names, domain, body = terms.open(node)
    first, rest = names[0], set(names[1:])
    outer = [row for row in domain if not row.form.variables & rest]
    if not any(first in row.form.variables for row in outer):
        return node
    inner = [row for row in domain if row not in outer]
    within = terms.reduce(names[1:], inner, body, kind=node.kind, hints=node.hints[1:])
    return terms.reduce(names[:1], outer, within, kind=node.kind, hints=node.hints[:1])


def _with_sums_apart(program: Program, names: Names, definition: Definition) -> Iterator[Definition]:
    """The tensors of the sums of a definition, then the definition over these; a body that is one is none."""
    terms, made = program.terms, dict[int, Term]()
    stepped = {definition.name} if definition.order is not None else set[str]()
    for node in sorted(reachable([definition.body], outside_regions), key=lambda term: term.number):
        if not isinstance(node, Reduce) or node is definition.body or node.type != definition.type:
            continue
        if not tensors_read([node]).isdisjoint(stepped) or _chooses(definition.body):
            continue
        shape = dict(zip(definition.indices, definition.shape, strict=True))
        indices = tuple(name for name in definition.indices if name in node.free)
        tensor = definition.between(
            names.free(f"{definition.name}_sum"),
            shape=tuple(shape[name] for name in indices), indices=indices, body=node, order=None,
        )  # fmt: skip
        yield tensor
        made[node.number] = terms.read(tensor.name, tensor.own, tensor.type)

    def apart(node: Term, below: list[Term]) -> Term:
        return made.get(node.number) or terms.rebuild(node, below)

    yield definition.with_body(bottom_up(definition.body, {}, apart)) if made else definition


def _chooses(body: Term) -> bool:
    """Whether a part of a body is evaluated in places alone."""
    return any(isinstance(term, Guard | Select) for term in reachable([body]))
