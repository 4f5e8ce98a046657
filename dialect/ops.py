"""The operations of the `tad` dialect, on upstream's extensible-dialect API.

Scalar work is upstream `arith` and `math`; indexing and control are ours:

    tad.map       a tensor: the element at the block arguments is what the body yields
    tad.maps      tensors of one shape: their elements are what one body yields, by `tad.yields`
    tad.scan      a tensor given in an order: its elements may read those that come earlier
    tad.sum       the sum of what the body yields over an integer set
    tad.sums      sums over one set, of what one body yields, by `tad.yields`
    tad.reduce    the same for a product, a maximum, a minimum, a logarithm of a sum of exponentials
    tad.guard     one of two regions, chosen by an integer set; lazy
    tad.read      an element of a tensor at an affine map of indices
    tad.index     an affine (floordiv, mod) function of indices as an index
    tad.value_of  an index as a float
    tad.apply     a scalar function that `arith` and `math` lack, by name
    tad.yield     what a region gives

Dimensions of a set are the block arguments, its symbols the index operands. Tensors and
outer indices are captured from above.
"""

# No `from __future__ import annotations` here: ext.py evaluates annotation objects.
from collections.abc import Sequence
from typing import Any

from tadc.dialect.checks import (
    affine,
    check_box,
    check_float,
    check_reduction,
    check_region,
    error,
)
from tadc.dialect.index_maps import parse_map, parse_set
from tadc.dialect.mlir import LOCK, ext, ir, irdl
from tadc.frontend.functions import APPLIED, REDUCTIONS

#: Functions of `tad.apply`, with their number of operands.
SCALAR_FUNCTIONS = {name: APPLIED[name].arity for name in ("sign", "sigmoid", "relu", "mod", "safe")}

#: Kinds of `tad.reduce`; a sum is an op of its own.
KINDS = tuple(kind for kind in REDUCTIONS if kind != "sum")

REGION_OPS = ("tad.map", "tad.scan", "tad.sum", "tad.reduce", "tad.guard")

#: What `tad.yields` ends.
MANY_OPS = ("tad.maps", "tad.sums")

#: What makes tensors.
MAPS = ("tad.map", "tad.maps", "tad.scan")


class Tad(ext.Dialect, name="tad"):
    """The dialect; `load_dialect` registers it in a context."""


#: The dialect in the text of IRDL, from its first use on.
_definition: list[str] = []


def load_dialect(context: ir.Context) -> None:
    """Register `tad` in a context; does nothing where it is registered already."""
    with LOCK, context:
        if context.is_dialect_loaded("tad"):
            return
        context.get_dialect_descriptor("irdl")  # loads it
        if not _definition:
            Tad.load()
            _definition.append(str(Tad._mlir_module))
            return
        # Classes are registered once; a context needs the operations alone, which text gives sooner.
        irdl.load_dialects(ir.Module.parse(_definition[0]))
        for operation in Tad.operations:
            operation._attach_traits()


def trailing_variadic(cls: Any) -> Any:
    """Drop `operandSegmentSizes` of an op whose only variadic group is its last one.

    IRDL does not need the attribute then, but ext.py writes and reads it always.
    """
    declared: list[Any] = cls._fields
    fields: list[str] = [f.name for f in declared if isinstance(f, ext.OperandDef)]
    fixed = len(fields) - 1
    cls._ODS_OPERAND_SEGMENTS = None
    for position, name in enumerate(fields[:-1]):
        setattr(cls, name, property(lambda self, n=position: self.operation.operands[n]))
    setattr(cls, fields[-1], property(lambda self: list(self.operation.operands)[fixed:]))
    return cls


def indices_of(op: Any) -> list[Any]:
    """The block arguments of what makes a tensor that are its indices."""
    return [a for a in op.regions[0].blocks[0].arguments if isinstance(a.type, ir.IndexType)]


def own_tensor(op: Any) -> Any:
    """The block argument that stands for the tensor itself."""
    return list(op.regions[0].blocks[0].arguments)[-1]


class MapOp(Tad.Operation, name="map", traits=[ext.Pure]):
    """A tensor given element by element; its domain is the box of its shape, the operands its sizes."""

    tensor: ext.Result[ir.RankedTensorType]
    sizes: Sequence[ext.Operand[ir.IndexType]]
    domain: ir.IntegerSetAttr
    body: ext.Region

    @affine
    def verify_region_invariants(self) -> bool:
        """Called by MLIR's verifier."""
        kind = self.tensor.type
        return check_box(self, kind, self.domain) and check_region(self, self.body, kind.rank)


