"""`tadc fix`: edits of errors in files, on stdin and on the command line."""

import io
import json
from pathlib import Path

import pytest

from tadc.cli import main

WRONG = "x: f64[3]\nf[i] = ln(x[i])^2\n"
RIGHT = "x: f64[3]\nf[i] = log(x[i])**2\n"


def test_a_file_is_written_back(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "f.tad"
    file.write_text(WRONG)
    assert main(["fix", str(file)]) == 0
    assert file.read_text() == RIGHT
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.splitlines() == [
        f"fixed {file}:2:8: `ln` -> `log` (TAD0201)",
        f"fixed {file}:2:16: `^` -> `**` (TAD0102)",
    ]
    assert main([str(file), "--fix"]) == 0
    assert capsys.readouterr().err == "nothing to fix\n"


def test_line_ends_and_mode_stay(tmp_path: Path) -> None:
    file = tmp_path / "f.tad"
    file.write_bytes(WRONG.replace("\n", "\r\n").encode())
    file.chmod(0o640)
    assert main(["fix", str(file)]) == 0
    assert file.read_bytes() == RIGHT.replace("\n", "\r\n").encode()
    assert file.stat().st_mode & 0o777 == 0o640


def test_a_text_is_printed(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    assert main(["fix", "-e", WRONG]) == 0
    assert capsys.readouterr().out == RIGHT
    monkeypatch.setattr("sys.stdin", io.StringIO(WRONG))
    assert main(["-", "--fix"]) == 0
    assert capsys.readouterr().out == RIGHT


def test_what_is_left_is_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "f.tad"
    file.write_text(WRONG + "g = hyp2f1(2)\n")
    assert main(["fix", str(file)]) == 1
    assert file.read_text() == RIGHT + "g = hyp2f1(2)\n"
    assert "error[TAD0201]: unknown function `hyp2f1`" in capsys.readouterr().err


def test_a_file_stays_where_no_error_goes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "f.tad"
    text = "a_b: f64\nf = q + hyp2f1(a_b)\n"
    file.write_text(text)
    before = file.stat().st_mtime_ns
    assert main(["fix", str(file)]) == 1
    assert (file.read_text(), file.stat().st_mtime_ns) == (text, before)
    assert "fixed" not in capsys.readouterr().err


def test_another_file(tmp_path: Path) -> None:
    file, other = tmp_path / "f.tad", tmp_path / "g.tad"
    file.write_text(WRONG)
    assert main(["fix", str(file), "-o", str(other)]) == 0
    assert (file.read_text(), other.read_text()) == (WRONG, RIGHT)


def test_guesses_are_made_where_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fix", "-e", "x: f64; f = exq(x)^2"]) == 1
    out, err = capsys.readouterr()
    assert out == "x: f64; f = exq(x)**2\n"
    guess = "<expression>:1:13: `exq` -> `exp` (TAD0201)"
    assert f"left alone {guess}: a guess, which `--unsafe` makes" in err
    assert main(["fix", "--unsafe", "-e", "x: f64; f = exq(x)"]) == 0
    out, err = capsys.readouterr()
    assert (out, err) == ("x: f64; f = exp(x)\n", f"fixed {guess}\n")
    assert main(["check", "--unsafe", "-e", "x: f64; f = x"]) == 2


@pytest.mark.parametrize(
    ("text", "applicability"), [("x: f64; f = x^2", "safe"), ("x: f64; f = exq(x)", "guess")]
)
def test_applicability_as_data(text: str, applicability: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["-e", text, "--error-format", "json"]) == 1
    (edit,) = json.loads(capsys.readouterr().err)["edits"]
    assert edit["applicability"] == applicability


def test_edits_as_data(capsys: pytest.CaptureFixture[str]) -> None:
    text = "x: f64; f = x^2"
    assert main(["-e", text, "--error-format", "json"]) == 1
    (edit,) = json.loads(capsys.readouterr().err)["edits"]
    assert (edit["line"], edit["column"], edit["end_line"], edit["end_column"]) == (1, 14, 1, 15)
    assert text[: edit["start"]] + edit["replacement"] + text[edit["end"] :] == "x: f64; f = x**2"
    assert edit["file"] == "<expression>"


def test_bounds_of_several_parts(capsys: pytest.CaptureFixture[str]) -> None:
    text = "x: f64[N]; y = sum{i}_0^N-1 (x[i]); z = sum{i}_4-3-1^N - 1 (x[i])"
    assert main(["fix", "-e", text]) == 0
    fixed = "x: f64[N]; y = sum{i}_0^(N-1) (x[i]); z = sum{i}_(4-3-1)^(N - 1) (x[i])"
    assert capsys.readouterr().out == fixed + "\n"
