"""Diagnostics as the command and Python give them out: JSON lines, and warnings."""

import json
import warnings

import pytest

import tadc
import tadc.commands.main
from tadc.cli import main
from tadc.frontend.codes import WARNINGS

FLOOR = "x: f64[3]; y: f64[3]; u: f64; f[i] = floor(x[i]) * y[i]"


@pytest.mark.parametrize(
    ("argv", "exit_code", "codes"),
    [
        (["-e", "x: f64[3]; f[i: 4] = x[i] + q"], 1, ["TAD0302", "TAD0204"]),
        (["-e", FLOOR, "--wrt", "*"], 0, ["TAD0408", "TAD0402"]),
        (["-e", FLOOR, "--wrt", "y"], 0, ["TAD0408"]),
        (["-e", FLOOR, "--wrt", "y", "--allow", "TAD0408"], 0, []),
        (["no.tad"], 1, ["TAD0801"]),
        (["-e", "f = 1", "--emit", "x"], 2, [None]),
        (["--explain", "x"], 2, [None]),
        (["-e", "f = 1", "--time"], 2, [None]),
        (["-e", "f = 1", "--print-ir-after-all"], 2, [None]),
    ],
)
def test_json_is_all_that_stderr_holds(
    capsys: pytest.CaptureFixture[str], argv: list[str], exit_code: int, codes: list[str | None]
) -> None:
    assert main([*argv, "--error-format", "json"]) == exit_code
    found = [json.loads(line) for line in capsys.readouterr().err.splitlines()]
    assert [item["code"] for item in found] == codes
    for item in found:
        assert item["severity"] == ("warning" if item["code"] in WARNINGS else "error")
        assert item["message"]
        assert {"file", "primary", "secondary", "notes", "helps", "edits"} <= set(item)


@pytest.mark.parametrize(("raised", "exit_code"), [(KeyboardInterrupt, 130), (RuntimeError, 70)])
def test_json_of_what_is_no_diagnostic(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    raised: type[BaseException],
    exit_code: int,
) -> None:
    def stopped(arguments: object) -> int:
        raise raised

    monkeypatch.setattr(tadc.commands.main, "execute", stopped)
    assert main(["-e", "f = 1", "--error-format=json"]) == exit_code
    (line,) = capsys.readouterr().err.splitlines()
    assert json.loads(line)["code"] is None


def test_python_warns_at_the_caller() -> None:
    with pytest.warns(tadc.CompileWarning, match="nothing reads the argument `u`"):
        floor = tadc.function(FLOOR)
    with pytest.warns(tadc.CompileWarning, match="`floor` is piecewise constant") as caught:
        tadc.vjp(floor)
    (warning,) = caught
    assert warning.filename == __file__
    assert isinstance(warning.message, tadc.CompileWarning)
    assert warning.message.diagnostic.code == "TAD0402"


@pytest.mark.parametrize(
    "text",
    [
        "x: f64[N]; f[i: N] = 2 * i",  # `x` is never read, but tells N
        "x: f64[3]; f[i] = floor(x[i]) * x[i]",
        "x: f64[3]; f[i] = select(x[i] > 0, x[i], 0)",
        "x: f64[0]; f = sum{i} (x[i])",
    ],
)
def test_no_warning(text: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tadc.vjp(tadc.function(text))


@pytest.mark.parametrize("value", ["sign(x)", "ceil(2*x)", "0 * x", "select(x > 0, 1, 2)", "floor(x)**2"])
def test_warning(value: str) -> None:
    with pytest.warns(tadc.CompileWarning):
        tadc.grad(tadc.function(f"x: f64; f = {value}"))
