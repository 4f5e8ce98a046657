"""`tadc inverse`, and pictures of plans."""

import re
import sys
from pathlib import Path

import pytest

import tadc
from tadc.apps.inversion.plot import MOST, draw, lives
from tadc.cli import main

FIGURE_2 = "x1: f64; x2: f64; x3: f64; z1 = x1*x2; y2 = x2; z2 = z1 + sin(x3)"


def test_plan(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["inverse", "-e", FIGURE_2, "--plan"]) == 0
    said = capsys.readouterr().out
    assert said.startswith("inverse of z1, y2, z2 by x1, x2, x3: 3 numbers\n2 components of 2 forms")
    assert re.search(r"│ +1 │ z1 +│ x1 +│ z1 +│ x2 +│ +1 │ diagonal │ +1 │", said)
    assert main(["inverse", "-e", FIGURE_2]) == 0
    assert capsys.readouterr().out == said == str(tadc.inverse(tadc.function(FIGURE_2)).plan) + "\n"


def test_many_steps_and_names_are_cut(capsys: pytest.CaptureFixture[str]) -> None:
    steps = "; ".join(f"let x{n + 1} = sin(x{n})" for n in range(40))
    assert main(["inverse", "-e", f"x0: f64; {steps}; y = x40"]) == 0
    assert "17 more" in capsys.readouterr().out
    inside = "; ".join(f"let h{n} = x*{n}" for n in range(6))
    assert main(["inverse", "-e", f"x: f64; {inside}; y = h0 + h1 + h2 + h3 + h4 + h5"]) == 0
    assert "and 3 more" in capsys.readouterr().out


def test_sizes_and_inputs(capsys: pytest.CaptureFixture[str]) -> None:
    text = "a: f64; x: f64[N]; y[i] = a*x[i]"
    assert main(["inverse", "-e", text, "--wrt", "x", "--size", "N=7"]) == 0
    assert "y by x: 7 numbers" in capsys.readouterr().out
    assert main(["inverse", "-e", text, "--wrt", "x"]) == 1
    assert "TAD0212" in capsys.readouterr().err


@pytest.mark.parametrize("product", ["jinv", "jinvT", "logabsdet"])
def test_programs_of_products(capsys: pytest.CaptureFixture[str], product: str) -> None:
    step = "let scan{t} u[t: 4, i: 3] = if {t = 0} then (x[i]) else (w[t, i]*u[t - 1, i])"
    text = f"x: f64[3]; w: f64[4, 3]; {step}; y[i: 3] = u[3, i]"
    words = ["inverse", "--wrt", "x", "--product", product, "-e"]
    assert main([*words, text]) == 0
    said = capsys.readouterr().out
    assert said.rstrip() == str(getattr(tadc.inverse(tadc.function(text), "x"), product)).rstrip()
    assert main([*words, "x: f64[9]; w: f64[9, 9]; y[i] = sum{j} (w[i, j]*x[j])"]) == 1
    assert "TAD0915" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["-e", FIGURE_2, "--plann"], "did you mean `--plan`?"),
        (["--plan"], "give a FILE, `-` or -e TEXT"),
        (["-e", FIGURE_2, "--size", "N"], "is not of the form NAME=NUMBER"),
        (["-e", "x: f64; y = x", "--wrt", "x", "--plot"], "`--plot` lacks a value"),
        (["-e", "x: f64[N]; y[i] = x[i]", "--size", "N=3", "--size", "N=4"], "`--size` gives `N` twice"),
        (["-e", "x: f64; y = x", "--plot", "a.svg", "--plot", "b.svg"], "`--plot` is given twice"),
        (["-e", "x: f64; y = x", "--product", "jin"], "did you mean `jinv`?"),
        (["-e", "x: f64; y = x", "--product", "jinv", "-o", "a.svg"], "but a program is written"),
    ],
)
def test_wrong_use(capsys: pytest.CaptureFixture[str], words: list[str], says: str) -> None:
    assert main(["inverse", *words]) == 2
    assert says in capsys.readouterr().err


def test_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["inverse", "-h"]) == 0
    assert capsys.readouterr().out.startswith("tadc inverse FILE")


def test_plot(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "f.svg"
    assert main(["inverse", "-e", FIGURE_2, "--plot", str(file)]) == 0
    assert capsys.readouterr().out == ""
    texts = re.findall(r">([^<>]+)</text>", file.read_text())
    assert {"x1", "x2", "x3", "z1", "z2"} <= set(texts)
    assert "statements; 3 numbers are live at each dotted line" in texts
    assert main(["inverse", "-e", FIGURE_2, "--plot", str(tmp_path / "f.txt")]) == 1
    assert "TAD0801" in capsys.readouterr().err


def test_what_overwrites_a_value_takes_its_slot() -> None:
    found, spans = lives(tadc.inverse(tadc.function(FIGURE_2)).plan)
    assert {life.name: life.row for life in found} == {"x1": 0, "x2": 1, "x3": 2, "z1": 0, "z2": 2}
    assert spans == [(1, 1), (2, 2)]
    text = "x: f64; let u = sin(x); let v = exp(x); y = u*v"
    found, spans = lives(tadc.inverse(tadc.function(text)).plan)
    assert {life.name: life.row for life in found} == {"x": 0, "u": 1, "v": 2, "y": 0}
    assert spans == [(1, 3)]


def test_too_many_statements_to_draw() -> None:
    steps = "; ".join(f"let x{n + 1} = sin(x{n})" for n in range(MOST + 1))
    for text in (f"x0: f64; {steps}; y = x{MOST + 1}", "x: f64; y = x"):
        with pytest.raises(tadc.CompileError) as error:
            draw(tadc.inverse(tadc.function(text)).plan, "svg")
        assert [d.code for d in error.value.diagnostics] == ["TAD0803"]


def test_without_matplotlib(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(tadc.CompileError, match="drawing needs matplotlib"):
        draw(tadc.inverse(tadc.function(FIGURE_2)).plan, "svg")
