"""Programs of many definitions that read each other, to compile: layers, chains, recurrent steps."""

from __future__ import annotations


def chained(count: int) -> str:
    """Functions of functions, element by element."""
    lines = [f"let a{k + 1}[i] = sin(a{k}[i])" for k in range(count)]
    return "\n".join(["a0: f64[100]", *lines, f"f = sum{{i}} (a{count}[i])"])


def layers(count: int) -> str:
    """Equal layers of a network."""
    given = "; ".join(["h0: f32[8, 16]", *(f"w{k}: f32[16, 16]" for k in range(count))])
    lines = [f"let h{k + 1}[b, j] = tanh(sum{{i}} (h{k}[b, i]*w{k}[i, j]))" for k in range(count)]
    return "\n".join([given, *lines, f"f = sum{{b, j}} (h{count}[b, j])"])


def lstm(count: int) -> str:
    """Steps of a recurrent network, written out."""
    lines = [f"x: f32[{count}, 8, 16]; h0: f32[8, 16]; c0: f32[8, 16]; w: f32[4, 16, 16]; v: f32[4, 16, 16]"]
    for k in range(count):
        lines += [
            f"let g{k}[q: 4, b: 8, j: 16] = sum{{i}} (x[{k}, b, i]*w[q, i, j])"
            f" + sum{{i}} (h{k}[b, i]*v[q, i, j])",
            f"let c{k + 1}[b: 8, j: 16] = sigmoid(g{k}[0, b, j])*c{k}[b, j]"
            f" + sigmoid(g{k}[1, b, j])*tanh(g{k}[2, b, j])",
            f"let h{k + 1}[b: 8, j: 16] = sigmoid(g{k}[3, b, j])*tanh(c{k + 1}[b, j])",
        ]
    return "\n".join([*lines, f"f = sum{{b, j}} (h{count}[b, j]**2)"])


def coupling(count: int) -> str:
    """Affine coupling layers of a flow, which change one half of the numbers by the other, by turns."""
    given = "; ".join(f"w{k}: f64[4, 4]; v{k}: f64[4, 4]" for k in range(count))
    lines = [f"y0: f64[32, 4]; y1: f64[32, 4]; {given}"]
    for k in range(count):
        lines += [
            f"let s{k}[n: 32, j: 4] = tanh(sum{{i: 4}} (y{k + 1}[n, i]*w{k}[i, j]))",
            f"let y{k + 2}[n: 32, j: 4] = y{k}[n, j]*exp(s{k}[n, j])"
            f" + sum{{i: 4}} (y{k + 1}[n, i]*v{k}[i, j])",
        ]
    return "\n".join([*lines, f"f = sum{{n: 32, j: 4}} (y{count}[n, j]**2 + y{count + 1}[n, j]**2)"])


def terms(count: int) -> str:
    """A sum of products of powers and sines."""
    lines = ["a0: f64[100]; a1: f64[100]; a2: f64[100]; a3: f64[100]"]
    added = (f"{k + 1}.5*a{k % 4}[i]**{2 + k % 3}*sin({k + 1}*a{(k + 1) % 4}[i])" for k in range(count))
    return "\n".join([*lines, f"f = sum{{i}} ({' + '.join(added)})"])


DEEP = {
    "100 chained functions": chained(100),
    "1,000 chained functions": chained(1000),
    "20 layers": layers(20),
    "100 layers": layers(100),
    "300 layers": layers(300),
    "500 terms": terms(500),
    "10 LSTM steps": lstm(10),
    "10 coupling layers": coupling(10),
}
