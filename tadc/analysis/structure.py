"""What a Jacobian's non-zeros look like, in words: diagonal, banded, triangular, blocks, Toeplitz.

Everything is derived from the sets of `passes.supports`, for all sizes at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property

from tadc.frontend.extents import Extent, as_form, extent, shape_at, shape_text
from tadc.frontend.print_index import condition_text, form_text
from tadc.frontend.program import Definition, Program
from tadc.frontend.terms import Domain
from tadc.lattice.affine import Affine, Constraint, box
from tadc.lattice.bounds import open_bounds
from tadc.lattice.effort import EliminationLimit
from tadc.lattice.late_dataclasses import dataclass, field
from tadc.lattice.polyhedron import implied, irredundant, is_empty
from tadc.passes.supports.pattern import pattern_program
from tadc.passes.supports.sets import Piece, Supports, elsewhere
from tadc.passes.supports.support_boxes import Box, Sizes, boxes_around


@dataclass(frozen=True)
class Band:
    """The non-zeros of a column index near a row index: `low <= column - row <= high`.

    The sides are integers or forms of sizes; None where only the shape bounds that side.
    """

    row: str
    column: str
    low: Extent | None
    high: Extent | None

    @property
    def is_diagonal(self) -> bool:
        """Whether the two indices are equal."""
        return self.low == self.high == 0

    def __str__(self) -> str:
        if self.low is None or self.high is None:
            if self.low is None:
                return f"{self.column} <= {_shifted(self.row, self.high)}"
            return f"{self.column} >= {_shifted(self.row, self.low)}"
        if self.low == self.high:
            return f"{self.column} = {_shifted(self.row, self.low)}"
        return f"{_text(self.low)} <= {self.column} - {self.row} <= {_text(self.high)}"


@dataclass(frozen=True)
class NonzeroWindow:
    """The non-zeros of a column index: from `low` to `high`, forms of indices before it and of sizes."""

    low: Affine
    high: Affine

    @property
    def is_single(self) -> bool:
        """Whether there is but one."""
        return self.low == self.high

    def text(self, column: str) -> str:
        """What it says of a column index."""
        if self.is_single:
            return f"{column} = {form_text(self.low)}"
        return f"{form_text(self.low)} <= {column} <= {form_text(self.high)}"


@dataclass(frozen=True)
class Structure:
    """Where the Jacobian of an output by an argument can be other than 0.

    `rows` and `columns` name its indices, those of the output's elements and those of the argument's.

    `kind` is one of: zero; dense; diagonal, where each column index is a row index of its own, and none is
    left; banded, where it is near one; lower and upper triangular; these with `block` in front, where some
    indices are free; selection, where a row has at most one non-zero, at a form of its indices; windowed,
    where it has a range of them from such a form on; sparse, which is anything else.

    `bands` has what bounds column indices by row indices, `windows` other ranges of columns. `sets` are the
    exact conditions, whose union is where elements can be other than 0; `filled` says that bands and windows
    say it all, False that they leave holes, None that it is not known. `toeplitz`: whether an element is in
    the pattern depends on differences of a column and a row index alone.
    """

    name: str
    output: str
    argument: str
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    shape: tuple[Extent, ...]
    kind: str
    bands: tuple[Band, ...]
    windows: Mapping[str, NonzeroWindow]
    sets: tuple[str, ...]
    filled: bool | None
    toeplitz: bool

    def __str__(self) -> str:
        tied = [*map(str, self.bands), *(window.text(name) for name, window in self.windows.items())]
        text = f"{self.kind}: {', '.join(tied)}" if tied else self.kind
        if self.kind not in ("diagonal", "dense", "zero") and self.toeplitz:
            text += "; Toeplitz pattern"
        if self.filled is False and self.sets:
            text += f"; where {' or '.join(self.sets)}" if len(self.sets) <= 3 else "; with holes"
        return text

    def __repr__(self) -> str:
        names = ", ".join((*self.rows, *self.columns))
        return f"{self.name}[{names}] of shape [{shape_text(self.shape)}], {self}"


def structures(program: Program) -> dict[str, Structure]:
    """The structure of each result of a program of Jacobians."""
    supports, sizes = Supports(pattern_program(program)), Sizes.of(program)
    shapes = program.shapes()
    return {
        d.name: _PatternReader(d, tuple(supports.of(d.name)), len(shapes[d.gradient_of]), sizes).structure()
        for d in program.outputs
    }


def _text(value: Extent) -> str:
    return form_text(as_form(value))


def _shifted(name: str, by: Extent | None) -> str:
    return form_text(Affine.var(name) + as_form(by or 0))


@dataclass
class _PatternReader:
    """Reads one pattern."""

    definition: Definition
    pieces: tuple[Piece, ...]
    dimensions: int  # of the argument
    sizes: Sizes
    taken: set[str] = field(default_factory=set[str])

    def __post_init__(self) -> None:
        names = self.definition.indices
        split = len(names) - self.dimensions
        self.rows, self.columns = names[:split], names[split:]
        self.extents = dict(zip(names, self.definition.shape, strict=True))
        self.within = box(names, self.definition.shape)

    @cached_property
    def box(self) -> Box | None:
        """The one box around everything, in coordinates of bands."""
        found = boxes_around(self.pieces, self.definition.indices, self.definition.shape, self.sizes)
        return found[0] if len(found) == 1 else None

    def structure(self) -> Structure:
        """What is found."""
        windows = self.all_windows()
        bands = [band for band in map(self.near, windows.items()) if band]
        self.taken = {band.row for band in bands}
        windows = {name: window for name, window in windows.items() if name not in {b.column for b in bands}}
        if self.pieces:
            rest = [n for n in self.columns if n not in windows and n not in {b.column for b in bands}]
            bands += [band for name in rest if (band := self.band(name))]
        filled = self.filled(bands, windows)
        d = self.definition
        return Structure(
            name=d.name,
            output=d.tangent_of,
            argument=d.gradient_of,
            rows=self.rows,
            columns=self.columns,
            shape=d.shape,
            kind=self.kind(bands, windows, filled=filled),
            bands=tuple(bands),
            windows=windows,
            sets=tuple(sorted(set(self.sets()))),
            filled=filled,
            toeplitz=bool(bands) and self.is_shift_invariant(bands),
        )

    def kind(
        self, bands: Sequence[Band], windows: Mapping[str, NonzeroWindow], *, filled: bool | None
    ) -> str:
        """The name of the pattern."""
        if not self.pieces:
            return "zero"
        if not bands and not windows:
            return "dense" if filled else "sparse"
        tied = len(bands) + len(windows)
        block = "" if tied == len(self.columns) and len(bands) >= len(self.rows) else "block "
        if windows:
            single = all(w.is_single for w in windows.values()) and all(b.low == b.high for b in bands)
            return "selection" if single and tied == len(self.columns) else "windowed"
        if len({band.row for band in bands}) < len(bands):
            exact = tied == len(self.columns) and all(b.low == b.high for b in bands)
            return "selection" if exact else "sparse"
        if all(band.is_diagonal for band in bands):
            return f"{block}diagonal"
        if all(band.low is not None and band.high is not None for band in bands):
            return f"{block}banded"
        if filled is False:
            return "sparse"
        if all(band.high is not None and implied(-as_form(band.high), self.sizes.facts) for band in bands):
            return f"{block}lower triangular"
        if all(band.low is not None and implied(as_form(band.low), self.sizes.facts) for band in bands):
            return f"{block}upper triangular"
        return f"{block}banded"

    # -- one column index -------------------------------------------------------------------------

    def band(self, column: str) -> Band | None:
        """What bounds a column index by the row index that is nearest, if one does; a row serves once."""
        best: tuple[int, Band] | None = None
        for row in self.rows:
            if row in self.taken:
                continue
            low, high = self.differences(row, column)
            first, last = as_form(1 - as_form(self.extents[row])), as_form(self.extents[column]) - 1
            one = Band(row, column, self.inner(low, first), self.inner(high, last))
            wide = self.about((high or last) - (low or first))
            if (one.low, one.high) != (None, None) and (best is None or wide < best[0]):
                best = wide, one
        if best is None:
            return None
        self.taken.add(best[1].row)
        return best[1]

    def about(self, form: Affine) -> int:
        """About how large a form of sizes is."""
        return shape_at([form], self.sizes.values)[0]

    def inner(self, bound: Affine | None, outer: Affine) -> Extent | None:
        if bound is None or abs(self.about(bound)) >= abs(self.about(outer)):
            return None
        return bound.constant if bound.is_constant else bound

    def differences(self, row: str, column: str) -> tuple[Affine | None, Affine | None]:
        """The tightest bounds, as forms of sizes, of `column - row` over all sets."""
        d = "?difference"
        shift = {column: Affine.var(row) + Affine.var(d)}
        lower: list[Affine] = []
        upper: list[Affine] = []
        for piece in self.pieces:
            others = [n for n in (*self.definition.indices, *piece.binders) if n != column]
            rows = [row.substitute(shift) for row in (*self.within, *piece.rows)]
            sides = [Constraint(form) for one in rows for form in one.inequalities if form.is_linear]
            try:
                level = open_bounds([d, *others], _with(sides, [d, *others]), self.sizes.facts)[0]
            except (EliminationLimit, ValueError):
                return None, None
            lower += [bound.ceil() for bound in level.lower]
            upper += [bound.floor() for bound in level.upper]
        difference = Affine.var(column) - Affine.var(row)
        low = [form for form in lower if self.everywhere(difference - form)]
        high = [form for form in upper if self.everywhere(form - difference)]
        return max(low, key=self.about, default=None), min(high, key=self.about, default=None)

    def everywhere(self, form: Affine) -> bool:
        """Whether a form is not below 0 in all sets."""
        return all(implied(form, (*self.sizes.facts, *self.within, *piece.rows)) for piece in self.pieces)

    def all_windows(self) -> dict[str, NonzeroWindow]:
        """The parts of column indices that one box has, where that is not all of them."""
        if not self.box or not self.pieces:
            return {}
        sides = dict(zip(self.definition.indices, self.box.sides, strict=True))
        found: dict[str, NonzeroWindow] = {}
        for column in self.columns:
            side = sides[column]
            if side.extent == self.extents[column]:
                continue
            single = {name: window.low for name, window in found.items() if window.is_single}
            low = side.low.substitute(single)
            found[column] = NonzeroWindow(low, low + (as_form(side.extent) - 1) * side.step)
        return found

    def near(self, found: tuple[str, NonzeroWindow]) -> Band | None:
        """A window that starts at a row index plus a form of sizes, as a band."""
        column, window = found
        for row in self.rows:
            low, high = (form - Affine.var(row) for form in (window.low, window.high))
            if low.variables.isdisjoint(self.definition.indices):
                return Band(row, column, extent(low), extent(high))
        return None

    # -- the whole pattern ------------------------------------------------------------------------

    def sets(self) -> Iterator[str]:
        """The conditions of each set."""
        for piece in self.pieces:
            rows = irredundant(piece.rows, (*self.sizes.facts, *self.within))
            names = {name: Affine.var(f"k{n}" if n else "k") for n, name in enumerate(piece.binders)}
            texts = sorted(condition_text(row.substitute(names)) for row in rows)
            text = " and ".join(texts) or "everywhere"
            shown = ", ".join(map(str, names.values()))
            yield f"({text} for some {shown})" if names else text

    def filled(self, bands: Sequence[Band], windows: Mapping[str, NonzeroWindow]) -> bool | None:
        """Whether the sets fill all that bands and windows describe."""
        if any(piece.binders for piece in self.pieces):
            return None
        described: list[Constraint] = [*self.sizes.facts, *self.within]
        for band in bands:
            difference = Affine.var(band.column) - Affine.var(band.row)
            described += [] if band.low is None else [Constraint(difference - as_form(band.low))]
            described += [] if band.high is None else [Constraint(as_form(band.high) - difference)]
        for name, window in windows.items():
            described += [
                Constraint(Affine.var(name) - window.low),
                Constraint(window.high - Affine.var(name)),
            ]
        left: list[Domain] = [tuple(described)]
        for piece in self.pieces:
            left = [(*rest, *rows) for rest in left for rows in elsewhere(piece.rows)]
            left = [rows for rows in left if not is_empty(rows)]
            if len(left) > _MANY:
                return None
        return not left

    def is_shift_invariant(self, bands: Sequence[Band]) -> bool:
        """Whether the conditions stay as they are when a row index and its column index move by 1."""
        for band in bands:
            shift = {name: Affine.var(name) + 1 for name in (band.row, band.column)}
            for piece in self.pieces:
                rows = irredundant(piece.rows, (*self.sizes.facts, *self.within))
                if any(row.form.substitute(shift) != row.form for row in rows):
                    return False
        return True


#: A difference of sets is looked at up to so many parts.
_MANY = 64


def _with(rows: Sequence[Constraint], names: Sequence[str]) -> list[Constraint]:
    return [row for row in rows if not row.form.variables.isdisjoint(names)]
