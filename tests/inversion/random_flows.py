"""Random recurrences whose steps overwrite one tensor of a state after another, as text and in JAX."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np

from tests.inversion.programs import Case

STATES = 5


def random_flow(seed: int) -> Case:
    """Couplings of up to three tensors, in an order and with a permutation that are drawn.

    Part c becomes the old part p(c), scaled and shifted by what stays or is new already: shifted along the
    index, cut off at an end, or summed over it.
    """
    random = np.random.default_rng(seed)
    parts, n, batch = int(random.integers(1, 4)), int(random.integers(3, 6)), bool(random.integers(2))
    start = random.permutation(parts)
    lines, steps = list[str](), list[Any]()
    for c in range(parts):
        lines.append("")
        # Part c overwrites old part start[c]: of the old ones those that are still there may be read.
        left = [int(p) for p in start[c + 1 :]]
        sources = [("old", p) for p in left] + [("new", p) for p in range(c)]
        source = sources[int(random.integers(len(sources)))] if sources else None
        kind = str(random.choice(["ring", "cut", "sum"]))
        steps.append((int(start[c]), source, kind, int(random.integers(1, n))))
        lines[c] = _text(c, *steps[c], n=n, batch=batch)
    body = lines[-1]
    for c in reversed(range(parts - 1)):
        body = f"if {{c = {c}}} then ({lines[c]}) else ({body})"
    front, given = ("b: 2, ", "b, ") if batch else ("", "")
    size = "2, " if batch else ""
    text = f"""
    x: f64[{size}{parts}, {n}]; w: f64[{STATES}, {parts}, {n}]
    let scan{{{parts}*t + c}} u[{front}t: {STATES}, c: {parts}, i: {n}] = (
        if {{t = 0}} then (x[{given}c, i]) else ({body}))
    y[{front}c: {parts}, i: {n}] = u[{given}{STATES - 1}, c, i]"""

    def function(x: Any, w: Any) -> Any:
        old = [x[..., c, :] for c in range(parts)]
        for t in range(1, STATES):
            new: list[Any] = []
            for c, (taken, source, kind, shift) in enumerate(steps):
                made = jnp.exp(w[t, c]) * old[taken]
                if source is not None:
                    z = (old if source[0] == "old" else new)[source[1]]
                    z = _seen(z, kind, shift)
                    made = made * (1 + 0.3 * jnp.sin(z)) + w[t, c] * z
                new.append(made)
            old = new
        return (jnp.stack(old, axis=-2),)

    return Case(text, ("x",), function)


def _seen(z: Any, kind: str, shift: int) -> Any:
    """What an element sees of another tensor."""
    if kind == "ring":
        return jnp.roll(z, -shift, axis=-1)
    if kind == "cut":
        return jnp.concatenate([jnp.zeros_like(z[..., :shift]), z[..., :-shift]], axis=-1)
    return jnp.broadcast_to(z.sum(-1, keepdims=True), z.shape)


def _text(
    part: int, taken: int, source: tuple[str, int] | None, kind: str, shift: int, *, n: int, batch: bool
) -> str:
    """The same as text."""
    front = "b, " if batch else ""
    made = f"exp(w[t, {part}, i])*u[{front}t - 1, {taken}, i]"
    if source is None:
        return made
    state = "t - 1" if source[0] == "old" else "t"
    read = f"u[{front}{state}, {source[1]}, {{}}]"
    z = {
        "ring": read.format(f"(i + {shift}) % {n}"),
        "cut": f"(if {{i >= {shift}}} then ({read.format(f'i - {shift}')}) else (0))",
        "sum": f"sum{{j}} ({read.format('j')})",
    }[kind]
    return f"{made}*(1 + .3*sin({z})) + w[t, {part}, i]*{z}"
