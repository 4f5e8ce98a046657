"""Schedules that are given for chains of maps, which a block of a GPU runs one after the other."""

from __future__ import annotations

import contextlib
import random
import re

import numpy as np
import pytest

import tadc
from tadc.backend.target import parse_target
from tadc.compiler.all_stages import compile_until
from tadc.compiler.compile_options import Options
from tadc.compiler.stages import Compilation
from tadc.frontend.extents import shape_at
from tadc.frontend.source import Source
from tadc.passes.nest.interpret import interpret
from tadc.passes.nest.nest_reader import read_nests
from tadc.passes.nest.nest_verifier import verify

SOFTMAX = (
    "x: f32[24, 128]\nm[i] = max{j} (x[i, j])\ne[i, j] = exp(x[i, j] - m[i])\n"
    "z[i] = 1 / sum{j} (e[i, j])\ny[i, j] = e[i, j] * z[i]"
)
LAYER_NORM = (
    "x: f64[40, 96]; g: f64[96]\nlet m[i: 40] = sum{j} (x[i, j]) / 96\n"
    "let v[i: 40] = sum{j} ((x[i, j] - m[i])**2) / 96\n"
    "y[i, j] = g[j] * (x[i, j] - m[i]) / sqrt(v[i] + 0.1)"
)
WHOLE = """map m, e, z, y
 split i 4 -> i0, i1
 merge i0
 block i0
 thread i1 teams 4
 split m.j 32 -> m.j0, m.j1
 split z.j 32 -> z.j0, z.j1
 thread m.j1, z.j1 warp 32
 split y.j 4 -> y.j0, y.j1
 lane y.j1
 thread e.j, y.j0 teams 32
 stage m, e, z in shared inside i0
 in_blocks 128"""
TURNS = (
    WHOLE.replace("thread i1 teams 4", "merge i1")
    .replace("m.j 32", "m.j 128")
    .replace("z.j 32", "z.j 128")
    .replace("y.j0 teams 32", "y.j0 teams 128")
    .replace("inside i0", "inside i1")
)


def chains_of(f: tadc.Function) -> list[str]:
    """The texts that are chosen for the chains of a function, each from its line `map` on."""
    kernels = f.lower(target="emulated:sm_90").schedule.split("# ")
    return [kernel[kernel.index("map ") :].rstrip() + "\n" for kernel in kernels if " teams " in kernel]


def another(chain: str, nests: str, choice: random.Random) -> str:
    """Other steps for the same chain, whose plain nest is one of some."""
    lines = [line.strip() for line in chain.splitlines()]
    block = choice.choice((32, 64, 128, 512))
    group = choice.choice((32, block))
    # Sums over rows are in parts, whose number is that of the blocks.
    part = re.search(r"for part.*?(%\d+) = sum ([\w.]+)", nests, re.S) if "block part" in lines else None
    rows = int(lines[1].split()[2]) if part else choice.choice((2, 3, 8, 16))
    by_turns, outer = group == block, "part" if part else "i0"
    text = [lines[0], f"split i {rows} clip -> i0, i1"]
    if part and by_turns:
        text.append(f"cut {part[1]} {part[2]} 1 -> r inside part")
    text += [f"merge {'part, ' * bool(part)}i0", f"block {outer}"]
    text.append(f"merge i1{', r' * bool(part)}" if by_turns else f"thread i1 teams {block // group}")
    shared = {match[1]: match[0] for line in lines if (match := re.match(r"thread (\S+) warp 32", line))}
    for line in lines:
        match = re.match(r"split (\S+) \d+ clip -> (\S+), (\S+)", line)
        if match and match[3] in shared:
            text += [f"split {match[1]} {group} clip -> {match[2]}, {match[3]}", shared[match[3]]]
    (all,) = (
        line[7:].split(" teams")[0]
        for line in lines
        if line.startswith("thread") and "teams" in line and "j0" in line
    )
    for name in all.split(", "):
        if name.endswith("0") and choice.random() < 0.5:
            text += [f"split {name[:-1]} 2 -> {name}, {name[:-1]}1", f"lane {name[:-1]}1"]
        else:
            all = all.replace(name, name.removesuffix("0"))
    text.append(f"thread {all} teams {group}")
    if part and by_turns:
        text += [f"split dg.j {block} clip -> dg.j0, dg.j1", "unroll dg.j0", f"thread dg.j1 teams {block}"]
        text += ["stage dg in register inside part"]
    elif part:
        text += [f"thread dg.j teams {block}"]
    (kept,) = (line[6:].split(" in ")[0].split(", ") for line in lines if line.startswith("stage"))
    near = [name for name in kept if choice.random() < 0.6]
    text += [f"stage {', '.join(near)} in shared inside {'i1' if by_turns else outer}"] if near else []
    return "\n    ".join([*text, f"in_blocks {block}"]) + "\n"


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("program", [SOFTMAX, LAYER_NORM], ids=["softmax", "layer norm"])
def test_other_steps_have_the_same_values(program: str, seed: int) -> None:
    f, choice = tadc.value_and_vjp(tadc.function(program)), random.Random(f"{program}{seed}")
    chains = chains_of(f)
    assert chains
    nests = f.lower(target="emulated:sm_90").as_text("nest")
    steps = "".join(another(chain, nests, choice) for chain in chains)
    values = np.random.default_rng(seed)
    given = [values.uniform(0.2, 1, shape_at(a.shape, {})) for a in f.program.arguments]
    given = [x.astype("f4") for x in given] if "f32" in program else given
    found = tadc.compile(f, target="emulated:sm_90", schedule=steps)(*given)
    near = 1e-4 if "f32" in program else 1e-10
    for one, other in zip(found, f(*given), strict=True):
        np.testing.assert_allclose(one, other, rtol=near, atol=near / 10)


