"""Programs that are used nowhere else, each beside the same function in PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import pytest

import tadc

torch: Any = pytest.importorskip("torch", reason="PyTorch is not installed: `make frameworks` installs it")

#: Imported after the line above, which leaves out tests where PyTorch is not there.
operators: Any = import_module("tadc.torch.operators")


@dataclass(frozen=True)
class Program:
    """A text, the shapes of its inputs, and the function in PyTorch."""

    text: str
    shapes: tuple[tuple[int, ...], ...]
    same: Callable[..., Any]

    @property
    def function(self) -> tadc.Function:
        return tadc.function(self.text)

    def inputs(self, requires_grad: bool = False, seed: int = 0) -> tuple[Any, ...]:
        """Tensors between 0.5 and 1.5."""
        torch.manual_seed(seed)
        made = [torch.rand(shape, dtype=torch.float64) + 0.5 for shape in self.shapes]
        return tuple(tensor.requires_grad_(requires_grad) for tensor in made)


def _layer(x: Any, w: Any, b: Any) -> Any:
    return torch.tanh(torch.nn.functional.linear(x, w, b))


def _density(p: Any, h: Any) -> Any:
    return torch.exp(-((p[:, None] - p[None]) ** 2).sum(-1) / h**2).sum(1)


def _bilateral(v: Any, a: Any) -> Any:
    windows = v.unfold(0, 5, 1)
    w = torch.exp(-a * (windows - windows[:, 2:3]) ** 2)
    return (w * windows).sum(1) / w.sum(1)


def _recurrence(x: Any, a: Any) -> Any:
    found = [x[0]]
    for t in range(1, len(x)):
        found.append(a * found[-1] * x[t] + torch.sin(x[t]))
    s = torch.stack(found)
    return s, s.sum()


def _mixed(x: Any, m: Any) -> Any:
    y = x @ m
    return y, (y**3).sum(), m.T * 2


PROGRAMS = {
    "layer": Program(
        "x: f64[B, I]; w: f64[O, I]; b: f64[O]; y[n: B, o: O] = tanh(sum{i} (w[o, i]*x[n, i]) + b[o])",
        ((3, 4), (2, 4), (2,)),
        _layer,
    ),
    "density": Program(
        "p: f64[N, 2]; h: f64; rho[i: N] = sum{j: N} (exp(-(sum{d} ((p[i, d] - p[j, d])**2))/h**2))",
        ((4, 2), ()),
        _density,
    ),
    "bilateral": Program(
        """v: f64[N]; a: f64
        let w[i: N - 4, k: 5] = exp(-a*(v[i + k] - v[i + 2])**2)
        y[i] = sum{k} (w[i, k]*v[i + k]) / sum{k} (w[i, k])""",
        ((7,), ()),
        _bilateral,
    ),
    "recurrence": Program(
        "x: f64[T]; a: f64; scan{t} s[t: T] = if {t = 0} then (x[0]) else (a*s[t - 1]*x[t] + sin(x[t]))\n"
        "total = sum{t} (s[t])",
        ((5,), ()),
        _recurrence,
    ),
    "mixed": Program(
        "x: f64[N]; m: f64[N, 3]; y[j: 3] = sum{i} (x[i]*m[i, j])\n"
        "c = sum{j} (y[j]**3); t[j: 3, i: N] = 2*m[i, j]",
        ((4,), (4, 3)),
        _mixed,
    ),
}


@pytest.fixture(params=list(PROGRAMS))
def program(request: pytest.FixtureRequest) -> Program:
    return PROGRAMS[request.param]


def assert_alike(found: Any, expected: Any) -> None:
    """Assert that tensors, or tuples of them, are equal but for rounding."""
    if not isinstance(expected, tuple | list):
        found, expected = (found,), (expected,)
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-9, atol=1e-11)
