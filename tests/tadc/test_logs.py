"""`TADC_LOG`, and progress of calls from Python."""

import io
import logging
import subprocess
import sys

import pytest

import tadc
import tadc.caller.progress

PROGRAM = "x: f64[8]; f[i] = exp(x[i]) + 0.125"


def said(level: str, code: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", f"import os; os.environ['TADC_LOG'] = {level!r}\n{code}"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    return done.stderr


def test_levels_of_the_environment() -> None:
    log = "import tadc; from tadc.backend.compile_steps import LOG; LOG.info('one'); LOG.debug('two')"
    assert said("info", log).split("ms  ")[1:] == ["tadc: one\n"]
    assert [line.split("ms  ")[1] for line in said("debug", log).splitlines()] == ["tadc: one", "tadc: two"]
    assert "TADC_LOG=`loud` is no level" in said("loud", log)


def test_kernels_and_steps_are_logged(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG, "tadc"):
        tadc.compile(tadc.function(PROGRAM))
    infos = [record.message for record in caplog.records if record.levelno == logging.INFO]
    assert [words.split(": f64[8])")[0] for words in infos] == ["kernel of (x"]
    assert "for cpu" in infos[0]
    assert any(record.message.startswith("cache: ") for record in caplog.records)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_call_that_compiles_long_shows_its_step(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = Terminal()
    monkeypatch.setattr("sys.stderr", stream)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(tadc.caller.progress, "PATIENCE", 0.0)
    monkeypatch.setenv("TADC_CACHE", "0")
    tadc.function(PROGRAM)([0.0] * 8)
    assert "compiling: " in stream.getvalue()
