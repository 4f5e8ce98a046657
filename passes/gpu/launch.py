"""How the kernels of a function are launched: grids that follow the sizes, and which of several runs."""

from __future__ import annotations

from collections.abc import Sequence

from tadc.lattice.affine import Affine
from tadc.lattice.late_dataclasses import dataclass
from tadc.passes.maps.size_tests import SizeTest, product_at


@dataclass(frozen=True)
class GridAxis:
    """Blocks along a dimension of a grid: each has so many of a product of extents, the last fewer."""

    extents: tuple[Affine, ...]
    """Forms over `s0, s1, …`, the sizes of the function."""
    each: int

    def blocks(self, sizes: Sequence[int]) -> int:
        """The number of blocks for sizes of the function, in order."""
        return -(-product_at(self.extents, sizes) // self.each)


@dataclass(frozen=True)
class Launch:
    """How to launch a kernel: grid, threads of a block in x, y and z, and the buffers it takes, by position.

    Buffers are counted over inputs, outputs, temporaries. The sizes of the function are its last arguments.
    A grid without blocks is not to be launched, nor is a kernel that does not apply: of the kernels that
    compute the same tensor one does, for any sizes.
    """

    kernel: str
    grid: tuple[GridAxis, ...]
    block: tuple[int, int, int]
    buffers: tuple[int, ...]
    when: tuple[SizeTest, ...] = ()
    """What must hold of the sizes, all of it."""
    unless: tuple[tuple[SizeTest, ...], ...] = ()
    """Where all of one of these hold, another kernel runs."""
    alignment: int = 16
    """The address of each buffer is a multiple of so many bytes."""
    shared: int = 0
    """The bytes of shared memory that a block has besides what the kernel declares."""
    steps: tuple[Affine, ...] = ()
    """Extents, whose product counts the launches of the kernel, one after the other: the number of one is an
    argument after the sizes. Without them there is one launch, and no such argument."""
    place: str = ""
    """What the kernel computes: tensors, and the line of the program, as "`y` at f.tad:3:1"."""

    def applies(self, sizes: Sequence[int]) -> bool:
        """Whether this is the kernel to launch for sizes of the function, in order."""
        others = any(all(test.holds(sizes) for test in tests) for tests in self.unless)
        return not others and all(test.holds(sizes) for test in self.when)

    def turns_at(self, sizes: Sequence[int]) -> int:
        """How often the kernel is launched for sizes of the function, where its grid has blocks."""
        return product_at(self.steps, sizes)

    def grid_at(self, sizes: Sequence[int]) -> tuple[int, int, int]:
        """Blocks in x, y and z; with a 0 there is nothing to launch."""
        if not self.applies(sizes):
            return 0, 0, 0
        x, y, z = [*(axis.blocks(sizes) for axis in self.grid), 1, 1, 1][:3]
        return x, y, z
