"""A kernel as a C function that looks at what it is given, and one that tells how much scratch it needs.

    int      NAME(const T *input, …, T *output, …, void *scratch, int64_t size, …)
    int64_t  NAME_scratch(int64_t size, …)

The first returns 0 where it has computed the outputs, and has read and written nothing otherwise; the second
returns bytes, or -1 for sizes that the first refuses. Where index arrays have long fibres another function of
the same kind may take the call, whose kernel cuts these.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from tadc.backend.runtime.inspector import inspector_text
from tadc.backend.runtime.interface import Interface
from tadc.backend.runtime.workspace import ALIGNMENT, Workspace
from tadc.native.inspection import NativeInspection, with_memory
from tadc.native.ir_lines import SATURATED, TOO_MANY, Lines, Value
from tadc.native.registers import Registers, lay_out
from tadc.native.statuses import BAD_INDEX, BAD_SIZE, NO_SCRATCH, NULL, OK


def checked_functions(name: str, interface: Interface, cutting: str = "") -> str:
    """LLVM IR text of both functions, to stand beside the text that defines the kernel; `cutting` is the name
    of the function that takes calls with long fibres."""
    # The largest multiple of the alignment that scratch may have to be moved by is less than one.
    has_indices = any(p.below is not None for p in interface.inputs)
    inspector = re.sub("^define ", "define internal ", inspector_text(), flags=re.M) if has_indices else ""
    return "\n".join(
        [_sized(name, interface, cutting), _called(name, interface, cutting), SATURATED, inspector, ""]
    )


def _sized(name: str, interface: Interface, cutting: str) -> str:
    lines = Lines()
    parameters, sizes = _sizes(lines, interface)
    scratch = _scratch(lines, with_memory(interface, NativeInspection(interface)), sizes)
    is_none = lines.put(f"icmp eq i64 {scratch.bytes}, 0")
    more = lines.binary("add", scratch.bytes, str(ALIGNMENT))
    own = lines.put(f"select i1 {is_none}, i64 0, i64 {more}")
    if cutting:
        own = lines.larger(own, lines.put(f"call i64 @{cutting}_scratch({', '.join(parameters)})"))
    lines.do(f"ret i64 {own}")
    text = lines.function(f"i64 @{name}_scratch({', '.join(parameters)})", {"bad.size": "i64 -1"})
    return text + (f"declare i64 @{cutting}_scratch({_types(parameters)})\n" if cutting else "")


def _called(name: str, interface: Interface, cutting: str) -> str:
    lines, inspection = Lines(), NativeInspection(interface)
    parameters, sizes = _sizes(lines, interface)
    tensors = [*interface.arguments, *interface.outputs]
    given = [f"%p{n}" for n in range(len(tensors))]
    whole = with_memory(interface, inspection)
    scratch = _scratch(lines, whole, sizes)
    for pointer, tensor in zip(given, tensors, strict=True):
        _has_memory(lines, pointer, lines.product(tensor.dtype.itemsize, tensor.shape, sizes), "null")
    between: list[Value] = []
    if whole.temporaries:
        _has_memory(lines, "%scratch", scratch.bytes, "no.scratch")
        block = _aligned(lines, "%scratch")
        between = [lines.put(f"getelementptr i8, ptr {block}, i64 {offset}") for offset in scratch.offsets]
    inputs, results = given[: len(interface.arguments)], given[len(interface.arguments) :]
    arrays = {p.name: array for p, array in zip(interface.arguments, inputs, strict=True)}
    for parameter in inspection.given:
        inspection.check(lines, arrays[parameter.name], parameter, sizes, "bad.index")
    own = len(interface.temporaries)
    made = inspection.run(lines, arrays, between[own:], sizes)
    pointers = [*(f"ptr {pointer}" for pointer in given), "ptr %scratch"]
    if cutting:
        places = arrays | {p.name: array for p, array in zip(interface.made, made, strict=True)}
        is_long = lines.put(f"icmp ne i64 {inspection.is_long(lines, places, sizes)}, 0")
        lines.do(f"br i1 {is_long}, label %cut, label %whole")
        lines.label("cut")
        found = lines.put(f"call i32 @{cutting}({', '.join([*pointers, *parameters])})")
        lines.do(f"ret i32 {found}")
        lines.label("whole")
    passed = [*inputs, *made, *results, *between[:own]]
    arguments = [f"ptr {pointer}" for pointer in passed] + [f"i64 {sizes[n]}" for n in interface.sizes]
    lines.do(f"call void @{kernel_symbol(interface)}({', '.join(arguments)})")
    lines.do(f"ret i32 {OK.number}")
    ends = {label: f"i32 {status.number}" for label, status in _ENDS.items()}
    text = lines.function(f"i32 @{name}({', '.join([*pointers, *parameters])})", ends)
    return text + (f"declare i32 @{cutting}({_types([*pointers, *parameters])})\n" if cutting else "")


def _types(parameters: Sequence[str]) -> str:
    return ", ".join(parameter.split()[0] for parameter in parameters)


_ENDS = {"bad.size": BAD_SIZE, "null": NULL, "no.scratch": NO_SCRATCH, "bad.index": BAD_INDEX}


def kernel_symbol(interface: Interface) -> str:
    """The name of the kernel, which only these functions call."""
    return f"{interface.symbol}.kernel"


def _sizes(lines: Lines, interface: Interface) -> tuple[list[str], Mapping[str, Value]]:
    """Parameters for the sizes, and their values, which are looked at; of those that arrays have as many
    elements, products."""
    given = {name: f"%s{n}" for n, name in enumerate(interface.asked_sizes)}
    values = interface.told.values(None, given, Registers(lines, "bad.size", {}))
    return [f"i64 {value}" for value in given.values()], values


def _scratch(lines: Lines, interface: Interface, sizes: Mapping[str, Value]) -> Workspace[Value]:
    """Where tensors in between stand in scratch."""
    scratch = lay_out(lines, interface.temporaries, sizes)
    lines.require(lines.put(f"icmp ult i64 {scratch.bytes}, {TOO_MANY}"), "bad.size")
    return scratch


def _has_memory(lines: Lines, pointer: Value, bytes: Value, failure: str) -> None:
    """Go on where a pointer is not NULL, or of no bytes."""
    is_some = lines.put(f"icmp ne ptr {pointer}, null")
    is_empty = lines.put(f"icmp eq i64 {bytes}, 0")
    lines.require(lines.put(f"or i1 {is_some}, {is_empty}"), failure)


def _aligned(lines: Lines, pointer: Value) -> Value:
    """The next address that is a multiple of `ALIGNMENT`."""
    begin = lines.put(f"ptrtoint ptr {pointer} to i64")
    skip = lines.binary("sub", lines.up_to(begin, ALIGNMENT), begin)
    return lines.put(f"getelementptr i8, ptr {pointer}, i64 {skip}")
