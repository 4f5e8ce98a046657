"""What `--fast-math` allows: arithmetic that rounds otherwise than it is written.

Sums and products may be taken in another order, a product and a sum rounded once, a division made
a multiplication by a reciprocal, and zeros lose their signs. `exp` and `tanh` are cheaper
(`fast_functions.py`). Infinities and NaN keep their meaning.

What LLVM makes of it differs between machines, and between an element inside a vector and one at the end
of a loop: so results may differ in their last bits between machines and between numbers of threads.

On a GPU f32 has approximate instructions, which take the place of functions, of square roots and of
divisions: its backend says which.
"""

from __future__ import annotations

from tadc.dialect.mlir import ir

#: LLVM's flags; never `nnan` and `ninf`.
FLAGS = "#arith.fastmath<reassoc,nsz,arcp,contract>"

OPERATIONS = frozenset(
    {"arith.addf", "arith.subf", "arith.mulf", "arith.divf", "arith.negf", "vector.reduction"}
)


#: A product and a sum may be rounded once, no more.
FUSED = "#arith.fastmath<contract>"


#: What backends of GPUs make approximate functions of, in f32.
APPROXIMATE = FLAGS.replace(">", ",afn>")
FUNCTIONS = frozenset({"math.exp", "math.log", "math.log2", "math.log10"})


def relax(module: ir.Module, allowed: str = FLAGS, *, is_gpu: bool = False) -> None:
    """Set the flags on all arithmetic of a module, in place; on a GPU on functions, too."""
    flags = ir.Attribute.parse(allowed, module.context)
    approximate = ir.Attribute.parse(APPROXIMATE, module.context)

    def visit(op: ir.Operation) -> ir.WalkResult:
        if op.name in OPERATIONS:
            op.attributes["fastmath"] = flags
        elif is_gpu and op.name in FUNCTIONS:
            op.attributes["fastmath"] = approximate
        return ir.WalkResult.ADVANCE

    module.operation.walk(visit)
