"""Windows that slide: convolutions, pools and stencils of any stride, dilation, padding and shape."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from itertools import product
from typing import Any

from bench.drawn.draw import Draw
from bench.workloads.workload import Workload


def _extent(stride: int, reach: int, size: str, pad: int = 0) -> str:
    """How long an input is of which `size` windows are taken that reach so far."""
    more = reach - stride - 2 * pad
    return f"{stride}*{size} {'-' if more < 0 else '+'} {abs(more)}"


def convolution(draw: Draw) -> Workload:
    """A convolution along one or two axes, of channels that are mixed all, in groups, or not at all."""
    axes = draw.one("i", "ij", "ij")
    taps = [draw.one(1, 2, 3, 3, 5) if len(axes) == 2 else draw.one(3, 5, 9, 15) for _ in axes]
    stride, dilation = draw.one(1, 1, 2, 3), draw.one(1, 1, 1, 2)
    reaches = [dilation * (count - 1) + 1 for count in taps]
    pad = draw.one(0, min(reaches) // 2)
    groups = draw.one(1, 1, 4, 16)
    each, made = draw.one(1, 2, 4) if groups > 1 else draw.one(8, 24, 32), draw.one(1, 2, 4)
    made = made if groups > 1 else draw.one(8, 16, 40)
    rows = [f"{name.upper()}O" for name in axes]
    sizes = {"B": draw.one(1, 2, 8)} | {
        row: draw.size(*((12, 40) if axes[1:] else (60, 600))) for row in rows
    }
    channels = f"{each}*(o // {made}) + c" if groups > 1 else "c"
    spans = [_extent(stride, r, row, pad) for r, row in zip(reaches, rows, strict=True)]
    windows = "pq"[: len(axes)]
    at = [f"{stride}*{i} + {dilation}*{p} - {pad}" for i, p in zip(axes, windows, strict=True)]
    conditions = [f"{a} >= 0 and {a} <= {span} - 1" for a, span in zip(at, spans, strict=True)]
    read = f"x[b, {channels}, {', '.join(at)}]"
    weight = f"w[o, c, {', '.join(windows)}]"
    if pad:
        read = f"if {{{' and '.join(conditions)}}} then ({read}) else (0)"
    bounds = [f"{p}: {count}" for p, count in zip(windows, taps, strict=True)]
    term = draw.one(f"{weight}*({read})", f"({read})*{weight}")
    summed = draw.one(
        f"sum{{c: {each}, {', '.join(bounds)}}} ({term})",
        f"sum{{{', '.join(bounds)}}} (sum{{c: {each}}} ({term}))",
    )
    outer = ", ".join(f"{i}: {row}" for i, row in zip(axes, rows, strict=True))
    program = f"""x: f64[B, {groups * each}, {", ".join(spans)}]
