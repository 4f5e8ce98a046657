"""The rational shadow of a set along some of its variables."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from tadc.lattice.affine import Constraint
from tadc.lattice.bounds import project, without_inner
from tadc.lattice.polyhedron import NEVER, irredundant


def shadow(
    rows: Sequence[Constraint], keep: Collection[str], facts: Sequence[Constraint]
) -> list[Constraint]:
    """Rows on the variables to keep that follow from the rows, so that no point is left where they fail.

    The facts hold of the variables that are kept; no row that follows from them is given, and
    `[NEVER]` where nothing is left. Raises EliminationLimit.
    """
    current = list(rows)
    kept = set(keep)
    while True:
        names = [name for row in current for name in sorted(row.form.variables - kept)]
        if not names:
            return irredundant(current, facts)
        # A variable leaves once it is in no other atom; those leave as variables, outer ones first.
        name = min(dict.fromkeys(names), key=lambda n: sum(n in row.form.variables for row in current))
        current = project(name, without_inner([name], current, facts), facts)
        if NEVER in current:
            return [NEVER]
