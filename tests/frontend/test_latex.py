"""Programs, results, plans and certificates as LaTeX and HTML."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import tadc
from tadc.frontend.latex import form_latex, name_latex
from tadc.lattice.affine import Affine

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*.tad"))


def body(text: str) -> str:
    """The right side of the one definition of a program."""
    (row,) = tadc.function(text).latex().splitlines()[1:-1]
    return row.partition(" &= ")[2].partition(" &&")[0]


@pytest.mark.parametrize(
    ("text", "latex"),
    [
        ("x: f64; y = -x*2", r"-x \cdot 2"),
        ("x: f64; y = 1 - (-x)", r"1 - \left(-x\right)"),
        ("x: f64; y = x - (x - 1)", r"x - \left(x - 1\right)"),
        ("x: f64; y = (x + 1)*exp(-x**2)", r"\left(x + 1\right) \, e^{-x^{2}}"),
        ("x: f64; y = exp(x)**2", r"\left(e^{x}\right)^{2}"),
        ("x: f64; y = (x/2)**2", r"\left(\frac{x}{2}\right)^{2}"),
        ("x: f64; y = sqrt(abs(x)) + 1e-5", r"\sqrt{\left|x\right|} + 1 \cdot 10^{-5}"),
        ("x: f64; y = erf(x) * atan2(x, pi)", r"\operatorname{erf}\left(x\right) \, "
         r"\operatorname{atan2}\left(x, \pi\right)"),
        ("x: f64[4]; y = sum{i} (x[i] + 1) * 2",
         r"\left(\sum_{i=0}^{3} \left(x_{i} + 1\right)\right) \cdot 2"),
        ("x: f64[4]; y = max{i} (x[i])", r"\max_{0 \le i \le 3} x_{i}"),
        ("x: f64[N]; y = sum{i, j} (x[i] * x[j])", r"\sum_{i=0}^{N - 1} \sum_{j=0}^{N - 1} x_{i} \, x_{j}"),
        ("x: f64[9]; y[i: 3] = x[2*i]", r"x_{2 \, i}"),
        ("x: f64[9]; y[i: 3] = x[(i + 1) // 2 + i % 2]",
         r"x_{\left\lfloor \frac{i + 1}{2} \right\rfloor + i \bmod 2}"),
        ("x: f64; y = select(x <= 0, 0, x)", r"\begin{cases} 0 & \text{if } x \le 0 \\ x & \text{otherwise} "
         r"\end{cases}"),
        ("x: f64[3]; y[i] = if {i >= 1} then (x[i]) else (0)",
         r"\begin{cases} x_{i} & \text{if } i \ge 1 \\ 0 & \text{otherwise} \end{cases}"),
    ],
)  # fmt: skip
def test_formula(text: str, latex: str) -> None:
    assert body(text) == latex


@pytest.mark.parametrize(
    ("name", "latex"),
    [
        ("x", "x"),
        ("x1", "x_{1}"),
        ("d_0", "d_{0}"),
        ("sigma_x", r"\sigma_{x}"),
        ("loss", r"\mathit{loss}"),
        ("x_dot", r"\dot{x}"),
        ("a_max_2", r"a_{\mathrm{max\_2}}"),
    ],
)
def test_name(name: str, latex: str) -> None:
    assert name_latex(name) == latex


def test_floors_within_floors() -> None:
    inner = r"\left\lfloor \frac{i}{2} \right\rfloor"
    i, j = Affine.var("i"), Affine.var("j")
    form = (i.floordiv(2) + j).floordiv(3)
    assert form_latex(form) == rf"\left\lfloor \frac{{j + {inner}}}{{3}} \right\rfloor"


def test_a_recurrence_says_its_order() -> None:
    f = tadc.function("x: f64[4]; scan{t} s[t] = if {t = 0} then (x[0]) else (s[t - 1] + x[t])")
    assert r"\text{for } 0 \le t < 4 \text{ in the order of } t" in f.latex()


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_examples_are_balanced(path: Path) -> None:
    f = tadc.load(path)
    for latex in (f.latex(), tadc.vjp(f).latex()):
        assert latex.count("{") == latex.count("}")
        assert len(re.findall(r"\\left\b", latex)) == len(re.findall(r"\\right\b", latex))
        assert latex.count(r"\begin") == latex.count(r"\end")
        assert not re.search(r"[*¦⌊⌋]|//|<=|>=|[+-] -", latex.replace(r"\operatorname*", ""))


def test_notebooks() -> None:
    f = tadc.function("x: f64[3]; s = sum{i} (select(x[i] < 1, x[i]**2, 0))")
    shown = f._repr_html_()
    assert r"\text{if } x_{i} &lt; 1" in shown
    assert "select(x[i] &lt; 1, x[i]**2, 0)" in re.sub("<.*?>", "", shown)
    assert f._repr_latex_() == f"$\\displaystyle {f.latex()}$"
    r = tadc.propagate(f, {"x": np.zeros(3)}, u={"x": 0.1})
    assert "<caption>first order (GUM)</caption>" in r._repr_html_()
    assert r"s & 0 & 0 & inf" in r.latex()
    assert "<caption>budget of s</caption>" in r.budget._repr_html_()
    assert r"slope * u & share & dof \\" in r.budget.latex()
    plan = tadc.inverse(tadc.function("x: f64[3]; y_1[i] = 2*x[i]")).plan
    assert "<td>diagonal</td>" in plan._repr_html_()
    assert r"1 & y\_1 & x & y\_1 &  & 3 & diagonal & 3 \\" in plan.latex()
    assert repr(plan) == "<tadc.Plan of y_1 by x: 3 numbers in 1 steps>"


def test_certificates() -> None:
    proof = tadc.certificate(tadc.function("x: f64[8]; f[i: 3, j: 4] = exp(x[i + j])"))
    assert (
        r"\begin{pmatrix} i \\ j \end{pmatrix} = \begin{pmatrix} x_{0} - j \\ j \end{pmatrix}"
        in proof.latex()
    )
    assert "why dx[x_0]" in proof._repr_html_()
    assert repr(proof) == "<tadc.Certificates of 1 reads by x>"
    none = tadc.certificate(tadc.function("x: f64[8]; f[i] = floor(0*x[i])"))
    assert (none.latex() == "") == (len(none) == 0)
