"""Forms that a guard makes divisible: their quotients, written as a person would."""

from __future__ import annotations

from math import gcd

from tadc.lattice.affine import Affine, Constraint, Floor


class Quotients:
    """The divisions made so far; `exact` holds (e, c) with c dividing e under their guards."""

    def __init__(self) -> None:
        """Start with none."""
        self.exact: list[tuple[Affine, int]] = []

    def divide(self, form: Affine, divisor: int) -> tuple[Affine, Constraint | None] | None:
        """The quotient of the form, and the guard `e % c = 0` under which it is exact.

        The guard is None where every value of the form divides. None where none does.
        With `form = c*w + u*e` for a short form e and an invertible factor u, the
        quotient is `w + u*(e // c)`.
        """
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
        guard = Constraint(short.mod(divisor), equality=True)
        pair = (short, divisor)
        if pair not in self.exact:
            self.exact.append(pair)
        whole = form - short * factor
        return whole.floordiv(divisor) + short.floordiv(divisor) * factor, guard

    def simplify(self, form: Affine) -> Affine:
        """Replace `k*(e // c)` by `(k / c)*e` where c divides k."""
        for short, divisor in self.exact:
            atom = short.floordiv(divisor).terms[0][0]
            k = form.coefficient(atom)
            if k and k % divisor == 0:
                form = form - Affine.atom(atom) * k + short * (k // divisor)
        return form

    def cleared(self, row: Affine) -> Affine:
        """A form that is `>= 0` where the row is, with `e` in place of `e // c`."""
        for short, divisor in self.exact:
            atom = short.floordiv(divisor).terms[0][0]
            k = row.coefficient(atom)
            row = self.simplify(row * (divisor // gcd(k, divisor)))
        return row


def _shortest(form: Affine, divisor: int) -> tuple[Affine, int]:
    """A form e with small coefficients and a factor u with `form = u*e` modulo the divisor."""
    best: tuple[tuple[int, int, int], Affine, int] | None = None
    factors = dict.fromkeys([1, *(k % divisor for _, k in form.terms)])
    for factor in factors:
        if gcd(factor, divisor) != 1:
            continue
        inverse = pow(factor, -1, divisor)
        for sign in (1, -1):
            short = _residue(form * (inverse * sign), divisor)
            rank = (sum(abs(k) for _, k in short.terms), sum(k < 0 for _, k in short.terms), short.constant)
            if best is None or rank < best[0]:
                best = rank, short, factor * sign
    assert best is not None
    factor = best[2] % divisor
    return best[1], factor - divisor if 2 * factor > divisor else factor


def _residue(form: Affine, divisor: int) -> Affine:
    """The form modulo the divisor, coefficients nearest to zero, the constant not negative."""
    terms: list[tuple[str | Floor, int]] = []
    for atom, k in form.terms:
        rest = k % divisor
        if rest:
            terms.append((atom, rest - divisor if 2 * rest > divisor else rest))
    return Affine(tuple(terms), form.constant % divisor)
