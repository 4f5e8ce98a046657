"""The operations of the `tad` dialect, on upstream's extensible-dialect API.

Scalar arithmetic is upstream's `arith` and `math`; indexing and control are ours. The docstring of each
operation gives its syntax and the checks of its verifier; `docs/dialect.md` is made of them.

Dimensions of a set are the block arguments, its symbols the index operands. Tensors and
outer indices are captured from above.
"""

# No `from __future__ import annotations` here: ext.py evaluates annotation objects.
from collections.abc import Sequence
from typing import Any

from tadc.dialect import checks
from tadc.dialect.mlir import LOCK, check_bindings, ext, ir, irdl
from tadc.frontend.functions import APPLIED, REDUCTIONS, OfFunctions

#: Functions of `tad.apply`, with their number of operands.
SCALAR_FUNCTIONS = OfFunctions(
    {f.name: f.arity for f in APPLIED.values() if f.operation in (None, "tad.apply")}, lambda f: f.arity
)

#: Kinds of `tad.reduce`; a sum is an op of its own.
KINDS = tuple(kind for kind in REDUCTIONS if kind != "sum")

REGION_OPS = ("tad.map", "tad.scan", "tad.sum", "tad.reduce", "tad.guard")

#: What is derived of functions, and the flags that each may have.
DERIVED = {"tad.vjp": ("keep_values", "unit_cotangent"), "tad.jvp": ("drop_values",)}

#: What makes tensors.
MAPS = ("tad.map", "tad.scan")


class Tad(ext.Dialect, name="tad"):
    """The dialect; `load_dialect` registers it in a context."""


#: The dialect in the text of IRDL, from its first use on.
_definition: list[str] = []


def load_dialect(context: ir.Context) -> None:
    """Register `tad` in a context, if it is not yet. Raises TypeError for one of other bindings of MLIR."""
    check_bindings(context, "a context")
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


class _Op(Tad.Operation):
    """An operation, with the rules that its verifier checks."""

    rules = ()

    def verify_region_invariants(self) -> bool:
        """Called by MLIR's verifier."""
        return checks.verify(self.operation, self.rules)


def own_tensor(op: Any) -> Any:
    """The block argument that stands for the tensor itself."""
    return list(op.regions[0].blocks[0].arguments)[-1]


class MapOp(_Op, name="map", traits=[ext.Pure]):
    """A tensor given element by element: the body yields the element at the block arguments.

        %f = tad.map (%i, %j) -> tensor<3x4xf64> {
        %f = tad.map (%i, %j) in {0 <= %i < %M, 0 <= %j < 3} -> tensor<?x3xf64> {
        %f:2 = tad.map (%i) -> tensor<9xf64>, tensor<9xf64> {

    - `domain` is the box of the tensor's shape, its symbols are `sizes`; it is omitted if there are none.
    - The elements are floats. The body has an index for each dimension and ends with `tad.yield`.
    - There may be several tensors, of one type: common subexpressions are computed once per element.
      `tad-fuse` makes such maps.
    """

    tensors: Sequence[ext.Result[ir.RankedTensorType]]
    sizes: Sequence[ext.Operand[ir.IndexType]]
    domain: ir.IntegerSetAttr
    body: ext.Region

    rules = (checks.some("tensors"), checks.floats, checks.tensor)


class ScanOp(_Op, name="scan", traits=[ext.Pure]):
    """A recurrence, with elements given in increasing `order`, a linear form of the indices.

    The last block argument stands for the tensor. An element may read only elements of strictly smaller
    order from it, so elements of equal order are independent.

        %f = tad.scan %own (%i) by -%i in {0 <= %i < %n} -> tensor<?xf64> {

    - As for `tad.map`; in addition, the last block argument has the tensor's type.
    - `order` maps the indices to one number, without floor division and sizes.
    - When a module is read, it is proven that elements read only earlier elements (TAD0316).
    """

    tensor: ext.Result[ir.RankedTensorType]
    sizes: Sequence[ext.Operand[ir.IndexType]]
    domain: ir.IntegerSetAttr
    order: ir.AffineMapAttr
    body: ext.Region

    rules = (checks.order, checks.floats, checks.tensor)


