"""Certificates: for each read of a program, why its gradient gathers each contribution once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from tadc.caller.showing import formula_html
from tadc.certificates.certificate_text import PRINTED, all_text, as_json, read_text
from tadc.certificates.records import ReadRecord, Records, Unsolved
from tadc.compiler.all_stages import LoweringStage, compile_until
from tadc.compiler.compile_options import Options
from tadc.compiler.derive import resolve_wrt
from tadc.compiler.stages import Compilation, fuse
from tadc.frontend.extents import required_text
from tadc.frontend.naming import first_free
from tadc.frontend.printer import print_program
from tadc.frontend.program import Program
from tadc.frontend.source import Place, Source, Span
from tadc.frontend.terms import Read, outside_reductions, reachable
from tadc.lattice.affine import Affine, Constraint
from tadc.lattice.certificate import Certificate, renamed, untouched
from tadc.lattice.late_dataclasses import dataclass
from tadc.lattice.trace import loops_of
from tadc.lattice.verify import verify

if TYPE_CHECKING:
    from tadc.passes.derivatives.gathers import Gather


class ReadCertificate(ReadRecord):
    """A read, and why its element's gradient gathers exactly the points that read it.

    `element` names the indices of the gradient's element, b; `indices` those of the scope, a. `access` is
    the element that a point reads, `scope` the iteration domain. The read contributes 0 where a row of
    `counted` does not hold, which the compiler adds to the domain, and where all conditions of a domain in
    `outside` hold, which the sum's body tests. `facts` are known of b and of sizes. `proof` is None where
    no point reads an element; `checks` say what has been proven of it.
    """

    def __str__(self) -> str:
        return read_text(self)


@dataclass(frozen=True, repr=False)
class Certificates(Records, Sequence[ReadCertificate]):
    """The certificates of all reads of the arguments in `wrt`, and of intermediates on the way to them.

    `others` are the reads for which nothing had to be solved. `conditions` are what the sizes must satisfy
    and `per_value` the sizes for whose every value a kernel is compiled; `windows` say of which tensors few
    steps are kept. `str` is for people.
    """

    reads: tuple[ReadCertificate, ...]

    def __getitem__(self, position: int) -> ReadCertificate:  # type: ignore[override]
        return self.reads[position]

    def __len__(self) -> int:
        return len(self.reads)

    def __str__(self) -> str:
        return all_text(self)

    def as_json(self) -> str:
        """The certificates as JSON, for machines."""
        return as_json(self)

    def __repr__(self) -> str:
        return f"<tadc.Certificates of {len(self.reads)} reads by {', '.join(self.wrt)}>"

    def latex(self) -> str:
        """What was solved for each read, and the sum that gathers its gradient."""
        from tadc.certificates.certificate_latex import certificates_latex

        return certificates_latex(self)

    def _repr_latex_(self) -> str:
        return f"$\\displaystyle {self.latex()}$"

    def _repr_html_(self) -> str:
        return formula_html(self.latex(), str(self), "certificate")


def certify(
    program: Program,
    wrt: str | Sequence[str] | None = None,
    after: Callable[[LoweringStage, Compilation, float], None] | None = None,
    per_value: Sequence[str] = (),
    windows: bool = True,
) -> Certificates:
    """The certificates of a program's gradients: of what the compiler solves on its way to them.

    `per_value` names sizes for whose every value the program is compiled; this is it for some. A
    program that was not read from text is printed, and its reads stand where they are printed.
    `after` sees the stages. Without `windows` no loops are made, which takes MLIR.
    Raises CompileError as `derive` does.
    """
    names, values = resolve_wrt(program, wrt), dict(program.given)
    program, source = _with_text(program)
    state = Compilation(Options("vjp", names, separate=True, materialize="never"), source, program=program)
    compile_until(state, "cancel", first="tad", after=after)
    places = _reads(program, source)
    made: list[tuple[tuple[int, int], ReadCertificate]] = []
    for gather in state.gathers:
        place = _position(gather.place, source)
        read = places.get(place)
        if read is not None and _gathers(gather, read):
            made.append((place, _certificate(gather, read, place, source)))
    made.sort(key=lambda item: item[0])
    seen = {place for place, _ in made}
    single = _read_at_one_point(program)
    others = tuple(
        Unsolved(*place, _text(read, source), _ONE_POINT if read.number in single else _NO_COTANGENT)
        for place, read in sorted(places.items(), key=lambda item: item[0])
        if read.tensor in names and place not in seen
    )
    conditions = tuple(required_text(rows) for rows in program.excluded)
    shown = tuple(f"{name} (here {name} = {values[name]})" for name in per_value)
    gathered = tuple(found for _, found in made)
    kept = _windows(program, names) if windows else ()
    return Certificates(source, names, gathered, others, conditions, shown, kept)


def _windows(program: Program, wrt: tuple[str, ...]) -> tuple[str, ...]:
    """Which tensors of value and gradients are kept for few steps of a recurrence, and why that is enough."""
    if all(definition.order is None for definition in program.definitions):
        return ()
    state = Compilation(Options("value-and-vjp", wrt), program.source, program=program)
    compile_until(state, "hoist", first="tad")
    fuse(state)
    return tuple(state.windows)


_ONE_POINT = "one element, read at one point"
_NO_COTANGENT = "no cotangent comes here, it adds nothing"


def _read_at_one_point(program: Program) -> set[int]:
    """The reads of scalars where no index is bound, by number."""
    nodes = reachable((d.body for d in program.definitions if not d.indices), outside_reductions)
    return {term.number for term in nodes if isinstance(term, Read) and not term.indices}


def _with_text(program: Program) -> tuple[Program, Source]:
    """The program with every place in its text."""
    reads = (term for term in reachable(d.body for d in program.definitions) if isinstance(term, Read))
    if program.source is not None and all(isinstance(read.span, Span) for read in reads):
        return program, program.source
    source = Source(print_program(program), PRINTED)
    state = Compilation(Options(), source)
    compile_until(state, "typed")
    assert state.program is not None
    return state.program, source


def _reads(program: Program, source: Source) -> dict[tuple[int, int], Read]:
    """Every read by line and column."""
    return {
        _position(term.span, source): term
        for term in reachable(d.body for d in program.definitions)
        if isinstance(term, Read) and term.span is not None
    }


def _position(place: Span | Place, source: Source) -> tuple[int, int]:
    return (place.line, place.column) if isinstance(place, Place) else source.position(place.start)


def _text(read: Read, source: Source) -> str:
    assert isinstance(read.span, Span)
    return " ".join(source.text[read.span.start : read.span.end].split())


def _gathers(gather: Gather, read: Read) -> bool:
    """Whether a summand has the access map of a read: an equality for each index of the element."""
    maps = [_map_row(gather.solved.rows, b) for b in gather.indices]
    return len(read.indices) == len(maps) and None not in maps


def _certificate(gather: Gather, read: Read, place: tuple[int, int], source: Source) -> ReadCertificate:
    solved = gather.solved
    proof = None
    if not solved.is_empty:
        solution = solved.solution or untouched(solved.unknowns, solved.rows)
        proof = Certificate(solved.unknowns, solved.rows, gather.facts, solution)
    names = _names(gather, read, proof)
    proof = None if proof is None else renamed(proof, names)
    rows = renamed(solved.rows, names)
    own = len(rows) - solved.joined
    element = tuple(names[i] for i in gather.indices)
    maps = [row for b in element if (row := _map_row(rows, b))]
    access = tuple(
        (row.form - Affine.var(b) * k) * -k
        for row, b in zip(maps, element, strict=True)
        for k in (row.form.coefficient(b),)
    )
    return ReadCertificate(
        tensor=read.tensor,
        gradient=gather.definition,
        text=_text(read, source),
        line=place[0],
        column=place[1],
        element=element,
        indices=tuple(names[name] for name in solved.unknowns),
        access=access,
        scope=tuple(row for row in rows[:own] if row not in maps),
        counted=rows[own:],
        outside=renamed(solved.outside, names),
        facts=renamed(gather.facts, names),
        proof=proof,
        checks=verify(proof) if proof else (),
    )


def _map_row(rows: Sequence[Constraint], index: str) -> Constraint | None:
    """The row of the access map: no other row of the scope knows the element's indices."""
    return next((row for row in rows if row.equality and row.form.coefficient(index)), None)


