"""Programs whose GPU kernels are laid out in each way there is, with sizes for those that have symbols."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class GpuProgram:
    """A program, and values of its sizes."""

    text: str
    sizes: dict[str, int] = field(default_factory=dict[str, int])


#: One thread an element or a tile.
ELEMENTS = {
    "vectors": GpuProgram("x: f32[64, 128]; y: f32[128]; f[i, j] = exp(x[i, j]) * y[j] + 1"),
    "transpose": GpuProgram("x: f32[64, 100]; f[i: 100, j: 64] = x[j, i]"),
    "windows of several rows": GpuProgram(
        "x: f32[303, 132]; f[i: 301, j: 130] = x[i, j + 1] + x[i + 1, j] * x[i + 2, j + 1] - x[i + 1, j + 2]"
    ),
    "what rows share": GpuProgram(
        "x: f32[201, 260]; y: f32[260]; f[i, j] = x[i, j] * y[j] + y[(j + 7) // 3]"
    ),
    "transposes of several": GpuProgram(
        "x: f32[100, 137]; y: f32[137]; f[i: 138, j: 100] ="
        "(if {i > 0} then (x[j, i - 1] * y[i - 1]) else (2))"
        "+ (if {i < 137} then (x[99 - j, 136 - i]) else (x[j, 0]))"
    ),
    "transpose of the outer index": GpuProgram("x: f64[16, 9, 48]; f[i: 48, k: 9, j: 16] = x[j, k, i]**2"),
    "transpose at launch": GpuProgram("x: f32[N, M]; f[i: M, j: N] = x[j, i] + x[0, i]", {"N": 100, "M": 70}),
    "even size": GpuProgram("x: f32[N]; f[i] = x[i]**2", {"N": 1000}),
    "odd size": GpuProgram("x: f32[N]; f[i] = x[i]**2", {"N": 1003}),
    "odd rows": GpuProgram("x: f32[37, 101]; y: f32[37, 101]; a: f32; f[i, j] = a * x[i, j] + exp(y[i, j])"),
    "rows at launch": GpuProgram("x: f64[N, M]; f[i, j] = x[i, j]**3", {"N": 37, "M": 29}),
    "rows of another shape": GpuProgram("x: f32[N, M]; f[i: N - 1, j: M] = x[i, j]**3", {"N": 9, "M": 31}),
    "few elements": GpuProgram("x: f32[N]; f[i] = x[i]**2", {"N": 3}),
    "no element": GpuProgram("x: f32[N]; f[i] = x[i]**2", {"N": 0}),
    "rank 0": GpuProgram("x: f64; y: f64; f = x * y + sin(x)"),
    "copies": GpuProgram("x: f32[2000]; w: f32[33]; f[i: 1968] = sum{k} (x[i + k] * w[k])"),
    "locally connected": GpuProgram(
        "x: f32[2, 3, 12, 12]; w: f32[5, 10, 10, 3, 3, 3];"
        "f[n, o, i: 10, j: 10] = sum{c, p, q} (x[n, c, i + p, j + q] * w[o, i, j, c, p, q])"
    ),
}

#: Sums that a warp or a block shares.
GROUPS = {
    "rows": GpuProgram("x: f32[50, 400]; f[i] = sum{k} (x[i, k])"),
    "columns": GpuProgram("x: f32[400, 50]; f[k] = sum{i} (x[i, k])"),
    "one sum": GpuProgram("x: f32[3000]; y: f32[3000]; f = sum{i} (x[i] * y[i])"),
    "all kinds": GpuProgram(
        "x: f32[5, 300]; f[i] = max{k} (x[i, k]) + min{k} (x[i, k])"
        " + prod{k} (1 + x[i, k] / 100) * logsumexp{k} (x[i, k])"
    ),
    "all kinds f64": GpuProgram(
        "x: f64[5, 1300]; f[i] = max{k} (x[i, k]) + min{k} (x[i, k])"
        " + prod{k} (1 + x[i, k] / 1000) * logsumexp{k} (x[i, k])"
    ),
    "ties": GpuProgram("x: f32[7, 500]; f[i] = max{k} (floor(x[i, k])) + min{k} (ceil(2 * x[i, k]))"),
    "bounds that move": GpuProgram("x: f32[300, 300]; f[i] = sum{k}_0^(i) (x[i, k] * x[k, i])"),
    "guards": GpuProgram(
        "x: f32[9, 500]; f[i] = if {i >= 3} then (sum{k} (x[i, k]**2))"
        " else (sum{k} (if {k >= i + 100} then (x[k // 100, k]) else (x[i, 2 * (k // 2)])))"
    ),
    "sums in sums": GpuProgram("x: f32[3, 700]; f[i] = sum{j: 3} (log(sum{k} (exp(x[i, k] * x[j, k]))))"),
    "several indices": GpuProgram(
        "x: f32[6, 7, 50, 3]; w: f32[7, 50, 3]; f[i] = sum{a, b, c} (x[i, a, b, c] * w[a, b, c])"
    ),
    "a warp at launch": GpuProgram("x: f32[N, M]; f[i] = sum{k} (x[i, k]**2)", {"N": 7, "M": 500}),
    "a thread at launch": GpuProgram("x: f32[N, M]; f[i] = sum{k} (x[i, k]**2)", {"N": 700, "M": 5}),
    "a block at launch": GpuProgram("x: f32[N, M]; f[i] = sum{k} (x[i, k]**2)", {"N": 3, "M": 5000}),
    "columns at launch": GpuProgram("x: f32[N, M]; f[k] = sum{i} (x[i, k]**2)", {"N": 400, "M": 70}),
    "few values together": GpuProgram(
        "x: f32[300, 3]; y: f32[280, 3];"
        "f[d, i] = sum{j} (exp(-(sum{e} ((x[i, e] - y[j, e])**2))) * (x[i, d] - y[j, d]))"
    ),
    "few rows of a block together": GpuProgram(
        "x: f64[2, 3000]; w: f64[3000]; f[i] = sum{k} (x[i, k] * w[k])"
    ),
    "few values at launch": GpuProgram(
        "x: f64[N, 2]; y: f64[M]; f[i, d] = sum{j} (exp(-(y[j] - x[i, d])**2))", {"N": 70, "M": 190}
    ),
    "autocorrelation": GpuProgram("x: f32[700]; f[l: 64] = sum{i: 636} (x[i] * x[i + l])"),
}

#: Long reductions of few elements, which many blocks compute parts of.
PARTS = {
    "parts of a sum": GpuProgram("x: f32[20001]; f = sum{i} (x[i]**2)"),
    "parts of rows": GpuProgram("x: f32[3, 7001]; f[i] = sum{k} (x[i, k]) - max{k} (x[i, k])"),
    "parts of columns": GpuProgram("x: f64[3011, 5]; f[k] = sum{i} (x[i, k])"),
    "parts of a matrix": GpuProgram("x: f32[N, M]; f = sum{i, k} (x[i, k]**2)", {"N": 100, "M": 700}),
    "parts at launch": GpuProgram("x: f32[N]; f = logsumexp{i} (x[i])", {"N": 10001}),
    "no part at launch": GpuProgram("x: f32[N]; f = sum{i} (x[i]) + N", {"N": 0}),
    "split product": GpuProgram("a: f32[64, 820]; b: f32[820, 64]; f[i, j] = sum{k} (a[i, k] * b[k, j])"),
    "split windows": GpuProgram(
        "x: f32[4, 4, 259]; y: f32[4, 64, 256]; f[c, d: 64, k: 4] = sum{n, i} (x[n, c, i + k] * y[n, d, i])"
    ),
}

#: Reductions whose operands many elements read.
CONTRACTIONS = {
    "product": GpuProgram("a: f32[200, 70]; b: f32[70, 150]; f[i, j] = sum{k} (a[i, k] * b[k, j])"),
    "product of full tiles": GpuProgram(
        "a: f32[256, 64]; b: f32[64, 256]; f[i, j] = sum{k} (a[i, k] * b[k, j])"
    ),
    "product f64": GpuProgram("a: f64[128, 64]; b: f64[64, 128]; f[i, j] = sum{k} (a[i, k] * b[k, j])"),
    "product at launch": GpuProgram(
        "a: f32[N, K]; b: f32[K, M]; f[i, j] = sum{k} (a[i, k] * b[k, j])", {"N": 790, "M": 701, "K": 33}
    ),
    "greatest sum": GpuProgram("a: f32[200, 70]; b: f32[70, 150]; f[i, j] = max{k} (a[i, k] + b[k, j])"),
    "logsumexp": GpuProgram("a: f32[100, 70]; b: f32[70, 150]; f[i, j] = logsumexp{k} (a[i, k] * b[k, j])"),
    "triangle": GpuProgram("a: f32[128, 128]; b: f32[128, 150]; f[i, j] = sum{k}_0^(i) (a[i, k] * b[k, j])"),
    "guard": GpuProgram(
        "a: f32[128, 70]; b: f32[70, 128];"
        "f[i, j] = sum{k} (if {k >= i - 40} then (a[i, k] * b[k, j]) else (b[k, i]))"
    ),
    "floor": GpuProgram("a: f32[128, 35]; b: f32[70, 128]; f[i, j] = sum{k: 70} (a[i, k // 2] * b[k, j])"),
    "windows": GpuProgram(
        "a: f32[20, 130]; x: f32[20, 50]; f[c, i: 80, n: 20] = sum{k: 30} (a[c, i + k] * x[n, k] + 1)"
    ),
    "strided windows": GpuProgram(
        "x: f32[4, 16, 300]; w: f32[32, 16, 9];"
        "f[n, o, i: 138] = sum{c, k} (x[n, c, 2 * i + 3 * k] * w[o, c, k])"
    ),
    "images": GpuProgram(
        "x: f32[2, 16, 14, 14]; w: f32[32, 16, 3, 3];"
        "f[n, o, i: 6, j: 6] = sum{c, p, q} (x[n, c, 2 * i + p, 2 * j + q] * w[o, c, p, q])"
    ),
    "distances": GpuProgram(
        "x: f32[300, 3]; y: f32[280, 3]; f[i] = sum{j} (exp(-(sum{d} ((x[i, d] - y[j, d])**2))))"
    ),
    "attention": GpuProgram(
        "q: f32[2, 100, 32]; k: f32[2, 90, 32]; v: f32[2, 90, 32];"
        "let s[h, i, j] = sum{d} (q[h, i, d] * k[h, j, d]) / 8; let m[h, i] = logsumexp{j} (s[h, i, j]);"
        "o[h, i, d] = sum{j} (exp(s[h, i, j] - m[h, i]) * v[h, j, d])"
    ),
    "diagonals": GpuProgram(
        "a: f32[100, 40]; b: f32[90, 40];"
        "f[i, j] = exp(-(sum{k} ((a[i, k] + b[j, k])**2 * a[i, i % 40] * b[j, j % 40])) / 1000)"
    ),
}

_SOFTMAX = (
    "let m[i] = max{k} (x[i, k]); let e[i, k] = exp(x[i, k] - m[i]);y[i, k] = e[i, k] / sum{j} (e[i, j])"
)

#: Maps that a block computes for a few rows, one after the other.
CHAINS = {
    "softmax": GpuProgram(f"x: f32[64, 256]; {_SOFTMAX}"),
    "odd rows of a warp each": GpuProgram(f"x: f64[37, 101]; {_SOFTMAX}"),
    "long rows of a block each": GpuProgram(
        "x: f32[9, 1500]; let s[i] = sum{k} (x[i, k]**2); let m[i] = max{k} (x[i, k]);"
        "y[i, k] = x[i, k] * m[i] / s[i]"
    ),
    "few short rows": GpuProgram(f"x: f32[3, 5]; {_SOFTMAX}"),
    "rows of two indices": GpuProgram(
        "x: f32[3, 7, 50]; let m[h, i] = sum{k} (x[h, i, k]) / 50; y[h, i, k] = (x[h, i, k] - m[h, i])**2;"
        "z[h, i] = sum{k} (y[h, i, k])"
    ),
    "rows of several dimensions": GpuProgram(
        "x: f32[30, 6, 11]; w: f32[6, 11]; let m[i] = sum{k, l} (x[i, k, l] * w[k, l]);"
        "y[i, k, l] = x[i, k, l] * m[i] + w[k, l]"
    ),
    "sums over rows": GpuProgram(
        "x: f32[45, 70]; g: f32[70]; let m[i] = sum{k} (x[i, k]); let v[i] = sum{k} ((x[i, k] - m[i])**2);"
        "y[i, k] = (x[i, k] - m[i]) / sqrt(v[i] + 1) * g[k];"
        "c[k] = sum{i} (y[i, k] * x[i, k]); d[k] = sum{i} (x[i, k])"
    ),
    "sums over long rows": GpuProgram(
        "x: f32[11, 1100]; g: f32[1100]; let s[i] = sum{k} (x[i, k]); y[i, k] = exp(x[i, k] / s[i]) * g[k];"
        "c[k] = sum{i} (y[i, k] * x[i, k]); d[k] = sum{i} (x[i, k])"
    ),
    "sums of a diagonal": GpuProgram("x: f64[60, 60]; f[i] = sum{j} (x[i, j] * x[59 - j, j])"),
    "a map that waits": GpuProgram(
        "x: f64[20, 33]; let s[i] = sum{k} (x[i, k]); y[i, k] = x[i, k] / s[i]; let c[k] = sum{i} (y[i, k]);"
        "z[i, k] = y[i, k] * c[k] + s[i]"
    ),
    "a diagonal that is added last": GpuProgram(
        "x: f32[45, 45]; f[i] = log(sum{j} (exp(x[i, j] - x[j, j])))"
    ),
    "triangle by rows": GpuProgram(
        "x: f32[40, 40]; let s[i] = sum{k}_0^(i) (x[i, k]);"
        "y[i, k] = if {k <= i} then (x[i, k] / s[i]) else (s[i])"
    ),
}

PROGRAMS = ELEMENTS | GROUPS | PARTS | CONTRACTIONS | CHAINS