class SumOp(_Op, name="sum", traits=[ext.Pure]):
    """The sum of the body over the integer points of the domain; 0 if it is empty.

        %0 = tad.sum (%k, %l) in {0 <= %k <= 4, %k < %i, %l == %k + 1} -> f64 {
        %3 = tad.sum (%k_0) [%j, %i] in {%k_0 * 2 >= %i + 3, %k_0 <= %j} -> f64 {
        %0 = tad.sum (%e) at (%t = %src[%e] : tensor<5xi32>) in {0 <= %e <= 4, %t == %n} -> f64 {
        %0:2 = tad.sum (%k) in {0 <= %k <= 3} -> f64, f64 {

    - `domain` has at least one index, one per block argument; its symbols are the operands `outer`.
    - Its further dimensions are the `tad.lookup`s at the beginning of the body.
      A lookup must be in range wherever the rows without it hold.
    - The result is a float. The body ends with `tad.yield`.
    - There may be several sums, of one type: common subexpressions are computed once per point.
    """

    totals: Sequence[ext.Result[Any]]
    outer: Sequence[ext.Operand[ir.IndexType]]
    domain: ir.IntegerSetAttr
    body: ext.Region

    rules = (checks.some("sums"), checks.floats, checks.reduction)


class ReduceOp(_Op, name="reduce", traits=[ext.Pure]):
    """Another reduction of the body over the points of the domain.

        %0 = tad.reduce "max" (%k, %l) in {0 <= %k <= %i, %l == %k + 1} -> f64 {

    - `kind` is one of KINDS, otherwise as for `tad.sum`.
    - The value over an empty domain is that of the language.
    """

    value: ext.Result[Any]
    outer: Sequence[ext.Operand[ir.IndexType]]
    kind: ir.StringAttr
    domain: ir.IntegerSetAttr
    body: ext.Region

    rules = (checks.word("kind", KINDS, "kind"), checks.floats, checks.reduction)


class GuardOp(_Op, name="guard", traits=[ext.Pure]):
    """`then` if the indices are in the set, else `otherwise`; only this branch is evaluated.

        %1 = tad.guard where {%i == 2, 0 <= %j <= 2} -> f64 {
        } else {

    - The set has one dimension per operand, and no symbols.
    - The result is a float. Both regions have no arguments and end with `tad.yield`.
    """

    value: ext.Result[Any]
    indices: Sequence[ext.Operand[ir.IndexType]]
    where: ir.IntegerSetAttr
    then: ext.Region
    otherwise: ext.Region

    rules = (checks.branches,)


class ReadOp(_Op, name="read", traits=[ext.Pure]):
    """The element `tensor[at(indices)]`.

        %2 = tad.read %a[%i, %j + %k] : tensor<3x8xf64>

    - `at` has the indices as its dimensions, and yields one subscript per dimension of the tensor.
    - The result has the tensor's element type.
    - When a module is read, it is proven in range under all enclosing guards and sums (TAD0607).
    """

    element: ext.Result[Any]
    tensor: ext.Operand[ir.RankedTensorType]
    indices: Sequence[ext.Operand[ir.IndexType]]
    at: ir.AffineMapAttr

    rules = (checks.subscripts, checks.element, checks.floats)


class LookupOp(_Op, name="lookup"):
    """The element `array[at(indices)]` of an index array, as an index.

        %t_0 = tad.lookup %ptr[%n + 1] : tensor<5xi32>

    - `at` is as for `tad.read`. The lookup is proven in range where its index is used (TAD0607);
      elsewhere it may be any index.
    - The elements are i32. The array is an argument of the function, with `tad.below`.
    - It is never moved, because a set may refer to it.
    """

    position: ext.Result[ir.IndexType]
    array: ext.Operand[ir.RankedTensorType]
    indices: Sequence[ext.Operand[ir.IndexType]]
    at: ir.AffineMapAttr

    rules = (checks.index_array, checks.subscripts)


