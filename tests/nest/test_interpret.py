"""The interpreter of nests: gradients against values, sums in the order that it states, and its faults."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from numpy.typing import NDArray

from bench.workloads import WORKLOADS
from tadc.passes.maps.map import MapFunction
from tadc.passes.nest.interpret import NestFault, TooManyAccesses, interpret
from tadc.passes.nest.nest_reader import read_nest
from tadc.passes.nest.plain import plain_nests
from tests.nest.programs import PROGRAMS, maps_of_program

Array = NDArray[np.float64]

SIZES = {
    "orbit": {"T": 4},
    "attention": {"Q": 3, "D": 2, "K": 4, "E": 2},
    "conv2d": {"B": 1, "C": 2, "H": 5, "W": 4, "F": 2, "P": 2, "Q": 3},
    **{workload.name: workload.small for workload in WORKLOADS},
}


def computed(maps: MapFunction, arrays: dict[str, Array], sizes: dict[str, int]) -> list[Array]:
    """The results of all nests of a function, of which each element is written once."""
    known = dict(arrays)
    for nest in plain_nests(maps):
        run = interpret(nest, known, sizes)
        assert run.unwritten == {}
        assert set(run.writes.values()) <= {1}
        known |= run.results
    return [known[result] for result in maps.results]


@pytest.mark.parametrize("name", ["orbit", "attention", "conv2d", "log_sum"])
def test_gradients_of_programs_are_those_of_their_values(name: str) -> None:
    maps = maps_of_program(PROGRAMS[name])
    sizes = {size: SIZES[name][size] for size in maps.sizes}
    rng = np.random.default_rng(1)
    shapes = {t.name: tuple(e.evaluate(sizes) for e in t.shape) for t in maps.arguments}
    *primal, cotangent = shapes
    arrays = {name: rng.uniform(0.5, 1.5, shape) for name, shape in shapes.items()}
    along = {name: rng.uniform(-1, 1, shapes[name]) for name in primal}
    _, *gradients = computed(maps, arrays, sizes)

    def moved(by: float) -> float:
        there = {name: arrays[name] + by * along[name] for name in primal} | {cotangent: arrays[cotangent]}
        return float(np.vdot(computed(maps, there, sizes)[0], arrays[cotangent]))

    slope = sum(float(np.vdot(g, along[name])) for g, name in zip(gradients, primal, strict=True))
    assert slope == pytest.approx((moved(1e-6) - moved(-1e-6)) / 2e-6, rel=1e-6)


def total(takes: str, x: np.ndarray, kind: str = "sum") -> float:
    text = (
        f"nest f(x: f32[N], out y: f32[]) {{ sizes N"
        f" %1 = {kind} k where 0 <= k <= N - 1 {takes} {{ %0 = x[k] give %0 }} y[] = %1 }}"
    )
    return interpret(read_nest(text), {"x": x}, {"N": len(x)}).results["y"].item()


LANES = """nest f(x: f32[N], out y: f32[]) { sizes N
    %1 = KIND l lane where 0 <= l <= 3 {
        %2 = KIND p jam where 0 <= p <= 1 {
            %3 = KIND k where 0 <= k and 8*k + 4*p + l <= N - 1 { %0 = x[8*k + 4*p + l] give %0 }
            give %3
        }
        give %2
    }
    y[] = %1 }"""


def in_lanes(x: np.ndarray, kind: str = "sum") -> float:
    nest = read_nest(LANES.replace("KIND", kind))
    return interpret(nest, {"x": x}, {"N": len(x)}).results["y"].item()


def of_threads(x: np.ndarray, count: int, warp: int) -> float:
    text = f"""nest f(x: f32[N], out y: f32[]) {{ sizes N
        %1 = sum t thread {f"warp {warp}" if warp > 1 else ""} where 0 <= t <= {count - 1} {{
            %2 = sum k where 0 <= k and {count}*k + t <= N - 1 {{ %0 = x[{count}*k + t] give %0 }}
            give %2
        }}
        y[] = %1 }}"""
    return interpret(read_nest(text), {"x": x}, {"N": len(x)}).results["y"].item()


@pytest.mark.parametrize("count", [0, 1, 7, 8, 37])
def test_sums_add_in_the_order_that_they_state(count: int) -> None:
    x = np.random.default_rng(count).uniform(-1, 1, count).astype(np.float32)

    def added(numbers) -> np.float32:
        found = np.float32(0)
        for number in numbers:
            found = found + number
        return found

    assert total("", x) == added(x)
    lanes = [[added(x[4 * p + n :: 8]) for n in range(4)] for p in range(2)]
    blocks = [x[begin : begin + 12] for begin in range(0, count, 12)]
    a, b, c, d = (low + high for low, high in zip(*lanes, strict=True))
    assert in_lanes(x) == (a + c) + (b + d)
    blocks = [x[begin : begin + 12] for begin in range(0, count, 12)]
    each = [added(x[n::12]) for n in range(12)]
    warps = [(w[0] + w[2]) + (w[1] + w[3]) for w in (each[:4], each[4:8], each[8:])]
    assert of_threads(x, 12, 4) == (warps[0] + warps[1]) + warps[2]
    assert of_threads(x, 3, 1) == (added(x[::3]) + added(x[1::3])) + added(x[2::3])
    text = """nest f(x: f32[N], out y: f32[]) { sizes N
        %1 = sum c, b, a unroll where 0 <= c and 0 <= b <= 3 and 0 <= a <= 2 and 12*c + 4*a + b <= N - 1 {
            %0 = x[12*c + 4*a + b]
            give %0
        }
        y[] = %1 }"""
    strided = interpret(read_nest(text), {"x": x}, {"N": count}).results["y"].item()
    assert strided == added([e for block in blocks for n in range(4) for e in block[n::4]])
    if count:
        assert in_lanes(x, "max") == x.max()
        assert total("", x, "logsumexp") == pytest.approx(np.log(np.exp(x).sum()), rel=1e-5)


def test_each_operation_rounds_to_its_type() -> None:
    text = """nest f(x: f32[2], out y: f32[], out z: f64[]) {
        %0 = x[0] %1 = x[1] %2 = %0 * %1 %3 = %2 + %1 y[] = %3
        %4: f64 = convert(%0) %5: f64 = convert(%1) %6 = %4 * %5 %7 = %6 + %5 z[] = %7 }"""
    x = np.array([1 / 3, 1e-4], np.float32)
    found = interpret(read_nest(text), {"x": x}).results
    assert found["y"] == x[0] * x[1] + x[1]
    assert found["z"] == float(x[0]) * float(x[1]) + float(x[1])
    assert found["z"] != found["y"]


def test_what_is_read_and_written_is_noted() -> None:
    text = """nest f(x: f64[3], out y: f64[2, 2]) {
        for i = 0 to 2 {
            stage p: f64[2] in stack
            for j = 0 to 2 { %0 = x[i + j] p[j] = %0 }
            for j = 0 to 2 lane {
                %1 = p[1 - j] y[i, j] = %1
                if i = 1 and j >= 1 { %2 = 1.0 y[i, j] = %2 joins sum unless i = 0 }
            }
        }
    }"""
    run = interpret(read_nest(text), {"x": np.array([1.0, 2.0, 4.0])})
    assert run.results["y"].tolist() == [[2, 1], [4, 3]]
    assert run.reads == Counter({("x", 0): 1, ("x", 1): 2, ("x", 2): 1})
    assert run.writes == Counter({("y", 0): 1, ("y", 1): 1, ("y", 2): 1, ("y", 3): 2})


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("for i = 0 to 5 { %0 = x[i] y[0] = %0 }", "`x[4]` is outside of its shape [4]"),
        ("for i = 0 to 4 { %0 = x[i] y[i - 1] = %0 }", "`y[-1]` is outside of its shape [4]"),
        ("%0 = y[2] y[0] = %0", "`y[2]` is read, but nothing wrote it"),
        ("stage p: f64[2] in stack %0 = p[1] y[0] = %0", "`p[1]` is read, but nothing wrote it"),
        ("for i = 0 to 4 { know i <= 2 %0 = x[i] y[i] = %0 }", "what is said to be known does not hold"),
    ],
)
def test_faults(body: str, message: str) -> None:
    nest = read_nest(f"nest f(x: f64[4], out y: f64[4]) {{ {body} }}")
    with pytest.raises(NestFault) as caught:
        interpret(nest, {"x": np.zeros(4)})
    assert caught.value.message == message


def test_what_is_not_written_is_told_and_what_takes_too_long() -> None:
    nest = read_nest("nest f(out y: f64[2, 2]) { for i = 0 to 2 { %0 = 1.0 y[i, i] = %0 } }")
    run = interpret(nest, {})
    assert run.unwritten == {"y": [(0, 1), (1, 0)]}
    with pytest.raises(TooManyAccesses):
        interpret(nest, {}, most=1)
    with pytest.raises(ValueError, match=r"needs an array of shape \(4,\)"):
        interpret(read_nest("nest f(x: f64[4], out y: f64[4]) { }"), {"x": np.zeros(3)})
