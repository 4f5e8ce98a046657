"""The examples of the playground: small programs, and those of the gallery with smaller arrays.

Each comes with a module of WebAssembly that the compiler makes while the site is built, of the value and all
gradients, at any sizes. So an example runs before Python has started, and as fast as the compiler can.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import tadc
from docs.gallery.scripts import SCRIPTS, title
from tadc.frontend.diagnostics import CompileError
from tadc.frontend.extents import as_form
from tadc.lattice.form_json import form_json
from tadc.playground.answers import ANSWERS

#: How an input is filled at first: a shape of page.js, which a factor may follow, or numbers.
Fill = str | tuple[str, float] | float | list[float]


@dataclass(frozen=True)
class Example:
    """A program with the sizes and inputs that it has at first; `file` is what its module is called."""

    title: str
    file: str
    text: str
    sizes: Mapping[str, int] = field(default_factory=dict[str, int])
    inputs: Mapping[str, Fill] = field(default_factory=dict[str, Fill])
    is_task: bool = False

    def as_json(self) -> dict[str, Any]:
        """What the page knows of it before it is chosen; sizes that nobody chose are some that fit."""
        found = json.loads(ANSWERS("check", self.text, json.dumps(self.sizes)))
        return {
            "title": self.title,
            "file": self.file,
            "text": self.text,
            "sizes": found.get("sizes", {}),
            "inputs": {name: _filled(fill) for name, fill in self.inputs.items()},
            "isTask": self.is_task,
        }


def _filled(fill: Fill) -> dict[str, Any]:
    match fill:
        case str():
            return {"fill": fill}
        case (str(shape), factor):
            return {"fill": shape, "scale": factor}
        case list():
            return {"numbers": fill}
        case _:
            return {"value": fill}


def _task(
    script: str,
    names: str,
    sizes: Mapping[str, int],
    inputs: Mapping[str, Fill],
    smaller: Mapping[str, str] | None = None,
    about: str = "",
) -> Example:
    """A program of the gallery: the texts of some names of its script, with other numbers in it.

    What `smaller` has in the place of a number is a smaller one, or a size, which then has a slider.
    """
    path = SCRIPTS / f"{script}.py"
    text = "".join(_text_of(path, name) for name in names.split())
    text = re.sub(r"\b\d+\b", lambda found: (smaller or {}).get(found[0], found[0]), text)
    file = f"{script}-{about}" if about else script
    return Example(title(path) + (f": {about}" if about else ""), file, text, sizes, inputs, is_task=True)


def _text_of(script: Path, name: str) -> str:
    """The first text in what a name of a script is assigned."""
    for node in ast.parse(script.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and name in ast.unparse(node.targets[0]):
            texts = (each.value for each in ast.walk(node.value) if isinstance(each, ast.Constant))
            return next(text for text in texts if isinstance(text, str)).lstrip("\n")
    raise KeyError(f"{script}: no `{name}`")


SMALL = (
    Example(
        "a moving average",
        "moving-average",
        "x: f64[N]\nw: f64[K]\n\ny[i: N - K + 1] = sum{k} (w[k] * x[i + k])\n",
    ),
    Example(
        "least squares",
        "least-squares",
        "x: f64[N]\ny: f64[N]\na: f64\nb: f64\n\nlet r[i] = a*x[i] + b - y[i]\nloss = sum{i} (r[i]**2) / 2\n",
    ),
    Example(
        "softmax",
        "softmax",
        "a: f64[N, M]\n\nlet m[i] = max{j} (a[i, j])\nlet e[i, j] = exp(a[i, j] - m[i])\n"
        "p[i, j] = e[i, j] / sum{k} (e[i, k])\n",
        inputs={"dp": "an impulse"},
    ),
    Example(
        "a picture blurred",
        "blur",
        "u: f64[N, N]\nw: f64[3, 3]\n\nv[i: N - 2, j: N - 2] = sum{p, q} (w[p, q] * u[i + p, j + q])\n",
    ),
    Example(
        "a recurrence",
        "recurrence",
        "x: f64[N]\ndecay: f64\n\nscan{t} s[t] = x[t] + if {t > 0} then (decay * s[t - 1]) else (0)\n",
        inputs={"decay": 0.9},
    ),
    Example(
        "a graph",
        "graph",
        "size N\nsource: index[E] in N\ntarget: index[E] in N\nx: f64[N]\n\n"
        "y[n: N] = sum{e: target[e] = n} (tanh(x[source[e]]))\n",
    ),
    Example("an error", "", "x: f64[8]\n\nd[i: 8] = x[i + 1] - x[i]\n"),
)

#: A small network of a normalising flow: of layer {0}, of the scale (0) or of the shift (1).
NET = "sum{{k}} (a[{0}, {1}, k] * tanh(b[{0}, {1}, k] * u[{0}, n, 0] + c[{0}, {1}, k]))"
#: The script has texts in texts, and tadc derives the logarithm of the determinant there.
FLOW = f"""x: f64[N, 2]; a: f64[L, 2, H]; b: f64[L, 2, H]; c: f64[L, 2, H]

