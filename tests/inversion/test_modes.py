"""The four modes on random programs: against each other, dense solutions, `tadc.jacobian` and JAX."""

import random
import warnings

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tadc
from tadc.frontend.extents import shape_at
from tests.inversion.checking import close, compare, flat, parted
from tests.inversion.programs import van_der_pol

jax.config.update("jax_enable_x64", True)

SIZE = 5
#: Terms that a statement adds up, in the language and in JAX; `{0}` and `{1}` are values.
TERMS = [
    ("{c}*sin({0}[i])", lambda c, x, _: c * jnp.sin(x)),
    ("{c}*{0}[i]*{1}[i]", lambda c, x, y: c * x * y),
    ("{c}*tanh({0}[i])*exp({1}[i])", lambda c, x, y: c * jnp.tanh(x) * jnp.exp(y)),
    ("{c}*{0}[(i + 1) % 5]", lambda c, x, _: c * jnp.roll(x, -1)),
    ("{c}*{0}[4 - i]**2", lambda c, x, _: c * x[::-1] ** 2),
    (
        "(if {{i > 0}} then ({c}*{0}[i - 1]) else (0))",
        lambda c, x, _: c * jnp.concatenate([x[:1] * 0, x[:-1]]),
    ),
    ("{c}*sum{{k}} ({0}[k]*{1}[i])", lambda c, x, y: c * jnp.sum(x) * y),
]


def random_program(seed: int):
    """Statements that overwrite one of three values each, with more in between; as text and in JAX."""
    choose = random.Random(seed)
    lines = [f"x{n}: f64[{SIZE}]" for n in range(3)]
    steps = []
    names = ["x0", "x1", "x2"]
    for t in range(choose.randint(2, 6)):
        place = choose.randrange(3)
        terms = [
            (
                choose.randrange(len(TERMS)),
                round(choose.uniform(-0.3, 0.3), 3),
                choose.randrange(3),
                choose.randrange(3),
            )
            for _ in range(choose.randint(1, 3))
        ]
        scale = choose.choice([2.0, 3.0])
        shown = [TERMS[n][0].format(names[a], names[b], c=c) for n, c, a, b in terms]
        lines.append(f"let v{t}[i: {SIZE}] = {' + '.join([f'{scale}*{names[place]}[i]', *shown])}")
        steps.append((place, scale, terms))
        names[place] = f"v{t}"
    lines += [f"y{n}[i] = {name}[i]" for n, name in enumerate(names)]

    def function(vector):
        values = list(vector.reshape(3, SIZE))
        for place, scale, terms in steps:
            total = scale * values[place]
            for n, c, a, b in terms:
                total = total + TERMS[n][1](c, values[a], values[b])
            values[place] = total
        return jnp.concatenate(values)

    return "\n".join(lines), function


@pytest.mark.parametrize("seed", range(12))
def test_random_programs(seed: int) -> None:
    text, function = random_program(seed)
    f = tadc.function(text)
    arguments = list(np.random.default_rng(seed).uniform(-0.5, 0.5, (3, SIZE)))
    expected = np.asarray(jax.jit(jax.jacfwd(function))(np.concatenate(arguments)))
    compare(tadc.inverse(f), arguments, expected)
    if seed >= 3:
        return
    found = tadc.jacobian(f)(*arguments)
    blocks = [
        np.concatenate([np.asarray(block) for block in found[3 * n : 3 * n + 3]], axis=1) for n in range(3)
    ]
    np.testing.assert_allclose(np.concatenate(blocks), expected, atol=1e-12)


