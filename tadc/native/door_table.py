"""What code for all kernels needs to know of one, as constants beside the kernel.

Ways into a kernel from a framework are machine code for all kernels (`boxed.ll`, `xla.ll`), compiled once. A
table says what they look at, as 64-bit words: how many inputs and outputs there are, how many extents all
inputs have, and all outputs; the functions of `entry.py`, the texts of what is wrong, by number; what device
results are on. Then of each input and output the number that the framework has for its type, its rank, and
which bits of an address are 0.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from tadc.backend.runtime.interface import Interface
from tadc.backend.runtime.parameters import Parameter
from tadc.frontend.render import render
from tadc.native.entry import Entry
from tadc.native.ir_lines import text_constant


def door_code(path: Path) -> str:
    """LLVM IR of a way into kernels, behind that of `door.ll`, which all share."""
    return Path(__file__).with_name("door.ll").read_text() + path.read_text()


def door_table(
    interface: Interface, entry: Entry, number: Callable[[str], int], device: int = 0
) -> tuple[str, str]:
    """The name of the table, and LLVM IR that defines it."""
    inputs, outputs = interface.arguments, interface.outputs
    texts = [f"tadc: {render(check.problem(inputs))}" for check in interface.checks]
    names = [f'@"{interface.symbol}.message{n}"' for n in range(len(texts))]
    lines = [
        f"{name} = private constant {text_constant(text)}" for name, text in zip(names, texts, strict=True)
    ]
    messages = f'@"{interface.symbol}.messages"'
    listed = ", ".join(f"ptr {name}" for name in names)
    lines.append(f"{messages} = private constant [{len(names)} x ptr] [{listed}]")
    counts = len(inputs), len(outputs), _extents(inputs), _extents(outputs)
    tensors = [(number(p.type), len(p.shape), p.dtype.itemsize - 1) for p in (*inputs, *outputs)]
    functions = f'ptr @"{entry.symbol}", ptr @"{entry.shapes_symbol}", ptr {messages}'
    words = [f"i64 {word}" for words in tensors for word in words]
    kinds = f"{{ i64, i64, i64, i64, ptr, ptr, ptr, i64, [{len(words)} x i64] }}"
    first = ", ".join(f"i64 {count}" for count in counts)
    values = f"{{ {first}, {functions}, i64 {device}, [{len(words)} x i64] [{', '.join(words)}] }}"
    symbol = f"{interface.symbol}.door"
    lines.append(f'@"{symbol}" = constant {kinds} {values}')
    return symbol, "\n".join([*lines, ""])


def _extents(parameters: Sequence[Parameter]) -> int:
    return sum(len(p.shape) for p in parameters)
