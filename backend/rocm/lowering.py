"""Kernels of the gpu dialect to the rocdl dialect.

Kernels are made for 32 lanes that exchange values. A wave of 64 lanes runs two such groups, and
`ds_bpermute` reads lanes of the whole wave. Upstream clamps the lanes of `down`, `up` and `xor` to the group
that `width` asks for, but takes that of `idx` from the start of the wave: the second group would read a lane
of the first. So `idx` becomes `xor`, which stays in its group.
"""

from __future__ import annotations

from typing import Any

from tadc.backend.pipelines import drop_repeated_marks, index_bits, operations, run
from tadc.dialect.mlir import ir

#: By the architecture and the bits of an index; `math` becomes intrinsics, and calls of `__ocml_*`.
PIPELINE = (
    "builtin.module(canonicalize,cse,lower-affine,convert-vector-to-scf,convert-scf-to-cf,canonicalize,cse,"
    "gpu.module(expand-strided-metadata,lower-affine,"
    "convert-gpu-to-rocdl{{chipset={chipset} use-bare-ptr-memref-call-conv=1 index-bitwidth={bits} "
    "runtime=HIP}},"
    "convert-math-to-llvm,convert-vector-to-llvm,convert-ub-to-llvm,canonicalize,cse,"
    "reconcile-unrealized-casts))"
)


def lower(module: ir.Module, chipset: str) -> None:
    """Lower the gpu modules of a module, in place."""
    with module.context, ir.Location.unknown():
        for op in operations(module.operation):
            if op.name == "gpu.shuffle":
                keep_in_group(op)
    run(PIPELINE.format(chipset=chipset, bits=index_bits(module)), module)
    drop_repeated_marks(module)


def keep_in_group(shuffle: Any) -> None:
    """`idx k` of a group of `width` lanes, a power of two, as `xor ((lane mod width) xor k)`."""
    if "idx" not in str(shuffle.attributes["mode"]):
        return
    whole = ir.IntegerType.get_signless(32)
    _, source, width = shuffle.operands

    def made(name: str, operands: list[Any], type: Any = whole, **attributes: Any) -> Any:
        return ir.Operation.create(name, [type], operands, attributes).result

    with ir.InsertionPoint(shuffle):
        lane = made("arith.index_cast", [made("gpu.lane_id", [], ir.IndexType.get())])
        one = made("arith.constant", [], value=ir.IntegerAttr.get(whole, 1))
        inside = made("arith.andi", [lane, made("arith.subi", [width, one])])
        distance = made("arith.xori", [inside, source])
    shuffle.attributes["mode"] = ir.Attribute.parse("#gpu<shuffle_mode xor>")
    shuffle.operands[1] = distance
