"""Kernels in PTX, written by hand, and launches of them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tadc.backend.emulator.execution import EmulatedModule
from tadc.backend.emulator.global_memory import GlobalMemory

Array = NDArray[Any]

HEADER = ".version 7.0\n.target sm_80\n.address_size 64\n"
REGISTERS = """
    .reg .pred %p<9>;
    .reg .b16 %rs<9>;
    .reg .b32 %r<99>;
    .reg .b64 %rd<99>;
"""


def kernel_text(body: str, parameters: int = 2, outside: str = "", threads: int = 1024) -> str:
    """A kernel `k` of so many pointers, which are in `%rd1`, `%rd2`, …; `%r1` is the thread's number."""
    names = [f"k_param_{n}" for n in range(parameters)]
    listed = ", ".join(f".param .u64 .ptr .align 1 {name}" for name in names)
    loads = "".join(f"ld.param.b64 %rd{n + 1}, [{name}];\n" for n, name in enumerate(names))
    return (
        f"{HEADER}{outside}\n.visible .entry k({listed})\n.maxntid {threads}, 1, 1\n"
        f"{{{REGISTERS}{loads}mov.u32 %r1, %tid.x;\n{body}\nret;\n}}\n"
    )


def launch(
    text: str, arrays: list[Array | int], threads: int = 32, blocks: int = 1, shared: int = 0
) -> list[Array]:
    """The arrays after a launch; a number stands for so many bytes without a value, which come as bytes."""
    memory = GlobalMemory()
    module = EmulatedModule(text, memory)
    addresses: list[int] = []
    for array in arrays:
        addresses.append(memory.allocate(array if isinstance(array, int) else array.nbytes))
        if not isinstance(array, int):
            assert memory.put(addresses[-1], array.tobytes())
    kernel = module.kernel("k")
    assert kernel is not None
    kernel.launch((blocks, 1, 1), (threads, 1, 1), addresses, shared)
    results: list[Array] = []
    for array, address in zip(arrays, addresses, strict=True):
        size, type = (array, np.uint8) if isinstance(array, int) else (array.nbytes, array.dtype)
        found = memory.get(address, size)
        assert found is not None
        results.append(np.frombuffer(found, type))
    return results
