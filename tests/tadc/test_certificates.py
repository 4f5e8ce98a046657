"""Certificates against islpy: the points that read an element, from both sides."""

from __future__ import annotations

import importlib
import json
import re
import textwrap
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

import islpy as isl
import pytest

import tadc
from tadc.certificates.certify import Certificates, ReadCertificate
from tadc.cli import main
from tadc.frontend.terms import Guard, Read, Reduce, Select, Term, operands
from tadc.lattice.affine import Affine, Constraint, box, equals_zero
from tadc.lattice.certificate import Certificate
from tadc.lattice.solve import solve
from tadc.lattice.verify import verify
from tests.fuzz.generate import generate
from tests.lattice.support import fresh_names, isl_row

ROOT = Path(__file__).parents[2]
STRIDE = "x: f64[20]; f[i: 4, j: 3] = x[2*i + 4*j]**3"


def programs() -> dict[str, str]:
    """The conformance programs, the examples, and programs of seeds."""
    found: dict[str, str] = {}
    for file in sorted((ROOT / "tests" / "conformance").glob("test_*.py")):
        module = importlib.import_module(f"tests.conformance.{file.stem}")
        catalogue = getattr(module, "CATALOGUE", None)
        for case in getattr(catalogue, "cases", ()):
            found[f"{file.stem}: {case.name}"] = textwrap.dedent(case.program)
    texts = {file.name: file.read_text() for file in (ROOT / "examples").glob("*.tad")}
    # isl knows no elements of index arrays.
    found |= {name: text for name, text in texts.items() if ": index" not in text}
    return found | {f"seed {seed}": str(generate(seed)) for seed in range(40)}


PROGRAMS = programs()


@cache
def certificates(text: str, wrt: str | None = None) -> Certificates:
    return tadc.certificate(tadc.function(text), wrt)


# -- sets of (b, a), with sizes as parameters ----------------------------------------------------------


def isl_set(names: Sequence[str], rows: Sequence[Constraint], hidden: Sequence[str] = ()) -> isl.Set:
    """The points of `names`; what is neither among them nor hidden is a parameter."""
    sizes = sorted({name for row in rows for name in row.form.variables} - {*names, *hidden})
    text = " and ".join(map(isl_row, rows)) or "0 = 0"
    if hidden:
        text = f"exists {', '.join(hidden)} : {text}"
    return isl.Set(f"[{', '.join(sizes)}] -> {{ [{', '.join(names)}] : {text} }}")


def same(one: isl.Set, other: isl.Set) -> bool:
    return one.is_subset(other) and other.is_subset(one)


def as_read(read: ReadCertificate, more: Sequence[Constraint] = ()) -> isl.Set:
    """{(b, a) : a in D, M a = b, and more rows}."""
    maps = [equals_zero(form - Affine.var(b)) for form, b in zip(read.access, read.element, strict=True)]
    return isl_set([*read.element, *read.indices], [*maps, *read.scope, *more, *read.facts])


def as_solved(read: ReadCertificate) -> isl.Set:
    """{(b, a) : guards(b), z in D'(b), a = I b + K z}."""
    assert read.proof is not None
    solution = read.proof.solution
    hidden = [f"{z}_" for z in solution.kernel]
    names = dict(zip(solution.kernel, map(Affine.var, hidden), strict=True))
    values = [equals_zero(solution.substitution[a].substitute(names) - Affine.var(a)) for a in read.indices]
    domain = [row.substitute(names) for row in solution.domain]
    return isl_set([*read.element, *read.indices], [*read.facts, *solution.guards, *domain, *values], hidden)


def loops(read: ReadCertificate) -> isl.Set:
    """{(b, z)} that the loops visit: bounds as they are rounded."""
    assert read.proof is not None
    nest, kernel = read.proof.nest, read.proof.solution.kernel
    rows = [*read.facts, *read.proof.solution.guards, *nest.outside, *nest.inside]
    for level in nest.levels:
        z = Affine.var(level.name)
        rows += [Constraint(z - bound.ceil()) for bound in level.lower]
        rows += [Constraint(bound.floor() - z) for bound in level.upper]
    assert [level.name for level in nest.levels] == list(kernel)
    return isl_set([*read.element, *kernel], rows)


