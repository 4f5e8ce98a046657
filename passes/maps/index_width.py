"""Whether 32 bits hold every index that kernels compute: arithmetic of 64 bits takes a GPU two registers.

Each index value gets a range, from the sizes of blocks and grids, the bounds of loops and the forms of
affine maps. A form counts with the sum of the magnitudes of its terms: it is computed term by term.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

from tadc.dialect.index_maps import parse
from tadc.dialect.mlir import ir
from tadc.lattice.affine import Affine, Floor, Lookup

LIMIT = (1 << 31) - 1

#: The least and the greatest value.
Interval = tuple[int, int]


def fits_32_bits(module: ir.Operation) -> bool:
    """Whether no index of a gpu module's functions, nor the place of an element in a buffer, needs more."""
    try:
        for function in module.regions[0].blocks[0].operations:
            if function.operation.name == "gpu.func":
                _Ranges(function.operation).check()
    except _TooWide:
        return False
    return True


class _TooWide(Exception):
    """An index is not known to fit."""


class _Ranges:
    """The ranges of the indices of a function."""

    def __init__(self, function: ir.Operation) -> None:
        self.function = function
        self.known: dict[ir.Value, Interval] = {}

    def check(self) -> None:
        """Find all of them. Raises _TooWide."""
        block = self.function.regions[0].blocks[0]
        for argument in block.arguments:
            if isinstance(argument.type, ir.IndexType):
                raise _TooWide
            shape = ir.MemRefType(argument.type).shape
            if any(n < 0 for n in shape) or math.prod(shape) > LIMIT:
                raise _TooWide
        self.block(block)

    def block(self, block: ir.Block) -> None:
        """Take in a block, and those inside."""
        for operation in block.operations:
            op = operation.operation
            if op.name == "scf.for":
                (low, _), (_, high) = self.known[op.operands[0]], self.known[op.operands[1]]
                if isinstance(op.operands[0].type, ir.IndexType):
                    # The index is compared after the step that leaves the range.
                    step = self.known[op.operands[2]][1]
                    self.keep(op.regions[0].blocks[0].arguments[0], (low, max(high + step, low)))
            elif op.results and any(isinstance(r.type, ir.IndexType) for r in op.results):
                self.take(op)
            for region in op.regions:
                for inner in region.blocks:
                    self.block(inner)

    def take(self, op: ir.Operation) -> None:
        """The range of the result of an operation. Raises _TooWide for one that is not known."""
        if op.name == "arith.constant":
            value = ir.IntegerAttr(op.attributes["value"]).value
            self.keep(op.results[0], (value, value))
        elif op.name in ("gpu.thread_id", "gpu.block_id"):
            key = "known_block_size" if op.name == "gpu.thread_id" else "known_grid_size"
            if key not in self.function.attributes:
                raise _TooWide
            sizes: Sequence[int] = list(ir.DenseI32ArrayAttr(self.function.attributes[key]))
            dimension = "xyz".index(str(op.attributes["dimension"])[-2])
            self.keep(op.results[0], (0, max(sizes[dimension] - 1, 0)))
        elif op.name in _OF_MAP:
            forms = parse(str(op.attributes["map"])).forms
            names = _names(op)
            ends = {name: self.known[v] for name, v in zip(names, op.operands, strict=True)}
            found = [interval(form, ends) for form in forms]
            self.keep(op.results[0], _OF_MAP[op.name](found))
        elif op.name == "arith.index_castui":
            # An element of an index array, or a condition as a number.
            self.keep(op.results[0], (0, LIMIT))
        elif op.name == "arith.select":
            found = [self.known[v] for v in list(op.operands)[1:]]
            self.keep(op.results[0], _hull(found))
        elif op.name in ("arith.maxsi", "arith.minsi"):
            found = [self.known[v] for v in op.operands]
            name = "affine.max" if op.name == "arith.maxsi" else "affine.min"
            self.keep(op.results[0], _OF_MAP[name](found))
        elif op.name == "arith.muli":
            (a, b), (c, d) = (self.known[v] for v in op.operands)
            products = [a * c, a * d, b * c, b * d]
            self.keep(op.results[0], (min(products), max(products)))
        else:
            raise _TooWide

    def keep(self, value: ir.Value, found: Interval) -> None:
        if max(abs(end) for end in found) > LIMIT:
            raise _TooWide
        self.known[value] = found


def _hull(found: Sequence[Interval]) -> Interval:
    return min(low for low, _ in found), max(high for _, high in found)


_OF_MAP: Mapping[str, Callable[[Sequence[Interval]], Interval]] = {
    "affine.apply": lambda found: found[0],
    "affine.max": lambda found: (max(low for low, _ in found), max(high for _, high in found)),
    "affine.min": lambda found: (min(low for low, _ in found), min(high for _, high in found)),
}


def _names(op: ir.Operation) -> list[str]:
    """The names of the operands in the forms of an operation's map."""
    dims = parse(str(op.attributes["map"])).dims
    return [f"d{n}" if n < dims else f"s{n - dims}" for n in range(len(op.operands))]


def interval(form: Affine, ends: Mapping[str, Interval]) -> Interval:
    """The range of a form of variables in ranges. Raises _TooWide where a part of it does not fit."""
    low = high = form.constant
    size = abs(form.constant)
    for atom, k in form.terms:
        match atom:
            case Floor():
                first, last = interval(atom.numerator, ends)
                first, last = first // atom.denominator, last // atom.denominator
            case Lookup():
                first, last = 0, interval(atom.below, ends)[1] - 1
            case _:
                first, last = ends[atom]
        low += min(k * first, k * last)
        high += max(k * first, k * last)
        size += abs(k) * max(abs(first), abs(last))
    if size > LIMIT:
        raise _TooWide
    return low, high
