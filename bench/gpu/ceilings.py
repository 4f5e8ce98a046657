"""What a GPU can do: bytes copied and products added in a second, measured."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from statistics import median

from tadc.backend.cuda import api
from tadc.backend.cuda.device import Device

#: Independent sums of a thread, and fused products of each in a round of the loop.
CHAINS, ROUND = 8, 16
THREADS, BLOCKS_EACH = 256, 8


@dataclass(frozen=True)
class Ceilings:
    """Bytes that a copy reads and writes, and operations (a fused product is two), in a second."""

    bytes: float
    f32: float
    f64: float


def measure(device: Device, copied: int = 1 << 30, rounds: int = 4096) -> Ceilings:
    """All ceilings; the median of some runs."""
    return Ceilings(_copy(device, copied), *(_products(device, rounds, bits) for bits in (32, 64)))


def _copy(device: Device, count: int) -> float:
    a, b = device.allocate(count), device.allocate(count)
    times = _times(device, lambda: device.driver.copy_within(b.address, a.address, count))
    return 2 * count / median(times)


def _products(device: Device, rounds: int, bits: int) -> float:
    blocks = BLOCKS_EACH * device.driver.attribute(device.number, api.MULTIPROCESSORS)
    room = device.allocate(bits // 8 * blocks * THREADS)
    kernel = device.function(_text(bits).encode(), "peak")
    arguments = [room.address, rounds]
    times = _times(device, lambda: device.driver.launch(kernel, (blocks, 1, 1), (THREADS, 1, 1), arguments))
    return 2 * CHAINS * ROUND * rounds * blocks * THREADS / median(times)


def _times(device: Device, work: Callable[[], None], repeats: int = 5) -> list[float]:
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


def _text(bits: int) -> str:
    """PTX of a kernel that only adds products, in chains that do not wait for each other."""
    type = f"f{bits}"
    names = [f"%f{n}" for n in range(CHAINS)]
    start = [f"add.rn.{type} {name}, %f90, %f{91 + n % 2};" for n, name in enumerate(names)]
    loop = [f"fma.rn.{type} {name}, {name}, %f91, %f92;" for _ in range(ROUND) for name in names]
    end = [f"add.rn.{type} %f0, %f0, {name};" for name in names[1:]]
    almost_one, small = (
        ("0f3F7FFFFF", "0f33800000") if bits == 32 else ("0d3FEFFFFFFFFFFFFF", "0d3E70000000000000")
    )
    return "\n".join(
        [
            ".version 6.0", ".target sm_70", ".address_size 64",
            ".visible .entry peak(.param .u64 room, .param .u64 rounds)", "{",
            f".reg .pred %p<2>; .reg .b32 %r<5>; .reg .{type} %f<99>; .reg .b64 %rd<9>;",
            "ld.param.u64 %rd1, [room];", "ld.param.u64 %rd2, [rounds];",
            "mov.u32 %r1, %tid.x;", "mov.u32 %r2, %ctaid.x;", f"mad.lo.s32 %r3, %r2, {THREADS}, %r1;",
            f"cvt.rn.{type}.u32 %f90, %r1;", f"mov.{type} %f91, {almost_one};", f"mov.{type} %f92, {small};",
            *start, "$loop:", *loop, "sub.s64 %rd2, %rd2, 1;", "setp.ne.b64 %p1, %rd2, 0;", "@%p1 bra $loop;",
            *end, f"mul.wide.u32 %rd3, %r3, {bits // 8};", "add.s64 %rd4, %rd1, %rd3;",
            f"st.global.{type} [%rd4], %f0;", "ret;", "}", "",
        ]
    )  # fmt: skip
