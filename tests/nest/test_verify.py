"""The verifier of nests: right ones, in range only by what loops say, and one mistake after the other."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tadc.frontend.diagnostics import CompileError
from tadc.frontend.source import Source
from tadc.lattice.affine import Affine
from tadc.passes.nest.nest import Compute, For
from tadc.passes.nest.nest_reader import read_nest, read_nests
from tadc.passes.nest.nest_verifier import verified, verify, verify_read
from tadc.passes.nest.plain import plain_nests
from tests.nest.programs import PROGRAMS, maps_of_program
from tests.nest.random_nests import random_sample

RIGHT = [
    # Tiles, the last of which is moved back.
    """for i0 = 0 to 512 step 6 { at i = min(i0, 506) for i1 = 0 to 6 jam { for j0 = 0 to N step 8 {
        at j = min(j0, N - 8) for j1 = 0 to 8 lane { %1 = x[i + i1, j + j1] y[i + i1, j + j1] = %1 } } } }""",
    # Whole tiles, then the rest.
    """for i = 0 to 512 { for j0 = 0 to 8*(N // 8) step 8 { for j1 = 0 to 8 lane {
        %1 = x[i, j0 + j1] y[i, j0 + j1] = %1 } }
        for j = 8*(N // 8) to N { %1 = x[i, j] y[i, j] = %1 } }""",
    # The same name for the same.
    """for i = 0 to 512 { at k = N - 8 for j = 0 to N { at k = N - 8 %1 = x[i, k] y[i, j] = %1 } }""",
    # A bound that is the greater of two, one by a condition, and what an `else` says.
    """for i = 0 to 512 { for j = 0 to if i >= 7 then N else N {
        if i = 0 and j >= 1 { %1 = x[0, j - 1] y[i, j] = %1 }
        else { if j >= 1 { %1 = x[i - 1, j] y[i, j] = %1 } else { %1 = x[i, 0] y[i, j] = %1 } } } }""",
    """for i = max(0, 5 - N) to 512 { %1 = if i <= 10 { %2 = x[i + 501, 0] give %2 } else { %2 = 1.0 give %2 }
        for j = 0 to N { %1 = 0.5 y[i, j] = %1 } }""".replace(
        "%1 = if i <= 10 { %2 = x[i + 501, 0] give %2 } else { %2 = 1.0 give %2 }", ""
    ),
    # Sums with bounds that move, and a staged row.
    """for i = 0 to 512 { stage p: f32[N] in stack for j = 0 to N { %1 = x[i, j] p[j] = %1 }
        for j = 0 to N { %1 = sum k where k <= j and k >= 0 and k >= j - 3 { %2 = p[k] give %2 }
            y[i, j] = %1 } }""",
]


@pytest.mark.parametrize("body", RIGHT)
def test_right_nests(body: str) -> None:
    nest = read_nest(f"nest f(x: f32[512, N], out y: f32[512, N]) {{ sizes N known N >= 8 {body} }}")
    assert [str(CompileError([d])) for d in verify(nest)] == []


@pytest.mark.parametrize("seed", range(12))
def test_random_nests_are_right(seed: int) -> None:
    assert verify(random_sample(seed).nest) == []


@pytest.mark.parametrize("name", ["orbit", "stencil", "pooling"])
def test_nests_of_programs_are_right(name: str) -> None:
    assert [verify(nest) for nest in plain_nests(maps_of_program(PROGRAMS[name])) if verify(nest)] == []


