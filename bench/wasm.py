"""`python -m bench wasm`: modules of WebAssembly against plain JavaScript, in node."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import tadc
from tadc.frontend.extents import shape_at

#: Programs by the names of their loops in `wasm.mjs`, and N.
PROGRAMS = {
    "gaussians": (
        "x: f64[N, 3]; y: f64[N, 3]; b: f64[N]; f[i] = sum{j} (exp(-sum{c} ((x[i, c] - y[j, c])**2)) * b[j])",
        1000,
    ),
    "product": ("a: f64[N, N]; b: f64[N, N]; c[i, j] = sum{k} (a[i, k] * b[k, j])", 256),
    "stencil": (
        "u: f64[N, N]; w: f64[5, 5]; v[i: N - 4, j: N - 4] = sum{p, q} (u[i + p, j + q] * w[p, q])",
        512,
    ),
    "fir": ("x: f64[N]; h: f64[64]; y[i: N - 63] = sum{k} (h[k] * x[i + k])", 1 << 16),
    "layer": (
        "w: f64[N, N]; x: f64[64, N]; b: f64[N]; h[i, n] = tanh(b[i] + sum{k} (w[i, k] * x[n, k]))",
        256,
    ),
    "softmax": (
        "a: f64[N, N]; let m[i] = max{j} (a[i, j]); let e[i, j] = exp(a[i, j] - m[i]); "
        "p[i, j] = e[i, j] / sum{k} (e[i, k])",
        512,
    ),
}


def measured(names: list[str], node: str) -> list[dict[str, float | str]]:
    """Milliseconds of both, and the largest difference over 1 plus the value, of programs by name."""
    with tempfile.TemporaryDirectory() as name:
        folder, tasks = Path(name), []
        for program in names:
            text, n = PROGRAMS[program]
            f, sizes = tadc.function(text), {"N": n}
            tadc.export(f, folder / f"{program}.wasm", folder / "loader.mjs", prefix=program, target="wasm32")
            tensors = [(f.program.arguments, "inputs"), (f.program.outputs, "outputs")]
            counts = {
                kind: [(t.name, _count(shape_at(t.shape, sizes))) for t in given] for given, kind in tensors
            }
            tasks.append({"name": program, "sizes": sizes, **counts})
        shutil.copy(Path(__file__).with_suffix(".mjs"), folder)
        command = [node, "wasm.mjs", json.dumps(tasks)]
        ran = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True)
    return [json.loads(line) for line in ran.stdout.splitlines()]


def _count(shape: tuple[int, ...]) -> int:
    count = 1
    for n in shape:
        count *= n
    return count


def main() -> None:
    node = shutil.which("node")
    if node is None:
        sys.exit("no node in PATH")
    print(f"{'program':12}{'wasm ms':>10}{'js ms':>10}{'ratio':>8}{'difference':>12}")
    for found in measured(list(PROGRAMS), node):
        ratio = float(found["js"]) / float(found["wasm"])
        print(f"{found['name']:12}{found['wasm']:10.2f}{found['js']:10.2f}{ratio:8.1f}{found['error']:12.1e}")
