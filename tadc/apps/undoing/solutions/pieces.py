"""Tangents and cotangents of a component, as definitions of which programs are put together."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, reduce
from itertools import chain
from typing import Literal, TypeAlias

from tadc.apps.undoing.plans.forms import ComponentForm, moved, moved_definition
from tadc.apps.undoing.solutions.roles import (
    COTANGENT,
    LEAST,
    TANGENT,
    Role,
    RoledProgram,
    RoleKind,
    program_of,
    returning,
)
from tadc.toolkit.language import (
    Affine,
    Apply,
    Argument,
    Const,
    Definition,
    Guard,
    IndexValue,
    Program,
    Read,
    Reduce,
    Select,
    Term,
    Terms,
    bottom_up,
    box,
    operands,
    reachable,
    tensors_read,
)
from tadc.toolkit.transforms import Algebra, derive, forward_program, is_const, needed, product_of

#: The tangent of an element at these index forms; with a chunk the first is the tangent's number.
Seed = Callable[[Sequence[Affine]], Term]

#: Indices in front of others, and how many values each has.
Front: TypeAlias = Sequence[tuple[str, int]]

#: Functions that take no longer than reading a value.
_CHEAP = frozenset(
    {"add", "sub", "mul", "neg", "abs", "max", "min", "sign", "floor", "ceil", "relu", "safe", "div"}
)


@dataclass
class Pieces:
    """Makes definitions over one form; `tensors` are the arguments beyond its own, by name.

    `roles` are those of these and of results.

    Derivatives are those of one step of what reads itself, unless they are asked of it as a `whole`.
    """

    form: ComponentForm
    whole: bool = False
    tensors: dict[str, Argument] = field(default_factory=dict[str, Argument])
    roles: dict[str, Role] = field(default_factory=dict[str, Role])

    def __post_init__(self) -> None:
        self.terms = self.form.program.terms
        self.algebra = Algebra(self.terms)
        self.primal = {d.name: d for d in self.form.program.definitions}
        self.source = self.form.program if self.whole else self.form.steps

    def given(self, kind: Literal["tangent", "cotangent"], name: str) -> str:
        """An argument like a tensor of the form: its tangent or cotangent."""
        made = f"{'v' if kind == TANGENT else 'w'}_{name}"
        self.tensors[made] = Argument(made, self.form.types[name], self.form.shapes[name])
        self.roles[made] = Role(kind, name)
        return made

    def tangent(self, name: str) -> Term:
        """The tangent of a value that is given, at the indices that definitions of a form have."""
        return self.read(self.given(TANGENT, name), name)

    def cotangent(self, name: str) -> Term:
        """The cotangent of a value that is given."""
        return self.read(self.given(COTANGENT, name), name)

    def seed(self, name: str) -> Seed:
        """The tangent of a value that is given, as a seed."""
        made = self.given(TANGENT, name)
        return lambda forms: self.terms.read(made, forms, self.form.types[name])

    def read(self, name: str, like: str) -> Term:
        """The element of an argument or a definition at the indices that definitions of a form have."""
        rank = len(self.form.shapes[like])
        return self.terms.read(name, [Affine.var(f"i{n}") for n in range(rank)], self.form.types[like])

    def define(
        self, name: str, like: str, body: Term, role: Role | None = None, front: Front = ()
    ) -> Definition:
        """A definition of the shape of a tensor of the form, with more indices in front.

        With a role it is a result.
        """
        own = [(f"i{n}", size) for n, size in enumerate(self.form.shapes[like])]
        indices, shape = tuple(name for name, _ in (*front, *own)), tuple(size for _, size in (*front, *own))
        made = Definition(name, self.form.types[like], shape, indices, body, is_output=False)
        return made if role is None else self.result(made, role)

    def each(
        self, letter: str, bodies: Mapping[str, Term], kind: RoleKind | None = None, front: Front = ()
    ) -> list[Definition]:
        """A definition for each of some tensors of the form; with a kind of role they are results."""
        return [
            self.define(f"{letter}_{name}", name, body, Role(kind, name) if kind else None, front)
            for name, body in bodies.items()
        ]

    def result(self, made: Definition, role: Role) -> Definition:
        """A definition as a result."""
        self.roles[made.name] = role
        return replace(made, is_output=True)

    def tangents(
        self, tag: str, seeds: Mapping[str, Seed], *, fixed: Collection[str] = (), chunk: int = 0
    ) -> tuple[list[Definition], dict[str, Term]]:
        """The tangents of what is new along seeds of others.

        First the tangents of what is in between, named with the tag, then the term of each; the values
        `fixed` are taken as arguments. With a chunk the first index is `lane`.
        """
        program = self._cut(self.form.new, fixed)
        found: dict[str, Term] = {name: self.algebra.zero for name in self.form.new}
        wrt = [name for name in seeds if any(a.name == name for a in program.arguments)]
        if not wrt:
            return [], found
        made = forward_program(program, wrt, keep_values=False, chunk=chunk)
        whose = {a.name: a.tangent_of for a in made.arguments if a.tangent_of}
        tangents = [d for d in made.definitions if d.name not in self.primal]
        names = {d.name: f"{d.name}{tag}" for d in tangents}

        def rule(node: Read) -> Term:
            if node.tensor in whose:
                return seeds[whose[node.tensor]](node.indices)
            return self.terms.reread(node, names.get(node.tensor, node.tensor))

        between: list[Definition] = []
        memo = dict(self._held)
        for d in tangents:
            body, indices = self.rewritten(d.body, rule, memo), d.indices
            if chunk:
                body = self.terms.substitute(body, {indices[0]: Affine.var("lane")})
                indices = ("lane", *indices[1:])
            if d.tangent_of:
                found[d.tangent_of] = body
            between.append(
                Definition(names[d.name], d.type, d.shape, indices, body, is_output=False, order=d.order)
            )
        return between, found

    @cached_property
    def _held(self) -> dict[int, Term]:
        """By number the expensive terms that values of the form are: they are read, not computed again."""
        return {
            d.body.number: self.read(d.name, d.name)
            for d in self.source.definitions
            if isinstance(d.body, Apply) and d.body.function not in _CHEAP and d.body.type == d.type
        }

    def _cut(self, wanted: Collection[str], fixed: Collection[str]) -> Program:
        """The form's program with these outputs, and some of its values as arguments."""
        form = self.form
        arguments = [*self.source.arguments]
        arguments += [Argument(name, form.types[name], form.shapes[name]) for name in fixed]
        kept = returning([d for d in self.source.definitions if d.name not in fixed], wanted)
        return replace(self.source, arguments=tuple(arguments), definitions=needed(kept))

    def gradients(
        self, tag: str, wrt: Sequence[str], cotangents: Mapping[str, str], of: Program | None = None
    ) -> tuple[list[Definition], dict[str, Term]]:
        """The cotangents of values `wrt` for the cotangents, tensors by name, of values that are made.

        Values are those of the form, or of another program. First definitions of what they read, named with
        the tag, then the term of each.
        """
        program = self._cut(cotangents, ()) if of is None else of
        read = {name for d in program.definitions for name in tensors_read([d.body])}
        through = [name for name in wrt if name in read]
        if not through:
            return [], {name: self.algebra.zero for name in wrt}
        own = {a.name for a in program.arguments}
        used = replace(program, arguments=tuple(a for a in program.arguments if a.name in read & own))
        made = derive(used, "vjp", through)
        names = {a.name: cotangents[a.cotangent_of] for a in made.arguments if a.cotangent_of}
        names |= {d.name: f"{d.name}{tag}" for d in made.definitions}
        between: list[Definition] = []
        found: dict[str, Term] = {}
        for definition in made.definitions:
            moved = moved_definition(definition, self.terms, names)
            if definition.gradient_of:
                found[definition.gradient_of] = moved.body
            between.append(moved)
        return between, {name: found.get(name, self.algebra.zero) for name in wrt}

    def rewritten(self, root: Term, rule: Callable[[Read], Term], memo: dict[int, Term]) -> Term:
        """The term with other terms in the place of its reads, the trivial algebra done on the way."""

        def value(node: Term, below: list[Term]) -> Term:
            return rule(node) if isinstance(node, Read) else self.algebra.rebuild(node, below)

        return bottom_up(root, memo, value)

    def program(self, definitions: Iterable[Definition], *, taped: bool) -> RoledProgram:
        """The program of definitions, with all that they read as arguments.

        Values that the component itself makes are arguments if they are `taped`, else computed.
        """
        stands = self.form.earlier
        made = [replace(d, body=moved(d.body, self.terms, stands)) if stands else d for d in definitions]
        if not taped:
            have = {d.name for d in made}
            made = returning([d for d in self.primal.values() if d.name not in have], ()) + made
        own = {a.name: a for a in self.form.program.arguments}
        own |= {d.name: Argument(d.name, d.type, d.shape) for d in self.primal.values()}
        return RoledProgram(program_of(made, (own | self.tensors).values(), self.terms), self.roles)

    def one(self, _: Sequence[Affine]) -> Term:
        """The seed of all elements at once."""
        return self.algebra.one

    def least(self, pivots: Sequence[Definition]) -> list[Definition]:
        """The least magnitude of pivots that are not known to be no 0."""
        unknown = [p for p in pivots if not is_number(p.body) or is_const(p.body, 0)]
        if not unknown:
            return []
        terms, total = self.terms, None
        for pivot in unknown:
            body: Term = terms.apply("abs", [pivot.body])
            if pivot.shape:
                body = terms.reduce(pivot.indices, box(pivot.indices, pivot.shape), body, kind="min")
            total = body if total is None else terms.apply("min", [total, body])
        assert total is not None
        return [self.result(Definition("least", unknown[0].type, (), (), total), Role(LEAST))]


