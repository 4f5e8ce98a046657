"""What cannot be imported, and how that is said."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NoReturn

from tadc.dialect.mlir import ir
from tadc.frontend.diagnostics import Diagnostic, Label, UsageError
from tadc.passes.linalg.source_places import SourcePlace, is_of_user, place_of

#: By the name of an operation what a person calls it, and what can be done.
KNOWN = {
    "sort": ("sorting", "sort outside, and give the order as an index array: `x[order[i]]`"),
    "top_k": ("the largest elements", "find them outside, and give their places as an index array"),
    "topk": ("the largest elements", "find them outside, and give their places as an index array"),
    "fft": ("a Fourier transform", "leave it in JAX or PyTorch, around functions of tadc"),
    "rng": ("random numbers", "draw them outside, and give them as an argument"),
    "rng_bit_generator": ("random numbers", "draw them outside, and give them as an argument"),
    "potrf": ("a Cholesky factorisation", "leave it in JAX or PyTorch, around functions of tadc"),
    "cholesky": ("a Cholesky factorisation", "leave it in JAX or PyTorch, around functions of tadc"),
    "triangular_solve": (
        "solving a triangular system",
        "leave it in JAX or PyTorch, around functions of tadc",
    ),
    "callback": ("calls of Python", "leave out what prints, and compute the rest outside"),
    "getrf": ("solving a linear system", "solve it outside, or leave it in JAX or PyTorch"),
    "trsm": ("solving a triangular system", "solve it outside, or leave it in JAX or PyTorch"),
    "shli": ("operations on bits, as random numbers are made by,", "draw them outside, as an argument"),
    "shrui": ("operations on bits, as random numbers are made by,", "draw them outside, as an argument"),
    "random": ("random numbers", "draw them outside, and give them as an argument"),
    "linear_solve": ("solving a linear system", "solve it outside, or leave it in JAX or PyTorch"),
    "threefry": ("random numbers", "draw them outside, and give them as an argument"),
    "complex": ("complex numbers", "write real and imaginary parts as two arrays"),
}


class Refusal(UsageError):
    """What cannot be imported; `place` is where in the user's source it is."""

    def __init__(self, diagnostics: list[Diagnostic], place: SourcePlace | None) -> None:
        super().__init__(diagnostics)
        self.place = place


def refuse(what: str, place: SourcePlace | None, *helps: str, note: str = "") -> NoReturn:
    """Raise Refusal (TAD0513) about something at a place of the user's source."""
    found = Diagnostic("TAD0513", what, helps=list(helps), notes=[note] if note else [])
    source = place.source() if place is not None else None
    if place is not None and source is not None:
        found.source, found.primary = source, Label(place.span(source))
    elif place is not None:
        found.notes.append(place.note())
    raise Refusal([found], place)


def refuse_known(operations: Iterable[ir.Operation], otherwise: SourcePlace | None) -> None:
    """Raise Refusal (TAD0513) for the first operation that is known not to be in the language.

    What leads to it, as complex numbers to a Fourier transform, would else be named first.
    """
    seen = list(operations)
    for op in seen:
        target = op.attributes["call_target_name"].value if "call_target_name" in op.attributes else ""
        short = (target or op.name).rpartition(".")[2]
        if any(key in short for key in KNOWN):
            refuse_operation(op.name, place_of(op.location) or otherwise, target)
    for op in seen:
        if op.name != "arith.constant" and any("complex<" in str(result.type) for result in op.results):
            what, help = KNOWN["complex"]
            refuse(f"{what} cannot be imported", place_of(op.location) or otherwise, help)


def refuse_operation(name: str, place: SourcePlace | None, target: str = "") -> NoReturn:
    """Raise Refusal (TAD0513) for an operation that has no translation."""
    full = target or name
    short = full.rpartition(".")[2]
    known = next((said for key, said in KNOWN.items() if key in short), None)
    if known is None:
        refuse(
            f"`{full}` cannot be imported",
            place,
            "compute it outside and give what it results in as an argument, or write it by sums and reads",
        )
    what, help = known
    refuse(f"{what} cannot be imported: `{full}`", place, help)


def first_line(error: Exception) -> str:
    """The first line that an error says."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[0][:200] if lines else type(error).__name__


def user_place(error: Exception) -> SourcePlace | None:
    """The last line of the user's files in the trace of an error."""
    found: SourcePlace | None = None
    trace = error.__traceback__
    while trace is not None:
        file = trace.tb_frame.f_code.co_filename
        if is_of_user(file):
            found = SourcePlace(file, trace.tb_lineno)
        trace = trace.tb_next
    return found