def check(read: ReadCertificate) -> None:
    """Both sets are one, no two z give one a, the loops are the domain, and all checks hold."""
    original = as_read(read, read.counted)
    if read.proof is None:
        assert original.is_empty()
        return
    solution = read.proof.solution
    assert same(as_solved(read), original)
    domain = isl_set([*read.element, *solution.kernel], [*read.facts, *solution.guards, *solution.domain])
    assert same(loops(read), domain)
    primed = [f"{z}_" for z in solution.kernel]
    second = dict(zip(solution.kernel, map(Affine.var, primed), strict=True))
    twice = [equals_zero(form - form.substitute(second)) for form in solution.substitution.values()]
    rows = [*solution.domain, *(row.substitute(second) for row in solution.domain), *twice]
    pairs = isl_set([*read.element, *solution.kernel, *primed], [*read.facts, *solution.guards, *rows])
    diagonal = [equals_zero(Affine.var(z) - form) for z, form in second.items()]
    assert pairs.is_subset(isl_set([*read.element, *solution.kernel, *primed], diagonal))
    assert [check.what for check in read.checks if not check.holds] == []


# -- the reads of a program, found without the compiler's passes ---------------------------------------


def reads_of(f: tadc.Function) -> Iterator[tuple[str, isl.Set]]:
    """Each read's tensor and {(b, a)}, but for reads that are only compared."""
    for definition in f.program.definitions:
        facts = f.program.facts(definition)
        stack: list[tuple[Term, tuple[str, ...], tuple[Constraint, ...]]] = [
            (definition.body, definition.indices, facts)
        ]
        while stack:
            term, names, rows = stack.pop()
            if isinstance(term, Read):
                b = [f"element{n}_" for n in range(len(term.indices))]
                shape = f.program.shapes()[term.tensor]
                maps = [equals_zero(m - Affine.var(x)) for m, x in zip(term.indices, b, strict=True)]
                yield term.tensor, isl_set([*b, *names], [*maps, *rows, *box(b, shape)])
            elif isinstance(term, Reduce):
                binders, domain, body = f.program.terms.open(term)
                plain = {x: Affine.var(f"s{len(names) + n}_") for n, x in enumerate(binders)}
                inner = f.program.terms.substitute(body, plain)
                more = tuple(row.substitute(plain) for row in domain)
                stack.append((inner, (*names, *map(str, plain.values())), rows + more))
            elif isinstance(term, Guard):
                stack.append((term.then, names, rows + term.conditions))
                stack.append((term.otherwise, names, rows + negation(term.conditions, names, rows)))
            elif isinstance(term, Select):
                stack += [(term.then, names, rows), (term.otherwise, names, rows)]
            else:
                stack += [(below, names, rows) for below in operands(term)]


def negation(
    conditions: tuple[Constraint, ...], names: tuple[str, ...], rows: tuple[Constraint, ...]
) -> tuple[Constraint, ...]:
    """Where a single condition does not hold: an inequality, or an equality at an end of a range."""
    if len(conditions) != 1:
        return ()
    form = conditions[0].form
    sides = (form, -form) if conditions[0].equality else (-form,)
    if conditions[0].equality:
        sides = tuple(s for s in sides if isl_set(names, [*rows, Constraint(-s - 1)]).is_empty())[:1]
    return tuple(Constraint(side - 1) for side in sides)


@pytest.mark.parametrize("name", PROGRAMS)
def test_both_ways(name: str) -> None:
    """Each certificate is of a read of the program, exact; each read of an argument has one."""
    f, found = tadc.function(PROGRAMS[name]), certificates(PROGRAMS[name])
    for read in found:
        check(read)
    expected = list(reads_of(f))
    for read in found:
        assert any(tensor == read.tensor and same(relation, as_read(read)) for tensor, relation in expected)
    if found.others:
        return
    for tensor, relation in expected:
        if tensor in f.inputs and relation.dim(isl.dim_type.set) and not relation.is_empty():
            assert any(tensor == read.tensor and same(relation, as_read(read)) for read in found)