@pytest.mark.parametrize("whole", [WHOLE, TURNS], ids=["teams", "turns"])
def test_what_is_near_is_nowhere_else(whole: str) -> None:
    without = whole.replace("stage m, e, z", "stage e")
    program = SOFTMAX.replace("\nm[", "\nlet m[").replace("\nz[", "\nlet z[").replace("\ne[", "\nlet e[")
    f = tadc.function(program)
    kernels = [tadc.compile(f, target="emulated:sm_90", schedule=text) for text in (whole, without)]
    x = np.random.default_rng(0).standard_normal((24, 128)).astype("f4")
    np.testing.assert_array_equal(kernels[0](x), kernels[1](x))
    near = nests_of(program, whole)
    assert "m_near" in near
    assert " m[" not in near


def nests_of(program: str, schedule: str) -> str:
    """The nests that a schedule makes."""
    options = Options(target=parse_target("cuda:sm_90"), schedule=Source(schedule, "f.sched"))
    state = Compilation(options, Source(program))
    compile_until(state, "scheduled-nest")
    return state.scheduled_nests


ROWS = "x: f64[45, 33]; let s[i] = sum{k} (x[i, k]); y[i, k] = x[i, k] * s[i]; c[k] = sum{i} (y[i, k])"
PARTS = """map s, y, c
 split i 8 clip -> i0, i1
 merge part, i0
 block part
 thread i1 teams 2
 thread y.k teams 32
 thread c.k teams 64
 stage s, y in shared inside part
 in_blocks 64"""
PARTS_BY_TURNS = """map s, y, c
 split i 8 clip -> i0, i1
 cut %5 c.i 1 -> r inside part
 merge part, i0
 block part
 merge i1, r
 thread y.k teams 32
 split c.k 32 clip -> c.k0, c.k1
 unroll c.k0
 thread c.k1 teams 32
 stage c in register inside part
 stage s, y in shared inside i1
 in_blocks 32"""


@pytest.mark.parametrize("text", [PARTS, PARTS_BY_TURNS], ids=["teams", "turns"])
def test_steps_keep_the_bits_of_the_plain_nest(text: str) -> None:
    """But for sums that threads share, they keep the order of every sum."""
    f, x = tadc.function(ROWS), np.random.default_rng(0).uniform(-1, 1, (45, 33))
    plain = f.lower(target="cuda:sm_90").as_text("nest")
    parts = [_parts(nests, x) for nests in (plain, nests_of(ROWS, text))]
    for name in ("y", "c"):
        np.testing.assert_array_equal(parts[0][name], parts[1][name])
    y, c = tadc.compile(f, target="emulated:sm_90", schedule=text)(x)
    np.testing.assert_array_equal(y, parts[1]["y"])
    np.testing.assert_allclose(c, parts[1]["c"].sum(axis=0), rtol=1e-12)


def _parts(nests: str, x: np.ndarray) -> dict[str, np.ndarray]:
    """What the interpreter makes of the first nest, that of the chain."""
    nest = read_nests(Source(nests, "<nests>"))[0].nest
    assert verify(nest) == []
    return interpret(nest, {"x": x}).results


