"""Elements of sparse tensors: sums over what is stored, which reach through what is linear.

    A: f64[N, M] at (row, col)
    z[i] = sum{j} (A[i, j] * x[j])

`A[at e]` is the element that is stored at e, and `A[i, j]` is `sum{e: row[e] = i and col[e] = j} (A[at e])`:
nothing where nothing is stored, and the sum of all where several are stored at one place. Such a sum joins
the sums around it, whose indices its conditions tell: z[i] is `sum{e: row[e] = i} (A[at e] * x[col[e]])`.
What stands between has to be linear: of nothing, a function that is not 0 at 0 is something.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from tadc.frontend.diagnostics import Diagnostic
from tadc.frontend.functions import OPERATORS, having
from tadc.frontend.limits import MAX_PARTS
from tadc.frontend.report import Rejected, error
from tadc.frontend.source import Span
from tadc.frontend.terms import Domain, Term, Terms
from tadc.lattice.affine import Affine, Constraint, equals_zero
from tadc.lattice.polyhedron import implied

_ZERO_AT_0 = having("zero at 0")
_SIGNS = {name: sign for sign, name in OPERATORS.items()}


@dataclass(frozen=True)
class Part:
    """The sum of a term over indices; without indices the term alone.

    It is `reached` where a sum of the program binds an index of each element in it.
    """

    term: Term
    keys: tuple[str, ...] = ()
    hints: tuple[str, ...] = ()
    rows: Domain = ()
    reached: bool = True

    def over(self, term: Term) -> Part:
        """The sum of another term over the same indices."""
        return replace(self, term=term)


@dataclass(frozen=True)
class Sparse:
    """The sum of parts; `element` is the place of one that is stored, `tensor` its name."""

    parts: tuple[Part, ...]
    tensor: str
    element: Span

    #: It is no index expression.
    form = None

    def each(self, change: Callable[[Term], Term]) -> Sparse:
        """The sum of what a linear function makes of the parts."""
        return replace(self, parts=tuple(part.over(change(part.term)) for part in self.parts))


def total(terms: Terms, value: Sparse, span: Span) -> Term:
    """The value as a term."""
    found: Term | None = None
    for part in value.parts:
        term = part.term
        if part.keys:
            term = terms.reduce(part.keys, part.rows, term, hints=part.hints, span=span)
        found = term if found is None else terms.apply("add", [found, term], span)
    assert found is not None
    return found


def parts_of(value: Term | Sparse) -> tuple[Part, ...]:
    """The parts of a value; a term is one."""
    return value.parts if isinstance(value, Sparse) else (Part(value),)


def applied(terms: Terms, function: str, operands: Sequence[Term | Sparse], span: Span) -> Term | Sparse:
    """A function of values of which one is sparse.

    Raises Rejected (TAD0214) where it is not linear in elements that no sum has reached.
    """
    first = next(value for value in operands if isinstance(value, Sparse))
    match function:
        case "add" | "sub":
            left, right = map(parts_of, operands)
            if function == "sub":
                right = tuple(part.over(terms.apply("neg", [part.term], span)) for part in right)
            return _limited(replace(first, parts=(*left, *right)), span)
        case "neg":
            return first.each(lambda term: terms.apply("neg", [term], span))
        case "mul":
            left, right = map(parts_of, operands)
            return _limited(
                replace(first, parts=tuple(_product(terms, p, q, span) for p in left for q in right)), span
            )
        case "div" if not isinstance(below := operands[1], Sparse):
            return first.each(lambda term: terms.apply("div", [term, below], span))
        case _:
            known = [
                settled(terms, value, span, lambda value: _not_linear(value, function, span))
                for value in operands
            ]
            return terms.apply(function, known, span)


def settled(terms: Terms, value: Term | Sparse, span: Span, refuse: Callable[[Sparse], Diagnostic]) -> Term:
    """A value as a term; raises Rejected with what `refuse` says where sums have not reached its elements."""
    if not isinstance(value, Sparse):
        return value
    if not all(part.reached for part in value.parts):
        raise Rejected(refuse(value))
    return total(terms, value, span)


def chosen(
    terms: Terms, then: Term | Sparse, otherwise: Term | Sparse, choose: Callable[[Term, Term], Term]
) -> Term | Sparse:
    """What a choice between values is, of which `choose` makes a term: that of each part or else 0."""
    first = next((value for value in (then, otherwise) if isinstance(value, Sparse)), None)
    if first is None:
        assert not isinstance(then, Sparse)
        assert not isinstance(otherwise, Sparse)
        return choose(then, otherwise)
    zero = terms.const(0)
    here = [part.over(choose(part.term, zero)) for part in parts_of(then)]
    there = [part.over(choose(zero, part.term)) for part in parts_of(otherwise)]
    return replace(first, parts=(*here, *there))


def summed(value: Sparse, keys: Sequence[str], hints: Sequence[str], rows: Domain, terms: Terms) -> Sparse:
    """The sum of a value over indices: its parts run over those too that their conditions do not tell."""
    parts = [_joined(part, tuple(keys), tuple(hints), rows, terms) for part in value.parts]
    return replace(value, parts=tuple(parts))


def over_stored(
    value: Term | Sparse, own: Sequence[str], places: Mapping[str, Affine], terms: Terms, span: Span
) -> Term:
    """A value at the places of what a sparse output stores at its indices `own`.

    Of a tensor with the same pattern each element is taken by itself: what is stored at one place is
    the same together, and nothing is looked for.
    """
    if isinstance(value, Sparse):
        parts = tuple(_at_stored(part, own, places, terms) for part in value.parts)
        return total(terms, replace(value, parts=parts), span)
    return terms.substitute(value, places)


def _at_stored(part: Part, own: Sequence[str], places: Mapping[str, Affine], terms: Terms) -> Part:
    """A part at the places of what an output stores."""
    values, rows, keys = dict(places), part.rows, part.keys
    for begin in range(len(part.keys) - len(own) + 1 if places else 0):
        found = part.keys[begin : begin + len(own)]
        moved = {name: Affine.var(key) for name, key in zip(own, found, strict=True)}
        same = {equals_zero(form.substitute(moved) - Affine.var(name)) for name, form in places.items()}
        if same <= set(rows):
            values |= {key: Affine.var(name) for name, key in zip(own, found, strict=True)}
            # The range of what is stored is that of the definition.
            ranged = (row for row in rows if row.form.has_lookups or row.form.variables.isdisjoint(found))
            rows = tuple(row for row in ranged if row not in same)
            keys = tuple(key for key in part.keys if key not in found)
            break
    hints = dict(zip(part.keys, part.hints, strict=True))
    term, rows = terms.substitute(part.term, values), tuple(row.substitute(values) for row in rows)
    if rows and not keys:
        return Part(terms.guard(rows, term, terms.const(0)))
    return Part(term, keys, tuple(hints[key] for key in keys), rows)


def _product(terms: Terms, p: Part, q: Part, span: Span) -> Part:
    term = terms.apply("mul", [p.term, q.term], span)
    return Part(term, p.keys + q.keys, p.hints + q.hints, p.rows + q.rows, p.reached and q.reached)


def _joined(part: Part, keys: tuple[str, ...], hints: tuple[str, ...], rows: Domain, terms: Terms) -> Part:
    """A part under a sum over indices of the program."""
    touched = any(not row.form.variables.isdisjoint(keys) for row in part.rows)
    given = dict(zip(keys, hints, strict=True))
    known, term = (*rows, *part.rows), part.term
    for key in keys:
        found = next((row for row in known if _tells(row, key)), None)
        if found is None:
            continue
        k = found.form.coefficient(key)
        value = {key: (found.form - Affine.var(key) * k) * -k}
        known = tuple(row.substitute(value) for row in known if row is not found)
        term = terms.substitute(term, value)
        del given[key]
    known = tuple(row for row in known if not _is_plain(row))
    return Part(
        term,
        (*given, *part.keys),
        (*given.values(), *part.hints),
        known,
        part.reached or touched,
    )


def _tells(row: Constraint, key: str) -> bool:
    """Whether an equality says what an index is, as an element of an index array."""
    if not row.equality or abs(row.form.coefficient(key)) != 1 or not row.form.has_lookups:
        return False
    return key not in (row.form - Affine.var(key) * row.form.coefficient(key)).variables


def _is_plain(row: Constraint) -> bool:
    """Whether a row says no more than that an element of an index array is what it is declared to be."""
    if row.equality:
        return row.form.is_constant and row.holds({})
    return implied(row.form, [Constraint(fact) for atom in row.form.lookups() for fact in atom.facts])


def _limited(value: Sparse, span: Span) -> Sparse:
    if len(value.parts) > MAX_PARTS:
        label = f"more than {MAX_PARTS} summands"
        helps = ["end a sum with an intermediate (`let`)"]
        raise Rejected(
            error("TAD0113", "a product of sums with elements of sparse tensors", span, label, helps=helps)
        )
    return value


def _stored(value: Sparse) -> str:
    return f"{value.tensor}[at e]"


def _not_linear(value: Sparse, function: str, span: Span) -> Diagnostic:
    """Build the error for a function of elements that it is not linear in."""
    shown = f"`{_SIGNS.get(function, function)}`"
    if function in _ZERO_AT_0:
        note = f"several elements of `{value.tensor}` may be stored at one place, and {shown} is not linear"
    elif function in ("div", "pow", "mod"):
        note = f"where `{value.tensor}` stores nothing it is 0, and {shown} is not linear in it"
    else:
        note = f"where `{value.tensor}` stores nothing it is 0, and {shown} of it is not"
    return _refused(value, f"{shown} of an element of the sparse `{value.tensor}`", span, note)


def not_compared(value: Sparse, span: Span) -> Diagnostic:
    """Build the error for a comparison of elements."""
    note = f"where `{value.tensor}` stores nothing it is compared too, as 0"
    return _refused(value, f"a comparison of an element of the sparse `{value.tensor}`", span, note)


def not_reduced(value: Sparse, kind: str, span: Span) -> Diagnostic:
    """Build the error for elements under another reduction than a sum."""
    note = f"where `{value.tensor}` stores nothing there is a 0 in it"
    return _refused(value, f"a `{kind}` of elements of the sparse `{value.tensor}`", span, note)


def _refused(value: Sparse, message: str, span: Span, note: str) -> Diagnostic:
    return error(
        "TAD0214",
        message,
        span,
        "not a sum of products",
        secondary=[(value.element, "this element")] if value.element != span else [],
        notes=[note],
        helps=[f"the elements that are stored alone are `{_stored(value)}`, one for each e"],
    )
