"""The classes of matrices of components: how each is solved, and what that costs."""

from __future__ import annotations

from dataclasses import dataclass, field

#: Systems of this size are solved by Cramer's rule, in the kernel.
SMALL = 3


@dataclass(frozen=True)
class Blocks:
    """A small system for each element of the first `batch` dimensions; of one number each it is diagonal."""

    batch: int
    count: int
    size: int

    @property
    def name(self) -> str:
        """The class, as people call it."""
        if self.count == 1 < self.size:
            return "dense"
        return "diagonal" if self.size == 1 else f"block-diagonal, {self.count} of {self.size}x{self.size}"

    @property
    def cost(self) -> int:
        """Multiplications and divisions of a solve."""
        return self.count * (lu_cost(self.size) if self.size > 1 else 1)


@dataclass(frozen=True)
class Permutation:
    """Each new element depends on one that dies, each time another."""

    size: int
    name = "permutation"

    @property
    def cost(self) -> int:
        """Multiplications and divisions of a solve."""
        return self.size


@dataclass(frozen=True)
class Banded:
    """Of row q only the columns from `q - lower` to `q + upper` are occupied.

    Rows are the new elements in row-major order, columns the dying ones; those of several tensors take
    turns if `interleaved`. If `cyclic`, columns are counted on past the end from the beginning.
    """

    size: int
    lower: int
    upper: int
    interleaved: bool
    cyclic: bool = False

    @property
    def name(self) -> str:
        """The class, as people call it."""
        band = f"{self.lower} below and {self.upper} above"
        if self.cyclic:
            return f"cyclic banded, {band}"
        if self.lower and self.upper:
            return f"banded, {band}"
        return f"{'lower' if self.lower else 'upper'} triangular, banded, {band}"

    @property
    def cost(self) -> int:
        """Multiplications and divisions of a solve."""
        if self.cyclic:
            half = 2 * max(self.lower, self.upper)
            return self.size * (2 * half + 1) * (half + 2)
        width = self.lower + self.upper + 1
        return self.size * (width if not (self.lower and self.upper) else width * (self.lower + 2))


@dataclass(frozen=True)
class Recurrent:
    """Along the last dimension an element depends on itself and on `width` before it (`lower`) or after it.

    It is solved by a recurrence in the language, for each element of the dimensions in front at once.
    """

    size: int
    width: int
    lower: bool

    @property
    def name(self) -> str:
        """The class, as people call it."""
        side, where = ("lower", "below") if self.lower else ("upper", "above")
        return f"{side} triangular, banded, {self.width} {where}"

    @property
    def cost(self) -> int:
        """Multiplications and divisions of a solve."""
        return self.size * (self.width + 1)


@dataclass(frozen=True)
class Triangles:
    """As `Blocks`, of one tensor, and in each block none right of the diagonal is occupied, or none left."""

    batch: int
    count: int
    size: int
    lower: bool

    @property
    def name(self) -> str:
        """The class, as people call it."""
        side = "lower" if self.lower else "upper"
        return f"block-diagonal, {self.count} of {self.size}x{self.size}, {side} triangular"

    @property
    def cost(self) -> int:
        """Multiplications and divisions of a solve."""
        return self.count * (self.size * (self.size + 1) // 2)


@dataclass(frozen=True)
class Bands:
    """As `Blocks`, of one tensor; row q of a block has only the columns from `q - lower` to `q + upper`."""

    batch: int
    count: int
    size: int
    lower: int
    upper: int

    @property
    def name(self) -> str:
        """The class, as people call it."""
        band = f"{self.lower} below and {self.upper} above"
        return f"block-diagonal, {self.count} of {self.size}x{self.size}, banded, {band}"

    @property
    def cost(self) -> int:
        """Multiplications and divisions of a solve."""
        return self.count * Banded(self.size, self.lower, self.upper, False).cost


@dataclass(frozen=True)
class Triangular:
    """No column right of the diagonal is occupied (`lower`), or none left of it."""

    size: int
    lower: bool
    interleaved: bool

    @property
    def name(self) -> str:
        """The class, as people call it."""
        return f"{'lower' if self.lower else 'upper'} triangular"

    @property
    def cost(self) -> int:
        """Multiplications and divisions of a solve."""
        return self.size * (self.size + 1) // 2


@dataclass(frozen=True)
class Dense:
    """Any element may be occupied."""

    size: int
    name = "dense"

    @property
    def cost(self) -> int:
        """Multiplications and divisions of a solve."""
        return lu_cost(self.size)


@dataclass(frozen=True)
class LowRank:
    """A matrix of class `base` and a product of low rank: what passes through the values `through`.

    (M. Woodbury, Inverting modified matrices, 1950.)
    """

    base: Blocks | Banded
    through: tuple[str, ...]
    rank: int

    @property
    def name(self) -> str:
        """The class, as people call it."""
        return f"{self.base.name} plus rank {self.rank}"

    @property
    def cost(self) -> int:
        """Multiplications and divisions of a solve."""
        size = self.base.size if isinstance(self.base, Banded) else self.base.count * self.base.size
        return self.base.cost * (self.rank + 1) + size * self.rank * (self.rank + 1) + lu_cost(self.rank)


@dataclass(frozen=True)
class Steps:
    """A recurrence over whole states, undone step by step: `count` steps, `each` of them of these classes.

    `work` multiplications and divisions solve it. Formulas do if it is `closed`. `programs` makes them.
    """

    size: int
    count: int
    each: tuple[str, ...]
    work: int
    closed: bool
    programs: object = field(compare=False, repr=False)

    @property
    def name(self) -> str:
        """The class, as people call it."""
        return f"{self.count} steps, each {' and '.join(self.each) or 'a copy'}"

    @property
    def cost(self) -> int:
        """Multiplications and divisions of a solve."""
        return self.work


Class = Steps | Blocks | Bands | Permutation | Banded | Recurrent | Triangles | Triangular | Dense | LowRank


def is_interleaved(kind: Class) -> bool:
    """Whether the elements of several tensors take turns, as rows and as columns."""
    return isinstance(kind, Banded | Triangular) and kind.interleaved


def lu_cost(size: int) -> int:
    """Multiplications and divisions of Gaussian elimination with one right-hand side."""
    return (size**3 - size) // 3 + size**2