let scan{{l}} u[l: L + 1, n: N, i: 2] = if {{l = 0}} then (x[n, i]) else (
    if {{i = 1}} then (u[l - 1, n, 0]) else (u[l - 1, n, 1] * exp({NET.format("l - 1", 0)})
    + {NET.format("l - 1", 1)}))
let logabsdet = sum{{l: L, n: N}} ({NET.format("l", 0)})
likelihood = logabsdet - sum{{n: N, i: 2}} (u[L, n, i]**2) / 2
"""

TASKS = (
    _task(
        "cloth",
        "cloth",
        {"E": 11, "N": 12},
        {"i": "in turn", "j": "the next", "rest": ("ones", 0.1), "x": "a ramp"},
    ),
    _task(
        "deblurring",
        "loss",
        {"N": 20},
        {"photo": "a blob", "kernel": ("a blob", 0.1), "seen": "a disc"},
        {"140": "N + 12", "139": "N + 11", "128": "N"},
    ),
    _task(
        "finite_elements",
        "film",
        {"T": 12, "N": 9},
        {"corner": "in turn", "slope": "random", "content": ("ones", 0.1), "u": "a wave"},
    ),
    Example(
        title(SCRIPTS / "flow.py"),
        "flow",
        FLOW,
        {"L": 4, "N": 12, "H": 6},
        {"x": "a wave", "a": ("random", 0.5), "b": "random", "c": "random"},
        is_task=True,
    ),
    _task(
        "gauge_block",
        "block",
        {},
        {"standard": 50_000_623, "difference": 215, "alpha": 11.5e-6, "theta": -0.1, "delta": 0, "tau": 0},
    ),
    _task(
        "graph_network",
        "network classify",
        {"E": 24, "N": 12, "F": 3, "H": 4, "C": 3},
        {
            "src": "in turn",
            "dst": "the next",
            "near": ("ones", 0.5),
            "w": "random",
            "v": "random",
            "dscore": "an impulse",
        },
    ),
    _task(
        "inverse_heat",
        "loss",
        {"N": 12, "T": 10},
        {"c": ("ones", 0.06), "start": "a blob", "seen": ("ones", 0.1)},
        {"24": "N", "23": "N - 1", "22": "N - 2", "61": "T + 1", "60": "T"},
    ),
    *(
        _task(
            "kernel_density",
            name,
            {"S": 12} | ({"G": 16} if name == "density" else {}),
            {"x": "a wave", "y": "random", "z": "a wave", "p": 5},
            {"300": "S", "299": "(S - 1)"},
            name,
        )
        for name in ("density", "surprise", "mmd")
    ),
    _task(
        "lattice_boltzmann",
        "flux",
        {},
        {"solid": "a disc", "w": [0.166667, 0.666667, 0.166667]},
        {"48": "24", "24": "12", "201": "21", "200": "20"},
    ),
    _task(
        "orbit_fitting",
        "off",
        {"S": 8},
        {"mass": [1, 0.02, 0.01], "start": [0, 1, -0.75, 0, 1, 0, 0, 1.8], "seen": ("ones", 0)},
        {"401": "10*S + 1", "40": "S"},
    ),
    _task(
        "registration",
        "warp",
        {"P": 10, "Q": 10, "K": 3},
        {"moving": "a blob", "fixed": "a disc", "bump": "a wave", "g": ("ones", 0.1)},
    ),
    _task(
        "sliding_window",
        "attention",
        {"H": 2, "N": 12, "D": 4, "W": 4},
        {"q": "a wave", "k": "random", "v": "a ramp", "bias": ("ones", 0.1)},
    ),
    _task(
        "soft_dtw",
        "distance",
        {"S": 3, "M": 12, "N": 12},
        {"x": "a wave", "z": "a ramp", "gamma": 0.5},
    ),
)

EXAMPLES = (*SMALL, *TASKS)


def write_kernel(text: str, module: Path) -> dict[str, Any] | None:
    """Write the compiler's module of a program, of its value and all gradients; returns its sizes, inputs and
    outputs, whose shapes are forms as `form_json` writes them.

    None for a program with an error.
    """
    try:
        f = tadc.function(text)
    except CompileError:
        return None
    g = tadc.value_and_vjp(f)
    tadc.export(g, module, target="wasm32")

    def about(tensor: Any) -> dict[str, Any]:
        shape = [form_json(as_form(extent)) for extent in tensor.shape]
        return {"name": tensor.name, "type": tensor.type, "shape": shape}

    inputs = [
        {
            **about(a),
            "below": None if a.below is None else form_json(as_form(a.below)),
            "increasing": a.increasing,
            "cotangent": a.cotangent_of or None,
        }
        for a in g.program.arguments
    ]
    outputs = [{**about(d), "gradient": d.gradient_of or None} for d in g.program.outputs]
    return {"sizes": list(g.program.sizes), "inputs": inputs, "outputs": outputs}
