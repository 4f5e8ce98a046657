"""Tests and times of bundles, in the emulator: all that a GPU runs but the speed."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import tadc
from bench.gpu import counts, host, model, publish
from bench.gpu.__main__ import main
from bench.gpu.cases import CASE, WORK, Case
from bench.gpu.ceilings import CHAINS, ROUND, THREADS, measure
from bench.gpu.check import BEGUN, check, check_apart
from bench.gpu.programs import RECURRENCES
from bench.gpu.table import table
from bench.publish import replaced
from tadc.backend.cuda import driver as drivers
from tadc.backend.emulator.counts import LaunchCounts
from tadc.backend.emulator.emulated_device import emulated_device
from tadc.backend.emulator.library import EmulatedCuda
from tests.backend.test_cuda import install, kernel_of

NAMES = ["matmul", "fir-f32"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("gpu")
    assert main(["write", str(made), "--only", *NAMES, "--small"]) == 0
    return made


def test_counts_of_a_workload(capsys: pytest.CaptureFixture[str]) -> None:
    counts.main(["softmax", "--small"])
    title, head, *_, total, _ = capsys.readouterr().out.splitlines()
    assert title == "softmax of rows"
    assert head.split()[0] == "kernel"
    assert total.split()[:2] == ["1", "launch"]


def test_bundles_agree(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["test", str(folder), "--target", "emulated", "--only", *NAMES]
    assert main(words) == 0
    assert "8 of 8 agree" in capsys.readouterr().out
    found = json.loads((folder / "gpu-the-emulator.json").read_text())
    assert found["machine"]["device"] == "the emulator"
    names = {"matmul", "matmul-f32", "matmul-f64", "fir-f32"}
    assert set(found["test"]) == {*names, *(f"{name}-any" for name in names)}
    assert all(case["ok"] for case in found["test"].values())
    assert "8 of 8 cases agree" in (folder / "gpu-the-emulator.md").read_text()


def test_a_wrong_result_is_told(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.copytree(folder / "test" / "matmul-f64", tmp_path / "test" / "matmul-f64")
    path = tmp_path / "test" / "matmul-f64" / CASE
    case = Case.load(path)
    case.outputs[1] = case.outputs[1] + 1e-3
    case.save(path)
    assert check(tmp_path, "emulated", None, tmp_path) == 1
    assert "WRONG matmul-f64" in capsys.readouterr().out


def test_what_fails_is_a_result(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Whatever a case raises is told, and the others run; what was begun and not finished has failed."""
    for name in ("fir-f32", "matmul-f32", "matmul-f64"):
        shutil.copytree(folder / "test" / name, tmp_path / "test" / name)
    (tmp_path / "test" / "matmul-f32" / CASE).write_bytes(b"nothing")
    before = {"machine": {}, "test": {"fir-f32": BEGUN}}
    (tmp_path / "gpu-the-emulator.json").write_text(json.dumps(before))
    assert check(tmp_path, "emulated", None, tmp_path, resume=True) == 1
    said = capsys.readouterr().out
    assert "WRONG matmul-f32" in said
    assert "1 of 3 agree" in said
    assert "fir" not in said
    found = json.loads((tmp_path / "gpu-the-emulator.json").read_text())["test"]
    assert [found[name]["ok"] for name in sorted(found)] == [False, False, True]


