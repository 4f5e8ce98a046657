"""Rewrites that change no program of the benches, and are kept for what grows without them.

The benches take first gradients of graphs whose nodes have about equally many edges. Each rewrite here is
tried at two sizes, one twice the other, in a program where it matters: with it the steps grow by 2, without
it by 4.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

import tadc
from bench.switches import SWITCHES
from tadc.analysis.statistics import compiled_form, compiled_work
from tests.passes.test_hubs import GRAPH, PROGRAMS, derived, graph
from tests.reference.counted_steps import count


def hub(edges: int) -> float:
    """The steps of the gradient of a product where half of all edges are of one node."""
    f = derived(GRAPH + PROGRAMS["prod"], 1).at({"N": 10, "E": edges})
    return count(compiled_form(f.program, "value"), graph(10, edges), 1 << 30)


def band(size: int) -> float:
    """The operations of a Jacobian, by way of tensors whose own Jacobians are bands."""
    text = f"x: f64[{size}]\nlet a[i] = sin(x[i])\nlet b[i: {size - 2}] = a[i]*a[i + 2]\ny[i] = exp(b[i])"
    return compiled_work(tadc.function(text).program, "jacobian", ("x",)).weighted


MEASURES: dict[str, Callable[[int], float]] = {"other factors": hub, "zeros between": band}


@pytest.mark.parametrize("name", MEASURES)
def test_steps_grow_as_much_as_sizes(name: str) -> None:
    measure = MEASURES[name]
    (switch,) = (switch for switch in SWITCHES if switch.name == name)
    assert measure(160) <= 2.2 * measure(80)
    with switch.off():
        assert measure(160) >= 3 * measure(80)
