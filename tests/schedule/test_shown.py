"""The schedule and the nests that are shown are those that code is made of."""

from __future__ import annotations

import re

import pytest

from tadc.backend.target import parse_target
from tadc.compiler.all_stages import compile_until
from tadc.compiler.compile_options import Options
from tadc.compiler.stages import Compilation
from tadc.frontend.source import Source
from tadc.passes.nest.nest_reader import read_nests
from tadc.passes.nest.nest_verifier import verify_read

#: A gradient whose first plan has more code than its few elements are worth; equal maps; a chain.
PROGRAMS = {
    "too much code": "x: f32[2, 9, 40]\nw: f32[4, 2, 3, 3]\n"
    "y[o, i: 4, j: 19] = sum{c, k, l} (x[c, 2*i + k, 2*j + l] * w[o, c, k, l])",
    "equal maps": "a: f64[90, 90]\nb: f64[90, 90]\nf[i, j] = sum{k} (a[i, k]*b[k, j])\n"
    "g[i, j] = sum{k} (f[i, k]*b[k, j])",
    "chain": "x: f32[250, 1021]\ne[i, j] = exp(x[i, j])\ns[i] = sum{j} (e[i, j])\ny[i, j] = e[i, j] / s[i]",
}


@pytest.fixture(autouse=True)
def vectors_everywhere() -> None:
    """Not here: small maps are compiled as for users."""


def compiled(text: str, stage: str, given: str | None = None) -> Compilation:
    schedule = None if given is None else Source(given, "f.sched")
    options = Options("value-and-vjp", target=parse_target("cpu:x86-64-v4"), schedule=schedule)
    state = Compilation(options, Source(text, "f"))
    compile_until(state, stage)
    return state


def loops(text: str, given: str | None = None) -> str:
    """Without the attributes of functions, which say how small they are."""
    return re.sub(r" attributes {[^}]*}", "", str(compiled(text, "loops", given).module))


@pytest.mark.parametrize("text", PROGRAMS.values(), ids=PROGRAMS)
def test_the_steps_that_are_shown_make_the_same_loops(text: str) -> None:
    shown = compiled(text, "schedule").schedule
    assert loops(text, shown) == loops(text)
    nests = compiled(text, "scheduled-nest", shown).scheduled_nests
    assert nests == compiled(text, "scheduled-nest").scheduled_nests
    assert [found for read in read_nests(Source(nests)) for found in verify_read(read)] == []
