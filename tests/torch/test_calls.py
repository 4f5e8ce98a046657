"""Calls on tensors of every kind, and what is said of those that do not fit."""

from __future__ import annotations

import copy
import gc
import io
import os
import pickle
import resource
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest

import tadc
from tests.torch.programs import assert_alike, operators, torch

pytestmark = pytest.mark.as_shipped

CONV = "x: f64[N]; w: f64[K]; y[i: N - K + 1] = sum{k} (x[i + k] * w[k])"


@pytest.fixture(scope="module")
def conv() -> tadc.Function:
    return tadc.function(CONV)


def same(x: Any, w: Any) -> Any:
    return torch.nn.functional.conv1d(x[None, None], w[None, None])[0, 0]


def doubles(*shape: int) -> Any:
    torch.manual_seed(len(shape))
    return torch.randn(*shape, dtype=torch.float64)


@pytest.mark.parametrize(
    "x",
    [
        doubles(9, 2)[:, 1],
        doubles(20)[3:17:2],
        doubles(1).expand(8),
        doubles(9).flip(0),
        doubles(30)[7:],
        doubles(2, 9).to(torch.complex128).conj().imag[0],
        torch.nn.Parameter(doubles(6), requires_grad=False),
        torch.frombuffer(bytearray(8 * 6 + 1), dtype=torch.float64, offset=1, count=6),
        doubles(5).as_subclass(type("Sub", (torch.Tensor,), {})),
    ],
    ids=[
        "column",
        "strided",
        "expanded",
        "flipped",
        "offset",
        "negated",
        "parameter",
        "misaligned",
        "subclass",
    ],
)
def test_layouts(conv: tadc.Function, x: Any) -> None:
    w = doubles(4)[::2]
    before = x.clone()
    assert_alike(conv.torch(x, w), same(x, w))
    assert torch.equal(x, before)


def test_matrices_in_any_order() -> None:
    f = tadc.function("a: f64[N, M]; b: f64[M, K]; c[i, j] = sum{k} (a[i, k]*b[k, j])")
    a, b = doubles(4, 3).T, doubles(1, 5).expand(4, 5)
    assert_alike(f.torch(a, b), a @ b)
    assert f.torch(a, b).is_contiguous()


def test_nothing_in_it() -> None:
    f = tadc.function("x: f64[N, M]; y[i, j] = 2*x[i, j]; s = sum{i, j} (x[i, j])")
    for shape in ((0, 3), (3, 0), (0, 0)):
        y, s = f.torch(torch.zeros(shape, dtype=torch.float64))
        assert (y.shape, s) == (shape, 0)
    x = torch.zeros(0, 3, dtype=torch.float64, requires_grad=True)
    (gradient,) = torch.autograd.grad(f.torch(x).s, x)
    assert gradient.shape == (0, 3)


def test_singles() -> None:
    f = tadc.function("x: f32[N]; a: f64; y[i] = x[i]**2; z = a + 1")
    x, a = torch.randn(5), torch.tensor(2.0, dtype=torch.float64)
    y, z = f.torch(x, a)
    assert (y.dtype, z.dtype, z) == (torch.float32, torch.float64, 3)
    torch.testing.assert_close(y, x**2)


def test_names_and_numbers(conv: tadc.Function) -> None:
    x, w = doubles(9), doubles(3)
    for found in (conv.torch(w=w, x=x), conv.torch(x, w=w)):
        assert_alike(found, same(x, w))
    f = tadc.function("self: f64[N]; lambda: f64; y[i] = lambda*self[i]; Tensor = sum{i} (self[i])")
    y, total = f.torch(x, 2)
    assert_alike((y, total), (2 * x, x.sum()))
    assert_alike(f.torch(x, **{"lambda": 2.0}).y, 2 * x)
    alpha = torch.tensor(2.0, dtype=torch.float64, requires_grad=True)
    assert_alike(torch.autograd.grad(f.torch(x, alpha).y.sum(), alpha)[0], x.sum())


def test_numbers_in_graphs_and_of_any_device() -> None:
    f = tadc.function("x: f32[N]; a: f32; y[i] = a*x[i]")
    g, x = f.torch, torch.ones(3)
    for number in (2, 2.5):
        compiled = torch.compile(lambda x, n=number: g(x, n), fullgraph=True, backend="aot_eager")
        assert compiled(x).tolist() == [number] * 3
        named = torch.compile(lambda x, n=number: g(a=n, x=x), fullgraph=True, backend="aot_eager")
        assert named(x).tolist() == [number] * 3
    with torch.device("meta"):
        assert g(x, 2).tolist() == [2] * 3
    for number in (10**400, 1e300):
        with pytest.raises(tadc.ArgumentError, match="TAD0504"):
            g(x, number)


