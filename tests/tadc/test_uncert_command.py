"""`tadc uncert`."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from tadc.cli import main

ROOT = Path(__file__).parent.parent.parent
IMPEDANCE = [
    *("uncert", str(ROOT / "examples" / "impedance.tad"), "--at", "V=4.999,I=.019661,phi=1.04446"),
    *("--u", "V=3.2e-3,I=9.5e-6,phi=7.5e-4", "--corr", "V,I=-.36", "V,phi=.86", "--corr", "I,phi=-.65"),
]


def test_gum_h2(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*IMPEDANCE, "--budget"]) == 0
    lines = capsys.readouterr().out.splitlines()
    cells = [[cell.strip() for cell in line.strip("│").split("│")] for line in lines if line.startswith("│")]
    assert lines[0].strip() == "first order (GUM)"
    assert [row[:3] for row in cells[:3]] == [
        ["R", "127.73217", "0.069978728"],
        ["X", "219.84651", "0.29571683"],
        ["Z", "254.2597", "0.23660297"],
    ]
    assert [row[0] for row in cells[3:]] == ["phi", "V", "I", "V", "I", "phi", "V", "I", "phi"]
    assert sum(float(row[4].removesuffix("%")) for row in cells[3:6]) == pytest.approx(100, abs=0.2)


def test_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "x.json"
    assert main([*IMPEDANCE, "--k", "3", "--dof", "V=5,I=5,phi=5", "-o", str(file)]) == 0
    assert capsys.readouterr().out == ""
    found = json.loads(file.read_text())
    assert found["u"]["R"] == pytest.approx(0.0699787, abs=5e-8)
    assert found["U"]["R"] == pytest.approx(3 * found["u"]["R"])
    assert found["dof"]["Z"] == pytest.approx(5)
    assert found["cov"][0][0] == pytest.approx(found["u"]["R"] ** 2)
    assert [row["quantity"] for row in found["budget"]["X"]] == ["V", "I", "phi"]
    assert not found["is_rigorous"]


@pytest.mark.parametrize(
    ("method", "title", "parts"),
    [
        ("worst", "linear worst case, not rigorous", {"U", "bounds", "budget"}),
        ("interval", "rigorous interval", {"U", "bounds"}),
        ("mc", "Monte Carlo (GUM supplement 1)", {"u", "U", "cov", "bounds"}),
    ],
)
def test_methods(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], method: str, title: str, parts: set[str]
) -> None:
    command = ["uncert", "-e", "x: f64; y = x**2", "--at", "x=3", "--u", "x=.25", "--method", method]
    command += ["--samples", "1000", "--seed", "1"]
    assert main(command) == 0
    assert capsys.readouterr().out.splitlines()[0].strip() == title
    assert main([*command, "-o", str(tmp_path / "r.json")]) == 0
    found = json.loads((tmp_path / "r.json").read_text())
    assert parts <= found.keys()
    assert found["U"]["y"] == pytest.approx({"worst": 1.5, "interval": 1.5, "mc": 3}[method], rel=0.1)
    assert found["is_rigorous"] == (method == "interval")


def test_arrays_of_measurements_from_files_and_sizes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    np.save(tmp_path / "x.npy", np.arange(3.0))
    program = "x: f64[N]; size M; y[i] = M * x[i]"
    command = ["uncert", "-e", program, "--at", f"x={tmp_path / 'x.npy'}", "--u", "x=.5", "--size", "M=4"]
    assert main(command) == 0
    rows = [line.split("│") for line in capsys.readouterr().out.splitlines() if line.startswith("│")]
    assert [[cell.strip() for cell in row[1:4]] for row in rows] == [
        ["y[0]", "0", "2"],
        ["y[1]", "4", "2"],
        ["y[2]", "8", "2"],
    ]


def test_covariances(tmp_path: Path) -> None:
    program = "a: f64; b: f64; y = a - b"
    command = ["uncert", "-e", program, "--at", "a=1,b=2", "--cov", "a,a=.04;b,b=.09", "a,b=.03"]
    assert main([*command, "-o", str(tmp_path / "r.json")]) == 0
    found = json.loads((tmp_path / "r.json").read_text())
    assert found["u"]["y"] == pytest.approx(np.sqrt(0.04 + 0.09 - 0.06))
    assert found["dof"]["y"] == "inf"


def test_help(capsys: pytest.CaptureFixture[str]) -> None:
    for words in (["uncert"], ["uncert", "-h"]):
        assert main(words) == 0
        assert "--corr V,I=-.36" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["--at", "x=1", "--u", "y=1"], 1, "TAD0901"),
        (["--at", "x=1", "--u", "x=-1"], 1, "TAD0902"),
        (["--at", "x=nothing.npy"], 1, "no file `nothing.npy`"),
        (["--u", "x=1"], 1, "`--at x=…`"),
        (["--at", "x"], 2, "not of the form NAME=VALUE"),
        (["--corr", "x=1"], 2, "write `--corr V,I=-.36`"),
        (["--corr", "x,y=1", "x,y=1"], 2, "gives `x,y` twice"),
        (["--size", "N=x"], 2, "write `--size N=4`"),
        (["--metod", "mc"], 2, "did you mean `--method`?"),
        (["--method", "best"], 2, "it can be gum, worst"),
        (["--k", "1", "--k", "2"], 2, "`--k` is given twice"),
        (["--method", "mc", "--budget"], 2, "has no budget"),
        (["--k", "0"], 2, "no positive number"),
        (["--samples", "1"], 2, "too few"),
        (["--seed", "-1"], 2, "less than 0"),
        (["-o", "x.csv"], 2, "end in .json"),
        (["f.tad"], 2, "both a FILE and -e TEXT"),
    ],
)
def test_wrong_use(capsys: pytest.CaptureFixture[str], words: list[str], code: int, said: str) -> None:
    assert main(["uncert", "-e", "x: f64; y = x**2", *words]) == code
    assert said in capsys.readouterr().err


def test_errors_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    command = ["uncert", "-e", "x: f64; y = x", "--at", "x=1", "--u", "x=-1", "--error-format=json"]
    assert main(command) == 1
    assert json.loads(capsys.readouterr().err)["code"] == "TAD0902"


def test_pieces(capsys: pytest.CaptureFixture[str]) -> None:
    """Tighter limits, and what is wrong with their number."""
    words = [
        "uncert",
        "-e",
        "x: f64; f = x * (1 - x)",
        "--at",
        "x=.5",
        "--u",
        "x=.25",
        "--method",
        "interval",
    ]
    widths: list[float] = []
    for pieces in ("1", "64"):
        assert main([*words, "--pieces", pieces, "-o", "-"]) == 0
        row = next(line for line in capsys.readouterr().out.splitlines() if line.startswith("│ f"))
        widths.append(float(row.strip("│").split("│")[2]))
    assert widths[1] < widths[0] / 2
    assert main([*words, "--pieces", "0"]) != 0
    assert "--pieces 0" in capsys.readouterr().err
    assert main(["uncert", "-e", "x: f64; f = x", "--at", "x=1", "--pieces", "2"]) != 0
    assert "of `--method interval`" in capsys.readouterr().err


def test_values_without_their_option(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["uncert", "f.tad", "V=1"]) == 2
    assert "`tadc uncert f.tad --at V=1`" in capsys.readouterr().err
