"""`--json`: what commands print, for programs."""

import json
from typing import Any

import pytest

from tadc.cli import main


def printed(capsys: pytest.CaptureFixture[str], *argv: str) -> Any:
    assert main(list(argv)) == 0
    return json.loads(capsys.readouterr().out)


def test_gradcheck_and_stats(capsys: pytest.CaptureFixture[str]) -> None:
    text = "x: f64[3]; w: f64; f[i] = w * x[i]**2"
    rows = printed(capsys, "gradcheck", "-e", text, "--json")
    assert [(row["argument"], row["shape"], row["passed"]) for row in rows] == [
        ("x", [3], True),
        ("w", [], True),
    ]
    assert printed(capsys, "stats", "-e", text, "--json")["written"]["work"]["operations"] == 6


def test_uncert(capsys: pytest.CaptureFixture[str]) -> None:
    found = printed(capsys, "uncert", "-e", "x: f64; y = 2*x", "--at", "x=3", "--u", "x=.1", "--json")
    assert (found["value"]["y"], found["u"]["y"]) == (6, pytest.approx(0.2))


def test_list(capsys: pytest.CaptureFixture[str]) -> None:
    stages, functions, targets, (one,) = (
        printed(capsys, "list", *words.split(), "--json")
        for words in ("stages", "functions", "targets", "passes tad-reverse-diff")
    )
    assert {"name": "loops", "about": "scf loops over buffers"} in stages
    assert {"name": "exp", "arity": 1} in functions
    assert {"name": "cpu", "about": ["runs here"]} in targets
    assert "wrt" in {option["name"] for option in one["options"]}