w: f64[{groups * made}, {each}, {", ".join(map(str, taps))}]
f[b, o: {groups * made}, {outer}] = {summed}"""

    def jax_form(jax: Any, x: Any, w: Any) -> Any:
        return jax.lax.conv_general_dilated(
            x, w, [stride] * len(axes), [(pad, pad)] * len(axes),
            rhs_dilation=[dilation] * len(axes), feature_group_count=groups,
        )  # fmt: skip

    def torch_form(torch: Any, x: Any, w: Any) -> Any:
        function = getattr(torch.nn.functional, f"conv{len(axes)}d")
        return function(x, w, stride=stride, padding=pad, dilation=dilation, groups=groups)

    title = (
        f"{'x'.join(map(str, taps))} taps, stride {stride}, dilation {dilation}, pad {pad}, {groups} groups"
    )
    return Workload(
        "convolution", title, program, sizes, {"B": 2} | dict(zip(rows, (4, 5), strict=False)),
        {"JAX": jax_form, "PyTorch": torch_form},
    )  # fmt: skip


def pool(draw: Draw) -> Workload:
    """The greatest, the least, the mean or the soft maximum of windows that may overlap."""
    axes, kind = draw.one("i", "ij", "ij"), draw.one("max", "max", "min", "mean", "logsumexp")
    stride = draw.one(1, 2, 2, 3)
    window = stride + draw.one(0, 0, 1, 2) if stride > 1 else draw.one(2, 3, 4)
    rows = [f"{name.upper()}O" for name in axes]
    sizes = {"C": draw.size(8, 128)} | {
        row: draw.size(*((16, 90) if axes[1:] else (300, 4000))) for row in rows
    }
    spans = [_extent(stride, window, row) for row in rows]
    windows, reduction = "pq"[: len(axes)], "sum" if kind == "mean" else kind
    read = f"x[c, {', '.join(f'{stride}*{i} + {p}' for i, p in zip(axes, windows, strict=True))}]"
    joined = f"{reduction}{{{', '.join(f'{p}: {window}' for p in windows)}}} ({read})"
    nested = reduce(lambda term, p: f"{reduction}{{{p}: {window}}} ({term})", reversed(windows), read)
    outer = ", ".join(f"{i}: {row}" for i, row in zip(axes, rows, strict=True))
    mean = f"/{window ** len(axes)}" if kind == "mean" else ""
    # Equal elements share a slope row by row where maxima are nested: random elements are not equal.
    program = f"x: f64[C, {', '.join(spans)}]\nf[c, {outer}] = {draw.one(joined, nested)}{mean}"

    def jax_form(jax: Any, x: Any) -> Any:
        lax, jnp = jax.lax, jax.numpy
        shape = (1, *[window] * len(axes)), (1, *[stride] * len(axes)), "VALID"
        if kind in ("max", "min"):
            ends = -jnp.inf if kind == "max" else jnp.inf
            return lax.reduce_window(x, ends, getattr(lax, kind), *shape)
        if kind == "mean":
            return lax.reduce_window(x, 0.0, lax.add, *shape) / window ** len(axes)
        top = jax.lax.stop_gradient(x.max())
        return jnp.log(lax.reduce_window(jnp.exp(x - top), 0.0, lax.add, *shape)) + top

    def torch_form(torch: Any, x: Any) -> Any:
        functions, count = torch.nn.functional, len(axes)
        most, mean = getattr(functions, f"max_pool{count}d"), getattr(functions, f"avg_pool{count}d")
        if kind == "logsumexp":
            return torch.log(mean(torch.exp(x), window, stride) * window**count)
        return {"max": most, "mean": mean, "min": lambda x, *how: -most(-x, *how)}[kind](x, window, stride)

    title = f"{kind}, windows of {window}, stride {stride}, {len(axes)} axes"
    small = {"C": 2} | dict(zip(rows, (4, 5), strict=False))
    return Workload("pool", title, program, sizes, small, {"JAX": jax_form, "PyTorch": torch_form})


def stencil(draw: Draw) -> Workload:
    """Weighted sums of neighbours, with coefficients that vary or not, and perhaps a reaction."""
    axes = draw.one("i", "ij", "ij", "ijk")
    reach = 2 if len(axes) == 1 else 1
    every = [*product(range(2 * reach + 1), repeat=len(axes))]
    offsets = draw.random.sample(every, min(len(every), draw.one(3, 5, 7, 9)))
    weights = [draw.random.randint(-40, 40) / 16 or 0.5 for _ in offsets]
    varies, reacts = draw.one(True, False), draw.one(True, False)
    sizes = {"N": draw.size(*((100_000, 1_000_000), (200, 900), (30, 90))[len(axes) - 1])}
    span = f"N + {2 * reach}"
    outer = ", ".join(f"{i}: N" for i in axes)
    middle = ", ".join(f"{i} + {reach}" for i in axes)
    reads = [", ".join(f"{i} + {o}" for i, o in zip(axes, offset, strict=True)) for offset in offsets]
    terms = [f"{weight}*u[{read}]" for weight, read in zip(weights, reads, strict=True)]
    factor = f"a[{', '.join(axes)}]*" if varies else ""
    body = draw.one(f"{factor}({' + '.join(terms)})", " + ".join(f"{factor}{term}" for term in terms)) + (
        draw.one(" + {u} - {u}**3", " + {u}*(1 - {u}*{u})").format(u=f"u[{middle}]") if reacts else ""
    )
    arrays = f"u: f64[{', '.join([span] * len(axes))}]"
    if varies:
        arrays += f"; a: f64[{', '.join(['N'] * len(axes))}]"

    def form(u: Any, *a: Any) -> Any:
        n = u.shape[0] - 2 * reach

        def part(offset: Sequence[int]) -> Any:
            return u[tuple(slice(o, o + n) for o in offset)]

        total = sum(weight * part(offset) for weight, offset in zip(weights, offsets, strict=True))
        total = a[0] * total if a else total
        here = part([reach] * len(axes))
        return total + here - here**3 if reacts else total

    def with_library(library: Any, *given: Any) -> Any:
        return form(*given)

    kinds = [*(["varying"] if varies else []), *(["reaction"] if reacts else [])]
    title = ", ".join([f"{len(offsets)} neighbours", f"{len(axes)} axes", *kinds])
    return Workload(
        "stencil", title, f"{arrays}\nf[{outer}] = {body}", sizes, {"N": 5},
        {"JAX": with_library, "PyTorch": with_library},
    )  # fmt: skip