@pytest.mark.parametrize("name", ["paper.tad", "test_index_maps: stride 2", "conv1d.tad"])
def test_of_a_gradient(name: str) -> None:
    """A derivative has certificates of its own, for its text as it is printed."""
    g = tadc.vjp(tadc.function(PROGRAMS[name]))
    found = tadc.certificate(g)
    assert found.source.text.rstrip() == str(g).rstrip()
    for read in found:
        check(read)
        line = found.source.text.splitlines()[read.line - 1]
        assert line[read.column - 1 :].startswith(read.text)
    assert "the program:" in str(found)


def test_roots_stay_where_they_are_written() -> None:
    """A certificate is of a read in its own definition, not of a formula where it is seen."""
    text = "x: f64[6]; let n[i] = abs(x[i]); f[j: 2] = sum{k: 3} (cos(n[2*j + k]))"
    found = certificates(text, "x")
    assert [read.text for read in found] == ["x[i]", "n[2*j + k]"]
    assert same(
        as_read(found[0]),
        next(relation for tensor, relation in reads_of(tadc.function(text)) if tensor == "x"),
    )


def test_sizes_are_parameters() -> None:
    """One certificate with a size symbol is exact for every size."""
    n, i, j = map(Affine.var, ["N", "i", "j"])
    access = (2 * i + 4 * j + (i + n).floordiv(3),)
    scope = (*box("ij", [n, n + 1]), Constraint(i + j - n + 1))
    facts = (*box(["x_0"], [9 * n + 9]), Constraint(n - 1))
    rows = (equals_zero(access[0] - Affine.var("x_0")), *scope)
    solution = solve(["i", "j"], rows, facts, fresh_names())
    assert solution is not None
    proof = Certificate(("i", "j"), rows, facts, solution)
    read = ReadCertificate(
        "x", "dx", "x[i]", 1, 1, ("x_0",), ("i", "j"), access, scope, (), (), facts, proof, verify(proof)
    )
    check(read)
    assert as_read(read).get_dim_name(isl.dim_type.param, 0) == "N"


# -- what people see ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", PROGRAMS)
def test_text_fits_and_json_is_json(name: str) -> None:
    found = certificates(PROGRAMS[name])
    text = str(found)
    # A place, which may be a long path, is not counted.
    lines = [re.sub(r"<\w+>:\d+:\d+: ", "", line) for line in text.splitlines() if "..." not in line]
    widest = max(lines, key=len)
    assert len(widest) <= 100 or " " not in widest.strip()
    assert not re.search(r"\?|\$", text)
    assert len(json.loads(found.as_json())["reads"]) == len(found)


def test_bounds_are_those_of_the_printed_derivative() -> None:
    f = tadc.function((ROOT / "examples" / "paper.tad").read_text())
    (read,) = tadc.certificate(f, "d")
    assert "k = max [0; d_0 - 2] .. min [4; d_0]" in str(read)
    assert "sum{k}_(max [0; d_0 - 2])^(min [4; d_0])" in str(tadc.vjp(f, "d"))


def test_the_api_is_a_sequence() -> None:
    found = certificates("x: f64[9]; y: f64[3]; f[i: 3] = x[2*i] * y[i] + sign(y[0])", "x")
    assert len(found) == 1
    assert found[0].proof is not None
    assert found[0].proof.matrix == [[2]]
    assert found.conditions == found.per_value == ()
    assert str(found[0]) in str(found)
    with pytest.raises(tadc.CompileError, match="no argument `q`"):
        certificates(STRIDE, "q")
    with pytest.raises(TypeError, match="takes a function, not the text"):
        tadc.certificate("x")  # type: ignore[arg-type]


def test_reads_with_nothing_to_solve() -> None:
    found = certificates("x: f64; y: f64[3]\nh = x**2 * y[1]\nf[i] = sign(y[i]) * h")
    assert [read.text for read in found] == ["y[1]", "h"]
    assert [(o.line, o.column, o.text, o.reason) for o in found.others] == [
        (2, 5, "x", "one element, read at one point"),
        (3, 13, "y[i]", "no cotangent comes here, it adds nothing"),
    ]
    assert "<string>:2:5: x: one element, read at one point" in str(found)


