"""Conditions on sizes: what the checker derives, against reads enumerated at concrete sizes."""

from __future__ import annotations

import itertools
import random

import pytest
import sympy

from tadc.frontend.checker import SizesNeeded, check
from tadc.frontend.diagnostics import CompileError
from tadc.frontend.extents import required_text, size_sources
from tadc.frontend.parser import parse
from tadc.frontend.program import Program
from tadc.frontend.source import Source
from tadc.frontend.specialise import problems_at
from tadc.lattice.affine import Affine
from tests.frontend.checking import checked, problem


def excluded(program: Program, **sizes: int) -> bool:
    return any(all(row.holds(sizes) for row in rows) for rows in program.excluded)


def conditions(text: str) -> list[str]:
    return [required_text(rows) for rows in checked(text).excluded]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x: f64[N]\nf[i] = x[i] * x[N - 1 - i]", []),
        ("x: f64[N]\nf = sum{k}_0^(N - 1) (x[k])", []),
        ("x: f64[N]\nf[i: N // 2] = x[2*i + 1]", []),
        ("x: f64[2*N]\nf[i: N] = x[2*i + 1]", []),
        ("x: f64[N]\nf[i: N] = if {i > 0} then (x[i - 1]) else (0)", []),
        ("x: f64[M]\nsize N\nf[i: N] = x[i + 2]", ["M >= N + 2 or N <= 0"]),
        ("x: f64[N]\nf[i: N - 3] = x[i]", ["N >= 3"]),
        ("x: f64[N]\nf = sum{k: N - 1} (x[k])", ["N >= 1"]),
        ("x: f64[N]\nsize M\nf[i: M] = if {M > N} then (x[i]) else (0)", ["N >= M"]),
        ("x: f64[N]\nf = x[4]", ["N >= 5"]),
        ("x: f64[N]\ny: f64[M]\nf[i: N] = x[i] + y[i]", ["M >= N"]),
        ("x: f64[N]\ny: f64[M]\nf[i: N] = x[i] + y[i]\ng = x[3] + y[2]", ["M >= N", "N >= 4", "M >= 3"]),
        ("x: f64[N, M]\nf[i: N] = x[i, i]", ["M >= N"]),
    ],
)
def test_what_is_derived(text: str, expected: list[str]) -> None:
    assert conditions(text) == expected


def test_what_no_size_mends_is_an_error_with_a_point() -> None:
    found = problem("x: f64[N]\nf[i: N] = x[i + 1]")
    assert (found.code, found.at) == ("TAD0302", "2:13 i + 1")
    assert found.notes == ("out of range at `N = 1, i = 0`",)


def test_different_symbols_do_not_agree() -> None:
    found = problem("x: f64[N]\ny: f64[M]\nf[i] = x[i] + y[i]")
    assert (found.code, found.message) == ("TAD0305", "cannot infer one range for index `i`")
    assert found.helps[1] == "or declare both with one size symbol, if they are always equal"


def test_dimensions_tell_what_their_equations_tell() -> None:
    """A symbol is told where its unit vector is in the row space, and by its value."""
    told = 0
    for seed in range(300):
        random_ = random.Random(seed)
        names = "ABCD"[: random_.randint(1, 4)]
        factors = [
            [random_.choice([0, 0, 1, 1, 2, -1, 3]) for _ in names] for _ in range(random_.randint(1, 5))
        ]
        forms = [Affine.of(dict(zip(names, row, strict=True)), random_.randint(-3, 3)) for row in factors]
        sizes = {name: random_.randint(0, 50) for name in names}
        lengths = [form.evaluate(sizes) for form in forms]
        found: dict[str, int] = {}
        for source in size_sources([(form,) for form in forms]):
            found[source.symbol] = source.value(lengths[source.argument], found)
        matrix = sympy.Matrix(factors)
        for number, name in enumerate(names):
            unit = sympy.eye(len(names))[number, :]
            is_told = matrix.rank() == matrix.col_join(unit).rank()
            assert found.get(name) == (sizes[name] if is_told else None), (seed, name)
            told += is_told
    assert told > 300


def test_sizes_may_be_written_below() -> None:
    assert checked("x: f64[N]\nf: f64[N + 1]\nf[i] = N + i").sizes == ("N",)
    assert checked("f[i: 3] = N\nx: f64[N]").sizes == ("N",)


@pytest.mark.parametrize("use", ["x[N*i]", "x[i // N]", "x[i % N]", "x[(N + 1)*i]"])
def test_a_size_that_multiplies_or_divides_needs_a_value(use: str) -> None:
    source = Source(f"x: f64[9]\nsize N\nf[i: 3] = {use}")
    with pytest.raises(SizesNeeded) as needed:
        check(parse(source), source)
    assert list(needed.value.symbols) == ["N"]
    assert check(parse(source), source, {"N": 1}).sizes == ()


def random_text(draw: random.Random) -> str:
    """Reads of two tensors of symbolic shapes, under sums and guards."""
    extents = ["N", "M", "N + 1", "M + 2", "N + M", "2*N", "N // 2", "5"]
    shape = [draw.choice(extents) for _ in range(2)]

    def form(names: list[str]) -> str:
        parts = [
            f"{draw.choice(['', '', '2*', '-'])}{name}"
            for name in draw.sample(names, draw.randint(1, len(names)))
        ]
        parts += draw.choice([[], [], ["N - 1"], ["M"], [str(draw.randint(-2, 3))]])
        text = " + ".join(parts)
        return f"({text}) // 2" if draw.random() < 0.2 else text

    read = f"x[{form(['i', 'k'])}] * y[{form(['i', 'k'])}]"
    if draw.random() < 0.6:
        relation = draw.choice(["<", "<=", ">=", "=", "!="])
        read = f"if {{{form(['i', 'k'])} {relation} {form(['i'])}}} then ({read}) else (y[{form(['k'])}])"
    upper = draw.choice(["(N - 1)", "(i)", "3", "(M)"])
    rows = ["size N", "size M", f"x: f64[{shape[0]}]", f"y: f64[{shape[1]}]"]
    return "\n".join([*rows, f"f[i: {draw.choice(['N', 'M', 'N // 2', '4'])}] = sum{{k}}_0^{upper} ({read})"])


def test_conditions_hold_what_must_hold() -> None:
    """Sizes outside of the excluded sets have no read out of range; those inside are told exactly."""
    draw = random.Random(11)
    derived = 0
    rejected: set[str] = set()
    for _ in range(150):
        source = Source(random_text(draw))
        try:
            program = check(parse(source), source)
        except CompileError as error:
            rejected |= {d.code for d in error.diagnostics}
            continue
        for n, m in itertools.product(range(5), repeat=2):
            wrong = problems_at(program, {"N": n, "M": m})
            assert wrong is not None
            if wrong:
                assert excluded(program, N=n, M=m), (source.text, n, m, wrong)
                assert {d.code for d in wrong} <= {"TAD0302", "TAD0308"}
            derived += bool(wrong)
    assert derived > 200
    assert rejected <= {"TAD0302", "TAD0312"}


def test_a_guard_that_no_legal_size_passes_is_a_condition() -> None:
    """A derivative has reads under guards that only sizes pass which the program itself refuses."""
    text = "w: f64[M]\nsize N\nf[i: N] = if {M + i = 2} then (w[3*M - 9]) else (0)"
    program = checked(text)
    assert not excluded(program, M=1, N=1)
    assert excluded(program, M=1, N=2)
    assert not excluded(program, M=3, N=9)
