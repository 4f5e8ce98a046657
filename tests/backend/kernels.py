"""Hand-written kernels in the form in which the passes give them, and ways to run them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tadc.backend.base import Settings
from tadc.backend.llvm_ir import complete
from tadc.backend.object_code import object_code
from tadc.backend.pipelines import translate
from tadc.backend.runtime.host_kernel import HostKernel, loaded
from tadc.backend.runtime.interface import Interface
from tadc.backend.runtime.parameters import Parameter
from tadc.backend.runtime.workspace import Temporary
from tadc.backend.target import CPU, Target, backend_of
from tadc.backend.to_llvm_dialect import lower_to_llvm_dialect
from tadc.dialect.mlir import ir
from tadc.passes.numpy_types import numpy_type

Array = NDArray[Any]


def on_host(kernel: object) -> HostKernel:
    """A compiled kernel, which is one of the CPU."""
    assert isinstance(kernel, HostKernel)
    return kernel


GPU_HEAD = """module attributes {gpu.container_module} {
gpu.module @m {
gpu.func @k(%X: memref<SIZExTYPE> {llvm.noalias}, %Y: memref<SIZExTYPE> {llvm.noalias}) kernel
    attributes {known_block_size = array<i32: 256, 1, 1>} {
  %block = gpu.block_id x
  %thread = gpu.thread_id x
  %i = affine.apply affine_map<(d0, d1) -> (d0 * 256 + d1)>(%block, %thread)
  %n = arith.constant SIZE : index
  %inside = arith.cmpi ult, %i, %n : index
  scf.if %inside {
"""
GPU_TAIL = "  }\n  gpu.return\n}\n}\n}"

CPU_HEAD = """func.func @k(%X: memref<SIZExTYPE> {llvm.noalias}, %Y: memref<SIZExTYPE> {llvm.noalias}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = arith.constant SIZE : index
  scf.for %i = %c0 to %n step %c1 {
"""
CPU_TAIL = "  }\n  return\n}"

BODY = """    %x = memref.load %X[%i] : memref<SIZExTYPE>
    COMPUTE
    memref.store %y, %Y[%i] : memref<SIZExTYPE>
"""


def elementwise(compute: str, kind: str = "f64", size: int = 100, gpu: bool = False) -> str:
    """A kernel over vectors; `compute` makes `%y` of `%x`, for example `%y = math.exp %x : TYPE`."""
    head, tail = (GPU_HEAD, GPU_TAIL) if gpu else (CPU_HEAD, CPU_TAIL)
    text = head + BODY.replace("COMPUTE", compute) + tail
    return text.replace("SIZE", str(size)).replace("TYPE", kind)


def llvm_text(text: str, target: Target = CPU, fast_math: bool = False) -> str:
    """LLVM IR as upstream translates it."""
    with ir.Context():
        module = ir.Module.parse(text)
        lower_to_llvm_dialect(module, Settings(target, fast_math=fast_math))
        return translate(module, backend_of(target).dialect[0])


def compiled(
    text: str,
    inputs: Sequence[Parameter],
    outputs: Sequence[Parameter],
    temporaries: Sequence[Temporary] = (),
    level: int = 3,
    fast_math: bool = False,
) -> HostKernel:
    """A running kernel of a module whose function is `@k`."""
    code = object_code(complete(llvm_text(text, fast_math=fast_math)), level)
    return loaded(Interface("k", tuple(inputs), tuple(outputs), tuple(temporaries)), code)


@cache
def function(name: str, kind: str, size: int = 4096, fast_math: bool = False) -> HostKernel:
    """A `math` op over a vector."""
    text = elementwise(f"%y = math.{name} %x : TYPE", kind, size)
    inputs, outputs = [Parameter("x", kind, (size,))], [Parameter("y", kind, (size,))]
    return compiled(text, inputs, outputs, fast_math=fast_math)


def apply(name: str, kind: str, x: Array, fast_math: bool = False) -> Array:
    """A `math` op at these points, the last of which fills up the vector."""
    size = 4096
    parts: list[Array] = []
    for start in range(0, len(x), size):
        part = x[start : start + size]
        padded = np.resize(part, size).astype(numpy_type(kind))
        parts.append(function(name, kind, fast_math=fast_math)([padded])[0][: len(part)])
    return np.concatenate(parts)