class MapsOp(Tad.Operation, name="maps", traits=[ext.Pure]):
    """Tensors of one type, given by one body: what they share is computed once for each element.

    `tad-fuse` makes it last of all passes on the dialect; it has no form as a program.
    """

    tensors: Sequence[ext.Result[ir.RankedTensorType]]
    sizes: Sequence[ext.Operand[ir.IndexType]]
    domain: ir.IntegerSetAttr
    body: ext.Region

    @affine
    def verify_region_invariants(self) -> bool:
        """Called by MLIR's verifier."""
        types = [value.type for value in self.operation.results]
        if not types:
            return error(self, "gives one or more tensors")
        return check_box(self, types[0], self.domain) and check_region(
            self, self.body, types[0].rank, "tad.yields"
        )


class ScanOp(Tad.Operation, name="scan", traits=[ext.Pure]):
    """A tensor given element by element as `order`, a linear form of the indices, increases.

    The last block argument stands for the tensor. An element reads there elements alone whose order is
    strictly less; elements of equal order do not depend on each other.
    """

    tensor: ext.Result[ir.RankedTensorType]
    sizes: Sequence[ext.Operand[ir.IndexType]]
    domain: ir.IntegerSetAttr
    order: ir.AffineMapAttr
    body: ext.Region

    @affine
    def verify_region_invariants(self) -> bool:
        """Called by MLIR's verifier."""
        kind = self.tensor.type
        found = parse_map(str(self.order))
        if (found.dims, found.symbols, len(found.forms)) != (kind.rank, 0, 1):
            return error(self, f"order must take the {kind.rank} indices and yield one number")
        if not found.forms[0].is_linear:
            return error(self, "order must be linear")
        return check_box(self, kind, self.domain) and check_region(self, self.body, kind.rank, own=kind)


class SumOp(Tad.Operation, name="sum", traits=[ext.Pure]):
    """The sum of the body over the integer points of the domain; 0 where it is empty."""

    total: ext.Result[Any]
    outer: Sequence[ext.Operand[ir.IndexType]]
    domain: ir.IntegerSetAttr
    body: ext.Region

    @affine
    def verify_region_invariants(self) -> bool:
        """Called by MLIR's verifier."""
        return check_reduction(self, [self.total.type], self.domain, self.body)


class SumsOp(Tad.Operation, name="sums", traits=[ext.Pure]):
    """Sums over one domain: what they share is computed once for each point.

    `tad-fuse` makes it, as `tad.maps`.
    """

    totals: Sequence[ext.Result[Any]]
    outer: Sequence[ext.Operand[ir.IndexType]]
    domain: ir.IntegerSetAttr
    body: ext.Region

    @affine
    def verify_region_invariants(self) -> bool:
        """Called by MLIR's verifier."""
        types = [value.type for value in self.operation.results]
        if not types:
            return error(self, "gives one or more sums")
        return check_reduction(self, types, self.domain, self.body, "tad.yields")


class ReduceOp(Tad.Operation, name="reduce", traits=[ext.Pure]):
    """Another reduction of `REDUCTIONS`, which says what it gives where the domain is empty."""

    value: ext.Result[Any]
    outer: Sequence[ext.Operand[ir.IndexType]]
    kind: ir.StringAttr
    domain: ir.IntegerSetAttr
    body: ext.Region

    @affine
    def verify_region_invariants(self) -> bool:
        """Called by MLIR's verifier."""
        if self.kind.value not in KINDS:
            return error(self, f"unknown kind '{self.kind.value}'; has: {', '.join(KINDS)}")
        return check_reduction(self, [self.value.type], self.domain, self.body)


class GuardOp(Tad.Operation, name="guard", traits=[ext.Pure]):
    """`then` where the indices lie in the set, else `otherwise`; the other is not evaluated."""

    value: ext.Result[Any]
    indices: Sequence[ext.Operand[ir.IndexType]]
    where: ir.IntegerSetAttr
    then: ext.Region
    otherwise: ext.Region

    @affine
    def verify_region_invariants(self) -> bool:
        """Called by MLIR's verifier."""
        indices = len(self.operation.operands)
        found = parse_set(str(self.where))
        if (found.dims, found.symbols) != (indices, 0):
            return error(
                self, f"set must have {indices} dimensions and no symbols, as many as index operands"
            )
        if not check_float(self, self.value.type):
            return False
        return check_region(self, self.then, 0) and check_region(self, self.otherwise, 0)


