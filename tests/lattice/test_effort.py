"""The limit on the work of one question."""

import random
import re
from collections.abc import Callable
from pathlib import Path

import pytest

import tadc
from tadc.compiler.all_stages import compile_until
from tadc.compiler.compile_options import Options
from tadc.compiler.stages import Compilation
from tadc.frontend.source import Source
from tadc.lattice import effort, polyhedron
from tadc.lattice.affine import Affine, Constraint, box
from tadc.lattice.effort import LIMIT, EliminationLimit, apart, limited
from tadc.lattice.polyhedron import implied, irredundant, is_empty, quotient
from tadc.lattice.solve import solve
from tests.lattice.support import fresh_names

i, j, k = (Affine.var(name) for name in "ijk")
FACTS = (*box("ijk", (5, 6, 7)),)


def test_a_question_beyond_the_limit_is_asked_again_with_a_larger_one():
    """What is cached is as it was before, wherever the work ended."""
    form = 3 * i - 2 * j + 4 * k + 11
    for entries in range(0, 400, 7):
        facts = (*FACTS, *box("n", (entries + 2,)))
        try:
            with limited(entries):
                implied(form, facts)
        except EliminationLimit:
            pass
        assert implied(form, facts)
        assert not implied(form - 2, facts)


def test_blocks_share_a_limit():
    def ask_often():
        for _ in range(100):
            with limited():
                irredundant(FACTS, ())

    ask_often()
    with pytest.raises(EliminationLimit), limited(50):
        ask_often()


def test_solve_is_limited():
    rows = [*FACTS, *box("p", (9,))]
    assert solve("ijk", rows, (), fresh_names()) is not None
    with pytest.raises(EliminationLimit), limited(10):
        solve("ijk", rows, (), fresh_names())


def forget() -> None:
    """Drop all answers that are kept."""
    for name in ("_implied", "_follows", "_needed_together", "_system"):
        getattr(polyhedron, name).cache_clear()


def price(ask: Callable[[], object]) -> int:
    """What is charged for questions."""
    with apart() as meter:
        ask()
    return LIMIT - meter.left


def questions(seed: int) -> Callable[[], object]:
    """Some about one random set."""
    choose = random.Random(seed)

    def form() -> Affine:
        return sum((choose.randint(-3, 3) * v for v in (i, j, k)), Affine.const(choose.randint(-4, 9)))

    rows = [*FACTS, *(Constraint(form()) for _ in range(4)), Constraint(form().floordiv(3))]
    forms = [form() for _ in range(5)]

    def ask() -> object:
        return (
            is_empty(rows),
            [implied(each, rows) for each in forms],
            irredundant(rows, FACTS),
            [quotient(each, 4, rows) for each in forms],
            solve("ijk", rows, (), fresh_names()),
        )

    return ask


@pytest.mark.parametrize("seed", range(8))
def test_an_answer_costs_the_same_whatever_was_asked_before(seed: int) -> None:
    """Whether a limit is reached must not depend on what is kept, nor must the answer."""
    ask = questions(seed)
    forget()
    first = ask()
    forget()
    cold = price(ask)
    assert cold > 0
    for other in range(8):
        questions(other)()
    assert price(ask) == cold
    assert ask() == first


def test_a_program_costs_the_same_whatever_was_compiled_before() -> None:
    text = "x: f64[9]; f[i: 4, j: 4] = sum{k}_(max [i; 2*j - 1])^(i + 2*j) (x[(k + i)//2])"
    others = ["x: f64[9]; f[i: 4] = sum{k}_i^(i + 4) (x[k])", text]

    def compiled(program: str) -> str:
        return str(tadc.vjp(tadc.function(program)))

    forget()
    cold = price(lambda: compiled(text))
    for other in others:
        compiled(other)
    assert price(lambda: compiled(text)) == cold > 0


def test_rows_of_other_variables_cost_nothing() -> None:
    """So loops of five indices with a dozen bounds each are no more than five with a dozen."""
    others = [Constraint(s * Affine.var(f"{v}{k}") + k) for v in "pqr" for k in range(9) for s in (1, -1)]
    others += [Constraint(Affine.var(f"{v}{k}") - Affine.var(f"{v}{k + 1}")) for v in "pqr" for k in range(8)]
    forget()
    alone = price(lambda: implied(i + j - k + 6, FACTS))
    assert price(lambda: implied(i + j - k + 6, [*others, *FACTS])) == alone > 0


def test_a_strided_convolution_whose_sizes_are_symbols_is_not_too_much_work(root: Path) -> None:
    """Its loops have up to seventy facts around them, of indices that have nothing to do with each other."""
    text = (root / "examples" / "strided_conv2d.tad").read_text()
    state = Compilation(Options("value-and-vjp"), Source(text, "<text>"))
    assert compile_until(state, "loops").name == "loops"


def test_terms_loops_and_llvm_ir_are_work_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """The error says what has become large."""
    arguments = "; ".join(f"x{n}: f64[N]" for n in range(16))
    f = tadc.vjp(tadc.function(f"{arguments}; f[i] = {'*'.join(f'x{n}[i]' for n in range(16))}"))
    low, used = f.lower(), [0]
    for made in (
        lambda: tadc.vjp(f).program,
        lambda: low.as_text("hoist"),
        lambda: low.as_text("loops"),
        lambda: low.as_text("llvm"),
    ):
        with effort.counted() as meter:
            made()
        used.append(effort.WHOLE - meter.left)
        monkeypatch.setattr(effort, "WHOLE", used[-1] - 1)
        with pytest.raises(tadc.CompileError) as error:
            made()
        monkeypatch.undo()
        (problem,) = error.value.diagnostics
        assert problem.code == "TAD0318"
        assert re.match(r"so far [\d,]+ operations in [\d,]+ definitions are made of it", problem.notes[0])
        assert "the gradient by `" in problem.notes[0]
    assert used[2] < used[3] < used[4]


def test_a_program_of_too_much_work_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wherever that is noticed: where it is checked, where it is differentiated, where it is compiled."""
    text = "x: f64[9]; f[i: 5] = sum{k}_(max [0; i - 1])^(min [i + 2; 4]) (x[k]*x[i + k]*x[(i + k) // 2])"
    f = tadc.function(text)
    guarded = text.replace("x[k]*", "(if {2*k + 3*i >= 4 and k + i <= 5} then (x[2*i + 3*k - 4]) else (0))*")
    for made in (
        lambda: tadc.function(guarded),
        lambda: tadc.vjp(f).program,
        lambda: f.lower().as_text("loops"),
    ):
        forget()
        monkeypatch.setattr(effort, "WHOLE", 5)
        with pytest.raises(tadc.CompileError) as error:
            made()
        monkeypatch.undo()
        (problem,) = error.value.diagnostics
        assert problem.code == "TAD0318"
        assert problem.notes
        assert problem.helps