def test_sizes_by_name() -> None:
    f = tadc.function("size N; a: f64; y[i: N] = a*i")
    a = torch.tensor(3.0, dtype=torch.float64, requires_grad=True)
    y = f.torch(a, N=4)
    assert_alike(y, a * torch.arange(4.0).double())
    assert torch.autograd.grad(y.sum(), a)[0] == 6
    with pytest.raises(tadc.ArgumentError, match="size `N` is missing"):
        f.torch(a.detach())
    for wrong in ("3", 3.0, -1):
        with pytest.raises(tadc.CompileError, match="TAD0508"):
            f.torch(a.detach(), N=wrong)
    with pytest.raises(Exception, match=r"f\.at\(.*N.*\)\.torch"):
        torch.compile(lambda a: f.torch(a, N=3), fullgraph=True, backend="eager")(a.detach())
    nothing = tadc.function("size N; y[i: N] = 2.0*i")
    assert_alike(nothing.torch(N=3), torch.tensor([0.0, 2.0, 4.0], dtype=torch.float64))


def test_a_function_for_each_value_of_a_size() -> None:
    f = tadc.function("size N; x: f64[N*M]; m: f64[M]; y[i: N] = sum{j: M} (x[M*i + j]*m[j])")
    x, m = doubles(6).requires_grad_(), doubles(3)
    y = f.torch(x, m, N=2)
    assert_alike(y, x.reshape(2, 3) @ m)
    assert_alike(torch.autograd.grad(y.sum(), x)[0], m.repeat(2))


def test_a_size_that_has_no_meaning_by_its_shadow_alone() -> None:
    """Sets of excluded sizes may hold more than they should: such sizes are looked at again."""
    f = tadc.function("x: f64[N]; y[i: N - 2] = x[i + 2]")
    assert f.torch(doubles(2)).shape == (0,)
    with pytest.raises(tadc.ArgumentError, match="TAD0507"):
        f.torch(doubles(1))


@pytest.mark.parametrize(
    ("x", "code", "words"),
    [
        (torch.ones(9), "TAD0504", "type float32, expected float64"),
        (torch.ones(9, dtype=torch.int64), "TAD0504", "type int64, expected float64"),
        (torch.ones(9, dtype=torch.complex128), "TAD0504", "x.real"),
        (torch.ones(9, dtype=torch.float64).to_sparse(), "TAD0504", "to_dense"),
        (np.ones(9), "TAD0504", "torch.as_tensor"),
        ([1.0] * 9, "TAD0504", "not a tensor but a value of type list"),
        (None, "TAD0504", "not an array of numbers but a value of type NoneType"),
        (doubles(3, 3), "TAD0503", "2 dimensions"),
        (doubles(1), "TAD0507", "N = 1, K = 3"),
    ],
    ids=lambda value: value if isinstance(value, str) else "x",
)
@pytest.mark.parametrize("records", [False, True])
def test_what_does_not_fit(conv: tadc.Function, x: Any, code: str, words: str, records: bool) -> None:
    with pytest.raises(tadc.ArgumentError) as refused:
        conv.torch(x, doubles(3).requires_grad_(records))
    assert code in str(refused.value)
    assert words in str(refused.value)


def test_arguments_that_are_missing_or_too_many(conv: tadc.Function) -> None:
    x, w = doubles(9), doubles(3)
    for args, kwargs, code in (
        ((x,), {}, "TAD0501"),
        ((x, w, w), {}, "TAD0502"),
        ((x, w), {"w": w}, "TAD0502"),
        ((x,), {"v": w}, "TAD0502"),
    ):
        with pytest.raises(tadc.ArgumentError, match=code):
            conv.torch(*args, **kwargs)


def test_extents_that_disagree() -> None:
    f = tadc.function("x: f64[N]; y: f64[N]; z: f64[3]; s = sum{i} (x[i]*y[i]) + z[0]")
    with pytest.raises(tadc.ArgumentError, match="dimension 0 of `y` has 4 elements, expected 5"):
        f.torch(doubles(5), doubles(4), doubles(3))
    with pytest.raises(tadc.ArgumentError, match=r"`z` has shape \(4,\), expected \(3,\)"):
        f.torch(doubles(5), doubles(5), doubles(4))


