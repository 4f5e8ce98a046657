"""What this machine can do at most: fused multiply-adds, exponentials, bytes from and to memory, a second.

Williams, Waterman, Patterson, "Roofline", CACM 52 (2009). Bandwidth is that of STREAM's triad
(McCalpin 1995): three arrays that are larger than the caches of a core.
"""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import llvmlite.binding as llvm
import numpy as np

import tadc
from bench.results import Roofline
from bench.timing import seconds

#: Enough chains of multiply-adds to hide the latency of one, and few enough for the registers.
CHAINS = 12
#: Bytes of each array of the triad.
TRIAD = 1 << 26
REPETITIONS = 30

_TYPES: dict[str, tuple[str, Any, int]] = {"f32": ("float", np.float32, 4), "f64": ("double", np.float64, 8)}


def measure(dtype: str, threads: int) -> Roofline:
    """The best of several measurements."""
    return Roofline(
        dtype, threads, flops(dtype, threads), exponentials(dtype) * threads, triad(dtype, threads)
    )


def flops(dtype: str, threads: int) -> float:
    """Floating-point operations a second of fused multiply-adds in registers; each counts two."""
    fma, _, lanes = _kernels(dtype)
    sink = [np.zeros(lanes * CHAINS, _TYPES[dtype][1]) for _ in range(threads)]
    steps = 1 << 19

    def work(thread: int) -> None:
        fma(steps, sink[thread].ctypes.data)

    return 2 * lanes * CHAINS * steps * threads / _fastest(work, threads)


def triad(dtype: str, threads: int) -> float:
    """Bytes a second of `a = b + s * c`, two read and one written."""
    _, kernel, lanes = _kernels(dtype)
    _, element, itemsize = _TYPES[dtype]
    each = TRIAD // itemsize // threads // lanes * lanes
    arrays = [[np.ones(each, element) for _ in range(3)] for _ in range(threads)]

    def work(thread: int) -> None:
        kernel(each, *(array.ctypes.data for array in arrays[thread]))

    return 3 * each * itemsize * threads / _fastest(work, threads)


def exponentials(dtype: str) -> float:
    """Exponentials a second of the fastest library here on one core, from its caches."""
    count = 1 << 15
    x = np.linspace(-5, 5, count, dtype=_TYPES[dtype][1])
    out = np.empty_like(x)
    kernel = tadc.compile(tadc.function(f"x: {dtype}[{count}]\ny[i] = exp(x[i])"))
    calls: list[Callable[[], object]] = [lambda: np.exp(x, out), lambda: kernel(x, out=out)]
    if find_spec("torch"):
        torch: Any = import_module("torch")
        torch_x, torch_out = torch.from_numpy(x), torch.from_numpy(out)
        before = torch.get_num_threads()
        torch.set_num_threads(1)
        calls.append(lambda: torch.exp(torch_x, out=torch_out))
        best = min(_repeated(call) for call in calls)
        torch.set_num_threads(before)
    else:
        best = min(_repeated(call) for call in calls)
    return count / best


def _repeated(call: Callable[[], object], times: int = 200) -> float:
    return min(seconds(call) for _ in range(times))


def _fastest(work: Callable[[int], None], threads: int) -> float:
    """The least time that all threads take for their work; native code runs without Python's lock."""
    with ThreadPoolExecutor(threads) as pool:
        found: list[float] = []
        for _ in range(REPETITIONS):
            begin = time.perf_counter()
            list(pool.map(work, range(threads)))
            found.append(time.perf_counter() - begin)
        return min(found)


@cache
def _kernels(dtype: str) -> tuple[Callable[..., None], Callable[..., None], int]:
    """The multiply-adds, the triad, and the elements of a vector."""
    name, _, itemsize = _TYPES[dtype]
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    features = llvm.get_host_cpu_features()
    width = 64 if features.get("avx512f") else 32 if features.get("avx") else 16
    lanes = width // itemsize
    target = llvm.Target.from_default_triple()
    machine = target.create_target_machine(
        cpu=llvm.get_host_cpu_name(), features=features.flatten(), opt=3, jit=True
    )
    jit = llvm.create_lljit_compiler(machine)
    builder = llvm.JITLibraryBuilder().add_ir(_text(name, lanes, width)).add_current_process()
    library = builder.export_symbol("fma").export_symbol("triad").link(jit, f"roofline {dtype}")
    pointer, count = ctypes.c_void_p, ctypes.c_int64
    fma = ctypes.CFUNCTYPE(None, count, pointer)(library["fma"])
    triad_ = ctypes.CFUNCTYPE(None, count, pointer, pointer, pointer)(library["triad"])
    fma.keep = (library, jit, machine)  # pyright: ignore[reportAttributeAccessIssue]
    return fma, triad_, lanes


def _text(element: str, lanes: int, width: int) -> str:
    vector = f"<{lanes} x {element}>"
    ones = f"<{', '.join([f'{element} 1.0'] * lanes)}>"
    intrinsic = f"@llvm.fma.v{lanes}f{8 * width // lanes}"
    chains = range(CHAINS)
    phis = [f"  %a{n} = phi {vector} [ {ones}, %entry ], [ %b{n}, %loop ]" for n in chains]
    steps = [f"  %b{n} = call {vector} {intrinsic}({vector} %a{n}, {vector} %f, {vector} %f)" for n in chains]
    stores = [
        line
        for n in chains
        for line in (
            f"  %p{n} = getelementptr {vector}, ptr %out, i64 {n}",
            f"  store {vector} %b{n}, ptr %p{n}, align 4",
        )
    ]
    attributes = (
        f'attributes #0 = {{ "prefer-vector-width"="{8 * width}" "min-legal-vector-width"="{8 * width}" }}'
    )
    return "\n".join(
        [
            f"declare {vector} {intrinsic}({vector}, {vector}, {vector})",
            "define void @fma(i64 %n, ptr %out) #0 {",
            "entry:",
            f"  %f = load {vector}, ptr %out, align 4",
            "  br label %loop",
            "loop:",
            "  %i = phi i64 [ 0, %entry ], [ %j, %loop ]",
            *phis,
            *steps,
            "  %j = add i64 %i, 1",
            "  %more = icmp slt i64 %j, %n",
            "  br i1 %more, label %loop, label %end",
            "end:",
            *stores,
            "  ret void",
            "}",
            "define void @triad(i64 %n, ptr %a, ptr %b, ptr %c) #0 {",
            "entry:",
            "  br label %loop",
            "loop:",
            "  %i = phi i64 [ 0, %entry ], [ %j, %loop ]",
            f"  %pb = getelementptr {element}, ptr %b, i64 %i",
            f"  %pc = getelementptr {element}, ptr %c, i64 %i",
            f"  %pa = getelementptr {element}, ptr %a, i64 %i",
            f"  %x = load {vector}, ptr %pb, align 4",
            f"  %y = load {vector}, ptr %pc, align 4",
            f"  %z = call {vector} {intrinsic}({vector} %y, {vector} {ones}, {vector} %x)",
            f"  store {vector} %z, ptr %pa, align 4",
            f"  %j = add i64 %i, {lanes}",
            "  %more = icmp slt i64 %j, %n",
            "  br i1 %more, label %loop, label %end",
            "end:",
            "  ret void",
            "}",
            attributes,
            "",
        ]
    )
