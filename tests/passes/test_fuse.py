"""Maps over the same elements in one nest of loops, against NumPy and against maps one by one."""

from __future__ import annotations

import random
import re
from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

import tadc
from tadc.api.execute import compile_program
from tadc.compiler.all_stages import compile_until
from tadc.compiler.compile_options import Options
from tadc.compiler.run_passes import run_passes
from tadc.compiler.stages import Compilation
from tadc.dialect.mlir import ir
from tadc.dialect.program_reader import tad_functions
from tadc.dialect.readable_text import parse_module
from tadc.frontend.program import Program
from tadc.frontend.source import Source
from tadc.passes import catalogue
from tadc.passes.maps.buffers import maps_of
from tadc.passes.maps.read_maps import read_maps
from tadc.passes.maps.reads_of_maps import Reads

Array = NDArray[np.float64]

#: How a tensor may read another of its shape, and the same of arrays.
READS: dict[str, Callable[[Array], Array]] = {
    "{}[i, j]": lambda x: x,
    "{}[N - 1 - i, j]": lambda x: x[::-1],
    "{}[i, M - 1 - j]": lambda x: x[:, ::-1],
    "sum{{k}} ({}[i, k])": lambda x: np.broadcast_to(x.sum(1, keepdims=True), x.shape),
    "sum{{k}} (w[j, k] * {}[i, k])": lambda x: x @ weights(x.shape[1]).T,
    "if {{j >= 2}} then ({}[i, j]) else (1)": lambda x: np.concatenate([np.ones_like(x[:, :2]), x[:, 2:]], 1),
}
JOINS: dict[str, Callable[[Array, Array], Array]] = {
    "{} + {}": np.add,
    "{} * {}": np.multiply,
    "{} - {}": np.subtract,
    "max({}, {})": np.maximum,
}


def weights(m: int) -> Array:
    """What the programs call w."""
    return np.arange(m**2.0).reshape(m, m) / 9


def random_program(seed: int) -> tuple[str, Callable[[Array, Array], dict[str, Array]]]:
    """Tensors of one shape that read each other, half of them returned; the same in NumPy."""
    rng = random.Random(seed)
    lines = ["a: f64[N, M]", "b: f64[N, M]", "w: f64[M, M]"]
    steps: list[tuple[str, list[str], list[str], list[str], bool]] = []
    names = ["a", "b"]
    for n in range(rng.randrange(3, 8)):
        read = [rng.choice(names) for _ in range(3)]
        how = [rng.choice([*READS, *["{}[i, j]"] * 6]) for _ in read]
        join = [rng.choice(list(JOINS)) for _ in range(2)]
        is_output = rng.random() < 0.5
        steps.append((f"t{n}", read, how, join, is_output))
        x, y, z = (f"({form.format(name)})" for form, name in zip(how, read, strict=True))
        text = join[1].format(f"({join[0].format(x, y)})", z)
        lines.append(f"{'' if is_output else 'let '}t{n}[i: N, j: M] = sin({text})")
        names.append(f"t{n}")
    lines.append(f"last[i: N, j: M] = {names[-1]}[i, j] + a[i, j]")

    def evaluate(a: Array, b: Array) -> dict[str, Array]:
        known, results = {"a": a, "b": b}, dict[str, Array]()
        for name, read, how, join, is_output in steps:
            x, y, z = (READS[form](known[tensor]) for form, tensor in zip(how, read, strict=True))
            known[name] = np.sin(JOINS[join[1]](JOINS[join[0]](x, y), z))
            if is_output:
                results[name] = known[name]
        return {**results, "last": known[names[-1]] + a}

    return "\n".join(lines), evaluate


def fused(text: str) -> list[int]:
    """How many tensors each map gives."""
    state = Compilation(Options(), Source(text, "<string>"))
    compile_until(state, "hoist")
    run_passes(state.module, "tad-fuse")
    (function,) = tad_functions(state.module.operation)
    return [len(op.results) for op in maps_of(function)]