# -- the command -----------------------------------------------------------------------------------------


def test_no_read(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["-e", "x: f64[3]; f[i: 4] = 2*i", "--certificate"]) == 0
    assert capsys.readouterr().out == (
        "certificate of the gradients by x: 0, for no read carries a cotangent\n"
    )


@pytest.mark.parametrize(
    ("argv", "code", "message"),
    [
        (["--certificate", "--wrt", "q"], 1, "error[TAD0401]: no argument `q`"),
        (["--plot", "f.svg", "--wrt", "q"], 1, "error[TAD0401]: no argument `q`"),
        (["--plot", "f.tiff"], 1, "error[TAD0801]: cannot tell the format of `f.tiff`"),
        (["--plot", "svg"], 1, "error[TAD0801]: cannot tell the format of `svg`"),
        (["--plot", "no/f.svg"], 1, "error[TAD0801]: cannot write `no/f.svg`"),
        (["--certificate", "-o", "no/f.txt"], 1, "error[TAD0801]: cannot write `no/f.txt`"),
        (["--plot", "f.svg", "-o", "f.txt"], 2, "`--plot` takes no `-o`"),
    ],
)
def test_wrong_use(
    argv: list[str],
    code: int,
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A diagnostic, and nothing is written."""
    monkeypatch.chdir(tmp_path)
    assert main(["-e", STRIDE, *argv]) == code
    output = capsys.readouterr()
    assert message in output.err
    assert output.out == ""
    assert list(tmp_path.iterdir()) == []


def test_programs_without_gradients(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["-e", "f = 1", "--certificate"]) == 1
    assert "TAD0401" in capsys.readouterr().err
    assert main(["-e", "x: f64; f = x +", "--certificate"]) == 1
    assert "TAD01" in capsys.readouterr().err


def test_modules(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """IR of the tad dialect has a certificate, IR below it is told apart."""
    for stage in ("tad", "opt", "loops"):
        assert main(["-e", STRIDE, "--emit", stage, "-o", str(tmp_path / f"{stage}.mlir")]) == 0
    for stage in ("tad", "opt"):
        assert main([str(tmp_path / f"{stage}.mlir"), "--certificate"]) == 0
        assert "x[2*i + 4*j] into dx[x_0]" in capsys.readouterr().out
    assert main([str(tmp_path / "loops.mlir"), "--certificate"]) == 1
    assert "error[TAD0606]" in capsys.readouterr().err


def test_observers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["-e", STRIDE, "--certificate", "--time", "--dump-dir", str(tmp_path)]) == 0
    assert "cancel" in capsys.readouterr().err
    assert [path.name for path in sorted(tmp_path.iterdir())][-1] == "04-cancel.mlir"


def test_json_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "f.json"
    assert main(["-e", STRIDE, "--certificate", "-o", str(file)]) == 0
    assert capsys.readouterr().out == ""
    (read,) = json.loads(file.read_text())["reads"]
    assert (read["A"], read["S"], read["K"]) == ([[2, 4]], [[2, 0]], [[-2], [1]])
    assert all(read["checks"].values())


def test_conditions_on_sizes_are_shown() -> None:
    """And that a kernel is compiled for each value of a size that multiplies an index."""
    found = tadc.certificate(tadc.function("x: f64[M]; size N; f[i: N] = x[2*i + 2]"))
    assert found.conditions == ("M >= 2*N + 1 or N <= 0",)
    assert "conditions on sizes:\n  M >= 2*N + 1 or N <= 0\n" in str(found)
    (read,) = found
    check(read)
    found = tadc.certificate(tadc.function("x: f64[L]; size N; f[i: 3, j: N] = x[N*i + j]"))
    assert found.per_value == ("N (here N = 4)",)
    assert "compiled per value of:\n  N (here N = 4)\n" in str(found)
