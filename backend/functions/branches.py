"""Functions that are slow for huge arguments alone, as LLVM IR text.

What is slow is a function of its own, out of line, behind a branch. A branch would keep LLVM from
vectorising loops, so there are vector variants as well, which branch once for all lanes.
"""

from __future__ import annotations

from tadc.backend.ir_text import IrFunction, IrValue, Type

#: Attributes of what a branch takes only for huge arguments.
COLD = "noinline cold optsize nounwind willreturn memory(none)"


def symbol(function: str, type: Type, part: str = "") -> str:
    """`tadc_sin_f64`, `tadc_sin_v8f64`, `tadc_sin_f64_huge`."""
    return f"tadc_{function}_{type.suffix}{part}"


def define(f: IrFunction, function: str, result: IrValue, huge: IrValue) -> str:
    """The text of a function with `result` where `huge` does not hold; else of its `_huge` variant."""
    operands = [f"{a.type} {a.name}" for a in f.arguments]
    condition = huge
    if f.type.lanes > 1:
        operands += [f"{f.type} {result.name}", f"{huge.type} {huge.name}"]
        condition = f.call(f"llvm.vector.reduce.or.v{f.type.lanes}i1", Type(False, 1), huge)
    f.lines += [
        f"  br i1 {condition.name}, label %huge, label %done",
        "huge:",
        f"  %exact = call {f.type} @{symbol(function, f.type, '_huge')}({', '.join(operands)})",
        "  br label %done",
        "done:",
        f"  %result = phi {f.type} [ {result.name}, %0 ], [ %exact, %huge ]",
    ]
    return f.define(IrValue(f, "%result", f.type))


def lane_by_lane(function: str, type: Type, arity: int = 1) -> str:
    """The text of the `_huge` variant over a vector, which leaves the other lanes as they are given."""
    scalar = Type(True, type.bits)
    names = "xyz"[:arity]
    parameters = ", ".join([*(f"{type} %{n}" for n in names), f"{type} %given, <{type.lanes} x i1> %mask"])
    arguments = ", ".join(f"{scalar} %{n}i" for n in names)
    lines = [
        f"define internal {type} @{symbol(function, type, '_huge')}({parameters}) {COLD} {{",
        "  br label %lane",
        "lane:",
        "  %i = phi i32 [ 0, %0 ], [ %next, %after ]",
        f"  %before = phi {type} [ %given, %0 ], [ %result, %after ]",
        f"  %is_huge = extractelement <{type.lanes} x i1> %mask, i32 %i",
        "  br i1 %is_huge, label %huge, label %after",
        "huge:",
        *(f"  %{n}i = extractelement {type} %{n}, i32 %i" for n in names),
        f"  %exact = call {scalar} @{symbol(function, scalar, '_huge')}({arguments})",
        f"  %filled = insertelement {type} %before, {scalar} %exact, i32 %i",
        "  br label %after",
        "after:",
        f"  %result = phi {type} [ %before, %lane ], [ %filled, %huge ]",
        "  %next = add i32 %i, 1",
        f"  %more = icmp ult i32 %next, {type.lanes}",
        "  br i1 %more, label %lane, label %done",
        "done:",
        f"  ret {type} %result",
        "}",
        "",
    ]
    return "\n".join(lines)