def is_number(term: Term) -> bool:
    """Whether a term has the same value at all elements, known without running."""
    return all(not isinstance(t, Read | IndexValue | Reduce | Guard | Select) for t in reachable([term]))


def known_or_read(terms: Terms, made: Definition) -> Term:
    """The body of a definition that is the same at all elements, known without running, else a read of it."""
    return made.body if is_number(made.body) else terms.read(made.name, made.own, made.type)


def log_sum(terms: Terms, pivots: Iterable[Definition]) -> Term:
    """The sum of the logarithms of the magnitudes of pivots, which are read where they are not known."""
    total: Term = terms.const(0)
    for pivot in pivots:
        if isinstance(pivot.body, Const) and abs(pivot.body.value) == 1:
            continue
        body = _log_abs(terms, pivot)
        if pivot.shape:
            body = terms.reduce(pivot.indices, box(pivot.indices, pivot.shape), body)
        total = body if is_const(total, 0) else terms.apply("add", [total, body])
    return total


def _log_abs(terms: Terms, pivot: Definition) -> Term:
    """`log |e|`; of `e = f*exp(s)/exp(t)` it is `log |f| + s - t`, a number where `exp(s)` is none."""
    algebra, factors = Algebra(terms), product_of(pivot.body)
    raised, rest = factors.split(lambda t: isinstance(t, Apply) and t.function == "exp")
    body = rest.term(algebra) if raised.length else known_or_read(terms, pivot)
    is_one = isinstance(body, Const) and abs(body.value) == 1
    found: Term = algebra.zero if is_one else terms.apply("log", [terms.apply("abs", [body])])
    over, under = (
        reduce(algebra.add, chain.from_iterable(map(operands, side)), algebra.zero)
        for side in (raised.over, raised.under)
    )
    return algebra.sub(algebra.add(found, over), under)
