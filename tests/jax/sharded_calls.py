"""Calls on arrays that are divided over eight devices, against the same by JAX on one, and their HLO."""

from __future__ import annotations

import re
import sys
import warnings
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

import tadc
from tadc.jax import GatheredWarning
from tadc.jax.xla_kernels import KERNELS

SHARDY = bool(getattr(jax.config, "jax_use_shardy_partitioner", False))
COLLECTIVE = re.compile(r"\b(all-gather|all-reduce|all-to-all|collective-permute)(?=\()")

F = Callable[..., Any]


def devices(*shape: int) -> Mesh:
    count = int(np.prod(shape))
    return Mesh(np.array(jax.devices()[:count]).reshape(shape), ("a", "b")[: len(shape)])


def random(*shape: int) -> Any:
    return np.random.default_rng(sum(shape)).normal(size=shape)


def check(f: F, reference: F, arrays: Any, specs: Any, mesh: Mesh, collectives: str = "") -> Any:
    """The results of f on arrays divided so are those of the reference; which collectives they take."""
    placed = [jax.device_put(a, NamedSharding(mesh, spec)) for a, spec in zip(arrays, specs, strict=True)]
    compiled = jax.jit(f).lower(*placed).compile()
    found = compiled(*map(jax.device_put, placed, compiled.input_shardings[0]))
    for one, other in zip(jax.tree.leaves(found), jax.tree.leaves(reference(*arrays)), strict=True):
        np.testing.assert_allclose(one, other, 1e-11, 1e-11)
    text = compiled.as_text() or ""
    assert " ".join(sorted(set(COLLECTIVE.findall(text)))) == collectives, text
    return found


def check_all(f: F, reference: F, arrays: Any, specs: Any, mesh: Mesh, value: str, slope: str) -> None:
    """The value, gradients and tangents, with the collectives of gradients and of the others."""

    def slopes(of: F) -> F:
        return jax.grad(lambda *a: jnp.sin(of(*a)).sum(), tuple(range(len(arrays))))

    def tangents(of: F) -> F:
        return lambda *a: jax.jvp(of, a, tuple(map(jnp.cos, a)))

    check(f, reference, arrays, specs, mesh, value)
    check(slopes(f), slopes(reference), arrays, specs, mesh, slope)
    check(tangents(f), tangents(reference), arrays, specs, mesh, value)


MATRIX = tadc.function("x: f64[N, K]; w: f64[K, M]; y[i, j] = sum{k} (x[i, k]*w[k, j])").jax
ATTENTION = tadc.function("""
q: f64[B, H, N, D]; k: f64[B, H, N, D]; v: f64[B, H, N, D]
let s[b, h, i, j] = sum{d} (q[b, h, i, d]*k[b, h, j, d])
let p[b, h, i, j] = exp(s[b, h, i, j] - max{l} (s[b, h, i, l]))
y[b, h, i, d] = sum{j} (p[b, h, i, j]*v[b, h, j, d]) / sum{j} (p[b, h, i, j])
""").jax
STENCIL = tadc.function("""
x: f64[N]
y[i] = (if {i >= 1} then (x[i - 1]) else (0)) + (if {i <= N - 3} then (2*x[i + 2]) else (0)) + i*x[i]**2
""").jax
CONVOLUTION = tadc.function("""
x: f64[B, C, N, M]; w: f64[O, C, 3, 3]
y[b, o, i: N - 2, j: M - 2] = sum{c, k, l} (w[o, c, k, l]*x[b, c, i + k, j + l])
""").jax
BODIES = tadc.function("x: f64[N, 3]; y[i] = sum{j} (1/(1 + sum{d} ((x[i, d] - x[j, d])**2)))").jax


def attention(q: Any, k: Any, v: Any) -> Any:
    return jax.nn.softmax(q @ jnp.swapaxes(k, 2, 3)) @ v


def stencil(x: Any) -> Any:
    return jnp.pad(x[:-1], (1, 0)) + jnp.pad(2 * x[2:], (0, 2)) + jnp.arange(len(x)) * x**2


def convolution(x: Any, w: Any) -> Any:
    return jax.lax.conv(x, w, (1, 1), "VALID")