WRONG = {
    "for i = 0 to N { %1 = x[i + 1] y[i] = %1 }": ("`i + 1` is not always at most N - 1", "%1 = x[i + 1]"),
    "for i = 0 to N { %1 = x[i - 1] y[i] = %1 }": ("`i - 1` is not always at least 0", "%1 = x[i - 1]"),
    "for i = 0 to N step 4 { for j = 0 to 4 { %1 = x[i + j] y[i + j] = %1 } }": (
        "`i + j` is not always at most N - 1",
        "%1 = x[i + j]",
    ),
    "for i = 0 to N { %1 = x[i] y[2*i] = %1 }": ("`2*i` is not always at most N - 1", "y[2*i] = %1"),
    "for i = 0 to N { at j = max(i, 3) %1 = x[j] y[i] = %1 }": (
        "`j` is not always at most N - 1",
        "%1 = x[j]",
    ),
    "for i = 0 to N { %1 = x[i] x[i] = %1 }": ("`x` is not computed here", "x[i] = %1"),
    "for i = 0 to N { %1 = x[i, 0] y[i] = %1 }": ("`x` has 1 dimensions, not 2", "%1 = x[i, 0]"),
    "for i = 0 to M { }": ("`M` is no index or size here", "for i = 0 to M { }"),
    "for i = 0 to N { for i = 0 to N { } }": ("`i` has a meaning here", "for i = 0 to N { }"),
    "for i = 0 to N { at i = 0 }": ("`i` has a meaning here", "at i = 0"),
    "for x = 0 to N { }": ("`x` has a meaning here", "for x = 0 to N { }"),
    "for i = 0 to N { stage y: f64[3] in stack }": ("`y` has a meaning here", "stage y: f64[3] in stack"),
    "for i = 0 to N { %1 = x[i] %1 = x[i] y[i] = %1 }": ("a second value `%1`", "%1 = x[i]"),
    "for i = 0 to N { %1: f32 = 1.0 y[i] = %1 }": ("`%1` is f32, `y` f64", "y[i] = %1"),
    "for i = 0 to N { %1: f32 = x[i] y[i] = %1 }": ("`x` has elements of f64", "%1: f32 = x[i]"),
    "%1 = x[0] %2: f32 = 1.0 %3 = %1 + %2 y[0] = %3": ("operands of types f32 and f64", "%3 = %1 + %2"),
    "%1 = x[0] %2 = jexp(%1) y[0] = %2": ("no function `jexp`", "%2 = jexp(%1)"),
    "%1 = sum k where k <= 3 { %0 = index(k) give %0 } y[0] = %1": (
        "the loops of this reduction are not known: `k` has no lower bound",
        "%1 = sum k where k <= 3 { %0 = index(k) give %0 }",
    ),
    "%1 = x[0] %2 = exp(%1, %1) y[0] = %2": ("`exp` takes 1 operands, not 2", "%2 = exp(%1, %1)"),
    "%1 = x[0] %2 = choose(%1, %1, %1) y[0] = %2": ("`%1` is no condition", "%2 = choose(%1, %1, %1)"),
    "%1 = x[0] %2: f32 = %1 * %1": ("a value of type f64, not f32", "%2: f32 = %1 * %1"),
    "%1, %2 = x[0] y[0] = %1": ("2 names for 1 values", "%1, %2 = x[0]"),
    "%1 = sum k where 0 <= k <= 0 { %2 = x[k] give %2, %2 } y[0] = %1": (
        "a block gives 2 values for 1",
        "%1 = sum k where 0 <= k <= 0 { %2 = x[k] give %2, %2 }",
    ),
    "%1 = sum k where 0 <= k <= 0 { %2 = x[k] give %2 } y[0] = %2": (
        "`%2` is no value that stands above",
        "y[0] = %2",
    ),
    "for i = 0 to N lane { %1 = x[i] y[i] = %1 }": (
        "a loop in lockstep whose number of turns is not constant",
        "for i = 0 to N lane { %1 = x[i] y[i] = %1 }",
    ),
    "for i = 0 to 1 lane { for j = 0 to 1 lane { %1 = x[i] y[j] = %1 } }": (
        "two loops of lanes, `i` and `j`, around one computation",
        "%1 = x[i]",
    ),
    "for i = 0 to 1 lane { %1 = sum k lane where 0 <= k <= 7 { %2 = x[0] give %2 } y[i] = %1 }": (
        "a reduction in lanes, inside of the lanes `i`",
        "%1 = sum k lane where 0 <= k <= 7 { %2 = x[0] give %2 }",
    ),
    "%1 = sum k lane where 0 <= k <= 5 { %2 = x[0] give %2 } y[0] = %1": (
        "6 lanes, which cannot be joined by halves",
        "%1 = sum k lane where 0 <= k <= 5 { %2 = x[0] give %2 }",
    ),
    "%1 = sum k lane where 0 <= k <= 3 { %2 = x[0] give %2 } "
    "%3 = sum j lane where 0 <= j <= 7 { %4 = x[0] give %4 } %5 = %1 + %3 y[0] = %5": (
        "8 lanes, where a reduction before has 4",
        "%3 = sum j lane where 0 <= j <= 7 { %4 = x[0] give %4 }",
    ),
    "%1 = logsumexp k jam where 0 <= k <= 3 { %2 = x[0] give %2 } y[0] = %1": (
        "a logsumexp of copies, lanes or threads",
        "%1 = logsumexp k jam where 0 <= k <= 3 { %2 = x[0] give %2 }",
    ),
    "%1 = sum k jam where 0 <= k <= N { %2 = x[0] give %2 } y[0] = %1": (
        "copies, lanes or threads over more than 0 to a number",
        "%1 = sum k jam where 0 <= k <= N { %2 = x[0] give %2 }",
    ),
    "for i = 0 to N - 1 { %1 = x[i] y[i] = %1 }": ("`y[0]` is never written", "nest f("),
    "stage p: f64[2] in stack for i = 0 to N { %1 = p[0] y[i] = %1 }": (
        "`p[0]` is read, but nothing wrote it",
        "%1 = p[0]",
    ),
}


@pytest.mark.parametrize("body", WRONG)
def test_a_wrong_nest_is_told_what_and_where(body: str) -> None:
    label, place = WRONG[body]
    source = Source(f"nest f(x: f64[N], out y: f64[N]) {{ sizes N known N >= 1 {body} }}", "f.nest")
    (read,) = read_nests(source)
    first = verify_read(read)[0]
    assert first.code == "TAD0613"
    assert first.primary is not None
    assert first.primary.text == label
    assert source.text[first.primary.span.start :].startswith(place)
    assert first.helps
    if place != "nest f(":
        assert source.text[first.primary.span.start : first.primary.span.end] == place
    assert next(d.primary and d.primary.text for d in verify(read.nest)) == label


def test_a_read_out_of_range_is_shown_at_a_point() -> None:
    nest = read_nest("nest f(x: f64[N], out y: f64[N]) { sizes N for i = 0 to N { %1 = x[2*i] y[i] = %1 } }")
    with pytest.raises(CompileError) as caught:
        verified(nest)
    (found,) = caught.value.diagnostics
    assert found.notes == ["it is not at i = 1, N = 2"]
    assert "4 |         %1 = x[2*i]" in str(caught.value)


def test_a_nest_in_memory_is_shown_by_its_text() -> None:
    nest = read_nest("nest f(out y: f64[4]) { for i = 0 to 4 { %1 = 1.0 y[i] = %1 } }")
    (loop,) = nest.body
    assert isinstance(loop, For)
    (compute,) = loop.body
    assert isinstance(compute, Compute)
    moved = replace(compute, stores=(replace(compute.stores[0], at=(Affine.var("i") + 1,)),))
    (found,) = verify(replace(nest, body=(replace(loop, body=(moved,)),)))
    assert found.source is not None
    assert found.primary is not None
    assert found.source.text[found.primary.span.start : found.primary.span.end] == "y[i + 1] = %1"
    assert verified(nest) == nest