def _names(gather: Gather, read: Read, proof: Certificate | None) -> dict[str, str]:
    """Names that a person reads for all variables: the user's, `x_0` for an element's index, `z0`, `q0`."""
    unknowns = gather.solved.unknowns
    variables = {name for row in (*gather.solved.rows, *gather.facts) for name in row.form.variables}
    names = {name: name for name in sorted(variables - {*unknowns, *gather.indices})}
    for name, hint in zip(unknowns, gather.hints or ("",) * len(unknowns), strict=True):
        names[name] = first_free(hint or "a", set(names.values()))
    for dimension, index in enumerate(gather.indices):
        names[index] = first_free(f"{read.tensor}_{dimension}", set(names.values()))
    if proof is None:
        return names
    trace, kernel = proof.trace, proof.solution.kernel
    for number, name in enumerate(reversed(kernel)):
        names.setdefault(name, first_free(f"z{number}", set(names.values())))
    for number, name in enumerate(trace.atoms.values()):
        names.setdefault(name, first_free(f"q{number}", set(names.values())))
    others = [loop for step in trace.steps for loop in loops_of(step)]
    for number, name in enumerate(others, len(kernel)):
        names.setdefault(name, first_free(f"z{number}", set(names.values())))
    return names


__all__ = ["Certificates", "ReadCertificate", "certify"]