def test_a_kernel_refuses_by_itself(conv: tadc.Function) -> None:
    """As in a graph, where no Python is around it; what fails lets go of its tensors."""
    op = operators.operator_of(conv).op
    x, w = doubles(9), doubles(3)
    for args, words in (
        ((x.float(), w), "the elements of `x` are not of type f64"),
        ((x[None], w), "`x` does not have 1 dimensions"),
        ((w, x), "not defined"),
    ):
        with pytest.raises(RuntimeError, match=words):
            op(*args)
    fixed = operators.operator_of(tadc.function("x: f64[3]; y[i] = x[i]")).op
    with pytest.raises(RuntimeError, match="dimension 0 of `x` does not fit"):
        fixed(x)


def test_there_is_too_little_memory() -> None:
    f = tadc.function("x: f64[N]; y[i: N, j: N, k: N] = x[i]*x[j]*x[k]")
    with pytest.raises(tadc.ArgumentError, match="TAD0506"):
        f.torch(doubles(1).expand(1 << 14))


def test_only_gradients_that_are_asked_for_are_computed(conv: tadc.Function) -> None:
    asked: list[tuple[str, ...]] = []
    derived = operators.Operator.derived

    def noting(self: Any, kind: str, names: tuple[str, ...]) -> Any:
        asked.append((kind, *names))
        return derived(self, kind, names)

    x, w = doubles(9), doubles(3)
    with mock.patch.object(operators.Operator, "derived", noting):
        for names in (("x",), ("w",), ("x", "w")):
            inputs = {"x": x.clone(), "w": w.clone()}
            for name in names:
                inputs[name].requires_grad_()
            conv.torch(**inputs).sum().backward()
            assert [name for name in inputs if inputs[name].grad is not None] == list(names)
    assert asked == [("g", "x"), ("g", "w"), ("g", "x", "w")]
    assert operators.operator_of(conv).derived("g", ("x",)).outputs == ("dx",)


def test_results_that_nobody_reads_have_no_cotangent() -> None:
    f = tadc.function("x: f64[N]; y[i] = x[i]**2; s = sum{i} (x[i]**3)")
    x = doubles(4).requires_grad_()
    assert_alike(torch.autograd.grad(f.torch(x).s, x)[0], 3 * x**2)
    assert_alike(torch.autograd.grad(f.torch(x).y.sum(), x)[0], 2 * x)
    with torch.no_grad():
        assert not f.torch(x).s.requires_grad
    with torch.inference_mode():
        assert_alike(f.torch(x).s, (x**3).sum())


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_autocast_converts_to_the_types_of_the_program(dtype: Any) -> None:
    f = tadc.function("x: f32[N]; w: f32[N]; s = sum{i} (x[i]*w[i])")
    x, w = torch.randn(8).to(dtype).requires_grad_(), torch.randn(8, requires_grad=True)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        for found in (f.torch(x, w), f.torch(x.detach(), w.detach())):
            assert found.dtype is torch.float32
            torch.testing.assert_close(found, x.float() @ w.float(), check_dtype=False, rtol=1e-2, atol=1e-2)
        gradient, _ = torch.autograd.grad(f.torch(x, w), (x, w))
        with pytest.raises(tadc.ArgumentError, match="type float64, which f32 cannot hold"):
            f.torch(x.double(), w)
    assert gradient.dtype is dtype
    with pytest.raises(tadc.ArgumentError, match="TAD0504"):
        f.torch(x, w)


def test_fake_and_meta_tensors(conv: tadc.Function) -> None:
    from torch._subclasses.fake_tensor import FakeTensorMode

    meta = conv.torch(doubles(9).to("meta"), doubles(3).to("meta"))
    assert (meta.device.type, meta.shape) == ("meta", (7,))
    with FakeTensorMode():
        for device in ("cpu", "cuda"):
            x, w = (torch.empty(n, dtype=torch.float64, device=device) for n in (9, 3))
            y = conv.torch(x, w)
            assert (y.device.type, y.shape) == (device, (7,))
            with pytest.raises(tadc.ArgumentError, match="TAD0507"):
                conv.torch(w, x)
        with pytest.raises(tadc.ArgumentError, match=r"on a device without kernels \(mps:0\)"):
            conv.torch(*(torch.empty(n, dtype=torch.float64, device="mps") for n in (9, 3)))


