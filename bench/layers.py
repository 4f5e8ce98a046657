"""Layers and energies as users write them, and what their Jacobians and Hessians cost, counted.

Of each is said how many elements in a row, and in a column, of the Jacobian can be other than 0, of an energy
in those of the Hessian. By tangents alone it takes as many of these as a row has such elements, by cotangents
as a column has (Curtis, Powell and Reid, On the estimation of sparse Jacobian matrices, 1974): the passes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from math import prod

import tadc
from tadc.analysis.statistics import fused_form
from tadc.frontend.extents import shape_at
from tadc.frontend.program import Argument, Definition
from tadc.passes.terms.operation_counts import count_program


@dataclass(frozen=True)
class Layer:
    """A program, its sizes, and by argument the non-zeros of a row and of a column, as expressions of sizes.

    An element of the Jacobian by one of `single` takes a few operations, whatever the sizes are.
    """

    text: str
    sizes: Mapping[str, int]
    by: Mapping[str, tuple[str, str]]
    single: tuple[str, ...] = ()

    @cached_property
    def function(self) -> tadc.Function:
        """The function of these sizes."""
        return tadc.function(self.text).at(self.sizes)


@dataclass(frozen=True)
class Counts:
    """Weighted operations of one pass (the value, of an energy the gradient), of the matrix (the Jacobian or
    Hessian), and of an energy's Hessian times a vector; the elements of the matrix, those that can be other
    than 0, and the number of passes."""

    once: int
    matrix: int
    product: int
    elements: int
    nonzeros: int
    passes: int


def counted(layer: Layer, argument: str) -> Counts:
    """Count a layer's derivatives by an argument."""
    f = layer.function
    (output,) = f.program.outputs
    (source,) = (a for a in f.program.arguments if a.name == argument)
    is_energy = not output.shape
    row, column = (eval(text, {}, dict(layer.sizes)) for text in layer.by[argument])
    rows = _elements(source if is_energy else output)
    return Counts(
        once=_work(tadc.grad(f, argument) if is_energy else f),
        matrix=_work(tadc.hessian(f, argument) if is_energy else tadc.jacobian(f, argument)),
        product=_work(tadc.hvp(f, argument)) if is_energy else 0,
        elements=rows * _elements(source),
        nonzeros=rows * row,
        passes=min(row, column),
    )


def _elements(tensor: Argument | Definition) -> int:
    return prod(shape_at(tensor.shape, {}))


def _work(function: tadc.Function) -> int:
    """The operations of a function, counted exactly, however long that takes."""
    return count_program(*fused_form(function.program, "value"), limit=2**62).weighted