def test_results_of_a_driver_are_compared_by_their_bits(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On arrays of ours, tensors, and where the driver compiles PTX; here an emulated one stands for it."""
    install(monkeypatch, EmulatedCuda())

    def tensors(f: Any, case: Case) -> list[np.ndarray]:
        return [np.asarray(a) for a in f(*case.inputs, **case.sizes)]

    monkeypatch.setattr("bench.gpu.check._by_torch", tensors)
    assert check(folder, "cuda", ["matmul-f32"], tmp_path) == 0
    monkeypatch.setattr("bench.gpu.check._by_torch", lambda f, case: [2 * a for a in tensors(f, case)])
    assert check(folder, "cuda", ["matmul-f32"], tmp_path) == 1


def test_a_process_that_ends_is_followed_by_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As long as each comes further; here three do."""
    calls: list[list[str]] = []

    def run(command: list[str], check: bool) -> Any:
        calls.append(command)
        text = '"ok"' * min(len(calls), 3)
        (tmp_path / "gpu-x.json").write_text(text)
        return SimpleNamespace(returncode=1)

    monkeypatch.setattr("bench.gpu.check.subprocess.run", run)
    assert check_apart(["folder"], tmp_path) == 1
    assert ["--resume" in command for command in calls] == [False, True, True, True]


@pytest.mark.parametrize("name", RECURRENCES)
def test_steps_of_recurrences_are_divided_as_they_are_named(name: str) -> None:
    text, sizes = RECURRENCES[name]
    kernel = kernel_of(tadc.compile(tadc.function(text).at(sizes), target="emulated"))
    (launch,) = kernel.manifest.launches
    (axis,) = launch.grid
    if launch.steps:
        way = "warps" if 32 * axis.each == launch.block[0] else "launches"
    else:
        way = "thread" if axis.extents else "block"
    assert way == {"diagonals": "block"}.get(name, name)


def test_times(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Checked before they are taken; the JSON has all that the table is made of."""
    words = ["--results", str(folder), "--target", "emulated", "--small", "--only", "matmul-f32"]
    assert main(["bench", str(folder), *words]) == 0
    assert "| matmul f32 |" in capsys.readouterr().out
    found = json.loads((folder / "gpu-the-emulator.json").read_text())["bench"]
    cell = found["matmul-f32"]
    assert cell["errors"]["tadc"] < 1e-5
    assert all(len(cell[how]["tadc"]) >= 3 for how in ("seconds", "flushed", "graph", "any"))
    assert set(cell["skipped"].values()) == {"no time was left"}
    assert cell["operations"] > 0
    assert found["ceilings"].keys() == {"bytes", "f32", "f64"}


def test_the_table_has_the_fastest_of_each_kind() -> None:
    cell = {
        "workload": "fir", "dtype": "f32", "bytes": 3e6, "operations": 1e6, "host": 1e-5, "skipped": {},
        "seconds": {
            "tadc": [4e-6, 5e-6, 9e-6], "PyTorch": [2e-5], "PyTorch, tuned": [1e-5], "JAX, TF32": [1e-6]
        },
        "flushed": {"tadc": [7e-6]},
        "graph": {},
        "any": {},
    }  # fmt: skip
    limits = {"bytes": 1e12, "f32": 1e12, "f64": 1e12}
    head, _, row = table([cell], limits)
    found = dict(zip(head.split(" | "), row.split(" | "), strict=True))
    assert found["queued"] == "5.0"
    assert found["PyTorch"] == "10.0"
    assert found["least"] == "3.0"
    assert found["ratio |"] == "2.00 |"


@pytest.mark.parametrize("bits", [32, 64])
def test_the_kernel_that_measures_the_peak_does_all_its_sums(bits: int) -> None:
    """Its sums are those of the recurrence that it states."""
    from bench.gpu import ceilings

    device = emulated_device()
    dtype = np.dtype(f"f{bits // 8}")
    room = device.allocate(THREADS * dtype.itemsize)
    kernel = device.function(ceilings._text(bits).encode(), "peak")
    with device.current() as driver:
        driver.launch(kernel, (1, 1, 1), (THREADS, 1, 1), [room.address, 3])
        found = np.empty(THREADS, dtype)
        driver.copy_out(found.ctypes.data, room.address, found.nbytes)
    # The factor is nearly 1, and what is added is nearly nothing.
    starts = np.arange(THREADS) * CHAINS + CHAINS / 2
    np.testing.assert_allclose(found, starts, rtol=1e-4, atol=3 * ROUND * CHAINS * 1e-7)
    assert measure(device, 1 << 16, 1).f32 > 0


def test_calls_on_the_host_are_timed_without_a_gpu(capsys: pytest.CaptureFixture[str]) -> None:
    """Each row repeats a call; afterwards there is no stub in libcuda's place."""
    loaded = drivers.load_library
    host.main(turns=1)
    said = capsys.readouterr().out
    for name in ("arrays of tadc", "DLPack", "out=", "launches one by one", "launches as a graph"):
        assert name in said
    assert drivers.load_library is loaded


def test_without_a_gpu_or_bundles(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    install(monkeypatch, OSError("no libcuda"))
    assert main(["test", str(tmp_path)]) == 1
    assert "TAD0706" in capsys.readouterr().err
    monkeypatch.setattr("bench.gpu.__main__.find_spec", lambda name: None)
    assert main(["test", str(tmp_path), "--target", "emulated"]) == 1
    assert "there are no bundles" in capsys.readouterr().err


def test_bundles_need_no_compiler(folder: Path, root: Path) -> None:
    """As on a machine with a GPU and Python with NumPy alone."""
    program = (
        "import sys\n"
        "sys.modules.update({name: None for name in ('llvmlite', 'torch_mlir', 'mlir', 'rich')})\n"
        "from bench.gpu import __main__ as command; command.find_spec = lambda name: None\n"
        f"words = ['--results', {str(folder)!r}, '--target', 'emulated', '--only', 'fir-f32']\n"
        f"words = [{str(folder)!r}, *words]\n"
        "sys.exit(command.main(['test', *words]) or command.main(['bench', *words]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=root, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "2 of 2 agree" in done.stdout


def test_the_page_shows_the_results_beside_it(root: Path) -> None:
    """What is published is what the results say."""
    page = (root / "docs" / "gpu.md").read_text()
    found = json.loads((root / "docs" / "gpu.json").read_text())
    assert replaced(page, publish.MARK, publish.part_of(found), publish.COMMAND) == page
    again = publish.reduced(
        {"machine": found["machine"], "bench": {"ceilings": found["ceilings"], "one": found["cells"][0]}}
    )
    assert again["cells"] == found["cells"][:1]


def test_what_a_model_foretells(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Of a small call no launch takes less than from one to the next; of a large one DRAM says how long."""
    cell = {"workload": "softmax", "dtype": "f32", "small": True}
    file = tmp_path / "bench" / "softmax-f32" / WORK
    file.parent.mkdir(parents=True)
    file.write_text(json.dumps(cell))
    model.main([str(tmp_path)])
    assert json.loads(file.read_text())["model"] == model.SPEEDS[90].launch
    assert "softmax f32 2e-06" in capsys.readouterr().out
    sectors = np.arange(1000)
    launch = LaunchCounts("k", (10000, 1, 1), (256, 1, 1), most_blocks=1, loaded=sectors, l2_bytes=32000)
    bytes_at_least = 10000 * 32000
    assert model.seconds(launch, bytes_at_least, model.SPEEDS[90]) == pytest.approx(bytes_at_least / 3.35e12)
    launch.issued["special"] = 10**6
    each = -(-10000 // 132) * 2 * 10**6 / 1.755e9
    assert model.seconds(launch, bytes_at_least, model.SPEEDS[90]) == pytest.approx(each)
