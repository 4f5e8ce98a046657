"""Element loops in parts: the same bits as one plain loop, and vectors where it had none."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
import pytest

import tadc
from tadc.api.execute import compile_program, evaluate
from tadc.backend.object_code import optimised
from tadc.compiler.all_stages import compile_until
from tadc.compiler.compile_options import Options
from tadc.compiler.derive import derive
from tadc.compiler.stages import Compilation
from tadc.frontend.extents import shape_at
from tadc.frontend.terms import Guard, Reduce, reachable
from tadc.passes.schedule import plans
from tadc.passes.schedule.splits import WHOLE

#: Programs by a size, which meets the strides' multiples and misses them.
PROGRAMS: dict[str, Callable[[int], str]] = {
    "stride": lambda n: f"x: f64[{3 * n + 2}]\nf[i: {n}] = x[3*i + 1]**3",
    "two strides": lambda n: f"x: f64[{2 * n + 3}]\nf[i: {n}] = x[2*i]**2 * x[2*i + 1]",
    "convolution": lambda n: f"x: f64[{2 * n + 3}]\nw: f64[5]\nf[i: {n}] = sum{{k}} (w[k] * x[2*i + k])",
    "dilated": lambda n: f"x: f64[{3 * n + 6}]\nw: f64[4]\nf[i: {n}] = sum{{k}} (w[k] * x[3*i + 2*k])",
    "two dimensions": lambda n: (
        f"x: f64[{2 * n + 2}, {2 * n + 4}]\nw: f64[3, 3]\n"
        f"f[i: {n}, j: {n}] = sum{{u, v}} (w[u, v] * x[2*i + u, 2*j + v])"
    ),
    "zero padding": lambda n: (
        f"x: f64[{n}]\nw: f64[3]\n"
        f"f[i: {n}] = sum{{k}}_(max [0; 1 - i])^(min [2; {n} - i]) (w[k] * x[i + k - 1])"
    ),
    "upsampling": lambda n: (
        f"x: f64[{n + 1}]\ny: f64[{2 * n}]\n"
        f"f[i: {2 * n + 1}] = x[i // 2] * if {{i >= 1}} then (y[i - 1]) else (1)"
    ),
    "tiling": lambda n: f"x: f64[3]\ny: f64[5]\nf[i: {n}] = x[i % 3] * y[i % 5]",
    "conditions": lambda n: (
        f"x: f64[{n + 1}]\nf[i: {n}] = if {{i % 3 = 1 and i // 4 < 3}} then (x[i]**2) else (x[i // 2])"
    ),
    "floor of a floor": lambda n: f"x: f64[{n + 1}]\nf[i: {n}] = x[(i // 2 + i) // 3]**2 * (i % 2)",
    "two indices": lambda n: f"x: f64[{n + 1}, 2]\nf[i: {n}, j: {n}] = x[(i + j) // 2, i % 2]**2",
    "maximum": lambda n: f"x: f64[{2 * n + 3}]\nf[i: {n}] = max{{k: 3}} (x[2*i + k])",
}


@pytest.mark.parametrize("size", [0, 1, 2, 5, 12, 23])
@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_same_bits(program: Callable[[int], str], size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Values and gradients are those of plain loops; vectors would take sums in another order."""
    monkeypatch.setattr(plans, "tiling_of", lambda *_: None)
    derived = derive(tadc.function(program(size)).program, "value-and-vjp")
    random = np.random.default_rng(size)
    arrays = {a.name: random.uniform(-1, 1, shape_at(a.shape, {})) for a in derived.arguments}
    found = evaluate(compile_program(derived), arrays)
    monkeypatch.setattr(plans, "parts_of", lambda item, extents: [WHOLE] * len(extents))
    for name, expected in evaluate(compile_program(derived), arrays).items():
        np.testing.assert_array_equal(found[name], expected)