class IndexOp(_Op, name="index", traits=[ext.Pure]):
    """An affine function of indices, with floordiv and mod, as an index.

        %2 = tad.index %i + %j floordiv 2 - (%i mod 4) * 3 - 1 : index

    - `at` has the operands as its dimensions, and yields one index.
    """

    position: ext.Result[ir.IndexType]
    indices: Sequence[ext.Operand[ir.IndexType]]
    at: ir.AffineMapAttr

    rules = (checks.position,)


class ValueOfOp(_Op, name="value_of", traits=[ext.Pure]):
    """An index as a float, rounded to nearest.

        %3 = tad.value_of %2 : f64

    - The result is a float.
    """

    value: ext.Result[Any]
    position: ext.Operand[ir.IndexType]

    rules = (checks.floats,)


class ApplyOp(_Op, name="apply", traits=[ext.Pure]):
    """A scalar function that `arith` and `math` lack, by name.

        %4 = tad.apply "sigmoid"(%3) attributes {note = "kept"} : f64

    - `fn` is one of SCALAR_FUNCTIONS, which gives the number of operands.
    - The result is a float; the operands have its type.
    """

    value: ext.Result[Any]
    operands_: Sequence[ext.Operand[Any]]
    fn: ir.StringAttr

    rules = (
        checks.word("fn", SCALAR_FUNCTIONS, "function"),
        checks.arguments(SCALAR_FUNCTIONS),
        checks.floats,
    )


class VjpOp(_Op, name="vjp", traits=[ext.Pure]):
    """The vector-Jacobian product of a function, as a value to call; `tad-vjp` adds it to the module.

        %0 = tad.vjp @f attributes {wrt = ["x"]} : (tensor<8xf64>, tensor<6xf64>) -> tensor<8xf64>
        %dx = func.call_indirect %0(%x, %df) : (tensor<8xf64>, tensor<6xf64>) -> tensor<8xf64>

    - `callee` is a function of the module that contains a program.
    - The arguments are those of the function except sizes, then the cotangents of the results, then the
      sizes. The results are the gradients by the arguments in `wrt`, by default by all differentiable ones.
    - `keep_values`: the values of the function come before the gradients. `unit_cotangent`: the function has
      one scalar result, whose cotangent is 1 and not an argument.
    """

    function: ext.Result[ir.FunctionType]
    callee: ir.FlatSymbolRefAttr

    rules = (checks.derived(DERIVED["tad.vjp"]),)


class JvpOp(_Op, name="jvp", traits=[ext.Pure]):
    """A function with its Jacobian-vector product, as a value to call; `tad-jvp` adds it to the module.

        %1 = tad.jvp @f : (tensor<8xf64>, tensor<8xf64>) -> (tensor<6xf64>, tensor<6xf64>)

    - `callee` is a function of the module that contains a program.
    - The arguments are those of the function except sizes, then the tangents of those in `wrt`, by default of
      all differentiable ones, then the sizes. Each result comes before its tangent.
    - `drop_values`: only the tangents are returned.
    """

    function: ext.Result[ir.FunctionType]
    callee: ir.FlatSymbolRefAttr

    rules = (checks.derived(DERIVED["tad.jvp"]),)


class YieldOp(_Op, name="yield", traits=[ir.IsTerminatorTrait, ext.Pure]):
    """The values of the enclosing region: `tad.yield %1 : f64`.

    - It ends a region of one of REGION_OPS, with one value per result, of its type or element type.
    """

    values: Sequence[ext.Operand[Any]]

    rules = (checks.yields(REGION_OPS),)
