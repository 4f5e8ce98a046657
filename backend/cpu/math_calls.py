"""`math` operations and remainders on the CPU: calls of our own functions, or LLVM intrinsics.

On scalars and on vectors of any shape. What neither table holds is left for upstream's
convert-math-to-libm, which takes vectors lane by lane.
"""

from __future__ import annotations

import re
from itertools import chain, product

from tadc.backend.functions.narrow_floats import CONVERSIONS
from tadc.backend.functions.scalar_functions import DEFINED, symbol
from tadc.backend.ir_text import Type
from tadc.dialect import mlir
from tadc.dialect.mlir import ir
from tadc.frontend.dtypes import DTYPES

#: Functions of ours whose operations have other names.
NAMES = {"math.powf": "pow", "arith.remf": "fmod"}

#: `math` ops that CPUs have instructions for, by the LLVM intrinsic's op.
INTRINSICS = {
    "math.sqrt": "llvm.intr.sqrt",
    "math.absf": "llvm.intr.fabs",
    "math.floor": "llvm.intr.floor",
    "math.ceil": "llvm.intr.ceil",
    "math.trunc": "llvm.intr.trunc",
    "math.roundeven": "llvm.intr.roundeven",
    "math.fma": "llvm.intr.fma",
    "math.copysign": "llvm.intr.copysign",
}


def replace_math_ops(module: ir.Module, fast: bool = False) -> None:
    """Replace what either table holds, in place, by an intrinsic or a call of `tadc_exp_f64` and the like.

    With `fast` the cheaper forms of functions are called.
    """
    declared: set[str] = set()
    for op in chain.from_iterable(map(_by_rows, _found(module, ("arith.extf", "arith.truncf")))):
        _converted_by_call(module, op, declared)
    for op in chain.from_iterable(map(_by_rows, _found(module, ("math.", *NAMES)))):
        type, function = _type_of(op.result.type), NAMES.get(op.name, op.name.removeprefix("math."))
        if op.name in INTRINSICS:
            with ir.InsertionPoint(op), op.location:
                new = ir.Operation.create(INTRINSICS[op.name], [op.result.type], list(op.operands))
            _replace(op, new)
        elif type and function in DEFINED:
            name = symbol(function, type, fast)
            _replace(op, _called(module, op, name, list(op.operands), op.result.type, declared))


def _converted_by_call(module: ir.Module, op: ir.Operation, declared: set[str]) -> None:
    """Replace a conversion of f16 or bf16 by a call of `tadc_tobf16_v8f32` and the like, over integers."""
    given, wanted = op.operands[0], op.result.type
    is_load = op.name == "arith.extf"
    narrow, wide = (given.type, wanted) if is_load else (wanted, given.type)
    function, type = f"{'from' if is_load else 'to'}{_element(narrow)}", _type_of(wide)
    if function not in CONVERSIONS or type is None:
        return
    short: ir.Type = ir.IntegerType.get_signless(DTYPES[_element(narrow)].bits, module.context)
    with ir.InsertionPoint(op), op.location:
        short = ir.VectorType.get(narrow.shape, short) if isinstance(narrow, ir.VectorType) else short
        operand = ir.Operation.create("arith.bitcast", [short], [given]).result if is_load else given
    call = _called(module, op, symbol(function, type), [operand], wanted if is_load else short, declared)
    if not is_load:
        with ir.InsertionPoint(op), op.location:
            call = ir.Operation.create("arith.bitcast", [wanted], [call.results[0]])
    _replace(op, call)


def _element(type: ir.Type) -> str:
    return str(type.element_type if isinstance(type, ir.VectorType) else type)


def _called(
    module: ir.Module,
    op: ir.Operation,
    name: str,
    operands: list[ir.Value],
    result: ir.Type,
    declared: set[str],
) -> ir.Operation:
    """A call before an operation of a function, which is declared if it is not yet."""
    if name not in declared:
        _declare(module, name, ir.FunctionType.get([o.type for o in operands], [result], module.context))
        declared.add(name)
    with ir.InsertionPoint(op), op.location:
        return mlir.func.CallOp([result], name, operands).operation


def _type_of(type: ir.Type) -> Type | None:
    match = re.fullmatch(r"f(32|64)|vector<(\d+)xf(32|64)>", str(type))
    return Type(True, int(match[1] or match[3]), int(match[2] or 1)) if match else None


def _by_rows(op: ir.Operation) -> list[ir.Operation]:
    """The operation; on a shape that LLVM lacks, operations on its rows, or on scalars, in its place.

    LLVM has vectors of one dimension; one lane is none here.
    """
    type = op.result.type
    if not isinstance(type, ir.VectorType) or (type.rank == 1 and type.shape[0] > 1):
        return [op]
    *outer, lanes = type.shape or [1]
    parts: list[ir.Operation] = []
    with ir.InsertionPoint(op), op.location:
        row, *given = (
            ir.VectorType.get([lanes], t.element_type) if lanes > 1 else t.element_type
            for t in (type, *(o.type for o in op.operands))
        )
        # Every row is replaced.
        result = ir.Operation.create("ub.poison", [type]).result
        for place in product(*map(range, outer if lanes > 1 else type.shape)):
            at = {"static_position": ir.DenseI64ArrayAttr.get(list(place))}
            rows = [
                ir.Operation.create("vector.extract", [kind], [o], at).result
                for kind, o in zip(given, op.operands, strict=True)
            ]
            parts.append(ir.Operation.create(op.name, [row], rows))
            result = ir.Operation.create("vector.insert", [type], [parts[-1].result, result], at).result
    op.result.replace_all_uses_with(result)
    op.erase()
    return parts


def _found(module: ir.Module, names: tuple[str, ...]) -> list[ir.Operation]:
    """The operations whose names begin so."""
    found: list[ir.Operation] = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        if op.name.startswith(names):
            found.append(op)
        return ir.WalkResult.ADVANCE

    module.operation.walk(visit)
    return found


def _declare(module: ir.Module, name: str, kind: ir.FunctionType) -> None:
    if name in ir.SymbolTable(module.operation):
        return
    with module.context, ir.Location.unknown(), ir.InsertionPoint.at_block_begin(module.body):
        mlir.func.FuncOp(name, kind, visibility="private")


def _replace(op: ir.Operation, new: ir.Operation) -> None:
    op.result.replace_all_uses_with(new.results[0])
    op.erase()
