"""The path to a GPU, with a library in the place of libcuda that runs launches in the emulator."""

from __future__ import annotations

import json
import sys
import types
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import tadc
from tadc.backend.cuda import device as devices
from tadc.backend.cuda import driver as drivers
from tadc.backend.cuda.device import cuda_device
from tadc.backend.cuda.device_arrays import DeviceArray, copied_in
from tadc.backend.cuda.gpu_kernel import GpuKernel
from tadc.backend.cuda.manifest import Manifest
from tadc.backend.emulator.library import EmulatedCuda
from tadc.cli import main
from tadc.lattice.affine import Affine
from tadc.passes.maps.size_tests import SizeTest

SQUARE = "x: f64[N]; f[i] = x[i]**2"


#: Handles that the tests give.
STREAMS = (5, 9, 77)


class Library(EmulatedCuda):
    """The emulated libcuda, with a record of some calls."""

    def __init__(self, **settings: Any) -> None:
        self.copies: list[int] = []
        self.loads = 0
        self.shared: list[int] = []
        self.streams: list[int | None] = []
        super().__init__(streams=STREAMS, **settings)

    def _cuMemcpyHtoDAsync(self, to: int, source: int, count: int, stream: int) -> None:
        self.copies.append(count)
        super()._cuMemcpyHtoDAsync(to, source, count, stream)

    def _cuMemcpyDtoHAsync(self, to: int, source: int, count: int, stream: int) -> None:
        self.copies.append(-count)
        super()._cuMemcpyDtoHAsync(to, source, count, stream)

    def _cuModuleLoadDataEx(self, out: Any, image: bytes, count: int, options: Any, values: Any) -> int:
        self.loads += 1
        return super()._cuModuleLoadDataEx(out, image, count, options, values)

    def _cuLaunchKernel(self, function: int, *rest: Any) -> None:
        self.shared.append(rest[6])
        self.streams.append(rest[7])
        super()._cuLaunchKernel(function, *rest)


def install(monkeypatch: pytest.MonkeyPatch, library: Any) -> Any:
    """Let this be libcuda."""

    def load() -> Any:
        if isinstance(library, OSError):
            raise library
        return library

    monkeypatch.setattr(drivers, "load_library", load)
    monkeypatch.setattr(drivers, "_driver", None)
    monkeypatch.setattr(devices, "_devices", {})
    return library


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> Iterator[Library]:
    """A GPU of architecture sm_90."""
    library = install(monkeypatch, Library(architecture=90))
    yield library
    assert library._contexts == []


def on_gpu(array: Any, dtype: Any = np.float64, stream: int = 0) -> DeviceArray:
    host = np.array(array, dtype, order="C")
    return DeviceArray(copied_in(host, cuda_device(), stream), host.shape, host.dtype)


def kernel_of(compiled: Any) -> GpuKernel:
    assert isinstance(compiled.kernel, GpuKernel)
    return compiled.kernel


def test_numpy_arrays_are_copied_over_and_back(gpu: Library) -> None:
    f = tadc.function("a: f64[N, K]; b: f32[K]; f[i] = sum{k} (a[i, k] * b[k])")
    compiled = tadc.compile(f, target="cuda")
    a, b = np.random.default_rng(0).uniform(size=(300, 4)), np.ones(4, np.float32)
    np.testing.assert_allclose(compiled(a, b), a.sum(axis=1), rtol=1e-14)
    assert b".target sm_90" in kernel_of(compiled).image
    assert gpu.copies == [a.nbytes, b.nbytes, -2400]
    assert gpu.memory.used == 0


def test_arrays_on_the_gpu_are_not_copied(gpu: Library) -> None:
    compiled = tadc.compile(tadc.function(SQUARE), target="cuda")
    x = on_gpu([1, 2, 3])
    gpu.copies.clear()
    y = compiled(x)
    assert isinstance(y, DeviceArray)
    z = compiled(x=y)
    assert gpu.copies == []
    assert np.asarray(z).tolist() == [1, 16, 81]
    assert str(z) == "<tadc.DeviceArray float64[3] on GPU 0>"
    del x, y, z
    assert gpu.memory.used == 0


