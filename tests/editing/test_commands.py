"""`tadc fmt` and `tadc check --watch`."""

import io
import sys
import time
from pathlib import Path

import pytest

from tadc.cli import INTERRUPTED, main

UGLY, PRETTY = "x :f64[3] # c\r\ny[i]=x[ i ]\r\n", "x: f64[3]  # c\ny[i] = x[i]\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "f.tad").write_bytes(UGLY.encode())
    (tmp_path / "g.tad").write_text(PRETTY)
    return tmp_path


def test_files_are_formatted(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fmt", "--check", "."]) == 1
    assert capsys.readouterr().out == f"{Path('sub/f.tad')}\n"
    before = (folder / "g.tad").stat().st_mtime_ns
    assert main(["fmt", "g.tad", "sub"]) == 0
    assert capsys.readouterr().err == f"formatted {Path('sub/f.tad')}\n"
    assert (folder / "sub" / "f.tad").read_bytes() == PRETTY.replace("\n", "\r\n").encode()
    assert (folder / "g.tad").stat().st_mtime_ns == before
    assert main(["fmt", "--check", "."]) == 0


def test_stdin_is_formatted_to_stdout(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO(UGLY.replace("\r", "")))
    assert main(["fmt", "-"]) == 0
    assert capsys.readouterr().out == PRETTY


def test_what_is_wrong_is_said_and_stays(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "a.tad").write_text("f = (x\n")
    assert main(["fmt", "a.tad", "sub/f.tad"]) == 1
    err = capsys.readouterr().err
    assert "error[TAD0101]" in err
    assert "formatted sub/f.tad" in err
    assert (folder / "a.tad").read_text() == "f = (x\n"
    assert main(["fmt"]) == 2
    assert main(["fmt", "none.tad"]) == 1
    assert "TAD0801" in capsys.readouterr().err


def test_watching_checks_again(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = iter(["x: f64[3]\ny[i] = x[i] + z\n", None, PRETTY])

    def pause(_: float) -> None:
        """What happens between looks at the file: others, nothing, and Ctrl-C."""
        try:
            text = next(texts)
        except StopIteration:
            raise KeyboardInterrupt from None
        if text is not None:
            (folder / "new.tad").write_text(text)
            (folder / "new.tad").replace(folder / "g.tad")

    monkeypatch.setattr(time, "sleep", pause)
    assert main(["check", "--watch", "g.tad"]) == INTERRUPTED
    out, err = capsys.readouterr()
    assert out.count("y[i] = x[i]") == 2
    assert err.count("error[TAD0204]: unknown name `z`") == 1
    assert err.count("checked at") == 3
    assert main(["check", "--watch", "-"]) == 2
    assert main(["check", "--watch", "-e", "f = 1"]) == 2