def batch() -> None:
    """What goes along with an index alone needs nothing of others."""
    scale = tadc.function("x: f64[N, M]; b: f64[M]; y[i, j] = exp(x[i, j])*b[j]").jax
    for mesh in (devices(2), devices(4), devices(8)):
        arrays = random(16, 5), random(5)
        check_all(scale, lambda x, b: jnp.exp(x) * b, arrays, (P("a"), P()), mesh, "", "all-reduce")
        matrices = random(16, 6), random(6, 8)
        check_all(MATRIX, jnp.matmul, matrices, (P("a"), P()), mesh, "", "all-reduce")
        check_all(MATRIX, jnp.matmul, matrices, (P(), P(None, "a")), mesh, "", "all-reduce")
    found = check(MATRIX, jnp.matmul, matrices, (P("a"), P()), devices(8))
    assert found.sharding.spec == P("a")
    stacked = random(8, 6, 3), random(8, 3, 4)
    check_all(jax.vmap(MATRIX), jnp.matmul, stacked, (P("a"), P("a")), devices(8), "", "")
    check_all(jax.vmap(MATRIX), jnp.matmul, stacked, (P("a", "b"), P("a")), devices(4, 2), "", "all-reduce")


def odd_reads() -> None:
    """A tensor read along two dimensions by one index, one that is not read; one kernel for all devices."""
    mesh = devices(8)
    with warnings.catch_warnings(action="ignore"):
        diagonal = tadc.function("x: f64[N, N]; z: f64[N]; y[i] = x[i, i]*2").jax
    arrays, specs = (random(16, 16), random(16)), (P("a"), P("a"))
    check(diagonal, lambda x, z: 2 * jnp.diagonal(x), arrays, specs, mesh)
    some = tadc.function("s: index in N; x: f64[N]; y[i] = x[i]; t = sum{k}_0^(s) (x[k])").jax
    with warnings.catch_warnings(record=True, action="always") as seen:
        found = check(
            some, lambda s, x: (x, x[:5].sum()), (np.array(4), random(16)), (P(), P("a")), mesh, "all-gather"
        )
    assert len(seen) == 1
    assert found.y.sharding.spec == P("a")
    ramp = tadc.function("x: f64[N]; y[i] = x[i] + i").jax
    before = len(KERNELS)
    check(ramp, lambda x: x + jnp.arange(16), (random(16),), (P("a"),), mesh)
    assert len(KERNELS) == before + 1


def offsets() -> None:
    """Where a block begins along two axes is known at run time: blocks of the same lengths share a call."""
    mesh, spec, x = devices(2, 4), P("a", "b"), random(18, 16)
    rows, columns = np.arange(18.0)[:, None], np.arange(16.0)
    plane = tadc.function("x: f64[N, M]; y[i, j] = x[i, j]*i + j").jax
    check_all(plane, lambda x: x * rows + columns, (x,), (spec,), mesh, "", "")
    divided = jax.device_put(x, NamedSharding(mesh, spec))
    compiled = jax.jit(plane).lower(divided).compile().as_text() or ""
    assert compiled.count('custom_call_target="tadc"') == 1, compiled
    # Blocks at ends have other lengths than those between them.
    corners = tadc.function("""
    x: f64[N, M]
    y[i: N - 2, j] = x[i, j]*x[i + 2, j] + i + (if {j >= 1} then (j*x[i, j - 1]) else (0))
    """).jax

    def here(x: Any) -> Any:
        return x[:-2] * x[2:] + rows[:-2] + columns * jnp.pad(x[:-2, :-1], ((0, 0), (1, 0)))

    halo = "collective-permute"
    check_all(corners, here, (x,), (spec,), mesh, halo, halo)


def heads() -> None:
    """Attention over heads and batch."""
    arrays = (random(4, 8, 6, 5), random(4, 8, 6, 5)[::-1], random(4, 8, 6, 5)[:, ::-1])
    check_all(ATTENTION, attention, arrays, (P(None, "a"),) * 3, devices(8), "", "")
    check_all(ATTENTION, attention, arrays, (P("a", "b"),) * 3, devices(2, 4), "", "")
    rows = (P(None, None, "a"), P(), P())
    arrays = (random(2, 3, 16, 5), random(2, 3, 16, 5)[::-1], random(2, 3, 16, 5)[:, ::-1])
    check_all(ATTENTION, attention, arrays, rows, devices(4), "", "all-reduce")


