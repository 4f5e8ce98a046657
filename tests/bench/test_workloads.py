"""Each workload's program, and every form of it that can run here, against closed forms in f64."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from bench import breadth, forward, uncertainty
from bench.contenders import COMPILED, TADC, UnavailableError, names_of, prepare
from bench.counting import counts
from bench.everyday import EVERYDAY
from bench.measure import measure, worst_error
from bench.sparse import SPARSE
from bench.workloads import WORKLOADS
from bench.workloads.workload import Workload

BY_NAME = {workload.name: workload for workload in WORKLOADS}


def each(which: Callable[[Workload], object] = bool) -> pytest.MarkDecorator:
    """A test for each workload that is so."""
    return pytest.mark.parametrize("name", [w.name for w in WORKLOADS if which(w)])


@each()
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_tadc_agrees(name: str, dtype: type) -> None:
    workload = BY_NAME[name]
    given = workload.inputs(workload.small)
    ours = prepare(TADC, workload, workload.small, tuple(a.astype(dtype) for a in given))
    assert worst_error(ours.results(), workload.reference(given)) < 100 * np.finfo(dtype).eps


@each()
def test_peers_agree(name: str) -> None:
    """JAX differentiates by itself: this checks the closed forms, which are the reference, too."""
    workload = BY_NAME[name]
    given = workload.inputs(workload.small)
    checked: list[str] = []
    for peer in names_of(workload):
        if peer in (TADC, COMPILED, "KeOps", "numba"):  # these compile for seconds
            continue
        try:
            found = prepare(peer, workload, workload.small, tuple(a.astype(np.float64) for a in given))
        except UnavailableError:
            continue
        assert worst_error(found.results(), workload.reference(given)) < 1e-12, peer
        checked.append(peer)
    assert any(peer.startswith("JAX") for peer in checked)


@each(lambda workload: "numba" in workload.peers)
def test_gathers_written_by_hand_agree(name: str) -> None:
    """What numba compiles is Python too."""
    workload = BY_NAME[name]
    given = workload.inputs(workload.small)
    found = workload.peers["numba"](*(a.astype(np.float64) for a in given))
    assert (
        worst_error(list(found) if isinstance(found, tuple) else [found], workload.reference(given)) < 1e-12
    )


@pytest.mark.parametrize(
    ("name", "operations"),
    [
        ("density", 8192**2 * (3 * 3 + 12)),
        ("fir", 100_000 * 129 * 2),
        ("mttkrp", 256**3 * 32 * 3),
        ("conv1d", 16 * 128 * 2036 * 64 * 9 * 2),
        ("conv2d", 8 * 64 * 27**2 * 32 * 9 * 2),
        ("local", 8 * 16 * 28**2 * 16 * 9 * 2),
        ("matmul", 1024**3 * 2),
    ],
)
def test_sizes(name: str, operations: int) -> None:
    """The values cost what their formulas say by hand."""
    assert counts(BY_NAME[name], "f32", BY_NAME[name].sizes)["written"] == operations


def _double(jax: Any, x: Any, w: Any) -> Any:
    return 2 * jax.numpy.correlate(x, w, "valid")


def _too_large(jax: Any, x: Any, w: Any) -> Any:
    raise MemoryError("too large")


def test_who_is_wrong_or_fails_is_not_timed() -> None:
    fir = BY_NAME["fir"]
    peers = {"NumPy": fir.peers["NumPy"], "JAX": _double, "JAX, tuned": _too_large}
    flawed = Workload("fir", fir.title, fir.program, fir.sizes, fir.small, peers, {"KeOps": "has no sums"})
    cell = measure(flawed, fir.small, "f64", threads=1, budget=0.01)
    assert set(cell.seconds) == {TADC, "NumPy"}
    assert cell.skipped == {
        "JAX": "is wrong by 1.0e+00",
        "JAX, tuned": "MemoryError: too large",
        "KeOps": "has no sums",
    }
    numpy, ours = cell.median("NumPy"), cell.median()
    assert numpy
    assert ours
    assert cell.ratio() == numpy / ours


@pytest.mark.parametrize("found", [np.full(3, np.nan), np.zeros(2), np.zeros((3, 1))])
def test_nothing_agrees_with_the_wrong(found: np.ndarray) -> None:
    """Neither what is no number, nor another shape."""
    assert not worst_error([found], (np.ones(3),)) <= 1e-3


@pytest.mark.parametrize("workload", [w for w in forward.ROWS if w.name in ("semenov", "fir", "paper")])
@pytest.mark.parametrize("dtype", ["f32", "f64"])
def test_tangents_agree(workload: Workload, dtype: str) -> None:
    """Value and tangent of tadc and of each form for JAX; `calls` compares them."""
    made = forward.calls(workload, dtype, small=True)
    assert {"tadc", "JAX"} <= made.keys()


@pytest.mark.parametrize("name", uncertainty.PROGRAMS)
def test_uncertainties_agree(name: str) -> None:
    """Values and uncertainties of tadc and of arrays of `uncertainties`; `calls` compares them."""
    pytest.importorskip("uncertainties")
    assert uncertainty.calls(name, 20).keys() == {"tadc", "uncertainties"}


@pytest.mark.parametrize("name", [w.name for w in EVERYDAY])
def test_everyday_programs_agree(name: str) -> None:
    pytest.importorskip("jax")
    workload = next(w for w in EVERYDAY if w.name == name)
    made = breadth.contenders(workload, "f64", small=True)
    assert {"tadc", "JAX"} <= set(made) <= {"tadc", *workload.peers}


@pytest.mark.parametrize("name", [w.name for w in SPARSE])
def test_programs_with_index_arrays_agree(name: str) -> None:
    pytest.importorskip("jax")
    workload = next(w for w in SPARSE if w.name == name)
    made = breadth.contenders(workload, "f64", small=True)
    others = {"JAX", "SciPy and JAX"} & workload.peers.keys() or {"SciPy"}
    assert {"tadc", *others} <= set(made) <= {"tadc", *workload.peers}


@pytest.mark.parametrize("name", [w.name for w in (*WORKLOADS, *EVERYDAY)])
@pytest.mark.parametrize(("processor", "dtype"), [("x86-64-v4", "f32"), ("x86-64-v2", "f64")])
def test_large_sizes_have_a_plan_on_every_processor(name: str, processor: str, dtype: str) -> None:
    """Whatever this machine is: plans depend on vectors, registers and caches."""
    workload = next(w for w in (*WORKLOADS, *EVERYDAY) if w.name == name)
    lowered = workload.derivative(dtype, workload.sizes).lower(f"cpu:{processor}")
    assert "tad." not in lowered.as_text("loops")
