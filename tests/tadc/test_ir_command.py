"""The command on IR of every stage."""

import numpy as np
import pytest

from tadc.cli import main

MODULE = """
func.func @f(%x: tensor<8xf64> {tad.name = "x"}) -> (tensor<3x4xf64> {tad.name = "f"}) {
  %f = tad.map (%i, %j) -> tensor<3x4xf64> {
    %0 = tad.read %x[%i + %j] : tensor<8xf64>
    tad.yield %0 : f64
  }
  return %f : tensor<3x4xf64>
}
"""


@pytest.fixture
def file(tmp_path):
    (tmp_path / "f.mlir").write_text(MODULE)
    return tmp_path / "f.mlir"


def run(capsys, *argv):
    code = main([str(word) for word in argv])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_ir_as_a_program(capsys, file, tmp_path):
    assert "f[i, j] = x[i + j]" in run(capsys, file, "--emit", "typed")[1]
    assert run(capsys, file, "--check-gradient")[0] == 0
    np.save(tmp_path / "x.npy", np.arange(8.0))
    assert run(capsys, file, "--run", f"x={tmp_path / 'x.npy'}", "-o", tmp_path / "f.npy")[0] == 0
    np.testing.assert_array_equal(np.load(tmp_path / "f.npy"), np.add.outer(np.arange(3), np.arange(4)))


@pytest.mark.parametrize("read", ["%i + %j + 5", "%i - %j", "%i * 4"])
def test_reads_out_of_range(capsys, file, read):
    """Proven before anything is lowered, with a point that shows it."""
    file.write_text(MODULE.replace("%i + %j", read))
    code, out, err = run(capsys, file, "--emit", "llvm")
    assert code == 1
    assert out == ""
    assert "TAD0607" in err
    assert "out of range at `i = " in err


def test_a_guard_protects(capsys, file):
    guarded = MODULE.replace(
        "%0 = tad.read %x[%i + %j] : tensor<8xf64>",
        """%0 = tad.guard where {%i * 4 <= 7, %i >= 1} -> f64 {
      %1 = tad.read %x[%i * 4 - 4] : tensor<8xf64>
      tad.yield %1 : f64
    } else {
      %2 = tad.read %x[%i * 3] : tensor<8xf64>
      tad.yield %2 : f64
    }""",
    )
    file.write_text(guarded)
    assert run(capsys, file, "--emit", "llvm")[0] == 0
    file.write_text(guarded.replace("%i * 3", "%i * 3 + 2"))
    assert "`i = 2, j = " in run(capsys, file, "--emit", "llvm")[2]


def test_targets_do_not_mix(capsys, file, tmp_path):
    loops, gpu = tmp_path / "loops.mlir", tmp_path / "gpu.mlir"
    assert run(capsys, file, "--emit", "loops", "-o", loops)[0] == 0
    assert run(capsys, file, "--target", "cuda", "--emit", "nvvm", "-o", gpu)[0] == 0
    assert "scf.for" in run(capsys, loops, "--emit", "loops")[1]
    assert "for the CPU" in run(capsys, loops, "--target", "cuda", "--emit", "ptx")[2]
    assert "for a GPU" in run(capsys, gpu, "--emit", "asm")[2]
    assert ".entry" in run(capsys, gpu, "--target", "cuda", "--emit", "ptx")[1]


@pytest.mark.parametrize("stage", ["loops", "llvm-dialect"])
@pytest.mark.parametrize("asked", [("--wrt", "x"), ("--wrt", "z"), ("--mode", "jvp"), ("--size", "N=3")])
@pytest.mark.parametrize("emit", [(), ("--emit", "loops"), ("--emit", "asm")])
def test_what_is_lowered_has_no_program(capsys, file, tmp_path, stage, asked, emit):
    """Nothing is left out in silence, whatever is printed."""
    lowered = tmp_path / "lowered.mlir"
    assert run(capsys, file, "--emit", stage, "-o", lowered)[0] == 0
    code, out, err = run(capsys, lowered, *asked, *emit)
    assert (code, out) == (1, "")
    assert f"error[TAD0606]: `{asked[0]}`" in err
    assert "or none any more" in err


@pytest.mark.parametrize("emit", ["tad", "cancel", "opt", "asm"])
def test_a_wrong_name(capsys, file, emit):
    code, out, err = run(capsys, file, "--wrt", "colour", "--emit", emit)
    assert (code, out) == (1, "")
    assert "error[TAD0401]: no argument `colour`" in err


def test_ir_on_stdin(capsys, monkeypatch):
    import io
    import sys

    monkeypatch.setattr(sys, "stdin", io.StringIO(MODULE))
    assert "tad.sum (%j)" in run(capsys, "-", "--wrt", "x", "--emit", "cancel")[1]
