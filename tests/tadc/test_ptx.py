"""Every kernel also comes out as PTX, and ptxas takes it."""

import re
from itertools import product
from pathlib import Path

import pytest

from tadc.backend.cuda.ptx import assemble
from tadc.backend.target import parse_target
from tadc.compiler.all_stages import compile_until
from tadc.compiler.compile_options import Options
from tadc.compiler.stages import Compilation
from tadc.frontend.source import Source

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*.tad"))

FUNCTIONS = """
x: {type}[4]
f[i] = exp(x[i]) + log(2 + x[i]) + sin(x[i]) * cos(x[i]) + tanh(x[i]) + sqrt(1 + x[i]**2) + erf(x[i])
g[i] = max(x[i], 0) + min(x[i], 1) + abs(x[i]) + sign(x[i]) + relu(x[i]) + sigmoid(x[i]) + x[i] % 2
h[i] = select(x[i] < 0, x[i]**3, x[i]**2.5) + atan2(x[i], 2) + floor(x[i]) + ceil(x[i]) + i + cbrt(2 + x[i])
"""

SPECIAL = """
x: {type}[4]
f[i] = lgamma(x[i]) + logaddexp(x[i], 1) + sinc(x[i])
g[i] = j1(x[i]) + i0(x[i]) + digamma(x[i])
"""

REDUCTIONS = """
x: {type}[4, 5]
f[i] = max{{k}} (x[i, k]) + min{{k}}_0^(i) (x[i, k]**2) + prod{{k}} (x[i, k]) * logsumexp{{k}} (sin(x[i, k]))
"""

PROGRAMS = {file.stem: file.read_text() for file in EXAMPLES} | {
    "functions f32": FUNCTIONS.format(type="f32"),
    "functions f64": FUNCTIONS.format(type="f64"),
    "special functions f32": SPECIAL.format(type="f32"),
    "special functions f64": SPECIAL.format(type="f64"),
    "strides": "x: f64[20, 9]; f[i: 4, j: 3] = x[2*i + 4*j, 3*j + i % 2] * x[i // 2, j]",
    "guards": "x: f32[9]; f[i: 5, j: 4] = if {i + j >= 2 and i = 2*j} then (x[i + j]) else (x[i] * x[j])",
    "size zero": "x: f64[0]; f[i] = x[i]",
    "scalars": "x: f64; y: f64; f = x * y + sin(x)",
    "reductions f32": REDUCTIONS.format(type="f32"),
    "reductions f64": REDUCTIONS.format(type="f64"),
    "sizes": "x: f32[N, M]; w: f32[K]; f[i, j: M - K + 1] = sum{k} (x[i, j + k] * w[k]) + x[i, M - 1 - j]",
    "sizes of one dimension": "x: f64[N]; let h[i] = x[i]**2; f[i: N // 2] = h[2*i] * h[N - 1 - i]",
    "intermediates": "x: f64[6]; let h[i] = x[i]**2; f[i: 5] = h[i] * h[i + 1]; g = sum{i} (f[i])",
}


@pytest.mark.parametrize(("name", "sm"), list(product(PROGRAMS, (70, 90))))
def test_ptxas_takes_value_and_gradients(name, sm):
    """One kernel a tensor; the cubin is an ELF file."""
    state = Compilation(
        Options("value-and-vjp", target=parse_target(f"cuda:sm_{sm}")), Source(PROGRAMS[name], name)
    )
    compile_until(state, "ptx")
    assert str(state.code["ptx"]).count(".visible .entry") == len(state.launches)
    assert not re.search(r"\b(atom|red)\.", str(state.code["ptx"]))
    assert assemble(str(state.code["ptx"]), sm).startswith(b"\x7fELF")


def test_launches_follow_the_sizes():
    """A vector a thread, in blocks; none where there are no elements."""
    state = Compilation(
        Options(target=parse_target("cuda:sm_80")), Source("x: f32[N, M]; f[i, j] = x[i, j]**2", "<sizes>")
    )
    compile_until(state, "gpu")
    (launch,) = state.launches
    (axis,) = launch.grid
    assert launch.block == (256, 1, 1)
    assert [axis.blocks(sizes) for sizes in ((16, 16), (257, 1), (0, 7), (100, 100))] == [1, 1, 0, 10]