def sums() -> None:
    """Parts of sums are joined, and of other reductions."""
    arrays = random(4, 16), random(16, 5)
    check_all(MATRIX, jnp.matmul, arrays, (P(None, "a"), P("a")), devices(8), "all-reduce", "all-reduce")
    check_all(MATRIX, jnp.matmul, arrays, (P("a", "b"), P("b")), devices(2, 4), "all-reduce", "all-reduce")
    rows = (P(), P(None, None, "a"), P(None, None, "a"))
    check(ATTENTION, attention, (random(2, 2, 16, 3),) * 3, rows, devices(8), "all-reduce")
    most = tadc.function("x: f64[N]; m = max{i} (x[i]); s = sum{i} (x[i]**3)").jax
    check(most, lambda x: (x.max(), (x**3).sum()), (random(16) - 9,), (P("a"),), devices(8), "all-reduce")
    # Five devices have the ten elements, three have none.
    mesh = devices(8)
    ten = jax.jit(lambda x: most(jax.lax.with_sharding_constraint(x, NamedSharding(mesh, P("a")))))
    x = random(10) - 9
    np.testing.assert_allclose(ten(x), (x.max(), (x**3).sum()), 1e-14)


PLATE = tadc.function("""
u: f64[N, M]
v[i, j] = if {i >= 1 and i <= N - 2 and j >= 1 and j <= M - 2} then (
    u[i, j] + 0.2*(u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1] - 4*u[i, j])) else (u[i, j])
""").jax


def plate(u: Any) -> Any:
    near = u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] - 4 * u[1:-1, 1:-1]
    return jnp.asarray(u).at[1:-1, 1:-1].add(0.2 * near)


def plates() -> None:
    """Value and gradient in one program, whose blocks have the same boxes: each has its own kernels."""
    halo = "collective-permute"
    check_all(PLATE, plate, (random(8, 8),), (P("a"),), devices(2), halo, halo)


def halos() -> None:
    """Neighbours lend what a window reads beyond a device's part."""
    halo, joined = "collective-permute", "all-reduce collective-permute"
    for mesh in (devices(2), devices(4), devices(8)):
        check_all(STENCIL, stencil, (random(32),), (P("a"),), mesh, halo, halo)

    # Results are two fewer along each axis, so that the last devices have fewer places.
    def fitted(f: F) -> F:
        return lambda x, w: jnp.pad(f(x, w), ((0, 0), (0, 0), (0, 2), (0, 0)))

    arrays = random(2, 2, 32, 7), random(3, 2, 3, 3)
    of = fitted(CONVOLUTION), fitted(convolution), arrays
    check_all(*of, (P(None, None, "a"), P()), devices(8), halo, joined)
    check_all(*of, (P("a", None, "b"), P()), devices(2, 4), halo, joined)

    # Devices have fewer places than a window reads beyond.
    wide = tadc.function("x: f64[N]; y[i: N - 8] = x[i]*x[i + 8]").jax
    check_all(wide, lambda x: x[:-8] * x[8:], (random(32),), (P("a"),), devices(8), halo, halo)

    def curvature(f: F) -> F:
        return jax.grad(lambda x: jnp.sin(jax.grad(lambda x: (f(x) ** 2).sum())(x)).sum())

    check(curvature(STENCIL), curvature(stencil), (random(32),), (P("a"),), devices(4), halo)