def test_a_function_is_called_on_the_gpu_where_its_arrays_are(gpu: Library) -> None:
    f = tadc.function("x: f64[4]; w: f64; f[i] = w * x[i]**2; g = sum{i} (x[i])")
    found = f(on_gpu([1, 2, 3, 4]), w=2)
    assert isinstance(found.f, DeviceArray)
    assert np.asarray(found.f).tolist() == [2, 8, 18, 32]
    assert float(np.asarray(found.g)) == 10
    gradient = tadc.vjp(f, wrt="x")
    given = {"df": on_gpu([1, 1, 1, 1]), "dg": on_gpu(0.5)}
    assert np.asarray(gradient(on_gpu([1, 2, 3, 4]), w=2, **given)).tolist() == [4.5, 8.5, 12.5, 16.5]
    assert f([1, 2, 3, 4], w=2).f.tolist() == [2, 8, 18, 32]


def test_a_module_is_loaded_once(gpu: Library) -> None:
    compiled = tadc.compile(tadc.function(SQUARE), target="cuda")
    for n in (3, 4, 5):
        compiled(np.ones(n))
    # The emulator takes no machine code; then PTX is loaded.
    assert gpu.loads == 2
    tadc.compile(tadc.function(SQUARE), target="cuda")(np.ones(3))
    assert gpu.loads == 2


def test_out_on_the_gpu(gpu: Library) -> None:
    compiled = tadc.compile(tadc.function("x: f64[3]; f[i] = x[i] + 1"), target="cuda")
    out = on_gpu([0, 0, 0])
    assert compiled(on_gpu([1, 2, 3]), out=out) is out
    assert np.asarray(out).tolist() == [2, 3, 4]
    for wrong, words in (
        (on_gpu([1]), "shape"),
        (on_gpu([1, 2, 3], np.float32), "float32"),
        (np.ones(3), "not on a GPU"),
    ):
        with pytest.raises(tadc.ArgumentError, match=words) as error:
            compiled(on_gpu([1, 2, 3]), out=wrong)
        assert error.value.diagnostics[0].code == "TAD0505"


class OnlyDLPack:
    """An array of a library that has no other interface."""

    def __init__(self, array: DeviceArray) -> None:
        self.array = array

    def __dlpack__(self, stream: Any = None) -> Any:
        return self.array.__dlpack__(stream=stream)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.array.__dlpack_device__()


def test_dlpack(gpu: Library) -> None:
    compiled = tadc.compile(tadc.function(SQUARE), target="cuda")
    gpu.copies.clear()
    x = on_gpu([1, 2, 3])
    found = compiled(OnlyDLPack(x))
    assert np.asarray(found).tolist() == [1, 4, 9]
    assert gpu.copies[:1] == [24]
    assert len(gpu.copies) == 2
    capsule = x.__dlpack__()
    del x
    assert gpu.memory.used > 24
    del capsule, found
    assert gpu.memory.used == 0


class Strided:
    """A view of another library with steps between elements, or of another kind."""

    def __init__(self, array: DeviceArray, **changes: Any) -> None:
        self.__cuda_array_interface__ = {**array.__cuda_array_interface__, **changes}


@pytest.mark.parametrize(
    ("changes", "code", "words"),
    [
        ({"strides": (16,)}, "TAD0504", "not row-major"),
        ({"typestr": "<f4"}, "TAD0504", "elements of type float32"),
        ({"shape": (2, 2)}, "TAD0503", "2 dimensions"),
    ],
)
def test_arrays_that_cannot_be_read_as_they_are(
    gpu: Library, changes: dict[str, Any], code: str, words: str
) -> None:
    compiled = tadc.compile(tadc.function(SQUARE), target="cuda")
    with pytest.raises(tadc.ArgumentError, match=words) as error:
        compiled(Strided(on_gpu([1, 2, 3]), **changes))
    assert [d.code for d in error.value.diagnostics] == [code]
    assert gpu.launches == []


