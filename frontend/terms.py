"""Typed scalar expressions as a hash-consed graph.

A `Terms` table makes every node once, so equal expressions are one object, and so
are sums that differ only in the names of their indices: a bound index is named by the
height of its sum (`$0` innermost). To work under a sum, open it with fresh names
(`Terms.open`); to close it, give `Terms.reduce` any names. No capture can occur:
user names never start with `$` or `?`.

Node types join as in the language: f32 with f64 is f64, literals and indices have type
None and adapt.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from operator import attrgetter
from typing import Any, TypeVar

from tadc.frontend.dtypes import COMPUTING, DEFAULT, bytes_of_type
from tadc.frontend.limits import MAX_TERMS, TERM_WORK, too_large
from tadc.frontend.source import Place, Span
from tadc.lattice.affine import Affine, Constraint
from tadc.lattice.effort import work
from tadc.lattice.late_dataclasses import dataclass, field

ElementType = str  # a name in `dtypes`; that of index arrays no term has
Domain = tuple[Constraint, ...]
Where = Span | Place


@dataclass(eq=False, slots=True)
class Term:
    """A node; `free` names the indices it depends on, `height` counts nested binders.

    `number` orders nodes: operands are older than what uses them; `below` are its operands. `span` is the
    first place in the source that made the node, for locations; it is not part of its identity.
    """

    number: int = field(init=False, default=-1)
    free: frozenset[str] = field(init=False, default=frozenset())
    height: int = field(init=False, default=0)
    below: tuple[Term, ...] = field(init=False, default=())
    type: ElementType | None = field(init=False, default=None)
    span: Where | None = field(init=False, default=None)


@dataclass(eq=False, slots=True)
class Const(Term):
    """A literal; an int stays an int, so that it prints as one and `x**2` is a product."""

    value: int | float


@dataclass(eq=False, slots=True)
class IndexValue(Term):
    """An index form as a number."""

    form: Affine


@dataclass(eq=False, slots=True)
class Read(Term):
    """An element of a tensor."""

    tensor: str
    indices: tuple[Affine, ...]


@dataclass(eq=False, slots=True)
class Apply(Term):
    """A scalar function or operator by name: `add sub mul div mod pow neg`, `exp`, …"""

    function: str
    operands: tuple[Term, ...]


@dataclass(eq=False, slots=True)
class Reduce(Term):
    """The reduction (`kind`, one of `REDUCTIONS`) of `body` over the integer points of `domain`.

    `binders`, outermost first, are canonical names; `hints` the names to print.
    """

    kind: str
    binders: tuple[str, ...]
    domain: Domain
    body: Term
    hints: tuple[str, ...] = ()


@dataclass(eq=False, slots=True)
class Guard(Term):
    """`then` where all conditions on indices hold, else `otherwise`; lazy."""

    conditions: Domain
    then: Term
    otherwise: Term


@dataclass(eq=False, slots=True)
class Select(Term):
    """`then` where `lhs relation rhs` holds between values, else `otherwise`."""

    relation: str
    lhs: Term
    rhs: Term
    then: Term
    otherwise: Term


operands: Callable[[Term], tuple[Term, ...]] = attrgetter("below")
"""The terms directly below."""


def _operands(term: Term) -> tuple[Term, ...]:
    match term:
        case Apply():
            return term.operands
        case Reduce():
            return (term.body,)
        case Guard():
            return (term.then, term.otherwise)
        case Select():
            return (term.lhs, term.rhs, term.then, term.otherwise)
        case _:
            return ()


def reachable(roots: Iterable[Term], below: Callable[[Term], Sequence[Term]] = operands) -> Iterator[Term]:
    """Every node at the roots and that `below` leads to, once."""
    seen: set[int] = set()
    stack = list(roots)
    while stack:
        term = stack.pop()
        if term.number not in seen:
            seen.add(term.number)
            yield term
            stack += below(term)


def outside_reductions(term: Term) -> tuple[Term, ...]:
    """The terms directly below, but for those of reductions."""
    return () if isinstance(term, Reduce) else term.below


def outside_regions(term: Term) -> tuple[Term, ...]:
    """The terms directly below that are evaluated where it is: none of a reduction or a condition."""
    return () if isinstance(term, Reduce | Guard) else term.below


def in_text_order(root: Term, below: Callable[[Term], Sequence[Term]] = operands) -> Iterator[Term]:
    """Every node that `below` leads to, once, each before those below it, from left to right."""
    seen: set[int] = set()
    stack = [root]
    while stack:
        term = stack.pop()
        if term.number not in seen:
            seen.add(term.number)
            yield term
            stack += reversed(below(term))


V = TypeVar("V")
Below = Callable[[Term], Sequence[Term]]


def bottom_up(
    root: Term, known: dict[int, V], value: Callable[[Term, list[V]], V], operands: Below = operands
) -> V:
    """The value of a term from those of its operands; `known` keeps all by number between calls."""
    stack = [] if root.number in known else [root]
    while stack:
        node = stack[-1]
        below = operands(node)
        waiting = [t for t in below if t.number not in known]
        if waiting:
            stack += waiting
            continue
        stack.pop()
        if node.number not in known:
            known[node.number] = value(node, [known[t.number] for t in below])
    return known[root.number]


def holds(root: Term, known: dict[int, bool], wanted: Callable[[Term], bool]) -> bool:
    """Whether a term that is wanted stands at or below another; `known` keeps the answers between calls."""
    return bottom_up(root, known, lambda node, below: any(below) or wanted(node))


def holds_reduction(root: Term, known: dict[int, bool]) -> bool:
    """Whether a reduction stands at or below a term; `known` keeps the answers by number between calls."""
    return holds(root, known, lambda node: isinstance(node, Reduce))


def tensors_read(roots: Iterable[Term]) -> set[str]:
    """The names of all tensors that terms read, and of the index arrays whose elements are in their forms."""
    found: set[str] = set()
    for term in reachable(roots):
        if isinstance(term, Read):
            found.add(term.tensor)
        for form in index_forms(term):
            found.update(lookup.array for lookup in form.lookups())
    return found


def integer_exponent(term: Term) -> int | None:
    """The exponent of `x**n` with an integer literal, as 2 or 2.0, which is a product and no power."""
    match term:
        case Apply(function="pow", operands=(_, Const(value=n))) if n % 1 == 0 and abs(n) < 2**31:
            return int(n)
        case _:
            return None


def index_forms(term: Term) -> tuple[Affine, ...]:
    """The index forms that a node holds itself."""
    match term:
        case Apply():
            return ()
        case Read():
            return term.indices
        case IndexValue():
            return (term.form,)
        case Reduce():
            return tuple(c.form for c in term.domain)
        case Guard():
            return tuple(c.form for c in term.conditions)
        case _:
            return ()


def join_types(types: Iterable[ElementType | None]) -> ElementType | None:
    """The type of an operation on operands of these types."""
    found = {COMPUTING[t] for t in types if t}
    return max(found, key=bytes_of_type, default=None)


def type_in(term: Term, wanted: ElementType) -> ElementType:
    """The type that a term is computed in where one of this type is wanted."""
    return term.type or COMPUTING[wanted]


def natural_type(body: Term) -> ElementType:
    """The type of a definition whose type is not stated."""
    return body.type or DEFAULT


T = TypeVar("T", bound=Term)


def is_bound(name: str) -> bool:
    """Whether an index is one that an open sum (`?…`) or a closed one (`$…`) binds, and no user's."""
    return name[0] in "?$"


