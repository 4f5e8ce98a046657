"""What the verifiers of several operations check."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from itertools import takewhile
from typing import Any

from tadc.dialect.index_maps import NotAffine, box_extents, parse_map, parse_set
from tadc.dialect.mlir import ir


def error(op: Any, text: str) -> bool:
    """Report a broken invariant at the op's location; the verifier's False."""
    op = op.operation
    op.location.emit_error(f"'{op.name}' op {text}")
    return False


def check_region(
    op: Any, region: ir.Region, arguments: int, last: str = "tad.yield", own: ir.Type | None = None
) -> bool:
    """One block of `arguments` indices that ends in `tad.yield`, or another such operation.

    After them comes the tensor itself, where its type is `own`.
    """
    if len(region.blocks) != 1:
        return error(op, "expects exactly one block in each region")
    block = region.blocks[0]
    indices = list(block.arguments)
    if own is not None and (not indices or indices.pop().type != own):
        return error(op, f"the last region argument must be the tensor itself, {own}")
    if len(indices) != arguments:
        return error(op, f"region must have {arguments} index arguments, got {len(indices)}")
    for number, argument in enumerate(indices):
        if not isinstance(argument.type, ir.IndexType):
            return error(op, f"region argument #{number} must be of type index, got {argument.type}")
    body = list(block.operations)
    if not body or body[-1].operation.name != last:
        return error(op, f"region must end with '{last}'")
    return True


def check_float(op: Any, kind: ir.Type) -> bool:
    """The result is f32 or f64."""
    if isinstance(kind, ir.F32Type | ir.F64Type):
        return True
    return error(op, f"result must be f32 or f64, got {kind}")


def check_set(op: Any, attribute: ir.Attribute, dims: int | None, symbols: int) -> bool:
    """The set's symbols are the index operands, its dims the bound indices."""
    found = parse_set(str(attribute))
    if found.symbols != symbols:
        return error(op, f"set has {found.symbols} symbols, but {symbols} index operands are given")
    if dims is not None and found.dims != dims:
        return error(op, f"set has {found.dims} dimensions, expected {dims}")
    return True


def check_box(op: Any, kind: Any, domain: ir.Attribute) -> bool:
    """A tensor of floats, its index domain the box of its shape."""
    if not check_float(op, kind.element_type):
        return False
    if not check_set(op, domain, kind.rank, len(op.operation.operands)):
        return False
    extents = box_extents(parse_set(str(domain)))
    found = None if extents is None else [e.constant if e.is_constant else None for e in extents]
    if found != [None if kind.is_dynamic_dim(n) else kind.get_dim_size(n) for n in range(kind.rank)]:
        return error(op, f"domain must be the box of its shape, {kind}")
    return True


def check_reduction(
    op: Any, types: Sequence[ir.Type], domain: ir.Attribute, body: ir.Region, last: str = "tad.yield"
) -> bool:
    """Floats over a set that binds the region's arguments, its symbols the op's operands.

    Further dimensions of the set are the lookups that the region begins with.
    """
    if not all(check_float(op, type) for type in types):
        return False
    if not check_set(op, domain, None, len(op.operation.operands)):
        return False
    dims = parse_set(str(domain)).dims
    if not dims:
        return error(op, "must bind at least one index")
    bound = dims
    if len(body.blocks) == 1:
        first = takewhile(lambda made: made.operation.name == "tad.lookup", body.blocks[0].operations)
        bound = max(dims - len(list(first)), min(len(body.blocks[0].arguments), dims), 1)
    return check_region(op, body, bound, last)


def is_index_array(type: ir.Type) -> bool:
    """Whether a type is a tensor of i32."""
    return isinstance(type, ir.RankedTensorType) and str(type.element_type) == "i32"


def check_subscripts(op: Any, kind: Any, at: ir.Attribute) -> bool:
    """A map from the index operands, which follow the tensor, to its subscripts."""
    found, given = parse_map(str(at)), len(op.operation.operands) - 1
    if (found.dims, found.symbols) != (given, 0):
        return error(op, f"map must take the {given} indices given as its dimensions")
    if len(found.forms) != kind.rank:
        return error(op, f"map yields {len(found.forms)} subscripts but {kind} has rank {kind.rank}")
    return True


def affine(verifier: Callable[[Any], bool]) -> Callable[[Any], bool]:
    """Make NotAffine an error of the op."""

    @wraps(verifier)
    def verify(op: Any) -> bool:
        try:
            return verifier(op)
        except NotAffine as problem:
            return error(op, str(problem))

    return verify
