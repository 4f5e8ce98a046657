"""The nests of tiles that blocks of threads compute: right, and of the same values as the plain ones."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tadc.passes.gpu.tiles import Along, of_block
from tadc.passes.maps.map import Load
from tadc.passes.nest.interpret import interpret
from tadc.passes.nest.nest_reader import read_nest
from tadc.passes.nest.nest_text import nest_text
from tadc.passes.nest.nest_verifier import verify
from tadc.passes.nest.plain import plain_nest
from tadc.passes.nest.primitives.apply import apply_steps
from tadc.passes.nest.primitives.rewriting import DoesNotFit
from tadc.passes.nest.steps import Bind, StageRead
from tests.nest.programs import maps_of_program

MATMUL = "a: f32[7, 6]\nb: f32[6, 11]\nc[i, j] = sum{k} (a[i, k] * b[k, j])"
TRANSPOSE = "x: f32[5, 3, 9]\ny[i: 9, k: 3, j: 5] = 2*x[j, k, i]"
TILES = {
    "run": (MATMUL, {"j": Along(2, 4, 2), "i": Along(2, 2)}, 4),
    "columns": (MATMUL, {"i": Along(4, 1), "j": Along(2, 4, 4)}, 3),
    "transpose": (TRANSPOSE, {"j": Along(4, 1), "i": Along(2, 2)}, 0),
    "row": (TRANSPOSE, {"j": Along(4, 2)}, 0),
}


@pytest.mark.parametrize("name", TILES)
def test_nests_of_tiles(name: str) -> None:
    text, along, steps = TILES[name]
    function = maps_of_program(text, "value")
    (item,) = function.maps
    over = item.body.lets[0].names[0] if steps else None
    staged = frozenset(let.names[0] for let in item.body.all_lets() if isinstance(let.value, Load))
    tile = replace(of_block(item.indices, along), over=over, steps={"k": steps}, staged=staged)
    plain = plain_nest(function, item)
    nest = apply_steps(plain, tile.steps_of(item, function, 32))
    assert verify(nest) == []
    assert read_nest(nest_text(nest)) == nest
    numbers = np.random.default_rng(0)
    shapes = {t.name: tuple(e.constant for e in t.shape) for t in function.arguments}
    arrays = {tensor: numbers.uniform(0.5, 1.5, shape).astype("f4") for tensor, shape in shapes.items()}
    expected, found = interpret(plain, arrays), interpret(nest, arrays)
    assert found.reads.keys() == expected.reads.keys()
    assert not steps or found.reads.total() < expected.reads.total()
    assert found.writes == expected.writes
    (tensor,) = nest.computed
    assert found.results[tensor].tobytes() == expected.results[tensor].tobytes()


@pytest.mark.parametrize(
    "step",
    [
        StageRead("%9", "", fill="threads"),
        StageRead("%9", "k", fill="threads"),
        StageRead("%0", "j", fill="threads"),
    ],
)
def test_what_is_shared_is_read_there(step: StageRead) -> None:
    function = maps_of_program(MATMUL, "value")
    with pytest.raises(DoesNotFit):
        apply_steps(plain_nest(function, function.maps[0]), [Bind("thread", ("j",)), step])


TURNS = """nest f(a: f64[6], out c: f64[4]) {
    in_blocks 32
    stage so_far: f64[4] in register
    for i = 0 to 4 thread {
        %9 = 0.5
        so_far[i] = %9
    }
    for k = 0 to 2 {
        stage p: f64[3] in shared
        for t = 0 to 3 thread {
            %2 = a[3*k + t]
            p[t] = %2
        }
        for i = 0 to 4 thread {
            %3 = so_far[i]
            %1 = sum l where 0 <= l <= 2 from %3 {
                %0 = p[l]
                give %0
            }
            so_far[i] = %1
        }
    }
    for i = 0 to 4 thread {
        %4 = so_far[i]
        c[i] = %4
    }
}
"""


def test_a_sum_goes_on_from_turn_to_turn() -> None:
    nest = read_nest(TURNS)
    assert nest_text(nest) == TURNS
    assert verify(nest) == []
    run = interpret(nest, {"a": np.arange(6.0)})
    assert run.results["c"].tolist() == [15.5] * 4
    assert set(run.reads.values()) == {1}


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("from %3", "from %3, %3", "from other than 1 values of type f64, or in lockstep"),
        (
            "= sum l where",
            "= sum l lane where",
            "from other than 1 values of type f64, or in lockstep",
        ),
        ("= sum l", "= logsumexp l", "from other than 1 values of type f64, or in lockstep"),
        ("a[3*k + t]", "a[3*k + t + 1]", "`3*k + t + 1` is not always at most 5"),
    ],
)
def test_what_a_sum_goes_on_from_is_verified(old: str, new: str, words: str) -> None:
    found = verify(read_nest(TURNS.replace(old, new)))
    assert any(words in each.primary.text for each in found if each.primary)