STRIDED = {
    "stride": ("x: f64[4096]\nf[i: 2048] = x[2*i]", 0),
    "1-D": ("x: f64[4099]\nw: f64[5]\nf[i: 2048] = sum{k} (w[k] * x[2*i + k])", 4),
    "1-D, dilated": ("x: f64[6155]\nw: f64[5]\nf[i: 2048] = sum{k} (w[k] * x[3*i + 2*k])", 2),
    "2-D": ("x: f64[129, 129]\nw: f64[3, 3]\nf[i: 64, j: 64] = sum{u, v} (w[u, v] * x[2*i + u, 2*j + v])", 4),
}


def bodies(loops: str) -> list[str]:
    """The text of each loop."""
    return [found[2] for found in re.finditer(r"(?=^( *)(scf\.for .*?^\1})$)", loops, re.M | re.S)]


def loops_and_llvm(text: str) -> tuple[str, str]:
    """The loops of the gradient with respect to x, and what LLVM makes of them."""
    program = tadc.function(text).program
    state = Compilation(Options("vjp", wrt=("x",)), program.source, program=program)
    compile_until(state, "loops", first="tad")
    loops = str(state.module)
    compile_until(state, "llvm", first="llvm-dialect")
    return loops, optimised(state.llvm_ir)


@pytest.mark.parametrize(("text", "products"), STRIDED.values(), ids=STRIDED)
def test_strided_gradients_are_vectors(text: str, products: int) -> None:
    """The full part tests nothing, and its loop over the elements computes vectors."""
    loops, llvm = loops_and_llvm(text)
    full = [body for body in bodies(loops) if "vector.store" in body and "scf.if" not in body]
    assert full
    assert not any("remsi" in body or " mod " in body for body in full)
    assert len(re.findall(r"fmul <\d+ x double>|@llvm\.fma\.v\d+f64\(", llvm)) >= products
    assert re.search(r"store <\d+ x double>", llvm)


@pytest.mark.parametrize(
    "text",
    [text for text, _ in STRIDED.values()]
    + ["x: f64[40, 40]\nw: f64[3, 3]\nf[i: 10, j: 10] = sum{u, v} (w[u, v] * x[2*i + 3*u, 3*j + 2*v])"],
)
def test_sums_iterate_residues(text: str) -> None:
    """Where a sum is left, a stride is a step of its index, not a test of a remainder in it."""
    derived = derive(tadc.function(text).program, "vjp", wrt=("x",))
    for definition in derived.definitions:
        for term in reachable([definition.body]):
            if isinstance(term, Reduce):
                assert not any(isinstance(inner, Guard) for inner in reachable([term.body]))


STENCIL = """u: f32[{n} + 2, {n} + 2]
f[i: {n}, j: {n}] = u[i, j + 1]**3 - 2 * u[i + 1, j] + 3 * u[i + 2, j + 2]"""


@pytest.mark.parametrize(("size", "is_apart"), [(240, True), (40, False)])
@pytest.mark.parametrize("target", ["cpu", "cpu:x86-64-v3"])
def test_guards_are_left_at_edges(size: int, is_apart: bool, target: str) -> None:
    """Where vectors are many no element that is in no edge is read under a mask."""
    f = tadc.function(STENCIL.format(n=size))
    gradient = tadc.vjp(f)
    assert ("peel u_1" in gradient.lower(target=target).as_text("schedule")) is is_apart
    random = np.random.default_rng(size)
    u, df = (random.uniform(-1, 1, [size + more] * 2).astype(np.float32) for more in (2, 0))
    expected = np.zeros(u.shape)
    expected[:-2, 1:-1] += 3.0 * u[:-2, 1:-1].astype(float) ** 2 * df
    expected[1:-1, :-2] -= 2.0 * df
    expected[2:, 2:] += 3.0 * df
    found = tadc.compile(gradient, target=target)(u, df)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


def test_vectors_may_have_more_code() -> None:
    """A body with nine guards is worth vectors for the work of some ten thousand elements."""
    taps = " + ".join(f"{n + 2}*u[i + {n % 3}, j + {n // 3}, k + {n * n % 3}]" for n in range(9))
    text = f"u: f32[32, 32, 32]\nf[i: 30, j: 30, k: 30] = {taps}"
    assert "lane" in tadc.vjp(tadc.function(text)).lower(target="cpu:x86-64-v3").as_text("schedule")