def strides() -> None:
    """Each device has as many places of each tensor as there are, in proportion."""
    mesh = devices(8)
    pairs = tadc.function("x: f64[2*N]; y[i: N] = x[2*i]**2 + x[2*i + 1]").jax
    check_all(pairs, lambda x: x[::2] ** 2 + x[1::2], (random(64),), (P("a"),), mesh, "", "")
    twice = tadc.function("x: f64[N]; y[i: 2*N] = x[i // 2]").jax
    check_all(twice, lambda x: jnp.repeat(x, 2), (random(32),), (P("a"),), mesh, "", "")
    reverse = tadc.function("x: f64[N]; y[i] = x[N - 1 - i]**3").jax
    permute = "collective-permute"
    check_all(reverse, lambda x: x[::-1] ** 3, (random(32),), (P("a"),), mesh, permute, permute)
    turned = tadc.function("x: f64[N, M]; y[i, j] = x[j, i]*2").jax
    check_all(turned, lambda x: 2 * x.T, (random(32, 8),), (P("a"),), mesh, "", "")


def bodies(x: Any) -> Any:
    return (1 / (1 + ((x[:, None] - x) ** 2).sum(-1))).sum(1)


def rings() -> None:
    """What is summed over places that are divided over the same devices goes round."""
    permute = "collective-permute"
    with warnings.catch_warnings(action="error"):
        for mesh in (devices(2), devices(4), devices(8)):
            check(BODIES, bodies, (random(16, 3),), (P("a"),), mesh, permute)
        check(MATRIX, jnp.matmul, (random(16, 8), random(8, 32)), (P("a"), P("a")), devices(4), permute)
        check_all(BODIES, bodies, (random(16, 3),), (P("a"),), devices(8), permute, permute)
        many = random(5, 16, 3)
        check(jax.vmap(BODIES), jax.vmap(bodies), (many,), (P(None, "a"),), devices(4), permute)
    # Sums of sums over all bodies; an index that is compared with that of a sum; energies of pairs.
    far = tadc.function("""
    x: f64[N]; let u[i: N] = sum{j} (if {i != j} then (sin(x[i] - x[j])) else (0))
    y[i] = sum{j} (u[i]*exp(u[j]/N)) + x[i]; e = sum{i, j} (x[i]*x[j]*(x[i] - x[j])**2); m = max{j} (x[j])
    """).jax

    def far_here(x: Any) -> Any:
        u = jnp.sin(x[:, None] - x).sum(1)
        pairs = x[:, None] * x * (x[:, None] - x) ** 2
        return u * jnp.exp(u / len(x)).sum() + x, pairs.sum(), x.max()

    check(far, far_here, (random(16),), (P("a"),), devices(4), "all-reduce collective-permute")


def sequences() -> None:
    """Attention over a sequence that is divided: a ring, for gradients and tangents too."""
    permute = "collective-permute"
    arrays = (random(2, 2, 16, 3), random(2, 2, 16, 3)[::-1], random(2, 2, 16, 3)[:, ::-1])
    with warnings.catch_warnings(action="error"):
        check_all(ATTENTION, attention, arrays, (P(None, None, "a"),) * 3, devices(4), permute, permute)
        check(ATTENTION, attention, arrays, (P("a", None, "b"),) * 3, devices(2, 4), permute)


def fixed_order() -> None:
    """Parts of sums are joined as those of blocks, with the same bits."""

    def same(f: tadc.Function, arrays: Any, specs: Any, mesh: Mesh, **lengths: int) -> None:
        placed = [jax.device_put(a, NamedSharding(mesh, s)) for a, s in zip(arrays, specs, strict=True)]
        found = jax.jit(tadc.jax.wrap(f, fixed_order=True))(*placed)
        for one, other in zip(
            jax.tree.leaves(found), jax.tree.leaves(f.block(**lengths)(*arrays)), strict=True
        ):
            np.testing.assert_array_equal(np.asarray(one).view(np.int64), np.asarray(other).view(np.int64))

    rows = tadc.function(
        "x: f64[N, M]; s = sum{i} (x[i, 0]*x[i, 1]); y[j] = sum{i} (exp(x[i, j])); p = prod{i} (x[i, 2])"
    )
    same(rows, (random(48, 5),), (P("a"),), devices(8), i=6)
    same(rows, (random(42, 5),), (P("b"),), devices(2, 3), i=14)
    g = tadc.vjp(MATRIX.function, wrt="w")
    same(g, (random(32, 6), random(6, 8), random(32, 8)), (P("a"), P(), P("a")), devices(8), i=4)
    x, dy = random(32, 3), random(32)
    same(BODIES.function, (x,), (P("a"),), devices(8), i=4, j=4)
    slope = tadc.vjp(BODIES.function)
    same(slope, (x, dy), (P("a"), P("a")), devices(8), x_0=4, i=4)
    arrays = (random(2, 2, 32, 3), random(2, 2, 32, 3)[::-1], random(2, 2, 32, 3)[:, ::-1])
    same(ATTENTION.function, arrays, (P(None, None, "a"),) * 3, devices(8), i=4, j=4)
    slopes = tadc.vjp(ATTENTION.function)
    same(slopes, (*arrays, arrays[0] ** 2), (P(None, None, "a"),) * 4, devices(4), i=8, j=8)
    wrapped = tadc.jax.wrap(BODIES.function, fixed_order=True)
    check_all(wrapped, bodies, (x,), (P("a"),), devices(4), "collective-permute", "collective-permute")


