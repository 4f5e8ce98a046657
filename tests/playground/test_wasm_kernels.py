"""Kernels of the playground, run by node: against the compiler, and functions against Python's."""

from __future__ import annotations

import base64
import json
import math
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tadc
from docs.site.playground_examples import EXAMPLES, Example, write_kernel
from tadc.frontend.extents import shape_at
from tadc.frontend.functions import FUNCTIONS
from tadc.frontend.program import Program
from tadc.lattice.form_json import form_of
from tadc.passes.numpy_types import numpy_type
from tadc.playground.answers import ANSWERS, hoisted
from tadc.playground.wasm_kernels import Placed, wasm_kernel
from tests.fuzz.generate import generate
from tests.pages import ROOT

pytestmark = pytest.mark.skipif(shutil.which("node") is None, reason="no node, which runs the kernels")

#: Programs by what they have: what it takes to run them is here, and no more.
PROGRAMS = {
    "sums": "x: f64[9]; w: f64[3]; y[i: 7] = sum{k} (x[i + k] * w[k]); s = sum{i} (y[i]**3)",
    "types": "x: f32[6]; w: f64[6]; y: f32[6]; y[i] = exp(x[i]) * w[i]; z[i] = 0.1 * x[i]; n[i] = x[i] / 3",
    "infinities": "x: f32[4]; y[i] = x[i] * 1e300; z[i] = x[i] * -1e39; w[i] = x[i] * 3.4028235e38",
    "reductions": "a: f64[4, 5]; m[i] = max{j} (a[i, j]); p[i] = prod{j} (a[i, j]); n = min{i, j} (a[i, j])",
    "logsumexp": "a: f64[4, 5]; l[i] = logsumexp{j} (40 * a[i, j])",
    "softmax": "a: f64[4, 5]; let e[i, j] = exp(a[i, j]); p[i, j] = e[i, j] / sum{k} (e[i, k])",
    "choices": "x: f64[8]; y[i] = if {i % 3 = 0 and i > 1} then (x[i - 2]) else (select(x[i] > 0, i, -1))",
    "quotients": "x: f64[12]; y[i: 3, j: 4] = x[4*i + j]; z[i: 24] = y[i // 8, (23 - i) // 2 % 4] * i",
    "triangles": "x: f64[6, 6]; y[i: 6] = sum{j, k: j <= i and k >= j} (x[i, j] * x[j, k])",
    "recurrence": "x: f64[8]; a: f64; scan{t} s[t] = tanh(x[t]) + if {t > 0} then (a * s[t - 1]) else (0)",
    "backwards": "x: f64[8]; scan{-t} s[t] = x[t] + if {t < 7} then (0.5 * s[t + 1]) else (0)",
    "table": "x: f64[4]; scan{i + j} t[i: 4, j: 4] = x[i] + "
    "if {i > 0 and j > 0} then (max(t[i - 1, j], t[i, j - 1])) else (x[j])",
    "gathers": "size N = 5; s: index[7] in N; x: f64[N]; y[e] = x[s[e]]**2; "
    "z[n: N] = sum{e: s[e] = n} (sin(y[e]))",
    "empty": "x: f64[0]; s = sum{i} (x[i]); m = max{i} (x[i]); y[i] = 2 * x[i]",
    "scalars": "x: f64; y: f64; f = atan2(x, y) + x**y + x**-2 + x % y + 1 / 0",
}


def ran(programs: list[tuple[Program, Mapping[str, Any]]]) -> list[dict[str, np.ndarray]]:
    """What kernels make of arrays by name."""
    tasks: list[dict[str, Any]] = []
    for program, arrays in programs:
        kernel = wasm_kernel(program)
        tasks.append(
            {
                "code": base64.b64encode(kernel.code).decode(),
                "inputs": [_placed(place) for place in kernel.inputs],
                "outputs": [_placed(place) for place in kernel.outputs],
                "given": _given(arrays),
            }
        )
    return _results(tasks)


