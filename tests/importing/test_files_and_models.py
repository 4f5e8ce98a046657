"""Models in files, and whole models of JAX and PyTorch, against what made them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tadc
from tadc.cli import main
from tests.importing import jax_models
from tests.importing.test_functions import CLOSE, apart, gradients

LAYER = """func.func @layer(%x: tensor<?x4xf64>, %w: tensor<4x3xf64>) -> tensor<?x3xf64> {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f64
  %n = tensor.dim %x, %c0 : tensor<?x4xf64>
  %e = tensor.empty(%n) : tensor<?x3xf64>
  %f = linalg.fill ins(%zero : f64) outs(%e : tensor<?x3xf64>) -> tensor<?x3xf64>
  %m = linalg.matmul ins(%x, %w : tensor<?x4xf64>, tensor<4x3xf64>) outs(%f : tensor<?x3xf64>)
    -> tensor<?x3xf64>
  return %m : tensor<?x3xf64>
}
"""


def test_a_module_of_linalg_with_open_sizes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "layer.mlir"
    path.write_text(LAYER)
    f = tadc.load(path)
    x, w = np.ones((5, 4)), np.arange(12.0).reshape(4, 3)
    assert np.array_equal(f(x, w), x @ w)
    assert main(["import", str(path)]) == 0
    assert "layer[i, j] = sum{k}_0^3 (x[i, k] * w[k, j])" in capsys.readouterr().out


@pytest.mark.parametrize(("name", "rounded"), [("floordivsi", np.floor), ("ceildivsi", np.ceil)])
def test_quotients_by_negative_integers_are_rounded(tmp_path: Path, name: str, rounded: Any) -> None:
    (tmp_path / "f.mlir").write_text(f"""
    func.func @f(%x: tensor<6xf64>) -> tensor<6xf64> {{
      %e = tensor.empty() : tensor<6xf64>
      %r = linalg.generic {{
          indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]
      }} ins(%x : tensor<6xf64>) outs(%e : tensor<6xf64>) {{
      ^bb0(%a: f64, %o: f64):
        %i = linalg.index 0 : index
        %c = arith.constant -2 : index
        %q = arith.{name} %i, %c : index
        %k = arith.index_cast %q : index to i64
        %v = arith.sitofp %k : i64 to f64
        %m = arith.mulf %a, %v : f64
        linalg.yield %m : f64
      }} -> tensor<6xf64>
      return %r : tensor<6xf64>
    }}""")
    x = np.arange(1.0, 7)
    np.testing.assert_array_equal(tadc.load(tmp_path / "f.mlir")(x), x * rounded(np.arange(6) / -2))


def test_a_module_of_stablehlo(tmp_path: Path) -> None:
    path = tmp_path / "f.mlir"

    def f(x: Any) -> Any:
        return jax.lax.erf(jnp.tanh(x)).sum(0)

    x = np.linspace(0, 1, 6, dtype=np.float32).reshape(2, 3)
    path.write_text(str(jax.jit(f).trace(x).lower().compiler_ir("stablehlo")))
    assert np.allclose(tadc.load(path)(x), f(x), atol=1e-6)


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("other.mlir", '"foo.bar"() : () -> ()', "TAD0513.*`foo.bar` is of a dialect.*other.mlir:1"),
        ("broken.mlir", "func.func @f() {\n  return %z : f64\n}", "TAD0513.*undeclared.*broken.mlir:2"),
        ("bytes.mlir", b"\xff\xfe\x00", "TAD0801.*neither text"),
        ("missing.mlir", None, "TAD0801.*no file"),
    ],
)
def test_files_that_cannot_be_read(
    tmp_path: Path, name: str, content: str | bytes | None, expected: str
) -> None:
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(tadc.CompileError, match=f"(?s){expected}"):
        tadc.load(path)


def test_a_model_of_onnx_has_its_names(tmp_path: Path) -> None:
    onnx = pytest.importorskip("onnx")
    make, kind = onnx.helper, onnx.TensorProto.FLOAT
    w, b = np.ones((4, 3), np.float32), np.arange(3, dtype=np.float32)
    graph = make.make_graph(
        [make.make_node("Gemm", ["x", "fc.weight", "fc.bias"], ["h"]), make.make_node("Relu", ["h"], ["y"])],
        "net",
        [make.make_tensor_value_info("x", kind, ["batch", 4])],
        [make.make_tensor_value_info("y", kind, ["batch", 3])],
        [onnx.numpy_helper.from_array(w, "fc.weight"), onnx.numpy_helper.from_array(b, "fc.bias")],
    )
    onnx.save(make.make_model(graph, opset_imports=[make.make_opsetid("", 17)]), tmp_path / "m.onnx")
    f = tadc.load(tmp_path / "m.onnx")
    assert f.inputs == ("x", "fc_weight", "fc_bias")
    x = np.linspace(-1, 1, 20, dtype=np.float32).reshape(5, 4)
    assert np.allclose(f(x), np.maximum(x @ w + b, 0), atol=1e-6)


def test_a_program_of_torch_export(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    net = torch.nn.Sequential(torch.nn.Linear(4, 5), torch.nn.Tanh()).double()
    x = torch.ones(3, 4, dtype=torch.float64)
    torch.export.save(torch.export.export(net, (x,)), tmp_path / "net.pt2")
    f = tadc.load(tmp_path / "net.pt2")
    assert set(f.inputs) >= {"x" if "x" in f.inputs else "input"}
    assert apart(f(x).numpy(), net(x).detach().numpy()) < CLOSE


@pytest.mark.parametrize("name", jax_models.models())
def test_models_of_jax(name: str) -> None:
    with jax.enable_x64(True):
        model, given = jax_models.models()[name]
        given = jax.tree.map(jnp.asarray, given)
        f = tadc.from_jax(model, *given)
        value, pullback = jax.vjp(lambda params, x: model(params, x, *given[2:]), *given[:2])
        assert apart(f(*given), value) < CLOSE
        cotangent = np.random.default_rng(0).normal(size=value.shape)
        wanted = jax.tree.leaves(pullback(jnp.asarray(cotangent)))
        found = gradients(f, f.arguments(*given), [cotangent])
        assert max(map(apart, found.values(), wanted)) < CLOSE