def fake_torch(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A module `torch` with tensors on the GPU, some of which record gradients."""

    class Tensor:
        def __init__(self, array: DeviceArray, requires_grad: bool = False, view: Any = None) -> None:
            """`view` is how its elements lie in an array of NumPy: its shape and steps."""
            self.array, self.requires_grad = array, requires_grad
            self.view = np.empty(array.shape, array.dtype) if view is None else view
            self.shape, self.dtype, self.is_cuda = self.view.shape, array.dtype, True
            self.device = types.SimpleNamespace(index=0)
            self.data_ptr, self.get_device = lambda: array.address, lambda: 0
            self.is_contiguous = lambda: self.view.flags.c_contiguous
            self._base, self._version, self._is_view, self.is_inference = (
                None,
                0,
                lambda: False,
                lambda: False,
            )

        @property
        def __cuda_array_interface__(self) -> dict[str, Any]:
            if self.requires_grad:
                raise RuntimeError("Can't get __cuda_array_interface__ on Variable that requires grad")
            found = {**self.array.__cuda_array_interface__, "stream": None}
            steps = None if self.is_contiguous() else self.view.strides
            return {**found, "shape": self.shape, "strides": steps}

        def detach(self) -> Tensor:
            return Tensor(self.array, view=self.view)

        def expand(self, *shape: int) -> Tensor:
            return Tensor(self.array, view=np.broadcast_to(self.view, shape))

        def permute(self, *axes: int) -> Tensor:
            return Tensor(self.array, view=self.view.transpose(axes))

        def contiguous(self) -> Tensor:
            if self.is_contiguous():
                return self
            made = np.asarray(self.array)
            return Tensor(on_gpu(np.lib.stride_tricks.as_strided(made, self.shape, self.view.strides).copy()))

    Tensor.__module__ = "torch"
    torch: Any = types.ModuleType("torch")
    torch.Tensor, torch.float64, torch.uint8 = Tensor, np.dtype(np.float64), np.dtype(np.uint8)
    torch.is_grad_enabled = lambda: True
    torch.from_numpy = lambda array: array
    torch.empty = lambda shape, dtype, device: Tensor(on_gpu(np.full(shape, 9.0), dtype))
    stream = types.SimpleNamespace(cuda_stream=77)
    torch.cuda = types.SimpleNamespace(current_stream=lambda device: stream)
    monkeypatch.setitem(sys.modules, "torch", torch)
    return torch


def test_tensors_of_pytorch(gpu: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    """In and out, on PyTorch's current stream."""
    torch = fake_torch(monkeypatch)
    y = tadc.function(SQUARE)(torch.Tensor(on_gpu([1, 2, 3])))
    assert type(y) is torch.Tensor
    assert np.asarray(y.array).tolist() == [1, 4, 9]
    assert gpu.streams == [77]


@pytest.mark.parametrize(
    "stream",
    [5, types.SimpleNamespace(ptr=5), types.SimpleNamespace(cuda_stream=5),
     types.SimpleNamespace(__cuda_stream__=lambda: (0, 5))],
)  # fmt: skip
def test_a_stream_can_be_given(gpu: Library, stream: Any) -> None:
    compiled = tadc.compile(tadc.function(SQUARE), target="cuda")
    compiled(np.ones(3), stream=stream)
    assert gpu.streams == [5]
    with pytest.raises(TypeError, match="a stream is"):
        compiled(np.ones(3), stream="5")


def said(error: pytest.ExceptionInfo[tadc.CompileError]) -> tuple[str, str]:
    return error.value.diagnostics[0].code, str(error.value)


def test_too_little_memory_names_the_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, Library(architecture=90, bytes=1 << 20))
    compiled = tadc.compile(tadc.function("x: f64[N]; f[i, j: N] = x[i] * x[j]"), target="cuda")
    with pytest.raises(tadc.CompileError) as error:
        compiled(np.ones(1000))
    code, text = said(error)
    assert code == "TAD0506"
    assert "needs 7.6 MiB of the GPU's memory, 1016.2 KiB are free" in text
    assert "8000000 bytes are asked for, 1040576 of 1048576 are free" in text


@pytest.mark.parametrize(
    ("library", "words"),
    [
        (OSError("libcuda.so.1: cannot open shared object file"), "driver is not installed: libcuda"),
        (Library(devices=0), "the driver finds no GPU"),
    ],
)
def test_no_gpu(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], library: Any, words: str
) -> None:
    install(monkeypatch, library)
    with pytest.raises(tadc.CompileError, match=words) as error:
        tadc.compile(tadc.function(SQUARE), target="cuda")
    assert said(error)[0] == "TAD0706"
    assert main(["-e", SQUARE, "--target", "cuda", "--run", "x=3"]) == 1
    assert words in capsys.readouterr().err


def test_another_architecture(gpu: Library, capsys: pytest.CaptureFixture[str]) -> None:
    """Older code runs; newer is refused before it is compiled."""
    f = tadc.function(SQUARE)
    assert tadc.compile(f, target="cuda:sm_80")(np.full(2, 3.0)).tolist() == [9, 9]
    with pytest.raises(tadc.CompileError, match="the GPU of this machine is of architecture sm_90") as error:
        tadc.compile(f, target="cuda:sm_120")
    assert said(error)[0] == "TAD0706"
    assert main(["-e", SQUARE, "--target", "cuda:sm_999", "--run", "x=3"]) == 1
    assert "TAD0705" in capsys.readouterr().err


