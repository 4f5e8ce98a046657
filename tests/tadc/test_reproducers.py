"""What a bug of the compiler leaves: files that show it again, and run as they are."""

import io
import re
import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tadc
from tadc.cli import main

PROGRAM = "x: f64[3]\nw: f64\nf[i] = w * x[i]**2"
MODULE = """
func.func @f(%x: tensor<3xf64> {tad.name = "x"}) -> (tensor<3xf64> {tad.name = "f"}) {
  %f = tad.map (%i) -> tensor<3xf64> {
    %0 = tad.read %x[%i] : tensor<3xf64>
    tad.yield %0 : f64
  }
  return %f : tensor<3xf64>
}
"""


def broken(*args: Any, **kwargs: Any) -> Any:
    raise RuntimeError("a bug on purpose")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder for programs, and one for what is left of bugs."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "left").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "left"))
    monkeypatch.setattr("tadc.api.bug_scripts._known", {})
    Path("f.tad").write_text(PROGRAM)
    Path("f.mlir").write_text(MODULE)
    np.save("x.npy", np.arange(3.0))
    return tmp_path


@pytest.mark.parametrize(
    ("words", "stdin", "has", "options"),
    [
        (["f.tad", "--wrt", "x", "--materialize=always"], "", PROGRAM, ["--wrt x", "--materialize always"]),
        (["-e", PROGRAM, "--wrt", "x,w", "--mode", "vjp"], "", PROGRAM, ["--wrt x,w", "--mode vjp"]),
        (["-", "--emit", "loops", "--opt-level", "1"], PROGRAM, PROGRAM, ["--emit loops", "--opt-level 1"]),
        (["-", "--emit", "loops"], MODULE, MODULE, [".mlir"]),
        (["diff", "f.mlir", "--allow", "TAD0402"], "", MODULE, ["diff", "--wrt '*'", "--allow TAD0402"]),
        (["run", "f.tad", "x=x.npy", "w=2"], "", PROGRAM, ["x=/", "w=2"]),
        (["f.tad", "--run", "x=x.npy", "w=2", "-o", "f.npy"], "", PROGRAM, ["--run x=/", " w=2", "-o f.npy"]),
        (["emit", "llvm", "-e", PROGRAM], "", PROGRAM, ["emit llvm"]),
        (["uncert", "f.tad", "--at", "x=x.npy,w=1", "--u", "w=.1"], "", PROGRAM, ["uncert", "--u w=.1"]),
        (["inverse", "-", "--wrt", "x", "--plan"], PROGRAM, PROGRAM, ["inverse", "--plan", "--wrt x"]),
        (["plot", "f.tad", "-o", "f.svg"], "", PROGRAM, ["plot", "-o f.svg"]),
    ],
)
def test_the_command_s_file_repeats_the_bug(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    words: list[str],
    stdin: str,
    has: str,
    options: list[str],
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(sys, "stdin", io.StringIO(stdin))
        # Names that no other module takes over while they are broken.
        for name in (
            "compiler.run_passes._run",
            "compiler.run_term_passes.rewrite_program",
            "commands.inverse.inverse",
        ):
            patch.setattr(f"tadc.{name}", broken)
        assert main(words) == 70
        err = capsys.readouterr().err
        assert "a bug on purpose" in err
        file = Path(err.split(" are in ")[1].split()[0])
        assert file.read_text().endswith(has + "\n")
        assert "RuntimeError: a bug on purpose" in file.read_text()
        (command,) = re.findall(r"run it again with `tadc (.*)`, and", err)
        for option in options:
            assert option in command
        assert main(shlex.split(command)) == 70
    assert main(shlex.split(command)) == 0
    assert list(Path("left").glob("*.py")) == []


def script_of(error: BaseException) -> Path:
    """The script that the note of a bug names."""
    (note,) = error.__notes__
    return Path(note.split(" with ")[1].split(",")[0])


@pytest.mark.parametrize(
    ("name", "use", "last"),
    [
        ("frontend.per_value.read_statements", lambda: tadc.function(PROGRAM, sizes={}), "sizes=None)"),
        (
            "compiler.run_term_passes.rewrite_program",
            lambda: tadc.vjp(tadc.function(PROGRAM), wrt="x"),
            "f.program",
        ),
        (
            "compiler.run_term_passes.rewrite_program",
            lambda: tadc.jacobian(tadc.function(PROGRAM), wrt="x"),
            "f.program",
        ),
        (
            "api.execute.compile_until",
            lambda: tadc.compile(tadc.vjp(tadc.function(PROGRAM)), fast_math=True),
            "tadc.compile(f, 'cpu', fast_math=True)",
        ),
        (
            "api.compiled.Compiled.run",
            lambda: tadc.function("x: f64[N]; f[i] = x[i]")(x=np.ones(3, "float32")),
            "f(x=np.ones((3,), 'float32'))",
        ),
    ],
)
def test_a_bug_in_python_leaves_a_script(
    monkeypatch: pytest.MonkeyPatch, name: str, use: Callable[[], object], last: str
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(f"tadc.{name}", broken)
        with pytest.raises(RuntimeError, match="on purpose") as error:
            use()
        script = script_of(error.value)
        text = script.read_text()
        assert text.splitlines()[-1].endswith(last)
        with pytest.raises(RuntimeError, match="on purpose"):
            exec(text, {})
        # Once more: nothing more is written.
        with pytest.raises(RuntimeError) as again:
            use()
        assert script_of(again.value) == script
    exec(text, {})
    assert len(list(script.parent.iterdir())) == 1


def test_mistakes_leave_nothing() -> None:
    f = tadc.function(PROGRAM)
    for wrong in (
        lambda: tadc.function("f = q"),
        lambda: tadc.vjp(f, wrt="q"),
        lambda: f(x=np.ones(4), w=1),
        lambda: f(x=object(), w=1),
        lambda: tadc.compile(f, "gpu"),
    ):
        with pytest.raises(tadc.CompileError) as error:
            wrong()
        assert not hasattr(error.value, "__notes__")
    assert list(Path("left").iterdir()) == []
