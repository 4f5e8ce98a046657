"""Nests as text, which reads back as the same nest."""

from __future__ import annotations

import pytest

from tadc.frontend.diagnostics import CompileError
from tadc.lattice.affine import Affine, Constraint
from tadc.passes.nest.nest import At, Either, For
from tadc.passes.nest.nest_reader import read_nest
from tadc.passes.nest.nest_text import nest_text
from tadc.passes.nest.plain import plain_nests
from tests.nest.programs import PROGRAMS, maps_of_program
from tests.nest.random_text import random_nest

var = Affine.var


@pytest.mark.parametrize("name", PROGRAMS)
def test_nests_of_programs_read_back(name: str) -> None:
    for nest in plain_nests(maps_of_program(PROGRAMS[name])):
        text = nest_text(nest)
        assert read_nest(text) == nest
        assert nest_text(read_nest(text)) == text


EVERYTHING = """\
nest everything(a: f32[N, 64], b: f64[64], out c: f32[N, 64], out d: f64[], to: f32[1]) {
    computed d, c
    sizes N
    ranges first, last
    known N >= 1 and 0 <= first <= last and N >= 2*last
    stage p: f32[16, 8] in stack
    for i = min(first, N - 6) to max(last, N) step 6 thread {
        at i1 = if i >= 1 and i = N - 2 then i else 2*i - 1
        at i2 = min(i, 506)
        for j = 0 to if true then 8 else N {
            for j2 = 0 to 8 lane {
                prefetch a[i + 8, j] every 4
                prefetch b[j]
                %0, %1.x = max k, l where 0 <= k <= i and l = k // 2 and i - (2*k) % 3 = 0 {
                    %2 = b[k]
                    %3: f64 = 1.5
                    %4 = %2 < %3
                    %5 = choose(%4, %3, %2)
                    give %5, %2
                }
                %6 = sum {
                    %7 = a[i, j] along j
                    %8 = %7 ** -3
                    give %8
                }
                %11 = sum m lane where 0 <= m <= 7 {
                    give %6
                }
                %9 = max m, n thread warp 32 where 0 <= m <= 3 and 0 <= n <= 7 {
                    %10 = index((i + j) // 2 + m % 3)
                    give %10
                }
                give %0
                c[i, j] = %6 joins sum unless j = 0 streams
                d[] = %0 joins max
            }
        }
        compute interleaved i {
            %12: f64 = 0.5
            %11: f32 = convert(%12)
            c[i, 0] = %11
        }
        compute {
            give %11
        }
        %13 = -inf
        %14 = "cmpf 14"(%13, %13)
        %15 = if N >= 3 {
            give %13
        } else {
            %16 = to[0]
            %17 = -%16
            %18 = math.copysign(%17, %16)
            %19 = %17 % %18
            give %19
        }
        to[0] = %15 streams
        if i >= 1 {
            for k = 0 to 4 jam {
            }
        } else {
            for k = 0 to 4 unroll {
                %20 = -0.0
                c[0, 0] = %20
            }
        }
        for t = 0 to 256 step 4 reach -1 to N + 1 group 4 block {
            for u = 0 to 2 block {
                stage q: f64[] in shared
            }
        }
    }
}
"""


def test_all_that_a_nest_can_have_reads_back() -> None:
    nest = read_nest(EVERYTHING)
    assert nest_text(nest) == EVERYTHING
    assert read_nest(nest_text(nest)) == nest
    loop = nest.body[1]
    assert isinstance(loop, For)
    assert (loop.step, loop.kind, nest.computed) == (6, "thread", ("d", "c"))
    assert loop.body[0] == At(
        "i1",
        Either(
            (Constraint(var("i") - 1), Constraint(var("i") - var("N") + 2, equality=True)),
            var("i"),
            var("i") * 2 - 1,
        ),
    )


def test_layout_and_comments_are_free() -> None:
    text = "# RUN\nnest f(out y: f64[4]) { for i = 0 to 4 { # one\n%1 = 0.5 y[i] = %1 } }"
    assert nest_text(read_nest(text)).splitlines()[1:4] == [
        "    for i = 0 to 4 {",
        "        %1 = 0.5",
        "        y[i] = %1",
    ]


