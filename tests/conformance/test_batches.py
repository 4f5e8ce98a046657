"""Functions over batches against a loop over the batch."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import tadc
from tadc.frontend.extents import as_form, shape_at
from tadc.frontend.specialise import problems_at
from tests.conformance.test_forward import CASES, close, named
from tests.fuzz import generate, sized
from tests.fuzz.test_recurrences import recurrence

Arrays = dict[str, NDArray[np.floating]]

COUNT = 3
EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*.tad"))

pytestmark = pytest.mark.filterwarnings("ignore::tadc.CompileWarning")


def stacked(inputs: Arrays, seed: int, chosen: Sequence[str]) -> Arrays:
    """The inputs, those chosen with a leading index: themselves first, and others near them."""
    random = np.random.default_rng(seed)
    near = (1 + random.uniform(-0.01, 0.01, COUNT)[:, None]) * np.ones((COUNT, 1))
    near[0] = 1
    return {
        name: (near.reshape(-1, *[1] * x.ndim) * x[None]).astype(x.dtype) if name in chosen else x
        for name, x in inputs.items()
    }


def compare(f: tadc.Function, inputs: Arrays, chosen: Sequence[str], tolerance: float = 1e-9) -> None:
    """One call over a batch gives what a call for each element gives; what is printed reads back."""
    over = tadc.batched(f, chosen)
    given = stacked(inputs, 5, chosen)
    sizes = {"batch": COUNT} if not chosen else {}
    found = named(over, {**given, **sizes})
    each = [named(f, {n: x[b] if n in chosen else x for n, x in given.items()}) for b in range(COUNT)]
    for name in f.outputs:
        close(found[name], np.stack([one[name] for one in each]), tolerance)
    assert str(tadc.function(str(over))) == str(over)
    roles = [over.cotangents, over.gradients, over.tangents, over.output_tangents]
    assert roles == [f.cotangents, f.gradients, f.tangents, f.output_tangents]


def with_gradients(f: tadc.Function, inputs: Arrays, seed: int) -> tuple[tadc.Function, Arrays]:
    """The value and all gradients, and inputs with random cotangents."""
    g = tadc.value_and_vjp(f)
    random = np.random.default_rng(seed)
    values = named(f, inputs)
    weights = {g.cotangents[n]: random.uniform(-1, 1, y.shape).astype(y.dtype) for n, y in values.items()}
    return g, {**inputs, **weights}


@pytest.mark.parametrize("name", CASES)
def test_programs(name: str) -> None:
    case = CASES[name]
    f, inputs = tadc.function(case.program), case.inputs()
    chosen = [n for k, n in enumerate(f.inputs) if (case.seed >> k) % 3] or list(f.inputs)
    compare(f, inputs, chosen, case.tolerance)
    g, given = with_gradients(f, inputs, case.seed)
    compare(g, given, list(g.inputs), case.tolerance)


@pytest.mark.parametrize("seed", range(28))
def test_random_programs(seed: int) -> None:
    program = generate.generate(seed, small=True)
    random = np.random.default_rng(seed)
    types = program.types
    inputs = {
        n: random.uniform(0.5, 1, s).astype(types[n].replace("f", "float"))
        for n, s in program.arguments.items()
    }
    f = tadc.function(str(program))
    chosen = [n for n in f.inputs if random.random() < 0.6]
    tolerance = 2e-3 if "f32" in types.values() else 1e-9
    compare(f, inputs, chosen, tolerance)
    g, given = with_gradients(f, inputs, seed)
    compare(g, given, [n for n in g.inputs if random.random() < 0.7], tolerance)


@pytest.mark.parametrize("seed", range(28))
def test_random_recurrences(seed: int) -> None:
    random = np.random.default_rng(seed)
    text, inputs, sizes = recurrence(random, 1 + seed % 3)
    f = tadc.function(text)
    given: Any = {**inputs, **{n: v for n, v in sizes.items() if n in f.program.unbound_sizes()}}
    over = tadc.batched(f)
    found = over(**{n: np.stack([x, 2 * x]) if n in inputs else x for n, x in given.items()})
    twice = {n: 2 * x if n in inputs else x for n, x in given.items()}
    np.testing.assert_allclose(found, np.stack([f(**given), f(**twice)]), rtol=1e-12)


@pytest.mark.parametrize("seed", range(20))
def test_random_sizes(seed: int) -> None:
    """Sizes stay symbols beside the batch's; those that have no meaning are refused alike."""
    program, tries = sized.generate(seed)
    try:
        f = tadc.function(str(program))
    except tadc.CompileError:
        return  # a read that no sizes save
    over = tadc.batched(f)
    random = np.random.default_rng(seed)
    for sizes in [sizes for sizes in tries if program.is_shaped(sizes)]:
        known = program.at(sizes)
        inputs = {n: random.uniform(0.5, 1, (COUNT, *shape)) for n, shape in known.arguments.items()}
        typed = {n: x.astype(known.types[n].replace("f", "float")) for n, x in inputs.items()}
        untold = {n: sizes[n] for n in f.program.unbound_sizes()}
        if not inputs:
            untold["batch"] = COUNT
        if problems_at(f.program, sizes):
            with pytest.raises(tadc.ArgumentError):
                over(**typed, **untold)
            continue
        found = named(over, {**typed, **untold})
        untold.pop("batch", None)
        each = [named(f, {**{n: x[b] for n, x in typed.items()}, **untold}) for b in range(COUNT)]
        for name in f.outputs:
            close(
                found[name],
                np.stack([one[name] for one in each]),
                2e-3 if "f32" in known.types.values() else 1e-9,
            )


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_examples(path: Path) -> None:
    f = tadc.load(path)
    over = tadc.batched(f)
    assert str(tadc.function(str(over))) == str(over)
    sizes = {name: 3 if name == "K" else 9 for name in f.program.sizes}
    at = f.at(sizes)
    random = np.random.default_rng(1)
    over, given = over.at(sizes), dict[str, Any]()
    for a in at.program.arguments:
        shape = (2, *shape_at(a.shape, {}))
        if a.below is not None:
            given[a.name] = random.integers(0, as_form(a.below).constant, shape)
        else:
            x = random.uniform(0.5, 1, shape[1:]).astype(a.type.replace("f", "float"))
            given[a.name] = np.stack([x, 0.9 * x])
    found = named(over, given)
    for b in range(2):
        one = named(at, {n: x[b] for n, x in given.items()})
        for name in f.outputs:
            close(found[name][b], one[name], 1e-5)


