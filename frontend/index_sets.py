"""The errors for index sets that take too much work, one alone or all of a program."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager

from tadc.frontend.diagnostics import CompileError, Diagnostic, Label
from tadc.frontend.print_index import condition_text
from tadc.frontend.program import Program, called
from tadc.frontend.source import Place, Source, Span
from tadc.frontend.terms import Reduce, Term, is_bound, reachable
from tadc.lattice.affine import Affine, Constraint
from tadc.lattice.effort import EliminationLimit, WorkLimit, counted, is_counted, whole

#: The most rows of a set that are shown.
SHOWN = 12


class IndexSetLimit(Exception):
    """The bounds of an index set take too many rows or too much work; `where` is what runs over the set."""

    def __init__(
        self, binders: Sequence[str], rows: Sequence[Constraint], where: Span | Place | None
    ) -> None:
        self.text = set_text(binders, rows)
        self.where = where
        super().__init__(f"the bounds of {self.text} grow beyond what can be worked out")

    def diagnostic(self, source: Source | None) -> Diagnostic:
        """What a person reads."""
        made = Diagnostic("TAD0315", "an index set with more bounds than can be worked out", source=source)
        made.notes.append(f"the set is {self.text}")
        made.helps.append(
            "bound its indices by fewer or simpler forms, or split the sum with an intermediate (`let`)"
        )
        where = self.where
        if isinstance(where, Place):
            where = source.span_at(where) if source is not None and source.name == where.file else None
        if where is not None and source is not None:
            made.primary = Label(where, "indices here run over it")
        return made


def _too_much_work(source: Source | None, program: Program | None) -> Diagnostic:
    """The error for a program that takes too much work; it says what is largest of what was made of it."""
    made = Diagnostic("TAD0318", "a program that takes too much work to compile", source=source)
    if program is not None and program.definitions:
        sizes = [sum(1 for _ in reachable([d.body])) for d in program.definitions]
        largest = program.definitions[sizes.index(max(sizes))]
        made.notes.append(
            f"so far {sum(sizes):,} operations in {len(sizes):,} definitions are made of it; most, "
            f"{max(sizes):,}, are in {called(largest)}"
        )
        if isinstance(largest.span, Span) and source is not None:
            made.primary = Label(largest.span, "most of it comes of this")
    made.notes.append("work is counted, so it does not depend on the machine or the time")
    made.helps.append(
        "differentiate by fewer arguments or once less, split long definitions with an intermediate (`let`), "
        "or use fewer conditions in one another"
    )
    return made


@contextmanager
def limits_told(source: Source | None) -> Generator[None]:
    """One pass over a program, whose limits are told as errors about it. Raises CompileError."""
    with work_told(source), whole():
        yield


@contextmanager
def work_told(
    source: Source | None, made_so_far: Callable[[], Program | None] = lambda: None
) -> Generator[None]:
    """All work on a program, whose limits are told as errors about it. Raises CompileError.

    Of blocks in one another the outermost counts, and tells.
    """
    if is_counted():
        yield
        return
    try:
        with counted():
            yield
    except IndexSetLimit as limit:
        raise CompileError([limit.diagnostic(source)]) from None
    except (EliminationLimit, WorkLimit):
        raise CompileError([_too_much_work(source, made_so_far())]) from None


def set_text(binders: Sequence[str], rows: Sequence[Constraint]) -> str:
    """An index set as mathematics writes it, cut after some rows."""
    shown = [condition_text(row) for row in rows[:SHOWN]]
    if len(rows) > SHOWN:
        shown.append(f"… {len(rows) - SHOWN} more")
    return f"{{{', '.join(binders)} : {' and '.join(shown)}}}" if shown else f"{{{', '.join(binders)}}}"


def place_in(term: Term) -> Span | Place | None:
    """The first place in the source that a term or something below it has."""
    return next((node.span for node in reachable([term]) if node.span is not None), None)


def limit(term: Reduce, binders: Sequence[str], rows: Sequence[Constraint]) -> IndexSetLimit:
    """The error for a reduction whose rows cannot be solved, by names that a person can read."""
    own = [hint or f"z{n}" for n, hint in enumerate(term.hints)]
    outer = sorted({n for row in rows for n in row.form.variables if is_bound(n)} - set(binders))
    mapping = {n: Affine.var(s) for n, s in zip(binders, own, strict=True)}
    mapping |= {n: Affine.var(f"s{k}") for k, n in enumerate(outer)}
    return IndexSetLimit(own, [row.substitute(mapping) for row in rows], place_in(term))
