"""Masked loads kept apart from the arithmetic that uses them, without which LLVM forgets masks.

LLVM 22 makes a masked load the memory operand of an instruction under the same mask, which reads no more
than the load did. Where that instruction overwrites a register that is needed again, it takes the load out
once more, now of the whole vector (`TwoAddressInstructionPass`, `unfoldMemoryOperand`): this reads outside
of the array. What goes through `llvm.arithmetic.fence`, which is no instruction, is folded nowhere.
"""

from __future__ import annotations

import re

#: What the names of masked loads begin with.
LOAD = "llvm.masked.load."

_LOADED = re.compile(
    rf"^( *)%([\w.]+) = (.*\bcall [^@\n]*(<(\d+) x (?:float|double)>) @{re.escape(LOAD)}.*)$", re.M
)


def fenced(text: str) -> str:
    """LLVM IR text in which each masked load of floats goes through a fence."""
    declared: set[str] = set()

    def fence(match: re.Match[str]) -> str:
        space, name, load, type, lanes = match.groups()
        function = f"@llvm.arithmetic.fence.v{lanes}f{64 if 'double' in type else 32}"
        declared.add(f"declare {type} {function}({type})")
        loaded = f"%masked.{name}"
        return f"{space}{loaded} = {load}\n{space}%{name} = call {type} {function}({type} {loaded})"

    text = _LOADED.sub(fence, text)
    return "\n".join([text.rstrip("\n"), *sorted(declared), ""])