X = np.arange(12.0).reshape(2, 6)


def test_compiled_for_each_value_of_a_size() -> None:
    f = tadc.function("x: f64[N]; size K; y[i: N//K] = x[K*i]**2")
    over = tadc.batched(f)
    np.testing.assert_array_equal(over(X, K=2), np.stack([f(x, K=2) for x in X]))
    g = tadc.vjp(f)
    pulled = pickle.loads(pickle.dumps(tadc.batched(g)))(X, np.ones((2, 3)), K=2)
    np.testing.assert_array_equal(pulled, np.stack([g(x, np.ones(3), K=2) for x in X]))
    told = tadc.function("x: f64[N, M]; s = sum{i: N, k: N*M} (if {k = M*i} then (x[i, 0]) else (0))")
    np.testing.assert_array_equal(tadc.batched(told)(np.stack([X, 2 * X])), [told(X), told(2 * X)])


def test_one_kernel_for_any_batch() -> None:
    f = tadc.batched(tadc.function("x: f64[N]; s = sum{i} (x[i]**2)"))
    kernel = f.compiled()
    for count in (0, 1, 2, 1000):
        np.testing.assert_allclose(f(np.full((count, 5), 2.0)), np.full(count, 20.0))
    assert f.compiled() is kernel


def test_batches_of_batches() -> None:
    f = tadc.function("w: f64[2, 3]; x: f64[3]; batch: f64; b[i] = batch*sum{k} (w[i, k]*x[k])")
    over = tadc.batched(tadc.batched(f, "x"), ["w", "batch"])
    assert repr(over) == (
        "<tadc.Function (w: f64[batch_2, 2, 3], x: f64[batch_1, 3], batch: f64[batch_2]) "
        "-> (b: f64[batch_2, batch_1, 2])>"
    )
    random = np.random.default_rng(0)
    w, x, c = random.normal(size=(4, 2, 3)), random.normal(size=(5, 3)), random.normal(size=4)
    expected = np.einsum("cik,bk,c->cbi", w, x, c)
    np.testing.assert_allclose(over(w, x, c), expected)
    at = over.at({"batch_1": 5})
    assert at.program.sizes == ("batch_2",)
    np.testing.assert_allclose(at.at({"batch_2": 4})(w, x, c), expected)
    again = tadc.batched(f.at({}), size="n").at({"n": 3})
    assert repr(again).startswith("<tadc.Function (w: f64[3, 2, 3]")