class ReadOp(Tad.Operation, name="read", traits=[ext.Pure]):
    """The element `tensor[at(indices)]`."""

    element: ext.Result[Any]
    tensor: ext.Operand[ir.RankedTensorType]
    indices: Sequence[ext.Operand[ir.IndexType]]
    at: ir.AffineMapAttr

    @affine
    def verify_region_invariants(self) -> bool:
        """Called by MLIR's verifier."""
        found, kind = parse_map(str(self.at)), self.tensor.type
        given = len(self.operation.operands) - 1
        if (found.dims, found.symbols) != (given, 0):
            return error(self, f"map must take the {given} indices given as its dimensions")
        if len(found.forms) != kind.rank:
            return error(self, f"map yields {len(found.forms)} subscripts but {kind} has rank {kind.rank}")
        if self.element.type != kind.element_type:
            return error(self, f"result must be {kind.element_type}, got {self.element.type}")
        return True


class IndexOp(Tad.Operation, name="index", traits=[ext.Pure]):
    """An affine function of indices, floordiv and mod included."""

    position: ext.Result[ir.IndexType]
    indices: Sequence[ext.Operand[ir.IndexType]]
    at: ir.AffineMapAttr

    @affine
    def verify_region_invariants(self) -> bool:
        """Called by MLIR's verifier."""
        found, given = parse_map(str(self.at)), len(self.operation.operands)
        if (found.dims, found.symbols, len(found.forms)) != (given, 0, 1):
            return error(self, f"map must take the {given} indices given and yield one index")
        return True


class ValueOfOp(Tad.Operation, name="value_of", traits=[ext.Pure]):
    """An index as a float, rounded to nearest."""

    value: ext.Result[Any]
    position: ext.Operand[ir.IndexType]

    def verify_region_invariants(self) -> bool:
        """Called by MLIR's verifier."""
        return check_float(self, self.value.type)


class ApplyOp(Tad.Operation, name="apply", traits=[ext.Pure]):
    """A scalar function of `SCALAR_FUNCTIONS`."""

    value: ext.Result[Any]
    operands_: Sequence[ext.Operand[Any]]
    fn: ir.StringAttr

    def verify_region_invariants(self) -> bool:
        """Called by MLIR's verifier."""
        if self.fn.value not in SCALAR_FUNCTIONS:
            return error(self, f"unknown function '{self.fn.value}'; has: {', '.join(SCALAR_FUNCTIONS)}")
        given, wanted = len(self.operation.operands), SCALAR_FUNCTIONS[self.fn.value]
        if given != wanted:
            return error(self, f"'{self.fn.value}' takes {wanted} operands, got {given}")
        for operand in self.operation.operands:
            if operand.type != self.value.type:
                return error(self, f"operands must be {self.value.type}, got {operand.type}")
        return check_float(self, self.value.type)


class YieldOp(Tad.Operation, name="yield", traits=[ir.IsTerminatorTrait, ext.Pure]):
    """What the enclosing region gives."""

    value: ext.Operand[Any]

    def verify_region_invariants(self) -> bool:
        """Called by MLIR's verifier."""
        parent = self.operation.parent
        if parent is None or parent.name not in REGION_OPS:
            return error(self, f"expects a parent of {', '.join(REGION_OPS)}")
        wanted = parent.results[0].type
        wanted = wanted.element_type if parent.name in ("tad.map", "tad.scan") else wanted
        if self.value.type != wanted:
            return error(self, f"yields {self.value.type} but '{parent.name}' needs {wanted}")
        return True


class YieldsOp(Tad.Operation, name="yields", traits=[ir.IsTerminatorTrait, ext.Pure]):
    """The elements of the tensors of a `tad.maps`, or of the sums of a `tad.sums`, in order."""

    values: Sequence[ext.Operand[Any]]

    def verify_region_invariants(self) -> bool:
        """Called by MLIR's verifier."""
        parent = self.operation.parent
        if parent is None or parent.name not in MANY_OPS:
            return error(self, f"expects a parent of {', '.join(MANY_OPS)}")
        given = [value.type for value in self.operation.operands]
        wanted = [result.type for result in parent.results]
        if parent.name == "tad.maps":
            wanted = [type.element_type for type in wanted]
        if given != wanted:
            yields, needs = (", ".join(map(str, types)) for types in (given, wanted))
            return error(self, f"yields {yields} but '{parent.name}' needs {needs}")
        return True


for _op in (MapOp, MapsOp, ScanOp, SumOp, SumsOp, ReduceOp, GuardOp, ReadOp, IndexOp, ApplyOp, YieldsOp):
    trailing_variadic(_op)
