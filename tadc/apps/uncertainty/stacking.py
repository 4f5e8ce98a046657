"""Uncertainties and correlations in the places of a layout."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from tadc.apps.uncertainty.input_errors import misfit, raise_all
from tadc.apps.uncertainty.inputs import ROUNDED, GivenInputs, indefinite
from tadc.apps.uncertainty.models import Model
from tadc.apps.uncertainty.uncertain_numbers import Array, InputLayout, Slot
from tadc.toolkit.reporting import Diagnostic


@dataclass(frozen=True)
class Stacked:
    """Uncertainties: `u` and `dof` by quantity and point, `r` correlations of quantities (None: none).

    `groups` are sets of quantities with finite degrees of freedom that count as one; `undefined` says which
    quantities are correlated where the Welch-Satterthwaite formula has no meaning.
    """

    u: Array
    r: Array | None
    dof: Array
    groups: tuple[tuple[int, ...], ...]
    undefined: tuple[tuple[int, int], ...]


def needs_whole(given: GivenInputs, model: Model) -> bool:
    """Whether a correlation is between any elements of arrays, so that these are not points of their own."""
    return any(
        a == b or x.ndim == len(model.shape(a, given.values) + model.shape(b, given.values)) > 1
        for (a, b), x in given.correlations.items()
    )


def stacked(given: GivenInputs, layout: InputLayout, is_whole: bool) -> Stacked:
    """Uncertainties in the places of a layout.

    Raises ArgumentError: TAD0903 for shapes that do not fit, TAD0905 for impossible correlations.
    """
    wrong: list[Diagnostic] = []
    u = _spread("the uncertainty", given.u, layout, 0.0, wrong)
    freedom = _spread("the number of degrees of freedom", given.dof, layout, math.inf, wrong)
    raise_all(wrong)
    r = _correlations(given, layout, is_whole) if given.correlations else None
    groups, undefined = _groups(given, layout, freedom, r)
    return Stacked(u, r, freedom, groups, undefined)


def _spread(
    what: str, given: Mapping[str, Array], layout: InputLayout, otherwise: float, wrong: list[Diagnostic]
) -> Array:
    rows: list[Array] = []
    for slot in layout.slots:
        x = given.get(slot.name, np.asarray(otherwise))
        try:
            rows.append(layout.spread(slot, x))
        except ValueError:
            shape = (layout.points if slot.is_carried else ()) + slot.shape
            wrong.append(misfit(what, slot.name, x.shape, shape))
    if len({row.shape[1:] for row in rows}) > 1:
        rows = [np.broadcast_to(row, (row.shape[0], *layout.points)) for row in rows]
    return np.concatenate(rows) if rows else np.zeros((0, *[1] * len(layout.points)))


def _correlations(given: GivenInputs, layout: InputLayout, is_whole: bool) -> Array:
    slots = {slot.name: slot for slot in layout.slots}
    points = np.broadcast_shapes(
        (),
        *(
            x.shape
            for (a, b), x in given.correlations.items()
            if not _is_full(slots[a], slots[b], x, is_whole)
        ),
    )
    points = points if len(points) <= len(layout.points) and not is_whole else ()
    r = np.zeros((layout.size, layout.size, *points))
    r[np.diag_indices(layout.size)] = 1.0
    for (a, b), x in given.correlations.items():
        first, second = slots[a], slots[b]
        rows = slice(first.begin, first.begin + first.size)
        columns = slice(second.begin, second.begin + second.size)
        try:
            if _is_full(first, second, x, is_whole):
                block = x.reshape(first.size, second.size)
                block = block.reshape(*block.shape, *[1] * len(points))
            elif first.shape == second.shape and first.shape:
                block = _in_pairs(first, x, points)
            else:
                block = np.broadcast_to(x, (first.size, second.size, *points))
            r[rows, columns] = block
            r[columns, rows] = np.swapaxes(r[rows, columns], 0, 1)
        except ValueError:
            wanted = (first.shape + second.shape) or layout.points
            raise_all([misfit("the correlation", f"{a}, {b}", x.shape, wanted)])
    _check_definite(r, layout)
    return r


def _in_pairs(slot: Slot, x: Array, points: tuple[int, ...]) -> Array:
    """A correlation between elements of one position: one number, or one for each, or at each point."""
    if x.shape == slot.shape and not points:
        return np.diag(x.ravel())
    return np.multiply.outer(np.eye(slot.size), np.broadcast_to(x, points))


def _is_full(first: Slot, second: Slot, x: Array, is_whole: bool) -> bool:
    return bool(is_whole and x.ndim and x.shape == first.shape + second.shape)


def _check_definite(r: Array, layout: InputLayout) -> None:
    matrices = r.reshape(*r.shape[:2], -1).transpose(2, 0, 1)
    skew = np.abs(matrices - matrices.swapaxes(1, 2)).max(initial=0.0)
    ones = np.abs(np.diagonal(matrices, axis1=1, axis2=2) - 1).max(initial=0.0)
    if max(skew, ones) > ROUNDED:
        notes = ["it is symmetric, and 1 for each element with itself"]
        raise_all([Diagnostic("TAD0905", "this is no correlation matrix of an array", notes=notes)])
    least = float(np.linalg.eigvalsh(matrices).min(initial=1.0))
    if least < -ROUNDED * layout.size:
        message = f"the correlations contradict each other: their matrix has the eigenvalue {least:.3g}"
        raise_all([indefinite(message)])


def _groups(
    given: GivenInputs, layout: InputLayout, dof: Array, r: Array | None
) -> tuple[tuple[tuple[int, ...], ...], tuple[tuple[int, int], ...]]:
    """Which quantities count as one, and which correlations leave the degrees of freedom undefined."""
    group_of = {k: k for k in range(layout.size) if np.isfinite(dof[k]).any()}
    if not group_of:
        return (), ()
    quantities = {s.name: range(s.begin, s.begin + s.size) for s in layout.slots}

    def join(k: int, m: int) -> None:
        old, new = group_of[m], group_of[k]
        group_of.update({n: new for n, g in group_of.items() if g == old})

    for names in given.ensembles:
        members = [k for name in names for k in quantities.get(name, ()) if k in group_of]
        for k in members[1:]:
            join(members[0], k)
    undefined: list[tuple[int, int]] = []
    if r is not None:
        related = np.any(r.reshape(*r.shape[:2], -1) != 0, axis=2)
        for k, m in zip(*np.nonzero(np.triu(related, 1)), strict=True):
            k, m = int(k), int(m)
            if k in group_of and m in group_of and np.array_equal(dof[k], dof[m]):
                join(k, m)
            elif k in group_of or m in group_of:
                undefined.append((k, m))
    groups: dict[int, list[int]] = {}
    for k, g in group_of.items():
        groups.setdefault(g, []).append(k)
    return tuple(map(tuple, groups.values())), tuple(undefined)
