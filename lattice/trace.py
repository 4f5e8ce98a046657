"""What `solve` did to a system, step by step, in the order in which it was done."""

from __future__ import annotations

from collections.abc import Mapping

from tadc.lattice.affine import Affine, Constraint, Floor, Lookup
from tadc.lattice.late_dataclasses import dataclass
from tadc.lattice.smith import Matrix, SmithForm


@dataclass(frozen=True)
class Division:
    """`divisor*rest + e = 0` became `result = 0`, which is `rest = -e / divisor`.

    The divisor divides where the guard holds, everywhere if there is none. A row without unknowns is its
    own guard, with divisor 0.
    """

    row: Affine
    divisor: int
    result: Affine
    guard: Constraint | None


@dataclass(frozen=True)
class Elimination:
    """The row, in which an unknown has coefficient 1 or -1, was solved for it."""

    row: Affine
    name: str
    value: Affine


@dataclass(frozen=True)
class SmithStep:
    """Rows solved together: `unknowns = right @ (quotients, loops)`.

    `form` is of the rows' matrix. `right` is its right factor after LLL on the kernel columns and
    the reduction of the others against them: as unimodular as before, and
    `form.left @ matrix @ right = form.diagonal` still holds.
    """

    unknowns: tuple[str, ...]
    rows: tuple[Affine, ...]
    form: SmithForm
    right: Matrix
    quotients: tuple[Affine, ...]
    loops: tuple[str, ...]


@dataclass(frozen=True)
class Tight:
    """An inequality that can only hold as an equality joins the equalities."""

    form: Affine


@dataclass(frozen=True)
class Determined:
    """The other rows leave a loop at most one value."""

    name: str
    value: Affine


@dataclass(frozen=True)
class Reversed:
    """A loop runs the other way: `name = -loop`."""

    name: str
    loop: str


Step = Division | Elimination | SmithStep | Tight | Determined | Reversed


def loops_of(step: Step) -> tuple[str, ...]:
    """The loop variables that a step makes."""
    match step:
        case SmithStep():
            return step.loops
        case Reversed():
            return (step.loop,)
        case _:
            return ()


@dataclass(frozen=True)
class Trace:
    """A system as it was taken in, and how it was solved.

    The first `linear` steps solve the equalities that were given: what they found is `values`, each
    unknown as a linear form of `free` unknowns, of parameters, and of quotients that guards make
    exact; the later steps use the inequalities.
    """

    unknowns: tuple[str, ...]
    """Those asked for, then one for each floor."""
    equalities: tuple[Affine, ...]
    """Forms that are 0, linear in the unknowns."""
    inequalities: tuple[Affine, ...]
    """Forms that are at least 0, linear in the unknowns."""
    atoms: Mapping[Floor | Lookup, str]
    """The unknown that stands for each floor of unknowns."""
    steps: tuple[Step, ...]
    linear: int
    values: Mapping[str, Affine]
    free: tuple[str, ...]
    guards: tuple[Constraint, ...]
    """All that the steps ask of the parameters, implied ones too."""
    exact: Mapping[Floor, tuple[Affine, int]]
    """The quotients `e // c` in which c divides e where the guards hold."""
