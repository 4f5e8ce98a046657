"""Index forms, conditions and bounds as a person writes them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from tadc.lattice.affine import Affine, Constraint, Floor, Lookup, SumPart, sum_text
from tadc.lattice.bounds import Bound
from tadc.lattice.late_dataclasses import dataclass, field

#: How tightly a printed expression holds together; a looser one needs parentheses.
SUM, PRODUCT, SIGN, POWER, PRIMARY, ATOM = range(1, 7)


@dataclass(frozen=True)
class FormWriter:
    """Writes forms, conditions and bounds in a spelling, that of programs unless another is given."""

    named: Callable[[str], str] = str
    times: str = "*"
    element: str = "{}[{}]"
    quotient: str = "{operand} // {divisor}"
    remainder: str = "{operand} % {divisor}"
    #: What relations are called that have another name.
    relations: Mapping[str, str] = field(default_factory=dict[str, str])

    def form(self, form: Affine, times: str = "") -> str:
        """A form with `%` wherever `e - c*(e // c)` stands in it; `times` stands between factors."""
        parts, constant = self.parts(form)
        return sum_text(parts, constant, times or self.times)

    def condition(self, row: Constraint) -> str:
        """`form = 0` or `form >= 0` with every term on the side where it is positive.

        Of an equality that says what an element of an index array is, this stands on the left.
        """
        parts, constant = self.parts(row.faced.form)
        left = [p for p in parts if p.factor > 0]
        right = [p._replace(factor=-p.factor) for p in parts if p.factor < 0]
        if row.equality:
            if right and not left:
                left, right, constant = right, left, -constant
            return self._compared(left, max(constant, 0), "=", right, max(-constant, 0))
        if right and not left:
            least = min(constant, 0)
            return self._compared(right, -least, "<=", left, constant - least)
        if right and constant == -1:
            return self._compared(left, 0, ">", right, 0)
        return self._compared(left, max(constant, 0), ">=", right, max(-constant, 0))

    def _compared(
        self, left: Sequence[SumPart], more: int, relation: str, right: Sequence[SumPart], less: int
    ) -> str:
        named = self.relations.get(relation, relation)
        return f"{sum_text(left, more, self.times)} {named} {sum_text(right, less, self.times)}"

    def between(self, low: Affine, form: Affine, high: Affine) -> str:
        """`0 <= i <= 3`."""
        return f" {self.relations.get('<=', '<=')} ".join(map(self.form, (low, form, high)))

    def ceiling(self, bound: Bound) -> str:
        """A lower bound."""
        # A normalised floor would split the constant, and the bound would read less plainly.
        if bound.divisor == 1 or bound.form.is_constant:
            return self.form(bound.ceil())
        return f"-({self._divided(self.quotient, -bound.form, bound.divisor)})"

    def floor(self, bound: Bound) -> str:
        """An upper bound."""
        if bound.divisor == 1 or bound.form.is_constant:
            return self.form(bound.floor())
        return self._divided(self.quotient, bound.form, bound.divisor)

    def parts(self, form: Affine) -> tuple[list[SumPart], int]:
        """The terms of a form, remainders among them, and its constant."""
        remainders: list[SumPart] = []
        rest = form
        atoms = [atom for atom, _ in form.terms if isinstance(atom, Floor)]
        # An atom inside another one's numerator may be part of that one's remainder.
        for atom in sorted(atoms, key=lambda a: -len(list(a.numerator.floors()))):
            found = _remainder(rest, atom)
            if found:
                factor, inner, divisor = found
                rest -= (inner - Affine.atom(atom) * divisor) * factor
                remainders.append(SumPart(factor, self._divided(self.remainder, inner, divisor), True))
        parts = [SumPart(k, self._atom(a), isinstance(a, Floor)) for a, k in rest.terms]
        return parts + remainders, rest.constant

    def _atom(self, atom: str | Floor | Lookup) -> str:
        match atom:
            case str():
                return self.named(atom)
            case Floor():
                return self._divided(self.quotient, atom.numerator, atom.denominator)
            case Lookup():
                array, at = self.named(atom.array), ", ".join(map(self.form, atom.at))
                return self.element.format(array, at) if at else array

    def _divided(self, how: str, form: Affine, divisor: int) -> str:
        parts, constant = self.parts(form)
        text = sum_text(parts, constant, self.times)
        operand = text if _level(parts, constant) == ATOM else f"({text})"
        return how.format(form=text, operand=operand, divisor=divisor)


PLAIN_FORMS = FormWriter()
"""Those of programs."""
form_text, condition_text = PLAIN_FORMS.form, PLAIN_FORMS.condition


def form_level(form: Affine) -> int:
    """How tightly `form_text` holds together."""
    return _level(*PLAIN_FORMS.parts(form))


def _level(parts: Sequence[SumPart], constant: int) -> int:
    if len(parts) > 1 or (parts and constant):
        return SUM
    if not parts:
        return ATOM if constant >= 0 else SIGN
    factor, _, is_loose = parts[0]
    if factor == -1:
        return SIGN
    return ATOM if factor == 1 and not is_loose else PRODUCT


def conditions_text(rows: Sequence[Constraint]) -> str:
    """Conditions joined by `and`, those that read the same once: `2*i = 2` is `i = 1`."""
    return " and ".join(dict.fromkeys(condition_text(row) for row in rows))


def held_text(rows: Sequence[Constraint]) -> str:
    """The conditions of a reduction, in one order: what is equal first."""
    texts = {condition_text(row): not row.equality for row in rows}
    return " and ".join(sorted(texts, key=lambda text: (texts[text], text)))


def lower_text(bounds: Sequence[Bound]) -> str:
    """What follows `_`."""
    return _bound_text("max", list(map(PLAIN_FORMS.ceiling, bounds)))


def upper_text(bounds: Sequence[Bound]) -> str:
    """What follows `^`."""
    return _bound_text("min", list(map(PLAIN_FORMS.floor, bounds)))


def _bound_text(several: str, texts: list[str]) -> str:
    if len(texts) > 1:
        return f"({several} [{'; '.join(texts)}])"
    return texts[0] if texts[0].removeprefix("-").isdigit() else f"({texts[0]})"


def _remainder(form: Affine, atom: Floor) -> tuple[int, Affine, int] | None:
    """Find `factor*(inner % divisor)` in a form, `atom` being the quotient; None if there is none."""
    k, whole = form.coefficient(atom), atom.denominator
    # A floor of a floor is one floor: the quotient of `(i // 2) % 3` is `i // 6`.
    nested = [a.denominator for a, _ in form.terms if isinstance(a, Floor) and whole % a.denominator == 0]
    for part in dict.fromkeys([1, *nested]):
        divisor = whole // part
        if divisor == 1 or k % divisor:
            continue
        inner, factor = atom.numerator.floordiv(part), -k // divisor
        if all(_holds(form.coefficient(a), factor * c) for a, c in inner.terms):
            return factor, inner, divisor
    return None


def _holds(whole: int, part: int) -> bool:
    """Whether `part` taken away leaves less of the same sign."""
    return whole * part > 0 and abs(whole) >= abs(part)


def element_text(tensor: str, indices: Sequence[Affine], *, stored: bool = False) -> str:
    """An element of a tensor, or one that a sparse tensor stores; a scalar's name alone."""
    if not indices:
        return tensor
    first, *others = map(form_text, indices)
    if stored:
        first = f"at ({first})" if first[0] == "-" else f"at {first}"
    return f"{tensor}[{', '.join([first, *others])}]"