@pytest.mark.parametrize("text", [WHOLE, TURNS], ids=["teams", "turns"])
def test_each_step_changes_the_nest(text: str) -> None:
    lines, whole = text.splitlines(), nests_of(SOFTMAX, text)
    for number in range(1, len(lines)):
        with contextlib.suppress(tadc.CompileError):
            assert nests_of(SOFTMAX, "\n".join(lines[:number] + lines[number + 1 :])) != whole


@pytest.mark.parametrize(
    ("steps", "at", "words"),
    [
        (WHOLE.replace(" in_blocks 128", ""), "stage", "missing"),
        ("map m, e, z, y\n in_blocks 64", "in_blocks", "one loop over blocks"),
        (WHOLE.replace("in_blocks 128", "in_blocks 48"), "in_blocks", "whole warps"),
        (WHOLE + " in_blocks 64", "in_blocks 64", "above already"),
        (WHOLE + " flatten n", "flatten", "no such step"),
        (WHOLE + " grid e.j", "grid", "stands above already"),
        (WHOLE.replace("stage", "split e.j 4 -> e.j0, e.j1 stage"), "split", "has its kind"),
        (WHOLE + "\nmap e in_blocks 64", "map e", "`m` has steps above"),
        (WHOLE.replace("z.j 32", "z.j 64"), "thread m.j1", "as many threads"),
        (WHOLE.replace("m.j 32", "m.j 64").replace("z.j 32", "z.j 64"), "thread m.j1", "64 threads share"),
        (WHOLE.replace("thread m.j1", "thread e.j1"), "thread e.j1", "no loop `e.j1`"),
        (WHOLE.replace("teams 32", "teams 32 warp 32"), "thread e.j", "warps join"),
        (WHOLE.replace("teams 4", "teams 3"), "thread", "not divided among teams of 128"),
        (WHOLE.replace("teams 4", "teams 2"), "thread m.j1", "where 64 come"),
        (WHOLE.replace("thread i1", "merge i1 thread i1"), "thread", "do not wait"),
        (WHOLE.replace("split i 4", "split i 5"), "split i 5", "5 does not divide"),
        (WHOLE.replace("merge i0", "merge i0, e.j"), "merge", "`e.j`"),
        (WHOLE.replace("merge i0", "merge q"), "merge", "`q`"),
        (WHOLE.replace("stage m, e, z", "stage m, x"), "stage", "no `x`"),
        (WHOLE.replace("split i 4", "split i 24").replace("128]", "512]"), "stage", "would share"),
        (WHOLE.replace("y.j 4", "y.j 8"), "lane", "of 16 bytes"),
        (WHOLE.replace("lane y.j1", "lane m.j"), "lane", "no loop `m.j`"),
        (WHOLE.replace("inside i0", "inside q"), "stage", "no loop `q`"),
        (WHOLE.replace("inside i0", "inside i1"), "stage", "`i1` computes no `m`"),
        ("map y when 3 >= 2\n" + WHOLE.split("\n", 1)[1], "when", "no such step"),
    ],
)
def test_steps_that_do_not_fit(steps: str, at: str, words: str) -> None:
    program = SOFTMAX.replace("128", "1024") if "split i 24" in steps else SOFTMAX
    options = Options(target=parse_target("cuda:sm_90"), schedule=Source(steps, "f.sched"))
    with pytest.raises(tadc.CompileError) as caught:
        compile_until(Compilation(options, Source(program)), "schedule")
    (found,) = caught.value.diagnostics
    assert found.code == "TAD0612"
    assert found.primary is not None
    assert steps[found.primary.span.start :].startswith(at)
    assert words in found.primary.text
    assert found.helps


def test_each_sum_in_registers_has_its_own() -> None:
    """Two sums of a thread in one register would be added up together."""
    text = PARTS_BY_TURNS.replace("split c.k 32", "split c.k 64")
    with pytest.raises(tadc.CompileError, match=r"several turns of `c\.k1`"):
        nests_of(ROWS, text)


def test_parts_of_sums_have_their_rows() -> None:
    f = tadc.vjp(tadc.function(LAYER_NORM))
    (chain,) = chains_of(f)
    rows = int(chain.split("split i ")[1].split()[0])
    with pytest.raises(tadc.CompileError, match=f"of {rows} rows"):
        tadc.compile(
            f, target="emulated:sm_90", schedule=chain.replace(f"split i {rows}", f"split i {rows + 1} clip")
        )