def gathered() -> None:
    """What all devices need is gathered, and said once."""
    close = tadc.function("x: f64[N]; y[i: N] = sum{j}_0^(i) (x[i - j]*x[j])").jax

    def close_here(x: Any) -> Any:
        return jnp.convolve(x, x)[: len(x)]

    with warnings.catch_warnings(record=True, action="always") as seen:
        for n in (16, 32):
            found = check(close, close_here, (random(n),), (P("a"),), devices(4), "all-gather")
            assert found.sharding.spec == P("a")  # each device computes its part alone
    (message,) = [w.message for w in seen]
    assert isinstance(message, GatheredWarning)
    assert message.diagnostic.code == "TAD1004"
    said = "each device gets all of dimension 0 of `x`, which is divided along `a`: `y` reads it at `j`"
    assert message.diagnostic.message == said
    running = tadc.function("x: f64[T]; scan{t} y[t] = if {t = 0} then (x[0]) else (y[t - 1] + x[t])").jax
    with warnings.catch_warnings(record=True, action="always") as seen:
        check(running, jnp.cumsum, (random(16),), (P("a"),), devices(8), "all-gather")
    assert len(seen) == 1


def indices() -> None:
    """Rows of index arrays are divided, what they read is whole."""
    f = tadc.function("x: f64[N, D]; s: index[E] in N; y[e, d] = x[s[e], d]**2").jax
    s = np.arange(16) * 7 % 5
    placed = jax.device_put(s, NamedSharding(devices(8), P("a")))
    x = random(5, 3)
    check(f, lambda x, s: x[s] ** 2, (x, s), (P(), P("a")), devices(8))
    slope = jax.jit(jax.grad(lambda x: jnp.sin(f(x, placed)).sum()))(x)
    np.testing.assert_allclose(slope, jax.grad(lambda x: jnp.sin(x[s] ** 2).sum())(x), 1e-12)


def undivided() -> None:
    """Of exported programs, and in versions of JAX without Shardy: each device computes all, said once."""
    f = tadc.function("x: f64[N]; y[i: N] = if {i >= 1} then (x[i - 1]) else (0)").jax
    x, rows = jnp.arange(8.0), NamedSharding(devices(4), P("a"))
    with warnings.catch_warnings(record=True, action="always") as seen:
        for several in (x, jnp.arange(12.0)):
            if SHARDY:
                exported = tadc.jax.export(jax.jit(f, in_shardings=rows, out_shardings=rows))
                exported(jax.ShapeDtypeStruct(several.shape, x.dtype))
            else:
                y = jax.jit(f)(jax.device_put(several, rows))
                np.testing.assert_array_equal(y, jnp.pad(several[:-1], (1, 0)))
    (warning,) = seen
    assert isinstance(warning.message, GatheredWarning)
    assert warning.filename == __file__
    assert "each of 4 devices computes all of `y`" in warning.message.diagnostic.message


GROUPS: dict[str, Callable[[], None]] = {
    f.__name__: f
    for f in (
        batch,
        odd_reads,
        offsets,
        heads,
        sums,
        plates,
        halos,
        strides,
        rings,
        sequences,
        fixed_order,
        gathered,
        indices,
        undivided,
    )
}

if __name__ == "__main__":
    GROUPS[sys.argv[1]]()
