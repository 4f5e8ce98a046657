"""What cannot be imported, or is large: a diagnostic or a result, in time and memory that do not run away."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tadc


def _model_of_onnx(path: Path) -> Any:
    onnx = pytest.importorskip("onnx")
    make, kind = onnx.helper, onnx.TensorProto.FLOAT
    weights = np.linspace(0, 1, 12, dtype=np.float32).reshape(4, 3)
    graph = make.make_graph(
        [make.make_node("MatMul", ["x", "w"], ["y"])],
        "net",
        [make.make_tensor_value_info("x", kind, [2, 4])],
        [make.make_tensor_value_info("y", kind, [2, 3])],
        [onnx.numpy_helper.from_array(weights, "w")],
    )
    model = make.make_model(graph, opset_imports=[make.make_opsetid("", 17)])
    onnx.save(model, path, save_as_external_data=True, location="weights.bin", size_threshold=0)
    return weights


def test_weights_of_onnx_in_another_file(tmp_path: Path) -> None:
    weights = _model_of_onnx(tmp_path / "m.onnx")
    x = np.ones((2, 4), np.float32)
    assert np.allclose(tadc.load(tmp_path / "m.onnx")(x), x @ weights)
    (tmp_path / "weights.bin").unlink()
    with pytest.raises(tadc.CompileError, match=r"(?s)TAD0801.*m\.onnx.*weights\.bin"):
        tadc.load(tmp_path / "m.onnx")


def test_a_damaged_model_of_onnx(tmp_path: Path) -> None:
    _model_of_onnx(tmp_path / "m.onnx")
    (tmp_path / "m.onnx").write_bytes((tmp_path / "m.onnx").read_bytes()[:-20])
    with pytest.raises(tadc.CompileError, match=r"(?s)TAD0801.*m\.onnx` cannot be read"):
        tadc.load(tmp_path / "m.onnx")


@pytest.mark.parametrize("type", ["complex64", "float8_e4m3fn"])
def test_types_that_there_are_not(type: str) -> None:
    with pytest.raises(tadc.UsageError, match=r"(?s)TAD0513.*test_bad_input\.py:\d+"):
        tadc.from_jax(lambda x: x.astype(type) + x.astype(type), np.ones(3))


def _seconds_of(operations: int) -> float:
    def deep(x: Any, w: Any) -> Any:
        for _ in range(operations // 5):
            x = jnp.tanh(x * w + x[::-1] * 0.5) - x * 0.1
        return x

    x = jax.ShapeDtypeStruct((8,), np.float32)
    begin = time.process_time()
    tadc.from_jax(deep, x, x)
    return time.process_time() - begin


@pytest.mark.slow
def test_import_takes_time_by_the_number_of_operations() -> None:
    _seconds_of(100)
    assert _seconds_of(5000) < 3 * _seconds_of(2500) < 9 * _seconds_of(1250)


_LONG = np.arange(2**20, dtype=np.float32) / 2**20
_TABLE = np.random.default_rng(0).permutation(2**15).astype(np.int32)


def _in_a_jitted_one(x: Any) -> Any:
    return jax.jit(lambda y: _LONG * y)(x) + (_LONG * x)[::-1]


def _in_a_loop(x: Any) -> Any:
    return jax.lax.fori_loop(0, 2, lambda _, y: jnp.tanh(_LONG * y), x)


@pytest.mark.parametrize("function", [_in_a_jitted_one, _in_a_loop])
def test_a_large_constant_is_an_argument_without_a_copy(function: Any) -> None:
    x = np.linspace(-1, 1, 2**20, dtype=np.float32)
    f = tadc.from_jax(function, x)
    assert f.inputs == ("x", "constant")
    assert np.shares_memory(f.constants["constant"], _LONG)
    assert np.allclose(f(x), function(x), atol=1e-4)


def test_large_tables_of_places_and_equal_numbers() -> None:
    def function(x: Any) -> Any:
        return x[_TABLE] * np.full(2**15, 0.5, np.float32) + np.arange(2**15)

    x = np.linspace(-1, 1, 2**15, dtype=np.float32)
    f = tadc.from_jax(function, x)
    assert str(f).endswith("\n\nfunction[i] = x[constant[i]] * 0.5 + i\n")
    assert np.shares_memory(f.constants["constant"], _TABLE)
    assert np.allclose(f(x), function(x), rtol=1e-6)


def test_large_constants_beside_symbolic_sizes() -> None:
    (n,) = jax.export.symbolic_shape("n")
    f = tadc.from_jax(lambda x: x * _LONG, jax.ShapeDtypeStruct((n, 2**20), "float32"))
    assert np.shares_memory(f.constants["constant"], _LONG)
    x = np.ones((3, 2**20), np.float32)
    assert np.allclose(f(x), x * _LONG)
