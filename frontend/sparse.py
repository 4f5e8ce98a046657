"""Elements of sparse tensors: sums over what is stored, which reach through what is 0 where they are.

    A: f64[N, M] at (row, col)
    z[i] = sum{j} (A[i, j] * x[j])

`A[at e]` is the element that is stored at e, and `A[i, j]` is `sum{e: row[e] = i and col[e] = j} (A[at e])`:
nothing where nothing is stored, and the sum of all where several are stored at one place. Such a sum joins
the sums around it, whose indices its conditions tell: z[i] is `sum{e: row[e] = i} (A[at e] * x[col[e]])`.

What is not linear is computed at each e, of the whole element E, the sum of what is stored at its place:

    A[i, j]**3       sum{e: …} (A[at e] * E**2)
    sin(A[i, j])     sum{e: …} (sin(E) / n), where n is how many are stored at that place
    A[i, j]*exp(A[i, j])    sum{e: …} (A[at e] * exp(E))

A function that is not 0 at 0 is something where nothing is stored, so it stands in a product that is 0 there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import reduce

from tadc.frontend.diagnostics import Diagnostic
from tadc.frontend.functions import OPERATORS, having
from tadc.frontend.limits import MAX_PARTS
from tadc.frontend.report import Rejected, error
from tadc.frontend.source import Span
from tadc.frontend.terms import Const, Domain, Term, Terms
from tadc.lattice.affine import Affine, Constraint, equals_zero
from tadc.lattice.late_dataclasses import dataclass, replace
from tadc.lattice.polyhedron import implied

_ZERO_AT_0 = having("zero at 0")
_SIGNS = {name: sign for sign, name in OPERATORS.items()}


@dataclass(frozen=True)
class SparsePart:
    """The sum of a term over indices; without indices the term alone.

    `places` are the indices of the elements in it that no sum of the program has bound yet: it is 0 where
    nothing is stored at these. One that is not is `refused` with what says so, unless a factor is 0 there.
    """

    term: Term
    keys: tuple[str, ...] = ()
    hints: tuple[str, ...] = ()
    rows: Domain = ()
    places: frozenset[str] = frozenset()
    refused: Diagnostic | None = None

    @property
    def vanishes(self) -> bool:
        """Whether it is 0 where nothing is stored."""
        return bool(self.places) and self.refused is None

    def covers(self, other: SparsePart) -> bool:
        """Whether it is 0 where nothing is stored at the places of another."""
        return self.vanishes and other.places <= self.places

    def beside(self, other: SparsePart) -> SparsePart:
        """It with another in its term, with which it is refused where it is not 0."""
        if self.covers(other):
            return self
        return replace(self, places=self.places | other.places, refused=self.refused or other.refused)

    def over(self, term: Term) -> SparsePart:
        """The sum of another term over the same indices."""
        return replace(self, term=term)


@dataclass(frozen=True)
class Sparse:
    """The sum of parts; `element` is the place of one that is stored, `tensor` its name."""

    parts: tuple[SparsePart, ...]
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
        term = _whole(terms, part, span)
        found = term if found is None else terms.apply("add", [found, term], span)
    assert found is not None
    return found


def parts_of(value: Term | Sparse) -> tuple[SparsePart, ...]:
    """The parts of a value; a term is one."""
    return value.parts if isinstance(value, Sparse) else (SparsePart(value),)


def applied(terms: Terms, function: str, operands: Sequence[Term | Sparse], span: Span) -> Term | Sparse:
    """A function of values of which one is sparse. Raises Rejected (TAD0113) for too many summands."""
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
            return _times(terms, *operands, span=span)
        case "div":
            below = operands[1]
            parts = [
                part.over(_of_wholes(terms, "div", [part.term, below], span))
                for part in parts_of(operands[0])
            ]
            refused = (
                _anywhere(terms, "div", [terms.const(1), below], span) if isinstance(below, Sparse) else None
            )
            return replace(first, parts=tuple(_within(parts, refused)))
        case "pow" if (number := _exponent(operands[1])) is not None:
            return _power(terms, first, number, span)
        case _ if _is_zero_at_0(function, operands):
            return _where_stored(terms, function, operands, span)
        case _:
            return _anywhere(terms, function, operands, span)


def _times(terms: Terms, x: Term | Sparse, y: Term | Sparse, span: Span) -> Sparse:
    """A product: each part of a factor with each of the other."""
    first = x if isinstance(x, Sparse) else y
    assert isinstance(first, Sparse)
    parts = tuple(_product(terms, p, q, span) for p in parts_of(x) for q in parts_of(y))
    return _limited(replace(first, parts=parts), span)


def _product(terms: Terms, p: SparsePart, q: SparsePart, span: Span) -> SparsePart:
    """The product of two parts, which vanishes where one of them does.

    Of two sums those that no sum of the program can join any more stay sums of their own.
    """
    if p.keys and q.keys:
        p, q = (part if part.places else SparsePart(_whole(terms, part, span)) for part in (p, q))
    if not set(p.keys).isdisjoint(q.keys):
        q = _renamed(terms, q)
    refused = [r.refused for r, other in ((p, q), (q, p)) if r.refused and not other.covers(r)]
    term = terms.apply("mul", [p.term, q.term], span)
    places = p.places | q.places
    return SparsePart(
        term, p.keys + q.keys, p.hints + q.hints, p.rows + q.rows, places, refused[0] if refused else None
    )


def _whole(terms: Terms, part: SparsePart, span: Span) -> Term:
    return (
        terms.reduce(part.keys, part.rows, part.term, hints=part.hints, span=span) if part.keys else part.term
    )


def _renamed(terms: Terms, part: SparsePart) -> SparsePart:
    """A part that sums over indices of its own."""
    own = {key: terms.fresh("s") for key in part.keys}
    moved = {key: Affine.var(name) for key, name in own.items()}
    rows = tuple(row.substitute(moved) for row in part.rows)
    return replace(part, term=terms.substitute(part.term, moved), keys=tuple(own.values()), rows=rows)


def _power(terms: Terms, value: Sparse, number: int, span: Span) -> Sparse:
    """An integer power from 1 on: parts that are stored times a power of the whole, and what is left."""
    if number == 1:
        return value
    if not any(part.places for part in value.parts):
        power = terms.apply("pow", [total(terms, value, span), terms.const(number)], span)
        return replace(value, parts=(SparsePart(power),))
    whole = total(terms, value, span)
    if number > 2:
        whole = terms.apply("pow", [whole, terms.const(number - 1)], span)
    stored = tuple(part for part in value.parts if part.vanishes)
    parts = [part.over(terms.apply("mul", [part.term, whole], span)) for part in stored]
    left = tuple(part for part in value.parts if not part.vanishes)
    if left:
        rest = _power(terms, value, number - 1, span)
        parts += _times(terms, replace(value, parts=left), rest, span).parts
    return _limited(replace(value, parts=tuple(parts)), span)


def _where_stored(
    terms: Terms, function: str, operands: Sequence[Term | Sparse], span: Span
) -> Term | Sparse:
    """A function of whole elements, an even share of it for each that is stored at their place."""
    values = [value for value in operands if isinstance(value, Sparse)]
    parts = tuple(part for value in values for part in value.parts)
    one = terms.const(1)
    number = total(terms, replace(values[0], parts=tuple(part.over(one) for part in parts)), span)
    share = terms.apply("div", [_of_wholes(terms, function, operands, span), number], span)
    return _limited(replace(values[0], parts=tuple(part.over(share) for part in parts)), span)


def _anywhere(terms: Terms, function: str, operands: Sequence[Term | Sparse], span: Span) -> Sparse:
    """A function of whole elements, not 0 where nothing is stored unless a sum has bound their places."""
    value = next(value for value in operands if isinstance(value, Sparse))
    parts = [part for each in operands for part in parts_of(each)]
    places = frozenset[str]().union(*(part.places for part in parts))
    refused = next((part.refused for part in parts if part.refused), None) or _not_zero(value, function, span)
    part = SparsePart(_of_wholes(terms, function, operands, span), places=places)
    return replace(value, parts=(replace(part, refused=refused) if places else part,))


def _of_wholes(terms: Terms, function: str, operands: Sequence[Term | Sparse], span: Span) -> Term:
    wholes = [total(terms, value, span) if isinstance(value, Sparse) else value for value in operands]
    return terms.apply(function, wholes, span)


def _exponent(term: Term | Sparse) -> int | None:
    """A literal integer exponent from 1 on."""
    number = term.value if isinstance(term, Const) else None
    return number if isinstance(number, int) and number >= 1 else None


def _is_zero_at_0(function: str, operands: Sequence[Term | Sparse]) -> bool:
    """Whether a function is 0 where nothing is stored of what is sparse among its operands."""
    numbers = [value.value if isinstance(value, Const) else None for value in operands]
    stored = [isinstance(value, Sparse) and all(p.vanishes for p in value.parts) for value in operands]
    if function in _ZERO_AT_0:
        return stored[0]
    if function in ("max", "min"):
        # A literal is not taken at 0.
        sign = 1 if function == "min" else -1
        is_0 = [number is not None and sign * number >= 0 for number in numbers]
        return all(is_stored or fits for is_stored, fits in zip(stored, is_0, strict=True))
    if function in ("pow", "mod", "atan2"):
        return stored[0] and (numbers[1] or 0) > 0
    return function == "safe" and stored[0]


def settled(terms: Terms, value: Term | Sparse, span: Span, refuse: Callable[[Sparse], Diagnostic]) -> Term:
    """A value as a term; raises Rejected with what `refuse` says where sums have not reached its elements."""
    if not isinstance(value, Sparse):
        return value
    if any(part.places for part in value.parts):
        raise Rejected(refuse(value))
    return total(terms, value, span)


def compared(
    terms: Terms, sides: Sequence[Term | Sparse], span: Span
) -> tuple[Sequence[Term], Sparse | None]:
    """Both sides of a comparison as terms; what says that elements are compared that no sum has reached."""
    wholes = [total(terms, side, span) if isinstance(side, Sparse) else side for side in sides]
    places = frozenset[str]().union(*(part.places for side in sides for part in parts_of(side)))
    if not places:
        return wholes, None
    value = next(side for side in sides if isinstance(side, Sparse))
    part = SparsePart(terms.const(0), places=places, refused=_not_compared(value, span))
    return wholes, replace(value, parts=(part,))


def chosen(
    terms: Terms,
    then: Term | Sparse,
    otherwise: Term | Sparse,
    choose: Callable[[Term, Term], Term],
    by: Sparse | None = None,
) -> Term | Sparse:
    """What a choice between values is, of which `choose` makes a term: that of each part or else 0.

    Where elements are chosen `by`, what is not 0 with these is refused.
    """
    first = next((value for value in (then, otherwise, by) if isinstance(value, Sparse)), None)
    if first is None:
        assert not isinstance(then, Sparse)
        assert not isinstance(otherwise, Sparse)
        return choose(then, otherwise)
    zero = terms.const(0)
    found = [part.over(choose(part.term, zero)) for part in parts_of(then) if part.term is not zero]
    found += [part.over(choose(zero, part.term)) for part in parts_of(otherwise) if part.term is not zero]
    return replace(first, parts=tuple(_within(found, by)) or (SparsePart(zero),))


def _within(parts: Sequence[SparsePart], value: Sparse | None) -> list[SparsePart]:
    """Parts with a value in them, which are refused with it where they are not 0."""
    refused = [part for part in value.parts if part.places] if value is not None else []
    return [reduce(SparsePart.beside, refused, part) for part in parts]


def summed(value: Sparse, keys: Sequence[str], hints: Sequence[str], rows: Domain, terms: Terms) -> Sparse:
    """The sum of a value over indices: its parts run over those too that their conditions do not tell.

    Raises Rejected (TAD0214) where one is not 0 for indices at which nothing is stored.
    """
    _refuse(part for part in value.parts if not part.places.isdisjoint(keys))
    parts = [_joined(part, tuple(keys), tuple(hints), rows, terms) for part in value.parts]
    return replace(value, parts=tuple(parts))


def over_stored(
    value: Term | Sparse, own: Sequence[str], places: Mapping[str, Affine], terms: Terms, span: Span
) -> Term:
    """A value at the places of what a sparse output stores at its indices `own`.

    Of a tensor with the same pattern each element is taken by itself: what is stored at one place is
    the same together, and nothing is looked for. Raises Rejected (TAD0214) for what is not 0 elsewhere.
    """
    if isinstance(value, Sparse):
        _refuse(part for part in value.parts if not part.places <= places.keys())
        parts = tuple(_at_stored(part, own, places, terms) for part in value.parts)
        return total(terms, replace(value, parts=parts), span)
    return terms.substitute(value, places)


def _at_stored(
    part: SparsePart, own: Sequence[str], places: Mapping[str, Affine], terms: Terms
) -> SparsePart:
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
        return SparsePart(terms.guard(rows, term, terms.const(0)))
    return SparsePart(term, keys, tuple(hints[key] for key in keys), rows)


def _refuse(parts: Iterable[SparsePart]) -> None:
    for part in parts:
        if part.refused is not None:
            raise Rejected(part.refused)


def _joined(
    part: SparsePart, keys: tuple[str, ...], hints: tuple[str, ...], rows: Domain, terms: Terms
) -> SparsePart:
    """A part under a sum over indices of the program."""
    touched = not part.places.isdisjoint(keys)
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
    return SparsePart(
        term,
        (*given, *part.keys),
        (*given.values(), *part.hints),
        known,
        frozenset() if touched else part.places,
        part.refused,
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


def _not_zero(value: Sparse, function: str, span: Span) -> Diagnostic:
    """Build the error for a function of elements that is not 0 where these are."""
    shown = f"`{_SIGNS.get(function, function)}`"
    note = f"where `{value.tensor}` stores nothing, this {shown} is not 0"
    return _refused(value, f"{shown} of an element of the sparse `{value.tensor}`", span, note)


def _not_compared(value: Sparse, span: Span) -> Diagnostic:
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
        "not 0 where nothing is stored",
        secondary=[(value.element, "this element")] if value.element != span else [],
        notes=[note],
        helps=[
            f"the elements that are stored alone are `{value.tensor}[at e]`, one for each e",
            "or multiply by an element at the same place, which is 0 there",
        ],
    )
