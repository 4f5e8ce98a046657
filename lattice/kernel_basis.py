"""The choice of a kernel basis, and of the order of the loops over it."""

from __future__ import annotations

from collections.abc import Sequence

from tadc.lattice.affine import Affine, Constraint
from tadc.lattice.reduction import Vector, dot, lll


def short_basis(kernel: Sequence[Sequence[int]]) -> list[Vector]:
    """A basis of the same lattice, LLL-reduced, the vector of the outermost loop first.

    The shortest vector is innermost, which leaves few of its ranges empty; of vectors as long
    as each other the one that leaves the outer unknowns alone. Unknowns come outermost first,
    so that it stays in a row of a tensor that they index. Each vector moves the first unknown
    in it upwards: forwards in memory, for such a tensor.
    """
    reduced = sorted(lll(kernel), key=lambda vector: (-dot(vector, vector), _leading(vector)))
    return [vector if vector[_leading(vector)] > 0 else [-x for x in vector] for vector in reduced]


def _leading(vector: Sequence[int]) -> int:
    return next(i for i, x in enumerate(vector) if x)


def tight_order(loops: Sequence[str], rows: Sequence[Constraint]) -> tuple[str, ...]:
    """The loops in an order in which fewer inner ranges are empty, else as they are.

    A loop whose coefficients are 1 or -1 in all rows that it shares with other loops goes
    inside: Fourier-Motzkin elimination of it is exact over the integers, so that the ranges of
    the others never promise a point that it does not have (Pugh, The Omega Test, 1991).
    """
    own = set(loops)
    if any(atom.variables & own for row in rows for atom in row.form.inner_atoms()):
        return tuple(loops)
    shared = [row.form for row in rows if len(row.form.variables & own) > 1]
    return tuple(sorted(loops, key=lambda name: all(abs(form.coefficient(name)) <= 1 for form in shared)))


def backwards(loops: Sequence[str], values: Sequence[Affine]) -> list[str]:
    """The loops that move the first of the values that they move downwards."""
    found: list[str] = []
    for name in loops:
        steps = (value.coefficient(name) for value in values)
        if next((step for step in steps if step), 1) < 0:
            found.append(name)
    return found