WRONG = {
    "": ("expected one nest", "docs/nest.md"),
    "net f(out y: f64[4]) {}": ("expected `nest`", "a nest begins"),
    "nest f(out y: f64[4]) {} nest g(out y: f64[4]) {}": ("expected one nest", "docs/nest.md"),
    "nest f(out y: f8[4]) {}": ("`f8` is no element type", "it is one of f16, bf16, f32, f64"),
    "nest f(x: f64[4], x: f64[4]) {}": ("a second tensor `x`", "another name"),
    "nest f(out y: f64[4]) { for i = 0 to 4 lanes { } }": ("`lanes` is no kind of loop", "`lane`?"),
    "nest f(out y: f64[4]) { for i = 0 { } }": ("expected `to`", "for i = 0 to N"),
    "nest f(out y: f64[4]) { for i = 0 to 4 step 0 { } }": ("`0` is too small", "write 1"),
    "nest f(out y: f64[4]) { for i = 0 to 4 step 99999999999999999999 { } }": ("is too large", "at most"),
    "nest f(out y: f64[4]) { if 9*(i*4611686018427387904) >= 0 { } }": ("is too large", "at most"),
    "nest f(out y: f64[4]) { if i*4503599627370496*4 >= 0 { } }": ("form is too large", "at most"),
    "nest f(out y: f64[4]) { for i = 0 to i*i { } }": ("a product of two indices", "whole multiples"),
    "nest f(out y: f64[4]) { for i = 0 to 4 // i { } }": ("`//` by what is no positive number", "number"),
    "nest f(out y: f64[4]) { for i = 0 to 4.5 { } }": ("expected a whole number, found `4.5`", "whole"),
    "nest f(out y: f64[4]) { if i { } }": ("expected one of `<=`", "comparisons"),
    "nest f(out y: f64[4]) { y[0] = %1 }": ("unknown value `%1`", "stands above"),
    "nest f(out y: f64[4]) { %1 = -y[0] }": ("expected a number, found `y`", "-inf"),
    "nest f(out y: f64[4]) { %1 = 0.5 z[0] = %1 }": ("unknown tensor `z`", "in a `stage` above"),
    "nest f(out y: f64[4]) { %1 = 0.5 %2 = %1 ! %1 }": ("expected an operator", "** "),
    "nest f(out y: f64[4]) { %1 = convert(y) }": ("expected a value such as `%1`", "docs/nest.md"),
    "nest f(out y: f64[4]) { %0 = 1.0 %1 = convert(%0) }": ("does not follow", "`%1: f64 = …`"),
    "nest f(out y: f64[4]) { %1 = summ k { give %1 } }": ("`summ` is no value or reduction", "`sum`?"),
    "nest f(out y: f64[4]) { %1 = if 1 >= 0 { } }": ("expected `give`", "give %3"),
    "nest f(out y: f64[4]) { at }": ("expected an index, found `}`", "docs/nest.md"),
    "nest f(out y: f64[4]) { 5 }": ("`5` begins no statement", "a statement is"),
    "nest f(y: f64[4]) { %1 = y[0] ** 2 }": ("`**` goes on where a value ends", "one operation"),
    "nest f(out y: f64[4]) { ": ("expected `}`, found the end", "close each brace"),
    "nest f(out y: f64[" + "(" * 5000: ("nested too deeply", "take it apart"),
}


@pytest.mark.parametrize("text", WRONG, ids=lambda text: text[-30:])
def test_what_is_no_nest_says_why(text: str) -> None:
    label, help = WRONG[text]
    with pytest.raises(CompileError) as caught:
        read_nest(text)
    (found,) = caught.value.diagnostics
    assert found.code == "TAD0610"
    assert found.primary is not None
    assert label in found.primary.text
    assert help in found.helps[0]
    assert found.primary.span.end <= max(len(text), 1) + 1
    assert "TAD0610" in str(caught.value)


@pytest.mark.parametrize("seed", range(40))
def test_random_nests_of_every_kind_read_back(seed: int) -> None:
    nest = random_nest(seed)
    text = nest_text(nest)
    assert read_nest(text) == nest
    assert nest_text(read_nest(text)) == text
