"""What a GPU can do: bytes copied and f32 products added in a second, measured."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median

from tadc.backend.cuda import api
from tadc.backend.cuda.device import Device

#: Independent sums of a thread, and fused products of each in a round of the loop.
CHAINS, ROUND = 8, 16
THREADS, BLOCKS_EACH = 256, 8


@dataclass(frozen=True)
class Ceilings:
    """Bytes that a copy reads and writes, and operations in f32 (a fused product is two), in a second."""

    bytes: float
    operations: float


def measure(device: Device, copied: int = 1 << 30, rounds: int = 4096) -> Ceilings:
    """Both ceilings; the median of some runs."""
    return Ceilings(_copy(device, copied), _products(device, rounds))


def _copy(device: Device, count: int) -> float:
    a, b = device.allocate(count), device.allocate(count)
    library = device.driver.library
    times = _times(device, lambda: library.cuMemcpyDtoDAsync_v2(b.address, a.address, count, 0))
    return 2 * count / median(times)


def _products(device: Device, rounds: int) -> float:
    blocks = BLOCKS_EACH * device.driver.attribute(device.number, api.MULTIPROCESSORS)
    room = device.allocate(4 * blocks * THREADS)
    kernel = device.function(_text().encode(), "peak")
    arguments = [room.address, rounds]
    times = _times(device, lambda: device.driver.launch(kernel, (blocks, 1, 1), (THREADS, 1, 1), arguments))
    return 2 * CHAINS * ROUND * rounds * blocks * THREADS / median(times)


def _times(device: Device, work: object, repeats: int = 5) -> list[float]:
    assert callable(work)
    with device.current() as driver:
        begin, end = driver.event(), driver.event()
        times: list[float] = []
        for n in range(repeats + 1):
            driver.record(begin)
            work()
            driver.record(end)
            if n:
                times.append(driver.elapsed(begin, end) / 1e3)
            else:
                driver.synchronize()
        return times


def _text() -> str:
    """PTX of a kernel that only adds products, in chains that do not wait for each other."""
    names = [f"%f{n}" for n in range(CHAINS)]
    start = [f"add.rn.f32 {name}, %f90, 0f{0x3F800000 + n:08X};" for n, name in enumerate(names)]
    loop = [f"fma.rn.f32 {name}, {name}, %f91, %f92;" for _ in range(ROUND) for name in names]
    end = [f"add.rn.f32 %f0, %f0, {name};" for name in names[1:]]
    return "\n".join(
        [
            ".version 6.0", ".target sm_70", ".address_size 64",
            ".visible .entry peak(.param .u64 room, .param .u64 rounds)", "{",
            ".reg .pred %p<2>; .reg .b32 %r<5>; .reg .f32 %f<99>; .reg .b64 %rd<9>;",
            "ld.param.u64 %rd1, [room];", "ld.param.u64 %rd2, [rounds];",
            "mov.u32 %r1, %tid.x;", "mov.u32 %r2, %ctaid.x;", f"mad.lo.s32 %r3, %r2, {THREADS}, %r1;",
            "cvt.rn.f32.u32 %f90, %r1;", "mov.f32 %f91, 0f3F7FFFFF;", "mov.f32 %f92, 0f33800000;",
            *start, "$loop:", *loop, "sub.s64 %rd2, %rd2, 1;", "setp.ne.b64 %p1, %rd2, 0;", "@%p1 bra $loop;",
            *end, "mul.wide.u32 %rd3, %r3, 4;", "add.s64 %rd4, %rd1, %rd3;", "st.global.f32 [%rd4], %f0;",
            "ret;", "}", "",
        ]
    )  # fmt: skip