#: So many terms are charged together.
CHARGED = 1000


class Terms:
    """The table of one program's nodes. The constructors here simplify nothing."""

    def __init__(self) -> None:
        self._table: dict[tuple[Any, ...], Term] = {}
        self._asked = 0
        self._fresh = itertools.count()

    @property
    def count(self) -> int:
        """How many nodes there are; the number of the next."""
        return len(self._table)

    def fresh(self, prefix: str = "v") -> str:
        """Return a name that no program and no sum uses."""
        return f"?{prefix}{next(self._fresh)}"

    def _make(
        self,
        key: tuple[Any, ...],
        build: Callable[[], T],
        span: Where | None,
        type: ElementType | None = None,
    ) -> T:
        """The node of a key, which tells all that it is: one that is in the table never changes."""
        node = self._table.get(key)
        self._asked += 1
        if self._asked == CHARGED:
            self._asked = 0
            work(CHARGED * TERM_WORK)
        if node is None:
            if len(self._table) >= MAX_TERMS:
                raise too_large(f"more than {MAX_TERMS} different terms")
            node = build()
            node.number = len(self._table)
            node.span, node.type = span, type
            node.below = _operands(node)
            free, height = node.free, 0
            for term in node.below:
                if term.height > height:
                    height = term.height
                # Most operands depend on the same indices: one set for all of them.
                if not term.free <= free:
                    free = free | term.free if free else term.free
            if forms := index_forms(node):
                free = free.union(*[form.variables for form in forms])
            node.free, node.height = free, height
            if isinstance(node, Reduce):
                node.height += len(node.binders)
                node.free = node.free.difference(node.binders)
            self._table[key] = node
        return node  # type: ignore[return-value]

    def const(self, value: int | float, span: Where | None = None) -> Const:
        """A literal."""
        # repr tells -0.0 from 0.0 and NaN from itself, the type tells 2 from 2.0.
        return self._make(("const", repr(value)), lambda: Const(value), span)

    def index(self, form: Affine, span: Where | None = None) -> IndexValue:
        """An index form as a number."""
        return self._make(("index", form), lambda: IndexValue(form), span)

    def read(
        self, tensor: str, indices: Sequence[Affine], type: ElementType, span: Where | None = None
    ) -> Read:
        """An element of a tensor whose elements have this type, or are computed with in this one."""
        forms, type = tuple(indices), COMPUTING[type]
        return self._make(("read", tensor, forms, type), lambda: Read(tensor, forms), span, type)

    def apply(self, function: str, below: Sequence[Term], span: Where | None = None) -> Apply:
        """A function of operands."""
        terms = tuple(below)
        key = ("apply", function, *[t.number for t in terms])
        known = self._table.get(key)
        if known is not None:
            return known  # type: ignore[return-value]
        return self._make(key, lambda: Apply(function, terms), span, join_types([t.type for t in terms]))

    def reduce(
        self,
        binders: Sequence[str],
        domain: Iterable[Constraint],
        body: Term,
        *,
        kind: str = "sum",
        hints: Sequence[str] = (),
        span: Where | None = None,
    ) -> Reduce:
        """Reduce `body` over `domain`, binding these names (any, outermost first).

        `hints` are the names a person reads; by default the binders themselves, where
        these are user names.
        """
        hints = tuple(hints) or tuple("" if is_bound(b) else b for b in binders)
        names = tuple(f"${body.height + len(binders) - 1 - i}" for i in range(len(binders)))
        if tuple(binders) != names:
            # Canonical names occur free in the body only when it was canonical before;
            # `substitute` is simultaneous, so a permutation is safe too.
            mapping = {b: Affine.var(n) for b, n in zip(binders, names, strict=True)}
            domain = [c.substitute(mapping) for c in domain]
            body = self.substitute(body, mapping)
        rows = tuple(dict.fromkeys(row.faced for row in domain))
        key = ("reduce", kind, names, rows, body.number)
        return self._make(key, lambda: Reduce(kind, names, rows, body, hints), span, body.type)

    def reduce_like(
        self, node: Reduce, binders: Sequence[str], domain: Iterable[Constraint], body: Term,
        hints: Sequence[str] | None = None,
    ) -> Reduce:  # fmt: skip
        """A reduction of the kind of another one, under its names if no others are given."""
        named = node.hints if hints is None else hints
        return self.reduce(binders, domain, body, kind=node.kind, hints=named, span=node.span)

    def guard(
        self, conditions: Iterable[Constraint], then: Term, otherwise: Term, span: Where | None = None
    ) -> Guard:
        """Choose by index values."""
        rows = tuple(dict.fromkeys(row.faced for row in conditions))
        key = ("guard", rows, then.number, otherwise.number)
        type = join_types((then.type, otherwise.type))
        return self._make(key, lambda: Guard(rows, then, otherwise), span, type)

    def select(
        self, relation: str, lhs: Term, rhs: Term, then: Term, otherwise: Term, span: Where | None = None
    ) -> Select:
        """Choose by value; the comparison's type does not reach the result."""
        key = ("select", relation, lhs.number, rhs.number, then.number, otherwise.number)
        type = join_types((then.type, otherwise.type))
        return self._make(key, lambda: Select(relation, lhs, rhs, then, otherwise), span, type)

    def open(self, node: Reduce, names: Sequence[str] | None = None) -> tuple[tuple[str, ...], Domain, Term]:
        """The binders of a reduction, under these names or fresh ones, its domain and its body."""
        names = tuple(self.fresh("s") for _ in node.binders) if names is None else tuple(names)
        mapping = {b: Affine.var(n) for b, n in zip(node.binders, names, strict=True)}
        return names, tuple(c.substitute(mapping) for c in node.domain), self.substitute(node.body, mapping)

    def substitute(self, term: Term, mapping: Mapping[str, Affine]) -> Term:
        """Replace free indices by forms."""
        made: dict[Affine, Affine] = {}  # the same few forms stand in many terms

        def rule(form: Affine) -> Affine:
            found = made.get(form)
            if found is None:
                found = made[form] = form.substitute(mapping)
            return found

        return self.rewrite_forms(term, frozenset(mapping), rule)

    def rewrite_forms(
        self,
        term: Term,
        names: frozenset[str],
        rule: Callable[[Affine], Affine],
        known: dict[int, Term] | None = None,
    ) -> Term:
        """Apply `rule` to every index form that depends on one of `names`.

        `known` keeps what it makes of terms, by number, between calls.
        """

        made = dict[int, Term]() if known is None else known
        stack = [] if term.free.isdisjoint(names) else [term]
        while stack:
            node = stack[-1]
            waiting = [t for t in node.below if t.number not in made and not t.free.isdisjoint(names)]
            if waiting:
                stack += waiting
                continue
            stack.pop()
            if node.number not in made:
                made[node.number] = self.rebuild(node, [made.get(t.number, t) for t in node.below], rule)
        return made.get(term.number, term)

    def with_forms(self, term: Term, rule: Callable[[Affine], Affine]) -> Term:
        """Apply `rule` to every index form at and below a term."""
        return bottom_up(term, {}, lambda node, below: self.rebuild(node, below, rule))

    def with_reads(
        self, root: Term, rule: Callable[[Read], Term | None], known: dict[int, Term] | None = None
    ) -> Term:
        """The term with what `rule` gives in the place of reads; `known` is kept between calls."""

        def node(term: Term, below: list[Term]) -> Term:
            found = rule(term) if isinstance(term, Read) else None
            return self.rebuild(term, below) if found is None else found

        return bottom_up(root, {} if known is None else known, node)

    def reread(self, read: Read, tensor: str, at: Sequence[Affine] | None = None) -> Read:
        """The read of another tensor, at its own place or another one."""
        assert read.type
        return self.read(tensor, read.indices if at is None else at, read.type, read.span)

    def rebuild(
        self, node: Term, below: Sequence[Term], rule: Callable[[Affine], Affine] = lambda form: form
    ) -> Term:
        """Make the node again over other operands, with `rule` applied to its index forms."""
        match node:
            case Apply():
                return self.apply(node.function, below, node.span)
            case Read():
                assert node.type
                return self.read(node.tensor, [rule(form) for form in node.indices], node.type, node.span)
            case IndexValue():
                return self.index(rule(node.form), node.span)
            case Reduce():
                rows = [Constraint(rule(c.form), c.equality) for c in node.domain]
                return self.reduce_like(node, node.binders, rows, below[0])
            case Guard():
                rows = [Constraint(rule(c.form), c.equality) for c in node.conditions]
                return self.guard(rows, below[0], below[1], node.span)
            case Select():
                return self.select(node.relation, *below, node.span)  # type: ignore[call-arg]
            case _:
                return node
