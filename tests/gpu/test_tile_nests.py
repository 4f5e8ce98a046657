"""The nests of tiles that blocks of threads compute: right, and of the same values as the plain ones."""

from __future__ import annotations

import numpy as np
import pytest

from tadc.passes.gpu.block_tiles import Along, BlockTile
from tadc.passes.maps.map import Load
from tadc.passes.nest.interpret import interpret
from tadc.passes.nest.nest_reader import read_nest
from tadc.passes.nest.nest_text import nest_text
from tadc.passes.nest.nest_verifier import verify
from tadc.passes.nest.plain import plain_nest
from tadc.passes.nest.primitives.apply import apply_steps
from tadc.passes.nest.primitives.rewriting import DoesNotFit
from tadc.passes.nest.steps import Bind, Stage
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
    tile = BlockTile(along, over, {"k": steps}, staged)
    plain = plain_nest(function, item)
    nest = apply_steps(plain, tile.steps_of(item, function))
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
    [Stage("%9", "", fill="threads"), Stage("%9", "k", fill="threads"), Stage("%0", "i", fill="threads")],
)
def test_what_is_shared_is_read_there(step: Stage) -> None:
    function = maps_of_program(MATMUL, "value")
    with pytest.raises(DoesNotFit):
        apply_steps(plain_nest(function, function.maps[0]), [Bind("thread", ("j",)), step])


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("%0 = p[i]", "%0 = p[i]", ""),
        (
            "sum k where 0 <= k <",
            "sum q where 0 <= q <",
            "`p` is filled in turns of another reduction",
        ),
        ("each k where", "each l where", "`k` is no index or size here"),
        ("a[k + t]", "c[k + t]", "`c` is written here after its copy"),
        ("k <= 7", "k <= 6", "`k <= 6` is not always so where this is filled"),
        ("a[k + t]", "a[k + t + 2]", "`k + t + 2` is not always at most 15"),
    ],
)
def test_what_fills_room_is_verified(old: str, new: str, words: str) -> None:
    text = """nest f(a: f32[16], out c: f32[8]) {
        in_blocks 32
        stage p: f32[9] in shared before each k where 0 <= k <= 7 {
            for t = 0 to 8 thread {
                %2 = a[k + t]
                p[t] = %2
            }
        }
        for i = 0 to 8 thread {
            %1 = sum k where 0 <= k < 8 {
                %0 = p[i]
                give %0
            }
            c[i] = %1
        }
    }"""
    assert old in text
    nest = read_nest(text.replace(old, new, 1))
    assert read_nest(nest_text(nest)) == nest
    assert [found.primary.text for found in verify(nest)[:1] if found.primary] == [words] * bool(words)


def test_room_is_filled_once_for_each_turn() -> None:
    nest = read_nest("""nest f(a: f64[6], out c: f64[4]) {
        stage p: f64[3] in shared before each k where 0 <= k <= 1 {
            for t = 0 to 3 thread {
                %2 = a[3*k + t]
                p[t] = %2
            }
        }
        for i = 0 to 4 thread {
            %1 = sum k, l where 0 <= k <= 1 and 0 <= l <= 2 {
                %0 = p[l]
                give %0
            }
            c[i] = %1
        }
    }""")
    run = interpret(nest, {"a": np.arange(6.0)})
    assert run.results["c"].tolist() == [15.0] * 4
    assert set(run.reads.values()) == {1}
