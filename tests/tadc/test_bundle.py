"""Bundles: written by the command, run without MLIR, LLVM or anything but NumPy."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tadc
from tadc.backend.emulator.library import EmulatedCuda
from tadc.backend.runtime import load_bundle
from tadc.cli import main
from tests.backend.test_cuda import install

CONV = "x: f64[N]; w: f32[K]; y[i: N - K + 1] = sum{k} (x[i + k] * w[k]); s = sum{i} (y[i]**2)"

#: Runs a bundle in a process that can import nothing else of ours, or of others, than it may.
GUARDED = """
import sys
from importlib.machinery import PathFinder

class Guard:
    def find_spec(self, name, path=None, target=None):
        # What has types of floats that NumPy lacks is read where it is there.
        allowed = ("tadc", "numpy", "ml_dtypes", *sys.stdlib_module_names)
        assert name.split(".")[0] in allowed or PathFinder.find_spec(name, path) is None, name
        banned = ("tadc.dialect", "tadc.passes", "tadc.compiler.stages", "tadc.compiler.run_passes",
                  "tadc.api.execute")
        plain = ("tadc.passes", "tadc.passes.cpu", "tadc.passes.cpu.passing_on",
                 "tadc.passes.gpu", "tadc.passes.gpu.launch",
                 "tadc.passes.maps", "tadc.passes.maps.machine", "tadc.passes.maps.size_tests",
                 "tadc.passes.terms", "tadc.passes.numpy_types")
        assert name in plain or not name.startswith(banned), name

sys.meta_path.insert(0, Guard())
import numpy as np
from tadc.backend.runtime import load_bundle

f = load_bundle(sys.argv[1], target="emulated")
found = f(x=np.arange(6.0), w=np.ones(3, np.float32), ds=1.0, dy=np.zeros(4))
print([value.tolist() for value in found])
assert not [m for m in sys.modules if "mlir" in m or m in ("llvmlite", "rich", "jax", "torch")]
"""


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    """Of values and gradients by x."""
    folder = tmp_path / "made" / "out"
    assert main(["-e", CONV, "--wrt", "x", "--values", "--bundle", str(folder)]) == 0
    return folder


def expected() -> list[Any]:
    x, w = np.arange(6.0), np.ones(3)
    y = np.convolve(x, w, "valid")
    return [y.tolist(), float(y @ y), np.convolve(2 * y, w).tolist()]


def test_a_bundle_holds_code_and_launches(bundle: Path) -> None:
    assert sorted(p.name for p in bundle.iterdir()) == ["bundle.json", "kernels.cubin", "kernels.ptx"]
    assert (bundle / "kernels.cubin").read_bytes().startswith(b"\x7fELF")
    found = json.loads((bundle / "bundle.json").read_text())
    f = tadc.function(found["program"])
    assert f.outputs == ("y", "s", "dx")
    text = (bundle / "kernels.ptx").read_text()
    assert text.count(".visible .entry") == len(found["manifest"]["launches"])
    places = [launch["place"] for launch in found["manifest"]["launches"]]
    assert places[0] == "`y`, `dy_1` at <expression>:1:23"
    assert places[-1] == "`dx`"


def test_a_bundle_of_a_recurrence_has_its_steps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """How many launches there are is counted for the sizes of a call."""
    monkeypatch.setattr("tadc.passes.gpu.recurrence_steps.MOST_OF_BLOCK", 0)
    text = (
        "x: f64[N]; size T; scan{t} u[t: T + 1, i: N] = if {t = 0} then (x[i]) else (2*u[t - 1, N - 1 - i])"
    )
    assert main(["bundle", "-e", text, "--target", "cuda:sm_90", "-o", str(tmp_path / "out")]) == 0
    f = load_bundle(tmp_path / "out", target="emulated")
    x = np.arange(5.0)
    for steps in (0, 1, 6):
        found = f(x, T=steps)
        want = [x[:: -1 if t % 2 else 1] * 2**t for t in range(steps + 1)]
        np.testing.assert_array_equal(found, np.stack(want))


def test_it_runs_without_the_compiler(bundle: Path, root: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", GUARDED, str(bundle)],
        capture_output=True, text=True, check=False, env={"PYTHONPATH": str(root)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert eval(done.stdout) == expected()


def test_it_runs_on_a_gpu(bundle: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Through the driver, from PTX where the GPU is another than the bundle's."""
    install(monkeypatch, EmulatedCuda(architecture=90))
    f = load_bundle(bundle)
    found = f(np.arange(6.0), np.ones(3, np.float32), np.zeros(4), 1.0)
    assert [np.asarray(v).tolist() for v in found] == expected()
    assert [str(p) for p in f.inputs][:2] == ["x: f64[N]", "w: f32[K]"]
    assert f.outputs[0].name == "y"
    with pytest.raises(tadc.ArgumentError, match="missing"):
        f(np.arange(6.0))
    install(monkeypatch, EmulatedCuda(architecture=75))
    with pytest.raises(tadc.CompileError, match="the bundle is for sm_80") as error:
        load_bundle(bundle)
    assert error.value.diagnostics[0].code == "TAD0706"