def test_a_newer_gpu_than_the_compiler_knows(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, Library(architecture=150))
    compiled = tadc.compile(tadc.function(SQUARE), target="cuda")
    assert compiled(np.full(2, 3.0)).tolist() == [9, 9]
    assert b".target sm_121" in kernel_of(compiled).image


def test_a_driver_that_is_too_old(gpu: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = tadc.compile(tadc.function(SQUARE), target="cuda")
    monkeypatch.setattr(gpu, "architecture", 70)
    with pytest.raises(tadc.CompileError, match=r"the driver is for CUDA 13\.0") as error:
        compiled(np.ones(3))
    assert said(error)[0] == "TAD0706"
    monkeypatch.setattr(gpu, "cuMemAllocAsync", None)
    with pytest.raises(tadc.CompileError, match="the CUDA driver lacks `cuMemAllocAsync`"):
        compiled(np.ones(3))


def test_the_log_of_the_drivers_compiler_is_shown(gpu: Library) -> None:
    compiled = tadc.compile(tadc.function(SQUARE), target="cuda")
    kernel = kernel_of(compiled)
    kernel.image = kernel.image.replace(b"ret;", b"frobnicate;").replace(b".visible", b"gibberish .visible")
    with pytest.raises(tadc.CompileError, match="CUDA_ERROR_INVALID_PTX") as error:
        compiled(np.ones(3))
    code, text = said(error)
    assert code == "TAD0707"
    assert "the driver says: a PTX JIT compilation failed" in text
    assert "gibberish" in text


def test_a_launch_that_the_driver_refuses(gpu: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the kernel, its grid, and the line that it computes."""
    compiled = tadc.compile(tadc.function(SQUARE, "f.tad"), target="cuda")
    monkeypatch.setattr(gpu, "cuLaunchKernel", lambda *rest: 1)
    with pytest.raises(tadc.CompileError, match=r"CUDA_ERROR_INVALID_VALUE \(1\)") as error:
        compiled(np.ones(3))
    code, text = said(error)
    assert code == "TAD0707"
    assert "grid (1, 1, 1), block (256, 1, 1)" in text
    assert "kernel `tad_f_0" in text
    assert "it computes `f` at f.tad:1:" in text


def test_work_of_another_stream_is_waited_for(gpu: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = tadc.compile(tadc.function(SQUARE), target="cuda")
    waits: list[tuple[int, int]] = []
    monkeypatch.setattr(drivers.Driver, "wait_for", lambda self, stream, other: waits.append((stream, other)))
    x = on_gpu([1, 2])
    compiled(Strided(x, stream=9), stream=5)
    compiled(Strided(x, stream=None), stream=5)
    compiled(Strided(x, stream=5), stream=5)
    assert waits == [(5, 9)]


def test_an_array_that_begins_at_an_odd_place_is_copied(gpu: Library) -> None:
    """Kernels may read vectors from the beginning of an array."""
    compiled = tadc.compile(tadc.function(SQUARE), target="cuda")
    x = on_gpu([1, 2, 3, 4])
    part = Strided(x, shape=(3,), data=(x.address + 8, False))
    assert np.asarray(compiled(part)).tolist() == [4, 9, 16]
    with pytest.raises(tadc.ArgumentError, match="not a multiple of 16") as error:
        compiled(on_gpu([1, 2, 3]), out=part)
    assert error.value.diagnostics[0].code == "TAD0505"


def test_the_kernel_that_suits_the_sizes_runs(gpu: Library) -> None:
    """Of two kernels for a tensor one is launched, also from a manifest that was written and read."""
    one = tadc.function("x: f64[N]; f[i] = if {i >= 1} then (x[i]**2) else (1)")
    compiled = tadc.compile(one, target="cuda")
    kernel = kernel_of(compiled)
    (launch,) = kernel.manifest.launches
    text = kernel.image.decode()
    second = text[text.index(".visible") :].replace("tad_f_0", "other").replace("BB0", "BB1")
    size = (Affine.var("s0"),)
    first = replace(launch, unless=((SizeTest(size, 100),),))
    other = replace(launch, kernel="other", when=(SizeTest(size, 100, 300),))
    made = Manifest.of(kernel.manifest.interface, [first, other], 90, {})
    read = Manifest.from_json(json.loads(json.dumps(made.as_json())))
    assert read == made
    both = GpuKernel(read, (text + second).encode(), cuda_device)
    for count, expected in ((99, ["tad_f_0"]), (100, ["other"]), (300, ["other"]), (301, [])):
        gpu.launches.clear()
        both((np.ones(count),))
        assert gpu.launches == expected
