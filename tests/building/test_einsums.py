"""`tadc.einsum` against NumPy's, its gradients against JAX's."""

from __future__ import annotations

import inspect
import random

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tadc


def _spec(seed: int) -> str:
    """Subscripts of one to four operands, with repeated letters, with and without a result."""
    draw = random.Random(seed)
    letters = draw.sample("abcijkXYZ", 4)
    operands = ["".join(draw.choices(letters, k=draw.randint(0, 3))) for _ in range(draw.randint(1, 4))]
    spec = draw.choice([",", ", "]).join(operands)
    if draw.random() < 0.3:
        return spec
    used = sorted(set("".join(operands)))
    draw.shuffle(used)
    return f"{spec}->{''.join(used[: draw.randint(0, len(used))])}"


def _check(spec: str) -> None:
    f = tadc.einsum(spec)
    rng = np.random.default_rng(0)
    operands = spec.replace(" ", "").partition("->")[0].split(",")
    arrays = [rng.normal(size=[ord(c) % 4 + 1 for c in operand]) for operand in operands]
    value, pull = jax.vjp(lambda *a: jnp.einsum(spec, *a), *arrays)
    np.testing.assert_allclose(f(*arrays), np.einsum(spec, *arrays), rtol=1e-12, atol=1e-12, err_msg=spec)
    cotangent = rng.normal(size=value.shape)
    g = tadc.vjp(f)
    given = {**dict(zip(f.inputs, arrays, strict=True)), "dresult": cotangent}
    # Where the function is linear, its gradient does not read its argument; sizes are told by name then.
    sizes = {f"N_{c}": ord(c) % 4 + 1 for c in "".join(operands)}
    named = {name: sizes[name] for name in inspect.signature(g).parameters if name in sizes}
    found = g(**{name: given[name] for name in g.inputs}, **named)
    for mine, theirs in zip(found if len(arrays) > 1 else [found], pull(cotangent), strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-10, atol=1e-12, err_msg=spec)


@pytest.mark.parametrize("spec", ["ij,jk->ik", "ij,jk", "ii->i", "ii", "ba", "i->", ",i->i", "ab,bc,cd->ad"])
def test_specs_that_people_write(spec: str) -> None:
    _check(spec)


@pytest.mark.parametrize("seed", range(40))
def test_random_specs(seed: int) -> None:
    _check(_spec(seed))


def test_one_kernel_serves_all_sizes_and_types() -> None:
    f = tadc.einsum("ij,jk->ik", dtype=np.float32)
    assert str(f).startswith("a: f32[N_i, N_j]")
    for n in (1, 3):
        a, b = np.ones((n, 2), np.float32), np.ones((2, n), np.float32)
        assert np.array_equal(f(a, b), a @ b)


def test_as_many_operands_as_there_are_letters() -> None:
    f = tadc.einsum(",".join("i" * 26))
    assert len(f.inputs) == 26
    assert f(*[[2.0]] * 26).shape == np.einsum(",".join("i" * 26), *[[2.0]] * 26).shape


@pytest.mark.parametrize(
    ("spec", "column", "words"),
    [
        ("ij,jk->iz", 9, "no operand has the index `z`"),
        ("ij,jk->ii", 9, "`i` stands twice"),
        ("...i->i", 1, "is not known"),
        ("ij,j1", 5, "unexpected `1`"),
        ("ij->i->j", 6, "unexpected `-`"),
        ("ij->i,j", 6, "unexpected `,`"),
        (",".join("i" * 27), 1, "more than 26 operands"),
    ],
)
def test_specs_that_say_nothing(spec: str, column: int, words: str) -> None:
    with pytest.raises(tadc.UsageError) as caught:
        tadc.einsum(spec)
    text = str(caught.value)
    assert words in text
    assert f"<einsum>:1:{column}" in text
    assert "^" in text


def test_a_spec_that_is_no_text() -> None:
    with pytest.raises(tadc.UsageError, match="subscripts are text"):
        tadc.einsum(3)  # pyright: ignore[reportArgumentType]