def test_a_gpu_of_the_bundles_architecture_gets_machine_code(
    bundle: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(monkeypatch, EmulatedCuda(architecture=80))
    kernel = load_bundle(bundle).kernel
    assert kernel.code == (bundle / "kernels.cubin").read_bytes()
    assert kernel.image == (bundle / "kernels.ptx").read_bytes()


def test_machine_code_that_the_driver_refuses_is_compiled_from_ptx(
    bundle: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where ptxas was newer than the driver: the emulator takes PTX alone."""
    install(monkeypatch, EmulatedCuda(architecture=80))
    found = load_bundle(bundle)(np.arange(6.0), np.ones(3, np.float32), np.zeros(4), 1.0)
    assert [np.asarray(v).tolist() for v in found] == expected()


def test_sizes_that_have_no_meaning_are_refused(bundle: Path) -> None:
    f = load_bundle(bundle, target="emulated")
    with pytest.raises(tadc.ArgumentError) as error:
        f(x=np.ones(2), w=np.ones(5, np.float32), dy=np.zeros(0), ds=1)
    assert error.value.diagnostics[0].code in ("TAD0503", "TAD0507")


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (lambda path: (path / "bundle.json").unlink(), "cannot read"),
        (lambda path: (path / "kernels.ptx").unlink(), "cannot read"),
        (lambda path: (path / "bundle.json").write_text("{"), "cannot be used"),
        (lambda path: (path / "bundle.json").write_text('{"manifest": {"version": 99}}'), "version 99"),
    ],
)
def test_what_is_no_bundle(bundle: Path, damage: Any, words: str) -> None:
    damage(bundle)
    with pytest.raises(tadc.CompileError, match=words) as error:
        load_bundle(bundle, target="emulated")
    assert error.value.diagnostics[0].code == "TAD0710"


def test_a_derivative_of_ir_and_options_that_do_not_go_together(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    module = tmp_path / "f.mlir"
    assert main(["-e", "x: f64[4]; f[i] = x[i]**3", "--emit", "opt", "-o", str(module)]) == 0
    assert main([str(module), "--bundle", str(tmp_path / "b")]) == 0
    f = load_bundle(tmp_path / "b", target="emulated")
    assert f(np.arange(4.0)).tolist() == [0, 1, 8, 27]
    assert main(["-e", "f = 1", "--bundle", str(tmp_path / "c"), "--emit", "ptx"]) == 2
    assert main(["-e", "f = 1", "--bundle", str(module)]) == 1
    assert "is no folder" in capsys.readouterr().err


def test_list_targets(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """What runs here, and why not."""

    def listed() -> str:
        assert main(["--list", "targets"]) == 0
        return capsys.readouterr().out

    install(monkeypatch, OSError("libcuda.so.1: no such file"))
    assert "cuda          does not run here: the NVIDIA driver is not installed: libcuda.so.1" in listed()
    install(monkeypatch, EmulatedCuda(devices=0))
    assert "does not run here: the driver finds no GPU" in listed()
    install(monkeypatch, EmulatedCuda(architecture=90, devices=2, version=12040))
    text = listed()
    assert "cuda          the emulator (GPU 1) runs here: sm_90, 16384 of 16384 MiB free" in text
    assert "driver for CUDA 12.4" in text
    monkeypatch.setattr("tadc.backend.cuda.listing.find_ptxas", lambda: None)
    assert "no cubin: ptxas not found: pip install 'tadc-compiler[cuda]'" in listed()


def test_sizes_that_only_an_exact_look_allows(tmp_path: Path) -> None:
    """Groups of 8: what the manifest says of the sizes, without `//`, refuses some that fit."""
    text = "x: f64[C]; w: f64[F]; y[o] = x[8*(o // 8) + 7]*w[o]"
    assert main(["-e", text, "--bundle", str(tmp_path)]) == 0
    f, x = load_bundle(tmp_path, "emulated"), np.arange(16.0)
    np.testing.assert_array_equal(f(x, np.ones(16)), x[np.arange(16) // 8 * 8 + 7])
    with pytest.raises(tadc.ArgumentError, match="TAD0507"):
        f(x, np.ones(17))
