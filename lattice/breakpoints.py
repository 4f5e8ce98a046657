"""Where a number of points stops being the same polynomial of a parameter.

The points of a set with affine bounds, summed up over a quasi-polynomial, are a quasi-polynomial of each
parameter between breakpoints (Clauss 1996). Breakpoints lie where bounds or conditions cross: at zeros of
forms from which the inner indices are eliminated pairwise, by cross-multiplication.

Forms are rough: rounding moves a crossing by less than the slack, so a breakpoint is a zone of values.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from math import gcd, lcm

from tadc.lattice.affine import Affine, Floor
from tadc.lattice.late_dataclasses import dataclass

#: More forms than this are not compared in pairs.
MOST_FORMS = 120


@dataclass(frozen=True)
class Rough:
    """A form `sum k*x + constant`, each value off by at most `slack`."""

    terms: tuple[tuple[str, int], ...]
    constant: int
    slack: int

    def coefficient(self, name: str) -> int:
        """What a variable is multiplied by."""
        return next((k for variable, k in self.terms if variable == name), 0)


@dataclass(frozen=True)
class Critical:
    """The forms whose signs decide which polynomial a sum is, and a period of its coefficients.

    `degree` is at least that of the polynomial in each variable.
    """

    forms: frozenset[Rough] = frozenset()
    period: int = 1
    degree: int = 0

    def joined(self, others: Iterable[Critical]) -> Critical:
        """What holds of a total."""
        parts = (self, *others)
        return Critical(
            frozenset[Rough]().union(*(part.forms for part in parts)),
            lcm(*(part.period for part in parts)),
            max(part.degree for part in parts),
        )

    def summed(self, name: str) -> Critical | None:
        """What holds of the sum over a variable, whose bounds are among the forms; None of too many forms."""
        with_name = [form for form in self.forms if form.coefficient(name)]
        forms = self.forms.difference(with_name)
        if len(with_name) ** 2 > 2 * MOST_FORMS:
            return None
        scale = lcm(*(form.coefficient(name) for form in with_name))
        made = [
            _crossing(one, other, name, self.period * scale)
            for position, one in enumerate(with_name)
            for other in with_name[:position]
        ]
        forms |= {form for form in made if form.terms}
        return None if len(forms) > MOST_FORMS else Critical(forms, self.period * scale, self.degree + 1)


def critical(forms: Iterable[Affine]) -> Critical:
    """Of a choice by the signs of forms."""
    made: list[Rough] = []
    period = 1
    for form in forms:
        terms, constant, slack, repeats = _linear(form)
        period = lcm(period, repeats)
        if terms:
            made.append(_whole(terms, constant, slack + 1))
    return Critical(frozenset(made), period)


def zones(forms: Iterable[Rough], name: str, point: Mapping[str, int]) -> list[tuple[int, int]]:
    """The values of a variable near which a form changes its sign, the others being given; as ranges."""
    found: list[tuple[int, int]] = []
    for form in forms:
        slope, rest = 0, form.constant
        for variable, k in form.terms:
            if variable == name:
                slope = k
            else:
                rest += k * point[variable]
        if slope:
            if slope < 0:
                slope, rest = -slope, -rest
            found.append((-((form.slack + rest) // slope), (form.slack - rest) // slope))
    return found


def _linear(form: Affine) -> tuple[dict[str, Fraction], Fraction, Fraction, int]:
    """Coefficients and constant of a form without its roundings, how far it is off, and a period of that."""
    total: dict[str, Fraction] = {}
    constant, slack, period = Fraction(form.constant), Fraction(0), 1
    for atom, k in form.terms:
        if isinstance(atom, Floor):
            terms, rest, off, repeats = _linear(atom.numerator)
            d = atom.denominator
            period = lcm(period, d * repeats)
            slack += abs(k) * (off / d + 1)
            constant += k * rest / d
        else:
            # A lookup stands for itself: between breakpoints nothing is known of it.
            terms, d = {atom if isinstance(atom, str) else str(atom): Fraction(1)}, 1
        for name, factor in terms.items():
            total[name] = total.get(name, Fraction(0)) + factor * k / d
    return {name: k for name, k in total.items() if k}, constant, slack, period


def _whole(terms: Mapping[str, Fraction], constant: Fraction, slack: Fraction) -> Rough:
    """The form with integers, in lowest terms and with a sign of its own: the same zones."""
    scale = lcm(*(k.denominator for k in terms.values()))
    return _lowest({name: int(k * scale) for name, k in terms.items()}, constant * scale, slack * scale)


def _lowest(terms: Mapping[str, int], constant: Fraction, slack: Fraction) -> Rough:
    ordered = sorted((name, k) for name, k in terms.items() if k)
    if not ordered:
        return Rough((), 0, 0)
    common = gcd(*(k for _, k in ordered)) * (1 if ordered[0][1] > 0 else -1)
    shifted = constant / common
    whole = shifted.numerator // shifted.denominator
    off = slack / abs(common) + (shifted - whole)
    return Rough(
        tuple((name, k // common) for name, k in ordered), whole, -(-off.numerator // off.denominator)
    )


def _crossing(one: Rough, other: Rough, name: str, period: int) -> Rough:
    """Where two forms are 0 for the same value of a variable; rounding to its residues included."""
    a, b = one.coefficient(name), other.coefficient(name)
    total = {variable: k * b for variable, k in one.terms}
    for variable, k in other.terms:
        total[variable] = total.get(variable, 0) - k * a
    slack = one.slack * abs(b) + other.slack * abs(a) + abs(a * b) * (period - 1)
    return _lowest(total, Fraction(one.constant * b - other.constant * a), Fraction(slack))
