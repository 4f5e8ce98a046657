"""The rules of operations: each says of an op what is wrong, or nothing."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from itertools import takewhile
from typing import Any

from tadc.dialect.index_maps import NotAffine, box_extents, parse
from tadc.dialect.mlir import ir
from tadc.frontend.dtypes import FLOATS, INDEX_TYPE, types_listed

Rule = Callable[[Any], str]


def verify(op: Any, rules: Sequence[Rule]) -> bool:
    """Whether the rules hold in turn; the first that does not is reported at the op's location."""
    try:
        wrong = next(filter(None, (rule(op) for rule in rules)), "")
    except NotAffine as problem:
        wrong = str(problem)
    if wrong:
        op.location.emit_error(f"'{op.name}' op {wrong}")
    return not wrong


def is_index_array(type: ir.Type) -> bool:
    """Whether a type is a tensor of i32."""
    return isinstance(type, ir.RankedTensorType) and str(type.element_type) == INDEX_TYPE


def _elements(op: Any) -> list[Any]:
    types = [value.type for value in op.results]
    return [type.element_type if isinstance(type, ir.RankedTensorType) else type for type in types]


def some(what: str) -> Rule:
    """There is a result."""
    return lambda op: "" if op.results else f"gives one or more {what}"


def floats(op: Any) -> str:
    """Results are floats, or tensors of them."""
    wrong = [type for type in _elements(op) if str(type) not in FLOATS]
    return f"result must be {types_listed('or', '')}, got {wrong[0]}" if wrong else ""


def word(key: str, allowed: Collection[str], what: str) -> Rule:
    """An attribute is one of those words."""
    listed = ", ".join(allowed)
    return lambda op: (
        "" if (found := op.attributes[key].value) in allowed else f"unknown {what} '{found}'; has: {listed}"
    )


def arguments(arities: dict[str, int]) -> Rule:
    """A function has as many operands as it takes, of the type of its result."""

    def rule(op: Any) -> str:
        name, types, wanted = op.attributes["fn"].value, [v.type for v in op.operands], op.results[0].type
        if len(types) != arities[name]:
            return f"'{name}' takes {arities[name]} operands, got {len(types)}"
        wrong = [type for type in types if type != wanted]
        return f"operands must be {wanted}, got {wrong[0]}" if wrong else ""

    return rule


def _is_names(said: Any) -> bool:
    return isinstance(said, ir.ArrayAttr) and all(isinstance(each, ir.StringAttr) for each in list[Any](said))


def derived(flags: Collection[str]) -> Rule:
    """`wrt` names arguments, and flags are units."""

    def rule(op: Any) -> str:
        for name in op.attributes:
            said = op.attributes[name]
            if name in flags and not isinstance(said, ir.UnitAttr):
                return f"'{name}' has no value"
            if name == "wrt" and not _is_names(said):
                return f"'wrt' must list names of arguments, got {said}"
        return ""

    return rule


def order(op: Any) -> str:
    """An order is a linear form of the indices of the tensor."""
    found, rank = parse(str(op.attributes["order"])), op.results[0].type.rank
    if (found.dims, found.symbols, len(found.forms)) != (rank, 0, 1):
        return f"order must take the {rank} indices and yield one number"
    return "" if found.forms[0].is_linear else "order must be linear"


def position(op: Any) -> str:
    """A map takes the operands and yields one index."""
    found, given = parse(str(op.attributes["at"])), len(op.operands)
    good = (found.dims, found.symbols, len(found.forms)) == (given, 0, 1)
    return "" if good else f"map must take the {given} indices given and yield one index"


def subscripts(op: Any) -> str:
    """A map takes the index operands, which follow the tensor, and yields its subscripts."""
    found, given, kind = parse(str(op.attributes["at"])), len(op.operands) - 1, op.operands[0].type
    if (found.dims, found.symbols) != (given, 0):
        return f"map must take the {given} indices given as its dimensions"
    if len(found.forms) != kind.rank:
        return f"map yields {len(found.forms)} subscripts but {kind} has rank {kind.rank}"
    return ""