@pytest.mark.parametrize("seed", range(16))
def test_random_programs(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of any size: the values of NumPy, with the bits of maps one by one."""
    text, evaluate = random_program(seed)
    program: Program = tadc.function(text).program
    together = compile_program(program)
    monkeypatch.setattr(catalogue, "fused", lambda maps, cost, where: maps)
    apart = compile_program(program)
    rng = np.random.default_rng(seed)
    for n, m in ((0, 3), (1, 1), (2, 40), (33, 17), (5, 0)):
        a, b = rng.uniform(-1, 1, (2, n, m))
        w = weights(m)
        found, alone = (c.kernel((a, b, w)) for c in (together, apart))
        for name, x, y in zip((d.name for d in program.outputs), found, alone, strict=True):
            np.testing.assert_array_equal(x, y)
            np.testing.assert_allclose(x, evaluate(a, b)[name], rtol=1e-8, atol=1e-9)


def test_some_random_programs_are_fused() -> None:
    assert sum(max(fused(random_program(seed)[0])) > 1 for seed in range(16)) > 8


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x: f64[N]\nf[i] = exp(x[i])\ng[i] = sin(x[i])", [2]),
        ("x: f64[N]; y: f64[N]\nf[i] = exp(x[i])\ng[i] = sin(y[i])", [1, 1]),
        ("x: f64[N]; y: f64[M]\nf[i] = exp(x[i])\ng[i: M] = sin(y[i])", [1, 1]),
        ("x: f64[N]\nlet h[i] = exp(x[i])\nf[i: N] = h[i]**2", [1]),
        ("x: f64[N]\nlet h[i] = exp(x[i])\nf[i: N] = h[N - 1 - i]**2", [1, 1]),
        # What f needs of h is not computed yet where h is fused with g.
        ("x: f64[N]\nh[i] = exp(x[i])\nf[i: N] = h[N - 1 - i]\ng[i: N] = h[i] + f[i]", [1, 2]),
        ("x: f64[N]\nh[i] = exp(x[i])\nf[i: N] = h[N - 1 - i]\ng[i] = x[i]**2", [2, 1]),
        ("x: f32[N]; g: f64[N]; f: f32[N]\nf[i] = exp(x[i])\nh[i] = x[i] * g[i]", [1, 1]),
        # Sums over the places of one value that read the same elements.
        (
            "d: index[E] in N; h: f64[E, 9]; u: f64[N]\ny[n: N, c: 9] = sum{e: d[e] = n} (relu(h[e, c]))\n"
            "z[n: N, c: 9] = sum{e: d[e] = n} (max(h[e, c], u[n]))",
            [2],
        ),
    ],
)
def test_what_is_fused(text: str, expected: list[int]) -> None:
    assert fused(text) == expected


@pytest.mark.parametrize(("k", "expected"), [(1400, [1, 1]), (32, [1])])
def test_a_product_of_matrices_keeps_its_blocks(k: int, expected: list[int]) -> None:
    """Where a sum goes to memory between blocks of it, nothing else can be computed with it."""
    product = f"a: f32[700, {k}]; b: f32[{k}, 700]\nlet c[i, j] = sum{{n}} (a[i, n] * b[n, j])"
    assert fused(f"{product}\nf[i: 700, j: 700] = exp(c[i, j])") == expected


def test_maps_that_nothing_reads() -> None:
    """Two that belong together, and are needed by no result."""
    text = """
    func.func @f(%x: tensor<4xf64> {tad.name = "x"}) -> (tensor<4xf64> {tad.name = "f"}) {
      %g = tad.map (%i) -> tensor<4xf64> {
        %0 = tad.read %x[%i] : tensor<4xf64>
        %1 = math.exp %0 : f64
        tad.yield %1 : f64
      }
      %h = tad.map (%i) -> tensor<4xf64> {
        %0 = tad.read %g[%i] : tensor<4xf64>
        %1 = arith.mulf %0, %0 : f64
        tad.yield %1 : f64
      }
      %f = tad.map (%i) -> tensor<4xf64> {
        %0 = tad.read %x[%i] : tensor<4xf64>
        tad.yield %0 : f64
      }
      return %f : tensor<4xf64>
    }"""
    module = parse_module(text, ir.Context())
    run_passes(module, "tad-fuse")
    (function,) = tad_functions(module.operation)
    assert [len(op.results) for op in maps_of(function)] == [1]


def test_what_a_factor_of_0_leaves_unread() -> None:
    """The sum over k is needed by nothing once the empty sum over l is 0."""
    f = tadc.function("z: f64; x: f64[9]\nf[i: 3] = tanh(sum{k}_0^3 ((z*z)**2) * sum{l}_1^0 (x[i + l]))")
    with pytest.warns(tadc.CompileWarning, match="zero almost everywhere"):
        gradient = tadc.vjp(f)
    names = set(re.findall(r"%(\w+) = tad.map", gradient.lower().as_text("hoist")))
    assert names == {"dx", "dz"}
    z, x = np.float64(1.5), np.linspace(0, 1, 9)
    found = gradient(z=z, x=x, df=np.ones(3))
    assert not any(np.any(d) for d in found)
    values = tadc.jvp(f)(z=z, x=x, z_dot=z, x_dot=x)
    assert not any(np.any(v) for v in values)


def test_threads() -> None:
    """The same bits for any number of threads."""
    text, evaluate = random_program(3)
    f = tadc.compile(tadc.function(text))
    a, b = np.random.default_rng(0).uniform(-1, 1, (2, 300, 170))
    w = weights(170)
    before = tadc.get_num_threads()
    try:
        results: list[list[Array]] = []
        for count in (1, 2, 3):
            tadc.set_num_threads(count)
            found = f(a, b, w)
            results.append(list(found) if isinstance(found, tuple) else [found])
    finally:
        tadc.set_num_threads(before)
    for x, y, z, name in zip(*results, evaluate(a, b), strict=True):
        np.testing.assert_array_equal(x, y)
        np.testing.assert_array_equal(x, z)
        np.testing.assert_allclose(x, evaluate(a, b)[name], rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("dtype", ["f32", "f64"])
@pytest.mark.parametrize(("n", "m"), [(0, 3), (1, 1), (37, 5), (300, 129)])
def test_rows_of_a_gradient(dtype: str, n: int, m: int) -> None:
    """Sums that share an exponential, of f and of each element of a row of its gradients."""
    f = tadc.function(
        f"x: {dtype}[N, 3]; q: {dtype}[M, 3]\nf[j] = sum{{i}} (exp(-sum{{k}} ((q[j, k] - x[i, k])**2)))"
    )
    rng = np.random.default_rng(n)
    x, q, df = rng.uniform(-1, 1, (n, 3)), rng.uniform(-1, 1, (m, 3)), rng.uniform(-1, 1, m)
    apart = q[:, None] - x
    pairs = np.exp(-(apart**2).sum(2))
    weights = (2 * pairs * df[:, None])[:, :, None] * apart
    type = np.float32 if dtype == "f32" else np.float64
    found = tadc.value_and_vjp(f)(*(a.astype(type) for a in (x, q, df)))
    for one, other in zip(found, (pairs.sum(1), weights.sum(0), -weights.sum(1)), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-4 if dtype == "f32" else 1e-12)


def test_a_row_is_computed_with_the_value() -> None:
    """f and the row of its gradient by q in one map, that by x in another; two put the rows together."""
    text = "x: f64[N, 2]; q: f64[M, 2]\nf[j] = sum{i} (exp(-sum{k} ((q[j, k] - x[i, k])**2)))"
    state = Compilation(Options(mode="value-and-vjp"), Source(text, "<string>"))
    compile_until(state, "hoist")
    run_passes(state.module, "tad-rows,tad-fuse")
    (function,) = tad_functions(state.module.operation)
    assert sorted(len(op.results) for op in maps_of(function)) == [1, 1, 2, 3]


@pytest.mark.parametrize("n", [0, 1, 40, 1000])
def test_sums_of_one_map(n: int) -> None:
    """With one loop for both, masked where its bounds move with the element."""
    f = tadc.function(
        "x: f64[N]\nf[i: N] = sum{j}_0^(i) (exp(x[j] - x[i]) * x[j]) / sum{j}_0^(i) (exp(x[j] - x[i]))"
    )
    x = np.random.default_rng(n).uniform(-1, 1, n)
    weights = np.tril(np.exp(x - x[:, None]))
    np.testing.assert_allclose(f(x), weights @ x / weights.sum(1), rtol=1e-12)


def test_reads_are_in_the_order_of_the_program() -> None:
    """Which group a map joins depends on their order, and code is not to depend on addresses of values."""
    names = [f"x{n}" for n in range(12)]
    text = "\n".join(f"{name}: f64[8]" for name in names)
    text += "\nf[i] = " + " + ".join(f"{name}[i]" for name in names)
    text += " + " + " + ".join(f"exp(sum{{j}} (exp({name}[j]*{name}[i])))" for name in names)
    state = Compilation(Options(), Source(text, "<string>"))
    compile_until(state, "tad")
    (function,) = tad_functions(state.module.operation)
    reads = Reads(read_maps(function).maps[0])
    assert [tensor for tensor, _ in reads.elements] == names
    assert [tensor for _, tensor, _ in reads.summed] == names
