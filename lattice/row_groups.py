"""Rows in groups that share no atom: those of other groups say of a form only whether they have a point."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tadc.lattice.affine import Affine, Constraint, Lookup

Rows = tuple[Constraint, ...]


def reached(form: Affine, rows: Sequence[Constraint]) -> set[str | Lookup]:
    """The variables, and elements of index arrays, of a form and of rows that share some with it, or with
    such rows."""
    found, left, count = set(form.nodes), rows, len(rows) + 1
    while len(left) < count:
        count, rest = len(left), list[Constraint]()
        for row in left:
            if found.isdisjoint(row.form.nodes):
                rest.append(row)
            else:
                found |= row.form.nodes
        left = rest
    return found


def parted(nodes: set[str | Lookup], rows: Sequence[Constraint]) -> tuple[Rows, Rows]:
    """The rows with one of these in them, and the others."""
    near, far = list[Constraint](), list[Constraint]()
    for row in rows:
        (far if nodes.isdisjoint(row.form.nodes) else near).append(row)
    return tuple(near), tuple(far)


def row_groups(rows: Sequence[Constraint]) -> Iterator[Rows]:
    """The groups of rows, in the order of their first rows."""
    left = tuple(rows)
    while left:
        group, rest = parted(reached(left[0].form, left), left)
        # A row without variables is alone.
        yield group or left[:1]
        left = rest if group else left[1:]
