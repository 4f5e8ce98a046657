"""What this machine can do at most: fused multiply-adds, and bytes from and to memory or caches, a second.

Williams, Waterman, Patterson, "Roofline", CACM 52 (2009). Bandwidth is that of STREAM's triad
(McCalpin 1995): three arrays, together as large as is asked for.
"""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any

import numpy as np

from tadc.backend.binding import binding

#: Enough chains of multiply-adds to hide the latency of one, and few enough for the registers.
CHAINS = 12
#: Bytes of the triad that are more than the caches of a core.
MEMORY = 3 << 26
#: A measurement moves so many bytes at least: a thread begins in some 50 microseconds.
LEAST = 1 << 26
REPETITIONS = 30

_TYPES: dict[str, tuple[str, Any, int]] = {"f32": ("float", np.float32, 4), "f64": ("double", np.float64, 8)}


def flops(dtype: str, threads: int, repetitions: int = REPETITIONS) -> float:
    """Floating-point operations a second of fused multiply-adds in registers; each counts two."""
    fma, _, lanes = _kernels(dtype)
    sink = [np.zeros(lanes * CHAINS, _TYPES[dtype][1]) for _ in range(threads)]
    steps = 1 << 18

    def work(thread: int) -> None:
        fma(steps, sink[thread].ctypes.data)

    return 2 * lanes * CHAINS * steps * threads / _fastest(work, threads, repetitions)


def triad(dtype: str, threads: int, size: int = MEMORY, repetitions: int = REPETITIONS) -> float:
    """Bytes a second of `a = b + s * c`, two read and one written, over arrays of `size` bytes in all.

    Of few bytes it is the bandwidth of the cache that holds them.
    """
    _, kernel, lanes = _kernels(dtype)
    _, element, itemsize = _TYPES[dtype]
    each = max(1, size // 3 // itemsize // threads // lanes) * lanes
    times = max(1, LEAST // size)
    arrays = [[np.ones(each, element) for _ in range(3)] for _ in range(threads)]

    def work(thread: int) -> None:
        kernel(times, each, *(array.ctypes.data for array in arrays[thread]))

    return 3 * each * itemsize * threads * times / _fastest(work, threads, repetitions)


def _fastest(work: Callable[[int], None], threads: int, repetitions: int) -> float:
    """The least time that all threads take for their work; native code runs without Python's lock."""
    with ThreadPoolExecutor(threads) as pool:
        found: list[float] = []
        for _ in range(repetitions):
            begin = time.perf_counter()
            list(pool.map(work, range(threads)))
            found.append(time.perf_counter() - begin)
        return min(found)


@cache
def _kernels(dtype: str) -> tuple[Callable[..., None], Callable[..., None], int]:
    """The multiply-adds, the triad, and the elements of a vector."""
    name, _, itemsize = _TYPES[dtype]
    llvm = binding()
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
    triad_ = ctypes.CFUNCTYPE(None, count, count, pointer, pointer, pointer)(library["triad"])
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
            "define void @triad(i64 %times, i64 %n, ptr %a, ptr %b, ptr %c) #0 {",
            "entry:",
            "  br label %again",
            "again:",
            "  %t = phi i64 [ 0, %entry ], [ %next, %done ]",
            "  br label %loop",
            "loop:",
            "  %i = phi i64 [ 0, %again ], [ %j, %loop ]",
            f"  %pb = getelementptr {element}, ptr %b, i64 %i",
            f"  %pc = getelementptr {element}, ptr %c, i64 %i",
            f"  %pa = getelementptr {element}, ptr %a, i64 %i",
            f"  %x = load {vector}, ptr %pb, align 4",
            f"  %y = load {vector}, ptr %pc, align 4",
            f"  %z = call {vector} {intrinsic}({vector} %y, {vector} {ones}, {vector} %x)",
            f"  store {vector} %z, ptr %pa, align 4",
            f"  %j = add i64 %i, {lanes}",
            "  %more = icmp slt i64 %j, %n",
            "  br i1 %more, label %loop, label %done",
            "done:",
            "  %next = add i64 %t, 1",
            "  %further = icmp slt i64 %next, %times",
            "  br i1 %further, label %again, label %end",
            "end:",
            "  ret void",
            "}",
            attributes,
            "",
        ]
    )