def _results(tasks: list[dict[str, Any]]) -> list[dict[str, np.ndarray]]:
    """What node makes of kernels and arrays."""
    script = Path(__file__).with_name("run_kernels.mjs")
    done = subprocess.run(
        ["node", str(script)],
        input=json.dumps(tasks),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return [
        {name: np.array([float(v) for v in values]) for name, values in outputs.items()}
        for outputs in json.loads(done.stdout)
    ]


def _given(arrays: Mapping[str, Any]) -> dict[str, list[str]]:
    return {name: list(map(_spelled, np.ravel(array))) for name, array in arrays.items()}


def _spelled(number: Any) -> str:
    """A number as JavaScript reads it."""
    return str(number.item()).replace("inf", "Infinity")


def _placed(place: Placed) -> dict[str, Any]:
    return {"name": place.name, "type": place.type, "shape": place.shape, "address": place.address}


def arrays_for(program: Program, seed: int = 0) -> dict[str, np.ndarray]:
    """Random arrays for all arguments."""
    random = np.random.default_rng(seed)
    made: dict[str, np.ndarray] = {}
    for a in program.arguments:
        shape = shape_at(a.shape, {})
        if a.below is None:
            made[a.name] = random.normal(size=shape).astype(numpy_type(a.type))
        else:
            indices = random.integers(0, int(str(a.below)), shape, np.int32)
            made[a.name] = np.sort(indices) if a.increasing else indices
    return made


def compared(functions: Mapping[str, tadc.Function]) -> None:
    """Value and gradients without sizes by the playground's kernels, and by the compiler's."""
    names, tasks, expected = list[str](), list[tuple[Program, Mapping[str, Any]]](), list[Any]()
    for name, f in functions.items():
        program = f.program
        g = tadc.value_and_vjp(f) if program.differentiable() else f
        arrays = arrays_for(g.program)
        found = g(**arrays)
        mode = "value" if g is f else "value-and-vjp"
        forms = [g.program] if program.index_arrays() else [g.program, hoisted(program, mode)]
        for form in forms:
            names.append(name)
            tasks.append((form, arrays))
            expected.append(np.hstack([np.ravel(part) for part in _parts(found)]))
    for name, outputs, wanted in zip(names, ran(tasks), expected, strict=True):
        tolerance = 1e-5 if "f32" in str(functions[name]) else 1e-11
        got = np.hstack(list(outputs.values()))
        np.testing.assert_allclose(got, wanted, tolerance, tolerance, err_msg=name)


def _parts(found: Any) -> list[Any]:
    return [part for each in found for part in _parts(each)] if isinstance(found, tuple) else [found]


@pytest.mark.parametrize(
    "names", ["sums choices gathers", pytest.param(" ".join(PROGRAMS), marks=pytest.mark.sweep)]
)
def test_values_and_gradients_are_those_of_the_compiler(names: str) -> None:
    compared({name: tadc.function(PROGRAMS[name]) for name in names.split()})


def stored(example: Example, folder: Path, sizes: Mapping[str, int], arrays: Mapping[str, Any]) -> Any:
    """What the kernel that the site stores makes of arrays."""
    about = write_kernel(example.text, folder / "f.wasm")
    assert about is not None
    for tensor in (*about["inputs"], *about["outputs"]):
        tensor["shape"] = [form_of(form).evaluate(sizes) for form in tensor["shape"]]
    code = base64.b64encode((folder / "f.wasm").read_bytes()).decode()
    about["sizes"] = {name: sizes[name] for name in about["sizes"]}
    return _results([{**about, "code": code, "given": _given(arrays)}])[0]


@pytest.mark.parametrize(
    "example", [each for each in EXAMPLES if each.file], ids=lambda example: example.file
)
def test_stored_kernels_are_those_of_the_compiler(example: Example, tmp_path: Path) -> None:
    """And of the browser: three ways from the program to numbers."""
    sizes = example.as_json()["sizes"]
    f = tadc.function(example.text, sizes=sizes)
    g = tadc.value_and_vjp(f)
    # Small numbers: flows and orbits of others are none.
    arrays = {name: a / 10 if a.dtype.kind == "f" else a for name, a in arrays_for(g.program).items()}
    wanted = np.hstack([np.ravel(part) for part in _parts(g(**arrays))])
    found = stored(example, tmp_path, sizes, arrays)
    form = hoisted(f.program, "value-and-vjp") if not f.program.index_arrays() else g.program
    (made,) = ran([(form, arrays)])
    tolerance = 1e-4 if "f32" in example.text else 1e-8
    for outputs in (found, made):
        got = np.hstack(list(outputs.values()))
        np.testing.assert_allclose(got, wanted, tolerance, tolerance * np.abs(wanted).max())


@pytest.mark.sweep
def test_examples() -> None:
    functions: dict[str, tadc.Function] = {}
    for path in sorted((ROOT / "examples").glob("*.tad")):
        text = path.read_text(encoding="utf-8")
        functions[path.name] = tadc.function(text, sizes=json.loads(ANSWERS("check", text))["sizes"])
    compared(functions)


@pytest.mark.sweep
@pytest.mark.filterwarnings("ignore::tadc.CompileWarning")
def test_random_programs() -> None:
    compared({f"seed {seed}": tadc.function(str(generate(seed, small=True))) for seed in range(15)})


def test_functions_are_those_of_the_language() -> None:
    """All of one and two arguments, at special values too."""
    points = [
        0.0,
        -0.0,
        0.3,
        -0.7,
        1.0,
        -1.0,
        1.7,
        2.4,
        -2.6,
        3.9,
        12.5,
        -27.0,
        710.0,
        math.inf,
        -math.inf,
        math.nan,
    ]
    pairs = [(x, y) for x in points for y in points]
    declared = [f"x: f64[{len(pairs)}]; y: f64[{len(pairs)}]"]
    for name, f in FUNCTIONS.items():
        declared.append(f"r_{name}[i] = {name}({'x[i], y[i]' if f.arity == 2 else 'x[i]'})")
    g = tadc.function("\n".join(declared))
    arrays = {"x": np.array([x for x, _ in pairs]), "y": np.array([y for _, y in pairs])}
    (outputs,) = ran([(g.program, arrays)])
    for name, found in zip(FUNCTIONS, g(**arrays), strict=True):
        # The compiler has a product in its place where an argument is the second factor.
        with np.errstate(invalid="ignore"):
            product = np.where(arrays["x"] == 0, 0, arrays["x"] * arrays["y"])
        wanted = product if name == "safe" else found
        np.testing.assert_allclose(outputs[f"r_{name}"], wanted, 4e-13, 4e-13, err_msg=name)