def test_modes_undo_each_other() -> None:
    case = van_der_pol(5, "[4]")
    f = tadc.function(case.text)
    inverse, at = tadc.inverse(f), tuple(np.random.default_rng(0).standard_normal((2, 4)))
    v, w = np.random.default_rng(1).standard_normal((2, 8))
    parts, shapes = (lambda vector: parted(vector, [(4,), (4,)])), 2
    jvp, vjp = tadc.jvp(f), tadc.vjp(f)
    close(flat(jvp(*at, *inverse.jinv(at, parts(v)))[shapes:]), v, 1e-12)
    close(flat(inverse.jinv(at, tuple(jvp(*at, *parts(v))[shapes:]))), v, 1e-12)
    close(flat(vjp(*at, *inverse.jinvT(at, parts(w)))), w, 1e-12)
    close(flat(inverse.jinvT(at, tuple(vjp(*at, *parts(w))))), w, 1e-12)


def test_parameters_are_no_inputs() -> None:
    f = tadc.function("a: f64; x: f64[3]; let s = exp(a); y[i] = s*x[i]**3")
    inverse = tadc.inverse(f, "x")
    found = inverse.jinv({"a": 0.5, "x": [1, 2, 3]}, [3.0, 12.0, 27.0])
    np.testing.assert_allclose(found, np.full(3, np.exp(-0.5)), rtol=1e-14)


def test_sizes_are_told_by_arguments() -> None:
    f = tadc.function("x: f64[N]; y[i] = x[i]**2")
    inverse = tadc.inverse(f)
    for size in (3, 5):
        found = inverse.jinv(np.arange(1.0, size + 1), np.ones(size))
        np.testing.assert_allclose(found, 0.5 / np.arange(1, size + 1))
    assert inverse.at({"N": 4}).plan.width == 4
    with pytest.raises(tadc.CompileError, match="size `N` needs a value"):
        _ = inverse.plan
    each = tadc.inverse(tadc.function("x: f64[N]; y[i: N] = 2*x[(i + 1) % N]"))
    np.testing.assert_array_equal(each.jinv(np.zeros(3), [2.0, 4.0, 6.0]), [3, 1, 2])


def test_nothing_is_lost_between_calls() -> None:
    """Results are arrays of their own, whatever memory is used again."""
    inverse = tadc.inverse(tadc.function("x: f64[20000]; let h[i] = x[i]**3; y[i] = h[i] + sin(h[i])"))
    at = np.linspace(1, 2, 20000)
    first = inverse.jinv(at, at)
    kept = first.copy()
    second = inverse.jinv(at + 1, at)
    np.testing.assert_array_equal(first, kept)
    assert not np.shares_memory(first, second)
    same = tadc.inverse(tadc.function("x: f64[20000]; y[i] = x[i]"))
    assert not np.shares_memory(same.jinv(at, at), at)


def test_a_program_that_only_copies() -> None:
    inverse = tadc.inverse(tadc.function("a: f64; b: f64; y = b; z = a"))
    assert inverse.plan.steps == ()
    assert tuple(map(float, inverse.jinv((1, 2), (3, 4)))) == (4, 3)
    assert inverse.logabsdet((1, 2)) == 0


@pytest.mark.parametrize(
    "text",
    [
        "x: f64[N]\nf[i] = sin(2*x[i])",
        "x: f64[N]\ny: f64[N]\nf[i: N] = x[i]*y[i]\ng[i: N] = x[i] + y[i]",
        "x: f64[N]\nf[i: N] = sum{k}_0^(i) (x[k]*(k + 1))",
        "x: f64[N, 2]\ny: f64[3, N]\nf[i: N] = x[i, 0]*x[i, 1] + y[0, i]\n"
        "g[i: N, c: 4] = if {c = 0} then (x[i, 0]) else (x[i, 1] + y[c - 1, i])",
    ],
)
def test_empty_tensors(text: str) -> None:
    """Beside others, they change nothing."""
    f = tadc.function(f"{text}\nz: f64[3]\nh[i] = 3*z[i]")
    arguments = [np.ones(shape_at(a.shape, {"N": 0})) for a in f.program.arguments]
    inverse = tadc.inverse(f)
    np.testing.assert_allclose(flat(inverse.jinv(arguments, f(*arguments))), [1, 1, 1])
    np.testing.assert_allclose(flat(inverse.jinvT(arguments, arguments)), [1 / 3] * 3)
    np.testing.assert_allclose(inverse.logabsdet(arguments), 3 * np.log(3))


