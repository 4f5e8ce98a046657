"""Divisibility guards read as residues.

`(b + 1) % 2 = 0` is `b % 2 = 1`, and then `(b + 1) // 2` is `b // 2 + 1`.
"""

from __future__ import annotations

from collections.abc import Sequence

from tadc.lattice.affine import Affine, Constraint, Floor, Lookup
from tadc.lattice.late_dataclasses import dataclass


@dataclass(frozen=True)
class Residue:
    """`form % divisor = rest`; the form has no constant."""

    form: Affine
    divisor: int
    rest: int

    @property
    def row(self) -> Constraint:
        """The residue as an equality."""
        return Constraint(self.form.mod(self.divisor) - self.rest, equality=True)


def residue_of(row: Constraint) -> Residue | None:
    """The residue that an equality `e - c*((e - r) // c) = 0` states, which is `e % c = r` for r below c."""
    if not row.equality:
        return None
    for atom, k in row.form.terms:
        if not isinstance(atom, Floor) or abs(k) != atom.denominator:
            continue
        sign = -1 if k > 0 else 1
        rest = atom.numerator - (row.form * sign + Affine.atom(atom) * atom.denominator)
        if rest.is_constant and 0 <= rest.constant < atom.denominator:
            constant = atom.numerator.constant
            found = (rest.constant - constant) % atom.denominator
            return Residue(atom.numerator - constant, atom.denominator, found)
    return None


def with_residues(form: Affine, residues: Sequence[Residue]) -> Affine:
    """The form with floors that differ from a known residue's by a constant written over it."""

    def known(atom: str | Floor | Lookup) -> Affine | None:
        if isinstance(atom, Floor):
            shift = atom.numerator.constant
            for residue in residues:
                if atom.denominator == residue.divisor and atom.numerator - shift == residue.form:
                    return residue.form.floordiv(residue.divisor) + (residue.rest + shift) // residue.divisor
        return None

    return form.replace(known) if residues and not form.is_linear else form
