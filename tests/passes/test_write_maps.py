"""Maps written to the dialect are read as they were."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from tadc.compiler.all_stages import compile_until
from tadc.compiler.compile_options import Options
from tadc.compiler.run_passes import run_passes
from tadc.compiler.stages import Compilation
from tadc.dialect.locations import UnsupportedIR, place_of
from tadc.dialect.mlir import ir
from tadc.dialect.program_reader import tad_functions
from tadc.dialect.readable_text import parse_module
from tadc.frontend.source import Source
from tadc.lattice.affine import Affine
from tadc.passes.maps.map import Ask, Block, Let
from tadc.passes.maps.memory_of_tensors import memory_of
from tadc.passes.maps.read_maps import read_maps
from tadc.passes.maps.write_maps import write_maps

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*.tad"))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
@pytest.mark.parametrize("mode", ["value", "value-and-vjp"])
def test_round_trip(path: Path, mode: str) -> None:
    """Of all examples: names of tensors, indices and values too, whatever passes have made of the maps."""
    state = Compilation(Options(mode), Source(path.read_text(), path.name))
    compile_until(state, "hoist")
    for passes in ("", "tad-rows,tad-cut,tad-fuse", "tad-chain"):
        if passes:
            run_passes(state.module, passes)
        for function in tad_functions(state.module.operation):
            with function.context, ir.Location.unknown(function.context):
                maps = read_maps(function)
                write_maps(function, maps, replace(maps, maps=tuple(replace(item) for item in maps.maps)))
                assert state.module.operation.verify()
                assert read_maps(function) == maps


def test_values_that_the_dialect_has_not() -> None:
    """What only a schedule makes has no operation."""
    state = Compilation(Options(), Source("x: f64[3]; f[i] = x[i]", "<string>"))
    compile_until(state, "tad")
    (function,) = tad_functions(state.module.operation)
    maps = read_maps(function)
    (item,) = maps.maps
    asks = Let((), Ask("x", (Affine.var(item.indices[0]),)))
    body = Block((asks, *item.body.lets), item.body.gives)
    with pytest.raises(TypeError, match="the dialect has no Ask"):
        write_maps(function, maps, replace(maps, maps=(replace(item, body=body),)))


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ("tad.chain = 3 : i64", "'tad.chain' must be an array of two or five integers, got 3 : i64"),
        ("tad.chain = array<i64: 1>", "'tad.chain' must be an array of two or five"),
        ("tad.chain = array<i64: 1, 2>, tad.row = unit", "'tad.row' must be an integer, got unit"),
        (
            "tad.chain = array<i64: 1, 2>, tad.sweep = array<i64: 1, 2>",
            "'tad.sweep' must be an array of four",
        ),
        ("tad.chain = array<i64: 1, 2>, tad.tape = array<i64: 1, 2>", "'tad.tape' must be an array of six"),
        ("tad.window = array<i64: 1, 1, 0>", "'tad.window' must be an array of integers"),
        ("tad.window = array<i64: 1, 2>", "'tad.window' must be an array of integers"),
    ],
)
def test_marks_that_say_nothing(said: str, message: str) -> None:
    text = f"""func.func @f(%a: tensor<4xf64>) -> tensor<4xf64> {{
%f = tad.map (%i) attributes {{{said}}} -> tensor<4xf64> {{
%0 = tad.read %a[%i] : tensor<4xf64>
tad.yield %0 : f64 }}
return %f : tensor<4xf64> }}"""
    module = parse_module(text, ir.Context(), "f.mlir")
    (function,) = tad_functions(module.operation)
    with pytest.raises(UnsupportedIR, match=re.escape(message)) as caught:
        read_maps(function)
    place = place_of(caught.value.location)
    assert place is not None
    assert place.line == 2


@pytest.mark.parametrize("name", ["attention", "stencil", "orbit"])
def test_memory(name: str) -> None:
    """No map reads a tensor in between after its time."""
    state = Compilation(Options("value-and-vjp"), Source((EXAMPLES[0].parent / f"{name}.tad").read_text()))
    compile_until(state, "hoist")
    run_passes(state.module, "tad-fuse,tad-chain")
    for function in tad_functions(state.module.operation):
        maps = read_maps(function)
        memory = memory_of(maps)
        for tensor, (first, last) in zip(memory.temporaries, memory.spans, strict=True):
            using = [
                number
                for number, item in enumerate(maps.maps)
                if tensor in item.tensors or any(load.tensor == tensor.name for load in item.loads())
            ]
            assert first <= min(using) <= max(using) <= last