def element(op: Any) -> str:
    """The result is of the element type of the tensor."""
    wanted, given = op.operands[0].type.element_type, op.results[0].type
    return "" if wanted == given else f"result must be {wanted}, got {given}"


def index_array(op: Any) -> str:
    """The first operand is an index array."""
    kind = op.operands[0].type
    return "" if is_index_array(kind) else f"array must be a tensor of i32, got {kind}"


def tensor(op: Any) -> str:
    """The domain is the box of the shape; the region has the indices, and the tensor itself in an order."""
    kind, found = op.results[0].type, parse(str(op.attributes["domain"]))
    if wrong := _symbols(op, kind.rank):
        return wrong
    extents = box_extents(found)
    sizes = None if extents is None else [e.constant if e.is_constant else None for e in extents]
    if sizes != [None if kind.is_dynamic_dim(n) else kind.get_dim_size(n) for n in range(kind.rank)]:
        return f"domain must be the box of its shape, {kind}"
    return _region(op.regions[0], kind.rank, own=kind if "order" in op.attributes else None)


def reduction(op: Any) -> str:
    """The set binds the indices of the region, and the lookups that this begins with."""
    dims, blocks = parse(str(op.attributes["domain"])).dims, op.regions[0].blocks
    bound = dims
    if dims and len(blocks) == 1:
        first = takewhile(lambda made: made.operation.name == "tad.lookup", blocks[0].operations)
        bound = max(dims - len(list(first)), min(len(blocks[0].arguments), dims), 1)
    wrong = _symbols(op, dims) or ("" if dims else "must bind at least one index")
    return wrong or _region(op.regions[0], bound)


def _symbols(op: Any, dims: int) -> str:
    """The symbols of a domain are the operands, and it has so many dimensions."""
    found, given = parse(str(op.attributes["domain"])), len(op.operands)
    if found.symbols != given:
        return f"set has {found.symbols} symbols, but {given} index operands are given"
    return "" if found.dims == dims else f"set has {found.dims} dimensions, expected {dims}"


def branches(op: Any) -> str:
    """The dimensions of the set are the operands; regions have no arguments."""
    found, given = parse(str(op.attributes["where"])), len(op.operands)
    if (found.dims, found.symbols) != (given, 0):
        return f"set must have {given} dimensions and no symbols, as many as index operands"
    return floats(op) or next(filter(None, (_region(region, 0) for region in op.regions)), "")


def _region(region: ir.Region, count: int, own: ir.Type | None = None) -> str:
    """One block of so many indices, and the tensor itself where it has a type, that ends in a `tad.yield`."""
    if len(region.blocks) != 1:
        return "expects exactly one block in each region"
    indices, made = list(region.blocks[0].arguments), list(region.blocks[0].operations)
    if own is not None and (not indices or indices.pop().type != own):
        return f"the last region argument must be the tensor itself, {own}"
    if len(indices) != count:
        return f"region must have {count} index arguments, got {len(indices)}"
    for number, argument in enumerate(indices):
        if not isinstance(argument.type, ir.IndexType):
            return f"region argument #{number} must be of type index, got {argument.type}"
    return "" if made and made[-1].operation.name == "tad.yield" else "region must end with 'tad.yield'"


def yields(parents: Sequence[str]) -> Rule:
    """A terminator stands in one of these, and gives what has the types of its results or elements."""

    def rule(op: Any) -> str:
        if op.parent is None or op.parent.name not in parents:
            return f"expects a parent of {', '.join(parents)}"
        given, wanted = [value.type for value in op.operands], _elements(op.parent)
        gives, needs = (", ".join(map(str, types)) for types in (given, wanted))
        return "" if given == wanted else f"yields {gives} but '{op.parent.name}' needs {needs}"

    return rule
