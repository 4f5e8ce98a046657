"""Witnesses of boxes, against islpy and against each other."""

import islpy
import pytest

import tadc
from tests.blocks.test_blocks import CASES


@pytest.mark.parametrize("name", [n for n in CASES if n not in ("edges", "softmax, gradient")])
def test_each_side_of_a_box_is_read(name: str) -> None:
    case = CASES[name]
    f = case.function
    found = f.block(**case.blocks).certificate(**case.sizes)
    assert all(witness.point is not None for witness in found)
    stage = f.block(**case.blocks).plan(**case.sizes).stages[0]
    sides = {(w.tensor, w.dimension, w.place) for w in found}
    for cell in stage.cells:
        for tensor, box in stage.task(cell).reads.items():
            for d, (part, places) in enumerate(zip(stage.division.slices[tensor], box, strict=True)):
                if part is not None and places:
                    assert {(tensor, d, places[0]), (tensor, d, places[-1])} <= sides


@pytest.mark.parametrize(
    ("text", "domain", "form"),
    [
        ("x: f64[N]; y[i: N - 4] = x[i]*x[i + 4]", "0 <= k <= 4 and k mod 4 = 0", "i + k"),
        ("x: f64[3*N]; y[i: N] = sum{k: 3} (x[3*i + k])", "0 <= k < 3", "3i + k"),
        ("x: f64[2*N]; y[i: N] = sum{k: N: k <= i} (x[i + k])", "0 <= k <= i", "i + k"),
        ("x: f64[N]; y[i: N] = sum{k}_(max [0; i - 3])^(i) (x[k])", "0 <= k <= i and k >= i - 3", "k"),
        ("x: f64[N]; y[i: 2*N] = x[i // 2]", "k = floor(i/2)", "k"),
    ],
)
@pytest.mark.parametrize("length", [1, 5, 12])
def test_boxes_are_those_of_islpy(text: str, domain: str, form: str, length: int) -> None:
    """The least and greatest values of the index map over a block."""
    block = tadc.function(text).block(i=length)
    stage = block.plan(N=12).stages[0]
    for cell in stage.cells:
        task = stage.task(cell)
        rows = task.writes["y"][0]
        image = islpy.Map(f"{{ [i, k] -> [{form}] : {domain} and {rows.start} <= i < {rows.stop} }}").range()
        least, greatest = int(str(image.dim_min_val(0))), int(str(image.dim_max_val(0)))
        assert task.reads["x"][0] == range(least, greatest + 1)