def test_export_is_loaded_by_a_process_that_wraps_the_function(conv: tadc.Function, tmp_path: Path) -> None:
    class Twice(torch.nn.Module):
        def forward(self, x: Any, w: Any) -> Any:
            return 2 * conv.torch(x, w=w)

    size = torch.export.Dim("size", min=4, max=100)
    program = torch.export.export(Twice(), (doubles(9), doubles(3)), dynamic_shapes=({0: size}, None))
    assert "default" in program.graph_module.code
    x, w = doubles(9).requires_grad_(), doubles(3)
    expected = torch.autograd.grad(2 * same(x, w).sum(), x)
    assert_alike(torch.autograd.grad(program.module()(x, w).sum(), x), expected)
    path = tmp_path / "twice.pt2"
    torch.export.save(program, path)
    x, w = doubles(20), doubles(3)
    torch.save((x, w, 2 * conv.torch(x, w)), tmp_path / "values.pt")
    script = f"""
import tadc, torch
tadc.torch.wrap(tadc.function({CONV!r}))
x, w, y = torch.load("values.pt")
torch.testing.assert_close(torch.export.load("twice.pt2").module()(x, w), y)
"""
    subprocess.run([sys.executable, "-c", script], cwd=tmp_path, check=True, env=_environment())


def _environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(Path(tadc.__file__).parent.parent)}


def test_module() -> None:
    f = tadc.function(
        "x: f32[B, I]; w: f32[O, I]; b: f32[O]; y[n, o] = tanh(sum{i} (w[o, i]*x[n, i]) + b[o])"
    )
    torch.manual_seed(0)
    layer = f.torch.module(w=(2, 3), b=torch.zeros(2))
    x = torch.randn(50, 3)
    y = torch.tanh(x @ torch.randn(3, 2))
    optimiser, loss = torch.optim.Adam(layer.parameters(), 0.1), torch.tensor(0.0)
    for _ in range(200):
        optimiser.zero_grad()
        loss = (layer(x) - y).pow(2).mean()
        loss.backward()
        optimiser.step()
    assert loss < 1e-3
    assert list(layer.state_dict()) == ["w", "b"]
    torch.testing.assert_close(layer(x=x), torch.tanh(torch.nn.functional.linear(x, layer.w, layer.b)))
    other = f.torch.module(w=(2, 3), b=(2,))
    other.load_state_dict(layer.state_dict())
    stored = io.BytesIO()
    torch.save(layer, stored)
    stored.seek(0)
    loaded = torch.load(stored, weights_only=False)
    for again in (other, copy.deepcopy(layer), pickle.loads(pickle.dumps(layer)), loaded):
        assert torch.equal(again(x), layer(x))
        again.w.data.zero_()
    assert layer.w.abs().sum() > 0
    compiled = torch.compile(layer, fullgraph=True, backend="aot_eager")
    torch.testing.assert_close(compiled(x), layer(x))
    ran = torch.func.functional_call(layer, {"b": torch.ones(2)}, (x,))
    torch.testing.assert_close(ran, torch.tanh(torch.nn.functional.linear(x, layer.w, torch.ones(2))))


def test_module_holds_buffers_and_refuses_what_does_not_fit(conv: tadc.Function) -> None:
    layer = conv.torch.module(w=torch.nn.Buffer(doubles(3)))
    assert [list(layer.parameters()), list(layer.state_dict())] == [[], ["w"]]
    assert_alike(layer(doubles(9)), same(doubles(9), layer.w))
    for wrong, words in (
        ({"v": (3,)}, "no input `v`"),
        ({"w": (3, 3)}, "2 dimensions"),
        ({"w": "three"}, "no tensor and no shape"),
        ({"w": torch.ones(3, dtype=torch.int64)}, "int64"),
    ):
        with pytest.raises(tadc.UsageError, match=words):
            conv.torch.module(**wrong)
    with pytest.raises(tadc.UsageError, match="have already"):
        tadc.function("training: f64; y = training").torch.module(training=())
    with pytest.raises(tadc.UsageError, match="the inputs of the module are x"):
        layer(doubles(9), doubles(3))
    with pytest.raises(tadc.ArgumentError, match="TAD0501"):
        layer()


def test_copies(conv: tadc.Function) -> None:
    x, w = doubles(9), doubles(3)
    for again in (pickle.loads(pickle.dumps(conv.torch)), copy.deepcopy(conv.torch), tadc.torch.wrap(conv)):
        assert torch.equal(again(x, w), conv.torch(x, w))
    assert str(conv.torch) == str(conv)
    assert repr(conv.torch) == "<tadc.torch.TorchFunction (x: f64[N], w: f64[K]) -> (y: f64[N - K + 1])>"
    with pytest.raises(tadc.UsageError, match="takes a function, not the text"):
        tadc.torch.wrap(CONV)