LAYERS = {
    "radial basis functions": Layer(
        "x: f64[N, D]; c: f64[K, D]; b: f64[K]\n"
        "y[n, k] = exp(-b[k]*sum{d} ((x[n, d] - c[k, d])**2))",
        {"N": 40, "K": 50, "D": 30},
        {"x": ("D", "K"), "c": ("D", "N"), "b": ("1", "N")}, ("x", "c", "b"),
    ),
    "of one point": Layer(
        "x: f64[D]; c: f64[K, D]; b: f64[K]\ny[k] = exp(-b[k]*sum{d} ((x[d] - c[k, d])**2))",
        {"K": 60, "D": 50},
        {"x": ("D", "K"), "c": ("D", "1"), "b": ("1", "1")}, ("x", "c", "b"),
    ),
    "kernel matrix": Layer(
        "x: f64[N, D]; l: f64[D]\n"
        "let q[i: N, j: N] = 3*sum{d} (((x[i, d] - x[j, d])/l[d])**2) + 1\n"
        "y[i, j] = (1 + sqrt(q[i, j]))*exp(-sqrt(q[i, j]))",
        {"N": 60, "D": 20},
        {"x": ("2*D", "2*N"), "l": ("D", "N**2")}, ("x", "l"),
    ),
    "softmax": Layer(
        "x: f64[N, M]\nlet m[i] = max{j} (x[i, j])\nlet e[i, j] = exp(x[i, j] - m[i])\n"
        "y[i, j] = e[i, j]/sum{k} (e[i, k])",
        {"N": 50, "M": 60},
        {"x": ("M", "M")}, ("x",),
    ),
    "softmax of a layer": Layer(
        "x: f64[N, D]; w: f64[K, D]\nlet z[i: N, k: K] = sum{d} (w[k, d]*x[i, d])\n"
        "let m[i] = max{k} (z[i, k])\nlet e[i, k] = exp(z[i, k] - m[i])\n"
        "y[i, k] = e[i, k]/sum{j} (e[i, j])",
        {"N": 20, "D": 60, "K": 50},
        {"x": ("D", "K"), "w": ("D*K", "N*K")}, ("x", "w"),
    ),
    "log-softmax of a layer": Layer(
        "x: f64[D]; w: f64[K, D]\nlet z[k: K] = sum{d} (w[k, d]*x[d])\n"
        "y[k: K] = exp(z[k] - logsumexp{j} (z[j]))",
        {"D": 60, "K": 50},
        {"x": ("D", "K"), "w": ("D*K", "K")}, ("x", "w"),
    ),
    "layer norm of a layer": Layer(
        "x: f64[D]; w: f64[N, D]\nlet y[i: N] = sum{d} (w[i, d]*x[d])\nlet m = sum{i} (y[i])/N\n"
        "let v = sum{i} ((y[i] - m)**2)/N\nf[i: N] = (y[i] - m)/sqrt(v + 1e-5)",
        {"D": 60, "N": 50},
        {"x": ("D", "N"), "w": ("D*N", "N")}, ("x", "w"),
    ),
    "layer norm": Layer(
        "x: f64[N, M]; g: f64[M]\nlet m[i] = sum{j} (x[i, j])/M\n"
        "let v[i] = sum{j} ((x[i, j] - m[i])**2)/M\ny[i, j] = g[j]*(x[i, j] - m[i])/sqrt(v[i] + 1e-5)",
        {"N": 50, "M": 60},
        {"x": ("M", "M"), "g": ("1", "N")}, ("x", "g"),
    ),
    "convolution": Layer(
        "x: f64[C, N]; w: f64[F, C, K]\ny[f, n: N - K + 1] = tanh(sum{c, k} (x[c, n + k]*w[f, c, k]))",
        {"C": 8, "N": 100, "F": 9, "K": 7},
        {"x": ("C*K", "F*K"), "w": ("C*K", "N - K + 1")}, ("x", "w"),
    ),
    "two convolutions": Layer(
        "x: f64[N]; w: f64[K]; v: f64[L]\nlet h[n: N - K + 1] = tanh(sum{k} (x[n + k]*w[k]))\n"
        "y[n: N - K - L + 2] = tanh(sum{l} (h[n + l]*v[l]))",
        {"N": 200, "K": 9, "L": 8},
        {"x": ("K + L - 1", "K + L - 1"), "w": ("K", "N - K - L + 2"), "v": ("L", "N - K - L + 2")}, ("v",),
    ),
    "attention": Layer(
        "q: f64[N, D]; k: f64[M, D]; v: f64[M, E]\nlet e[i, j] = exp(sum{d} (q[i, d]*k[j, d]))\n"
        "let z[i] = sum{j} (e[i, j])\ny[i, c] = sum{j} (e[i, j]*v[j, c])/z[i]",
        {"N": 40, "M": 50, "D": 20, "E": 30},
        {"q": ("D", "E"), "k": ("M*D", "N*E"), "v": ("M", "N")}, ("v",),
    ),
    "matrix product": Layer(
        "a: f64[N, K]; b: f64[K, M]\ny[i, j] = sum{k} (a[i, k]*b[k, j])",
        {"N": 40, "K": 50, "M": 60},
        {"a": ("K", "M"), "b": ("K", "N")}, ("a", "b"),
    ),
    "perceptron": Layer(
        "x: f64[N, D]; w: f64[D, H]; v: f64[H, O]\nlet h[n, j] = tanh(sum{d} (x[n, d]*w[d, j]))\n"
        "y[n, o] = tanh(sum{j} (h[n, j]*v[j, o]))",
        {"N": 40, "D": 30, "H": 50, "O": 20},
        {"x": ("D", "O"), "w": ("D*H", "N*O"), "v": ("H", "N")}, ("w", "v"),
    ),
    "messages along edges": Layer(
        "src: index[E] in V; dst: index[E] in V; h: f64[V, F]; w: f64[F, G]\n"
        "let m[v: V, f: F] = sum{e: dst[e] = v} (h[src[e], f])\ny[v, g] = tanh(sum{f} (m[v, f]*w[f, g]))",
        {"E": 2000, "V": 200, "F": 10, "G": 12},
        {"h": ("F*E//V", "G*E//V"), "w": ("F", "V")}, ("w",),
    ),
    "differential equation": Layer(
        "p: f64[3]; y0: f64; t: f64[M]\n"
        "scan{i} y[i: M] = if {i = 0} then (y0) else (\n"
        "    y[i - 1] + 0.01*p[0]*y[i - 1]*(1 - y[i - 1]/p[1]) + p[2]*t[i])",
        {"M": 500},
        {"p": ("3", "M"), "y0": ("1", "M"), "t": ("M", "M")}, ("p", "y0"),
    ),
    "heat by its coefficient": Layer(
        "u0: f64[N]; k: f64\nsize T\n"
        "let scan{t} u[t: T, i: N] = if {t = 0} then (u0[i]) else (if {i >= 1 and i <= N - 2} then (\n"
        "    u[t - 1, i] + k*(u[t - 1, i - 1] - 2*u[t - 1, i] + u[t - 1, i + 1])) else (u[t - 1, i]))\n"
        "y[i: N] = u[T - 1, i]",
        {"N": 100, "T": 50},
        {"u0": ("N", "N"), "k": ("1", "N")},
    ),
    "a number through two layers": Layer(
        "a: f64; w: f64[H]; v: f64[H, H]; z: f64[O, H]\nlet h[i] = tanh(a*w[i])\n"
        "let g[j] = tanh(sum{i} (v[j, i]*h[i]))\ny[o] = tanh(sum{j} (z[o, j]*g[j]))",
        {"H": 60, "O": 70},
        {"a": ("1", "O"), "w": ("H", "O"), "z": ("H", "1")}, ("z",),
    ),
    "Lennard-Jones pairs": Layer(
        "x: f64[N, 3]\nlet r[i: N, j: N] = sum{c} ((x[i, c] - x[j, c])**2) + 0.1\n"
        "u = sum{i, j: i < j} (1/r[i, j]**6 - 1/r[i, j]**3)",
        {"N": 60},
        {"x": ("3*N", "3*N")}, ("x",),
    ),
    "Coulomb pairs": Layer(
        "x: f64[N, 3]; q: f64[N]\n"
        "u = sum{i, j: i < j} (q[i]*q[j]/sqrt(sum{c} ((x[i, c] - x[j, c])**2)))",
        {"N": 60},
        {"x": ("3*N", "3*N"), "q": ("N", "N")}, ("x", "q"),
    ),
    "a chain of springs": Layer(
        "x: f64[N]\nu = sum{i: N - 1} ((x[i + 1] - x[i])**4)", {"N": 300}, {"x": ("3", "3")}, ("x",)
    ),
    "logistic regression": Layer(
        "x: f64[N, D]; w: f64[D]; t: f64[N]\n"
        "u = sum{n} (log(1 + exp(-t[n]*sum{d} (x[n, d]*w[d]))))",
        {"N": 60, "D": 20},
        {"x": ("D", "D"), "w": ("D", "D"), "t": ("1", "1")}, ("x", "t"),
    ),
    "Gaussian mixture": Layer(
        "x: f64[N, D]; m: f64[K, D]; w: f64[K]\n"
        "u = sum{n} (log(sum{k} (w[k]*exp(-sum{d} ((x[n, d] - m[k, d])**2)))))",
        {"N": 60, "D": 8, "K": 10},
        {"x": ("D", "D"), "m": ("K*D", "K*D"), "w": ("K", "K")},
    ),
    "softmax regression": Layer(
        "x: f64[N, D]; w: f64[D, C]; t: f64[N, C]\nlet z[n, c] = sum{d} (x[n, d]*w[d, c])\n"
        "let m[n] = max{c} (z[n, c])\nlet s[n] = log(sum{c} (exp(z[n, c] - m[n]))) + m[n]\n"
        "u = sum{n, c} (t[n, c]*(s[n] - z[n, c]))",
        {"N": 60, "D": 20, "C": 10},
        {"x": ("D", "D"), "w": ("D*C", "D*C")},
    ),
}  # fmt: skip
