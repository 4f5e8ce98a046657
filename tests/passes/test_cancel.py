"""Delta cancellation: the same values before and after, and no delta left."""

import numpy as np
import pytest

import tadc
from tadc.api.execute import Compiled, compile_program, evaluate, load_kernel
from tadc.compiler.all_stages import compile_until
from tadc.compiler.compile_options import Options
from tadc.compiler.derive import derive
from tadc.compiler.stages import Compilation
from tadc.frontend.extents import shape_at
from tadc.frontend.terms import Guard, Reduce, reachable

PROGRAMS = {
    "stride": "x: f64[9]; f[i: 4, j: 2] = x[2*i]**3",
    "two strides": "x: f64[20]; f[i: 4, j: 3] = x[2*i + 4*j]**3",
    "two rows": "x: f64[6, 7]; f[i: 4, j: 3] = x[i + j, i - j + 2]**3",
    "gcd rows": "x: f64[16, 24]; f[i: 4, j: 3] = x[2*i + 4*j, 6*i - 2*j + 4]**3",
    "6, 10, 15": "x: f64[80]; f[i: 3, j: 4, k: 3] = x[6*i + 10*j + 15*k]**3",
    "diagonal": "x: f64[3, 3]; f[i] = x[i, i]**2",
    "guard": "x: f64[5]; y: f64[4]; f[i: 6] = if {i - 2 >= 0} then (x[i-1]*y[i-2]**3) else (0)",
    "equality": "x: f64[7]; y: f64[4]; f[i: 5, j: 3] = if {i = j} then (x[i+j]**3) else (x[i]*y[j]**2)",
    "triangle": "x: f64[5, 5]; f[i] = sum{k}_0^(i) (x[i, k]**3)",
    "tile": "x: f64[5, 2]; f[i: 5, j: 4] = x[(i + j) // 2, i % 2]**3",
    "maximum": "x: f64[9]; f[i: 4] = max{k: 2} (x[2*i + k] * x[k])",
    "product": "x: f64[5, 5]; f[i] = prod{k}_0^(i) (x[i, k] + x[k, i])",
    "product of guards": "x: f64[5]; f[i: 5] = prod{k: 5} (if {k = i} then (x[k]**2) else (0))",
    "minimum of guards": "x: f64[5]; f[i: 5] = min{k: 5} (if {k <= i} then (x[k]**2 - 1) else (0))",
    "log of exponentials": "x: f64[9]; f[i: 4] = logsumexp{k: 3, l: 2} (x[2*k + i] * x[l])",
    "delta by hand": "x: f64[5]; f[i: 5] = sum{k: 5} (if {k = i} then (x[k]**2) else (0))",
}


def before(f):
    """The gradients with the deltas still in the sums, compiled as they are."""
    state = Compilation(Options("vjp"), f.program.source, program=f.program)
    compile_until(state, "diff", first="tad")
    compile_until(state, "llvm", first="loops")
    derived = derive(f.program, "vjp")
    return Compiled(load_kernel(state, derived)), derived


@pytest.mark.parametrize("text", PROGRAMS.values(), ids=PROGRAMS)
def test_same_values_before_and_after(text):
    f = tadc.function(text)
    random = np.random.default_rng(5)
    slow, derived = before(f)
    arrays = {a.name: random.uniform(-1, 1, shape_at(a.shape, {})) for a in derived.arguments}
    expected = evaluate(slow, arrays)
    for name, found in evaluate(compile_program(derived), arrays).items():
        np.testing.assert_allclose(found, expected[name], rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("text", PROGRAMS.values(), ids=PROGRAMS)
def test_no_delta_is_left(text):
    """At orders 1 and 2 no reduction has an equality in its domain, no sum a guard as its body."""
    f = tadc.function(text)
    for _ in range(2):
        f = tadc.vjp(f)
        for term in reachable(d.body for d in f.program.definitions):
            if isinstance(term, Reduce):
                assert not any(row.equality for row in term.domain)
                zero = f.program.terms.const(0)
                guarded = isinstance(term.body, Guard) and term.body.otherwise is zero
                assert not (guarded and term.kind == "sum")


def gradient_text(text, name="dx"):
    """What follows `name[…] = ` in the printed gradient."""
    lines = [line for line in str(tadc.vjp(tadc.function(text))).splitlines() if line.startswith(name + "[")]
    return lines[-1]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "x: f64[8]; f[i: 3, j: 4] = x[i + j]",
            "dx[x_0] = sum{j}_(max [0; x_0 - 2])^(min [3; x_0]) (df[x_0 - j, j])",
        ),
        ("x: f64[8]; f[i: 4] = x[2*i]", "dx[x_0] = if {x_0 % 2 = 0} then (df[x_0 // 2]) else (0)"),
        (
            "x: f64[10]; f[i: 7] = x[i + 2]",
            "dx[x_0] = if {x_0 >= 2 and x_0 <= 8} then (df[x_0 - 2]) else (0)",
        ),
        ("x: f64[7]; f[i: 7] = x[6 - i]", "dx[x_0] = df[6 - x_0]"),
        ("x: f64[3]; f[i: 3] = x[i]", "dx[i] = df[i]"),
        ("x: f64[3, 3]; f[i] = x[i, i]", "dx[i, x_1] = if {i = x_1} then (df[i]) else (0)"),
        ("x: f64[4]; f[i: 3, j: 4] = x[2]", None),
    ],
)
def test_what_is_printed(text, expected):
    """Guards and bounds are there where they are needed, and nowhere else."""
    if expected is not None:
        assert gradient_text(text) == expected
    else:
        assert (
            gradient_text(text) == "dx[x_0] = if {x_0 = 2} then (sum{i}_0^2 (sum{j}_0^3 (df[i, j]))) else (0)"
        )