def test_threads(conv: tadc.Function) -> None:
    """Each has results of its own, and gradients; derivatives are made once."""
    f = tadc.function("x: f64[N]; let e[i] = exp(x[i]); s = sum{i} (e[i]); y[i] = e[i]/s")

    def work(seed: int) -> None:
        x = torch.linspace(0, seed, 50 + seed, dtype=torch.float64).requires_grad_()
        for _ in range(50):
            y = f.torch(x).y
            assert_alike(y, torch.softmax(x, 0))
            found = torch.autograd.grad(y[3], x)[0]
            assert_alike(found, torch.autograd.grad(torch.softmax(x, 0)[3], x)[0])

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(8)))


@pytest.mark.parametrize("count", [100_000, pytest.param(1_000_000, marks=pytest.mark.slow)])
def test_nothing_leaks(conv: tadc.Function, count: int) -> None:
    f = conv.torch
    x, w, strided = doubles(64), doubles(3), doubles(128)[::2]
    recorded = x.clone().requires_grad_()
    small = doubles(1)

    def calls(times: int) -> None:
        for n in range(times):
            f(x, w)
            if n % 10 == 0:
                f(strided, w)
            if n % 50 == 0:
                f(recorded, w).sum().backward()
            if n % 500 == 0:
                with pytest.raises(tadc.ArgumentError):
                    f(small, w)
            if n % 100_000 == 0:
                gc.collect()  # exceptions and their frames refer to each other

    calls(5_000)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    calls(count)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 4_000  # KiB: 1e5 results are 50,000


def test_without_pytorch() -> None:
    script = """
import sys
sys.modules["torch"] = None
import tadc
try:
    tadc.function("x: f64[3]; y[i] = x[i]").torch
except tadc.UsageError as error:
    assert "pip install 'tadc-compiler[torch]'" in str(error), error
else:
    raise AssertionError
"""
    subprocess.run([sys.executable, "-c", script], check=True, env=_environment())


def test_pytorch_is_imported_at_the_first_use() -> None:
    script = "import sys, tadc, tadc.torch; assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", script], check=True, env=_environment())


def test_many_inputs() -> None:
    """As many as PyTorch takes; one more is refused, in a derivative too."""

    def of(count: int) -> tadc.Function:
        names = [f"a{n}" for n in range(count)]
        inputs = "; ".join(f"{name}: f64" for name in names)
        return tadc.function(f"{inputs}; y = {' + '.join(f'{name}**2' for name in names)}")

    many = [torch.tensor(float(n), dtype=torch.float64, requires_grad=True) for n in range(64)]
    assert_alike(torch.autograd.grad(of(63).torch(*many[:63]), many[3])[0], 2 * many[3])
    with pytest.raises(tadc.UsageError, match="65 inputs, and operators of PyTorch at most 64"):
        of(64).torch(*many).backward()
    with pytest.raises(tadc.UsageError, match="at most 64"):
        tadc.torch.wrap(of(65))


def test_an_old_pytorch(conv: tadc.Function) -> None:
    from tadc.torch import libtorch

    with mock.patch.object(libtorch, "OLDEST", (99, 0)):
        with pytest.raises(tadc.UsageError, match="which is there from"):
            tadc.torch.wrap(conv)
    with mock.patch.object(libtorch, "CALLED", ("aoti_torch_nothing",)):
        with pytest.raises(tadc.UsageError, match="no `aoti_torch_nothing`"):
            tadc.torch.wrap(conv)


def test_repeated_elements_that_there_is_no_room_to_copy() -> None:
    f = tadc.function("x: f64[N, M]; s = sum{i, j} (x[i, j])")
    x = torch.ones(1, 1, dtype=torch.float64).expand(1 << 30, 1 << 20)
    for g in (f, f.torch):
        with pytest.raises(tadc.ArgumentError, match=r"`x` must be copied, which needs 8.0 PiB of memory"):
            g(x)
    with pytest.raises(RuntimeError, match="or there is no memory to copy one"):
        torch.compile(f.torch)(x)


def test_sizes_that_no_tensor_tells_in_a_graph() -> None:
    f = tadc.function("size N; x: f64[M]; y[i: N] = sum{k} (x[k]) * i")
    x = torch.arange(3, dtype=torch.float64)
    assert f.torch(x, N=3).tolist() == [0, 3, 6]
    g = f.at({"N": 3}).torch
    assert torch.compile(g, fullgraph=True)(x).tolist() == [0, 3, 6]
    with pytest.raises(Exception, match=r"write g = f.at\(\{'N': …\}\).torch outside of it"):
        torch.compile(f.torch, fullgraph=True)(x, N=3)
