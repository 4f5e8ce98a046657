"""Forms that guards make divisible: their quotients, written as a person would."""

from __future__ import annotations

from math import gcd, lcm

from tadc.lattice.affine import Affine, Constraint, Floor, Lookup


class Quotients:
    """The exact divisions made so far, each under its guard.

    `exact` holds pairs (e, c) where c divides e; e has no quotient of another pair in it.
    """

    def __init__(self) -> None:
        """Start with none."""
        self.exact: dict[Floor, tuple[Affine, int]] = {}

    def divide(self, form: Affine, divisor: int) -> tuple[Affine, Constraint | None] | None:
        """The quotient of the form, and the guard `e % c = 0` under which it is exact.

        The guard is None where every value of the form divides. None where none does.
        With `form = c*w + u*e` for a short form e and an invertible factor u, the
        quotient is `w + u*(e // c)`.
        """
        form, scale = self.fraction(form)
        divisor *= scale
        common = gcd(divisor, *(k for _, k in form.terms))
        if form.constant % common:
            return None
        form = Affine(tuple((a, k // common) for a, k in form.terms), form.constant // common)
        divisor //= common
        if all(k % divisor == 0 for _, k in form.terms):
            if form.constant % divisor:
                return None
            return form.floordiv(divisor), None
        short, factor = _shortest(form, divisor)
        self._remember(short, divisor)
        quotient = (form - short * factor).floordiv(divisor) + short.floordiv(divisor) * factor
        return self.simplify(quotient), Constraint(short.mod(divisor), equality=True)

    def _remember(self, form: Affine, divisor: int) -> None:
        quotient = form.floordiv(divisor)
        atom, k = quotient.terms[0] if len(quotient.terms) == 1 else ("", 0)
        if isinstance(atom, Floor) and k == 1 and not quotient.constant:
            self.exact.setdefault(atom, (form, divisor))

    def fraction(self, form: Affine) -> tuple[Affine, int]:
        """The form as N / D, without exact quotients in N."""
        exact = self.exact
        used = [(atom, k) for atom, k in form.terms if isinstance(atom, Floor) and atom in exact]
        if not used:
            return form, 1
        scale = lcm(*(exact[atom][1] for atom, _ in used))
        form = form * scale
        for atom, k in used:
            numerator, divisor = exact[atom]
            form = form - Affine.atom(atom) * (k * scale) + numerator * (k * scale // divisor)
        common = gcd(scale, form.constant, *(k for _, k in form.terms))
        return Affine(
            tuple((a, k // common) for a, k in form.terms), form.constant // common
        ), scale // common

    def simplify(self, form: Affine) -> Affine:
        """The shortest way found to write the form: one quotient, or a whole part and a quotient."""
        numerator, divisor = self.fraction(form)
        if divisor == 1:
            return numerator
        rest = _residue(numerator, divisor)
        one = numerator.floordiv(divisor)
        split = (numerator - rest).floordiv(divisor) + rest.floordiv(divisor)
        best = min((form, one, split), key=lambda f: len(str(f)))
        for atom, _ in best.terms:
            if isinstance(atom, Floor) and atom not in self.exact:
                self._remember_part(best, atom, numerator, divisor)
        return best

    def _remember_part(self, form: Affine, atom: Floor, numerator: Affine, divisor: int) -> None:
        """Note that an atom is exact, if putting its fraction in its place gives `numerator / divisor`."""
        k = form.coefficient(atom)
        scaled = (form - Affine.atom(atom) * k) * (divisor * atom.denominator) + atom.numerator * (
            k * divisor
        )
        if scaled == numerator * atom.denominator:
            self._remember(atom.numerator, atom.denominator)


def _shortest(form: Affine, divisor: int) -> tuple[Affine, int]:
    """A form e with small coefficients and a factor u with `form = u*e` modulo the divisor."""
    found: list[tuple[tuple[int, int, int], int, Affine, int]] = []
    units = dict.fromkeys([1, *(k % divisor for _, k in form.terms if gcd(k, divisor) == 1)])
    for unit in units:
        for factor in (unit, -unit):
            short = _residue(form * pow(factor, -1, divisor), divisor)
            weight = sum(abs(k) for _, k in short.terms)
            negative = sum(k < 0 for _, k in short.terms)
            found.append(((weight, negative, short.constant), len(found), short, factor % divisor))
    _, _, short, factor = min(found)
    return short, factor - divisor if 2 * factor > divisor else factor


def _residue(form: Affine, divisor: int) -> Affine:
    """The form modulo the divisor, coefficients nearest to zero, the constant not negative."""
    terms: list[tuple[str | Floor | Lookup, int]] = []
    for atom, k in form.terms:
        rest = k % divisor
        if rest:
            terms.append((atom, rest - divisor if 2 * rest > divisor else rest))
    return Affine(tuple(terms), form.constant % divisor)
