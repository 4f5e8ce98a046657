"""Recurrences: the word `scan`, the proof that elements are read in order, types and ranges."""

from __future__ import annotations

import pytest

from tadc.frontend.checker import check
from tadc.frontend.diagnostics import CompileError
from tadc.frontend.parser import parse
from tadc.frontend.printer import print_program
from tadc.frontend.program import Program
from tadc.frontend.source import Source
from tadc.lattice.affine import Affine

T = Affine.var("t")


def read(text: str) -> Program:
    """The checked program; its print reads back as itself."""
    source = Source(text, "f.tad")
    program = check(parse(source), source)
    printed = Source(print_program(program), "g.tad")
    assert print_program(check(parse(printed), printed)) == printed.text
    return program


def problem(text: str) -> str:
    """The codes of a program that is rejected."""
    with pytest.raises(CompileError) as caught:
        read(text)
    return " ".join(d.code for d in caught.value.diagnostics)


@pytest.mark.parametrize(
    "text",
    [
        "scan: f64[3]\nf[i] = scan[i]",
        "x: f64[3]\nscan[i] = x[i]\nf = scan[0]",
        "x: f64[3]\nscan = x[0]",
        "size scan\nx: f64[scan]\nf[i] = x[i]",
        "x: f64[3]\nf[scan] = x[scan]",
    ],
)
def test_a_name_like_others_elsewhere(text: str) -> None:
    assert all(d.order is None for d in read(text).definitions)


@pytest.mark.parametrize(
    ("order", "canonical"),
    [
        ("t", T),
        ("-t", -T),
        ("2*t + 3", T),
        ("N - 4*t", -T),
        ("t - i + i", T),
        ("6*t - 4*i", T * 3 - Affine.var("i") * 2),
    ],
)
def test_what_is_the_same_for_all_elements_is_no_part_of_an_order(order: str, canonical: Affine) -> None:
    sign = "-" if canonical.coefficient("t") > 0 else "+"
    rows = "t >= 1" if sign == "-" else "t <= N - 2"
    program = read(
        f"x: f64[N, 3]\nscan{{{order}}} f[t, i] = if {{{rows}}} then (f[t {sign} 1, i]) else (x[t, i])"
    )
    assert program.definitions[0].order == canonical


def test_no_order_without_a_read_of_itself() -> None:
    assert read("x: f64[3]\nscan{t} f[t] = x[t]").definitions[0].order is None


@pytest.mark.parametrize(
    ("body", "codes"),
    [
        ("f[t]", "TAD0316"),
        ("f[0]", "TAD0316"),
        ("if {t >= 1} then (f[t - 1]) else (0)", ""),
        ("if {t >= 3} then (f[t - 3] + f[t - 1]) else (0)", ""),
        ("if {t >= 1} then (f[t // 2]) else (0)", ""),
        ("f[t // 2]", "TAD0316"),
        ("if {t >= 1} then (f[0]) else (0)", ""),
        ("sum{k}_0^(t - 1) (f[k])", ""),
        ("sum{k}_0^t (f[k])", "TAD0316"),
        ("sum{k} (if {k < t} then (f[k]) else (0))", ""),
        ("sum{k} (if {k != t} then (f[k]) else (0))", "TAD0316"),
        ("if {t >= 1} then (f[2*t - 2]) else (0)", "TAD0302"),
        ("if {t = 0} then (0) else (f[t - 1])", ""),
        ("if {t = 0} then (f[t]) else (0)", "TAD0316"),
        ("f[t - 1]", "TAD0302"),
        ("f", "TAD0301"),
        ("f[t - 1, 0]", "TAD0301"),
    ],
)
def test_reads_of_itself(body: str, codes: str) -> None:
    text = f"x: f64[9]\nscan{{t}} f[t] = x[t] + ({body})"
    if codes:
        assert problem(text) == codes
    else:
        read(text)


@pytest.mark.parametrize(
    ("order", "codes"),
    [
        ("i + j", ""),
        ("2*i + j", ""),
        ("3*j + i", ""),
        ("i", "TAD0316"),
        ("i - j", "TAD0316"),
        ("0", "TAD0316 TAD0316"),
    ],
)
def test_orders_of_a_table(order: str, codes: str) -> None:
    body = "if {i >= 1 and j >= 1} then (f[i - 1, j] + f[i, j - 1]) else (x[i, j])"
    text = f"x: f64[4, 5]\nscan{{{order}}} f[i, j] = {body}"
    if codes:
        assert problem(text) == codes
    else:
        read(text)


def test_what_sizes_must_satisfy() -> None:
    """A distance that may be 0 is refused for these sizes alone."""
    program = read("size K\nx: f64[N]\nscan{t} f[t] = x[t] + if {t >= K} then (f[t - K]) else (0)")
    assert len(program.excluded) == 1
    (rows,) = program.excluded
    assert all(row.holds({"N": 3, "K": 0}) for row in rows)
    assert not all(row.holds({"N": 3, "K": 1}) for row in rows)


@pytest.mark.parametrize(
    ("text", "type"),
    [
        ("x: f32[3]\nscan{t} f[t] = x[t] + (if {t >= 1} then (f[t - 1]) else (0))", "f32"),
        ("scan{t} f[t: 3] = if {t >= 1} then (2*f[t - 1]) else (1)", "f64"),
        ("x: f32[3]\nf: f64[3]\nscan{t} f[t] = x[t] + (if {t >= 1} then (f[t - 1]) else (0))", "f64"),
        ("x: f32[3]\nlet scan{t} h[t]: f64 = x[t] + (if {t >= 1} then (h[t - 1]) else (0))\nf = h[2]", "f64"),
        (
            "x: f32[3]\ny: f64[3]\n"
            "scan{t} f[t] = select(y[t] > 0, x[t], if {t >= 1} then (f[t - 1]) else (0))",
            "f32",
        ),
    ],
)
def test_types(text: str, type: str) -> None:
    """The type of what is read besides the tensor, or the one that is stated."""
    assert read(text).definitions[0].type == type


def test_ranges() -> None:
    """A sum over the tensor itself has its range; an index that reads nothing else has none."""
    program = read(
        "W: f64[3, 3]\nscan{t} h[t: 5, i] = if {t = 0} then (W[i, i]) else (sum{k} (h[t - 1, k]*i))"
    )
    assert program.definitions[0].shape == (5, 3)
    assert problem("scan{t} h[t: 5, i] = if {t = 0} then (1) else (h[t - 1, i])") == "TAD0306"