def test_arguments_that_do_not_fit() -> None:
    inverse = tadc.inverse(tadc.function("a: f64; x: f64[3]; y[i] = a*x[i]; b = a"))
    good = (2.0, [1.0, 2.0, 3.0])
    for call in (
        lambda: inverse.jinv((2.0,), ([1, 2, 3], 1)),
        lambda: inverse.jinv(good, ([1, 2], 1)),
        lambda: inverse.jinv(good, ([1, 2, 3], 1, 1)),
        lambda: inverse.jinv(good, {"y": [1, 2, 3], "c": 1}),
        lambda: inverse.jinvT(good, ([1, 2, 3], 1)),
        lambda: inverse.jinvT(good, (1, ["a", "b", "c"])),
    ):
        with pytest.raises(tadc.ArgumentError):
            call()
    with pytest.raises(TypeError, match=r"takes a tadc\.Function, not a function"):
        tadc.inverse(lambda x: x)  # pyright: ignore[reportArgumentType]
    with pytest.raises(tadc.CompileError, match="no argument `z`"):
        tadc.inverse(tadc.function("x: f64; y = 2*x"), "z")


@pytest.mark.parametrize("size", [1, 3])
def test_nan_is_no_pivot(size: int) -> None:
    inverse = tadc.inverse(tadc.function(f"x: f64[{size}]; y[i] = x[i]**3"))
    at = np.full(size, np.nan)
    with pytest.raises(tadc.ArgumentError, match=r"element \[0\] is nan"):
        inverse.jinv(at, np.ones(size))


def test_near_singular() -> None:
    inverse = tadc.inverse(tadc.function("a: f64; x: f64; y = sin(x); b = 3*a"))
    for call in (inverse.jinv, inverse.jinvT):
        with pytest.warns(tadc.CompileWarning, match="`y` can hardly be inverted") as found:
            call((1.0, np.pi / 2), (1.0, 1.0))
        assert found[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        inverse.jinv((1.0, 1.0), (1.0, 1.0))


def test_singular_systems_say_where() -> None:
    cases = {
        "x: f64[4]; y[i: 4] = sum{k} (x[k]*x[i])": "the pivot of `x` at element",
        "x: f64[6]; y[i] = x[i]**2 + (if {i > 0} then (x[i-1]) else (0))": "of `y` at element [0]",
        "x: f64[4]; y[i: 4] = x[3 - i]**2": "the derivative of `y` at element [0]",
        "a: f64[2]; b: f64[2]; y[i] = a[i]*b[i]; z[i] = a[i] + b[i]": "the determinant by `a`, `b` at",
    }
    for text, where in cases.items():
        f = tadc.function(text)
        zeros = [np.zeros(shape_at(a.shape, {})) for a in f.program.arguments]
        with pytest.raises(tadc.ArgumentError) as error:
            tadc.inverse(f).jinv(zeros, tuple(np.ones(shape_at(d.shape, {})) for d in f.program.outputs))
        assert error.value.diagnostics[0].code == "TAD0912"
        assert where in error.value.diagnostics[0].notes[0]


def test_equal_components_share_kernels() -> None:
    """A hundred steps compile no more than four."""
    few, many = (tadc.inverse(tadc.function(van_der_pol(n).text)) for n in (4, 100))
    assert few.plan.forms == many.plan.forms == 1
    for inverse in (few, many):
        inverse.jinv((1.0, 0.5), (1.0, 1.0))
    fixed = many._fixed()  # pyright: ignore[reportPrivateUsage]
    assert len(fixed.modes.kernels.made) <= 4