def test_derivatives_of_a_batch() -> None:
    """The derivative over a batch of the function, summed where an input is the same for all elements."""
    f = tadc.function("w: f64[2, 3]; x: f64[3]; y[i] = tanh(sum{k} (w[i, k]*x[k]))")
    random = np.random.default_rng(0)
    w, x, dy = random.normal(size=(2, 3)), random.normal(size=(5, 3)), random.normal(size=(5, 2))
    inside = tadc.batched(tadc.vjp(f), ["x", "dy"])(w, x, dy)
    outside = tadc.vjp(tadc.batched(f, "x"))(w, x, dy)
    np.testing.assert_allclose(outside.dx, inside.dx, rtol=1e-12)
    np.testing.assert_allclose(outside.dw, inside.dw.sum(0), rtol=1e-12)


def test_what_does_not_depend_on_the_batch_is_computed_once() -> None:
    f = tadc.batched(tadc.function("a: f64[3]; x: f64[3]; b[i] = exp(a[i]); y[i] = b[i]*x[i]"), "x")
    assert str(f).endswith("let b_2[i: 3] = exp(a[i])\nb[b_1, i] = b_2[i]\ny[b_1, i] = b_2[i] * x[b_1, i]\n")
    r = f(np.zeros(3), np.ones((2, 3)))
    assert r.b.tolist() == r.y.tolist() == [[1.0] * 3] * 2
    alone = tadc.batched(f, [])
    assert alone(np.zeros(3), np.ones((2, 3)), batch_1=2).y.shape == (2, 2, 3)


def test_storage_and_stages_are_those_of_the_function() -> None:
    f = tadc.function("x: f64[N]; scan{i} y[i] = if {i = 0} then (x[0]) else (y[i - 1] * x[i])")
    g = tadc.batched(tadc.vjp(f, memory_limit="1K"))
    assert g.options.memory_limit == 1024
    assert "scf" in g.lower().as_text("loops")
    x = 1 + np.arange(10.0).reshape(2, 5) / 10
    expected = np.stack([tadc.vjp(f)(row, np.ones(5)) for row in x])
    np.testing.assert_allclose(g(x, np.ones((2, 5))), expected, rtol=1e-12)


@pytest.mark.parametrize(
    ("names", "message"),
    [
        ("z", "no argument `z`"),
        (["x", "f"], "cannot batch `f`"),
        ("w,x", r'name several in a list: `names=\["w", "x"\]`'),
        (3, "names is a name or a sequence of names, not 3"),
        ([3], "names is a name or a sequence of names"),
    ],
)
def test_names_that_are_no_inputs(names: Any, message: str) -> None:
    f = tadc.function("w: f64[3]; x: f64[3]; f[i] = w[i]*x[i]")
    with pytest.raises((tadc.CompileError, tadc.UsageError), match=message):
        tadc.batched(f, names)


@pytest.mark.parametrize("size", ["sum", 3, "1a"])
def test_sizes_that_are_no_names(size: Any) -> None:
    with pytest.raises(tadc.UsageError, match="size is the name of a size symbol"):
        tadc.batched(tadc.function("x: f64[3]; f[i] = x[i]"), size=size)


def test_sizes_without_a_meaning_are_refused_as_before() -> None:
    f = tadc.batched(tadc.function("x: f64[N]; y[i: N - 2] = x[i + 2]"))
    assert f(np.ones((4, 2))).shape == (4, 0)
    with pytest.raises(tadc.ArgumentError, match="a size cannot be negative"):
        f(np.ones((4, 1)))
    with pytest.raises(tadc.CompileError, match="no size symbol `M`"):
        f.at({"M": 1})
