"""Schedules that are given for chains of maps, which a block of a GPU runs one after the other."""

from __future__ import annotations

import random

import numpy as np
import pytest

import tadc
from tadc.backend.target import parse_target
from tadc.compiler.all_stages import compile_until
from tadc.compiler.compile_options import Options
from tadc.compiler.stages import Compilation
from tadc.frontend.extents import shape_at
from tadc.frontend.source import Source

SOFTMAX = (
    "x: f32[24, 128]\nm[i] = max{j} (x[i, j])\ne[i, j] = exp(x[i, j] - m[i])\n"
    "z[i] = sum{j} (e[i, j])\ny[i, j] = e[i, j] / z[i]"
)
LAYER_NORM = (
    "x: f64[40, 96]; g: f64[96]\nlet m[i: 40] = sum{j} (x[i, j]) / 96\n"
    "let v[i: 40] = sum{j} ((x[i, j] - m[i])**2) / 96\n"
    "y[i, j] = g[j] * (x[i, j] - m[i]) / sqrt(v[i] + 0.1)"
)
WHOLE = "map m, e, z, y\n row_blocks 4 threads 32\n keep m, e, z\n vectors e 4, y 4\n in_blocks 128"


def chains_of(f: tadc.Function) -> list[str]:
    """The texts that are chosen for the chains of a function, each from its line `map` on."""
    kernels = f.lower(target="emulated:sm_90").schedule.split("# ")
    return [kernel[kernel.index("map ") :].rstrip() + "\n" for kernel in kernels if "row_blocks" in kernel]


def another(chain: str, choice: random.Random) -> str:
    """Other steps for the same chain."""
    lines = [line.split() for line in chain.replace(",", "").splitlines()]
    (_, *tensors), words = lines[0], {line[0]: line[1:] for line in lines[1:]}
    rows, warp = int(words["row_blocks"][0]), 32
    block = choice.choice((32, 64, 128, 512))
    # Sums over rows are in parts, whose number is that of the blocks.
    rows = rows if "dg" in tensors else choice.choice((1, 2, 3, 8, 16))
    text = [f"map {', '.join(tensors)}", f"row_blocks {rows} threads {choice.choice((warp, block))}"]
    keep = [name for name in words.get("keep", []) if choice.random() < 0.6]
    wide = words.get("vectors", [])
    pairs = [f"{n} {w}" for n, w in zip(wide[::2], wide[1::2], strict=True) if choice.random() < 0.5]
    text += [f"keep {', '.join(keep)}"] if keep else []
    text += [f"vectors {', '.join(pairs)}"] if pairs else []
    return "\n    ".join([*text, f"in_blocks {block}"]) + "\n"


@pytest.mark.one_in(6)
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("program", [SOFTMAX, LAYER_NORM], ids=["softmax", "layer norm"])
def test_other_steps_have_the_same_values(program: str, seed: int) -> None:
    f, choice = tadc.value_and_vjp(tadc.function(program)), random.Random(f"{program}{seed}")
    chains = chains_of(f)
    assert chains
    steps = "".join(another(chain, choice) for chain in chains)
    values = np.random.default_rng(seed)
    given = [values.uniform(0.2, 1, shape_at(a.shape, {})) for a in f.program.arguments]
    given = [x.astype("f4") for x in given] if "f32" in program else given
    found = tadc.compile(f, target="emulated:sm_90", schedule=steps)(*given)
    near = 1e-4 if "f32" in program else 1e-10
    for one, other in zip(found, f(*given), strict=True):
        np.testing.assert_allclose(one, other, rtol=near, atol=near / 10)


def test_what_is_kept_is_nowhere_else() -> None:
    without = WHOLE.replace(" keep m, e, z\n", " keep e\n")
    f = tadc.function(
        SOFTMAX.replace("\nm[", "\nlet m[").replace("\nz[", "\nlet z[").replace("\ne[", "\nlet e[")
    )
    kernels = [tadc.compile(f, target="emulated:sm_90", schedule=text) for text in (WHOLE, without)]
    x = np.random.default_rng(0).standard_normal((24, 128)).astype("f4")
    np.testing.assert_array_equal(kernels[0](x), kernels[1](x))


@pytest.mark.parametrize(
    ("steps", "at", "words"),
    [
        (WHOLE.replace(" in_blocks 128", ""), "vectors", "missing"),
        ("map m, e, z, y\n in_blocks 64", "in_blocks", "missing"),
        (WHOLE.replace("in_blocks 128", "in_blocks 48"), "in_blocks", "whole warps"),
        (WHOLE + " in_blocks 64", "in_blocks 64", "above already"),
        (WHOLE + " grid i", "grid", "no such step"),
        (WHOLE + "\nmap e keep e", "map e", "`m` has steps above"),
        (WHOLE.replace("threads 32", "threads 64"), "row_blocks", "neither a warp nor a block"),
        (WHOLE.replace("row_blocks 4", "row_blocks 25"), "row_blocks", "there are 24 rows"),
        (WHOLE.replace("keep m, e, z", "keep m, y"), "keep", "of `y`"),
        (WHOLE.replace("keep m, e, z", "keep m, x"), "keep", "of `x`"),
        (WHOLE.replace("row_blocks 4", "row_blocks 24").replace("128]", "512]"), "keep", "would keep"),
        (WHOLE.replace("y 4", "y 8"), "vectors", "vectors of 8"),
        (WHOLE.replace("y 4", "m 2"), "vectors", "`m` is not in vectors"),
        (WHOLE.replace("y 4", "q 4"), "vectors", "computes `q`"),
        ("map y when 3 >= 2\n" + WHOLE.split("\n", 1)[1], "when", "no such step"),
    ],
)
def test_steps_that_do_not_fit(steps: str, at: str, words: str) -> None:
    program = SOFTMAX.replace("128", "1024") if "row_blocks 24" in steps else SOFTMAX
    options = Options(target=parse_target("cuda:sm_90"), schedule=Source(steps, "f.sched"))
    with pytest.raises(tadc.CompileError) as caught:
        compile_until(Compilation(options, Source(program)), "schedule")
    (found,) = caught.value.diagnostics
    assert found.code == "TAD0612"
    assert found.primary is not None
    assert steps[found.primary.span.start :].startswith(at)
    assert words in found.primary.text
    assert found.helps


def test_parts_of_sums_have_their_rows() -> None:
    f = tadc.vjp(tadc.function(LAYER_NORM))
    (chain,) = chains_of(f)
    rows = int(chain.split("row_blocks ")[1].split()[0])
    with pytest.raises(tadc.CompileError, match=f"of {rows} rows"):
        tadc.compile(
            f, target="emulated:sm_90", schedule=chain.replace(f"blocks {rows}", f"blocks {rows + 1}")
        )
