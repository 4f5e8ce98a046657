"""The header of a unit of native code: declarations, and what a caller owes them."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from typing import Protocol

from tadc.backend.runtime.interface import Interface
from tadc.backend.runtime.thread_count import MOST
from tadc.compiler.c_signature import Pointer, prototype
from tadc.frontend.extents import required_text
from tadc.native.c_names import parameter_names
from tadc.native.statuses import STATUSES

ABI = 1
"""The version of all that a header promises: it changes where code that follows an old header would be
wrong."""

_WIDTH = 100

_RULES = """
Tensors are row-major without gaps; a scalar is a tensor of one element. Pointers are to their first
element and aligned as C aligns its type. What is written overlaps nothing else: neither inputs, outputs
nor scratch. Parameters are inputs, outputs, scratch, sizes, each in the order of the program. `scratch`
is memory of any content and any alignment, of as many bytes as `…_scratch` returns for these sizes: NULL
where that is 0. It returns -1 for sizes that the function refuses. Functions keep nothing that a caller
sees, and several threads may call them at once, each with scratch of its own. They allocate nothing,
print nothing and set no errno; they round as the caller's floating-point environment says.
"""

_THREADS = {
    "none": "They run on the thread that calls them.",
    "host": "They share work by `tadc_parallel` where the program defines it, and run on the thread that "
    "calls them where it does not.",
    "pool": "They share work among threads of their own once `PREFIX_threads` has been called: one call at a "
    "time has the help of these, others run on the thread that calls them.",
}

_PARALLEL = """
/* To be defined by the program, or not: calls body(args, begin, end) on ranges that make up [0, elements),
   each once and any of them at the same time, and returns when all are done. All begin at a multiple of
   `multiple`; `operations` are those of all elements, about. body(args, 0, elements) is right too. */
void tadc_parallel(void (*body)(void *args, int64_t begin, int64_t end), void *args,
                   int64_t elements, int64_t multiple, int64_t operations);
"""

_POOL = """
/* Further calls use so many threads, from 1 to MOST, the caller one of them; 1 at first. */
void PREFIX_threads(int64_t threads);
"""


class DeclaredFunction(Protocol):
    """A function of a header: its name in C, what it is of the program, and what calls need to know."""

    @property
    def name(self) -> str:
        """Its name in C."""
        ...

    @property
    def about(self) -> str:
        """What it is of the program."""
        ...

    @property
    def interface(self) -> Interface:
        """What calls need to know."""
        ...


class DeclaredUnit(Protocol):
    """What a header is of."""

    @property
    def prefix(self) -> str:
        """What names begin with."""
        ...

    @property
    def threads(self) -> str:
        """Who shares work: one of `THREADS` of `unit.py`."""
        ...

    @property
    def parts(self) -> Sequence[DeclaredFunction]:
        """Its functions."""
        ...


def header_text(unit: DeclaredUnit, version: str) -> str:
    """The header, for C99 and C++98 on."""
    guard = f"TADC_{unit.prefix}_H"  # names of C differ by case
    rules = f"{_RULES.strip()} {_THREADS[unit.threads].replace('PREFIX', unit.prefix)}"
    lines = [
        f"/* Written by tadc {version}.",
        "",
        *(f"   {line}" for line in textwrap.wrap(rules, _WIDTH)),
        "*/",
        f"#ifndef {guard}",
        f"#define {guard}",
        "",
        "#include <stdint.h>",
        "",
        "#ifndef TADC_ABI",
        f"#define TADC_ABI {ABI} /* what the comment above promises */",
        *(f"#define {status.name} {status.number} /* {status} */" for status in STATUSES),
        "#endif",
        f"#if TADC_ABI != {ABI}",
        '#error "headers of different versions of the ABI"',
        "#endif",
        "",
        "#ifdef __cplusplus",
        'extern "C" {',
        "#endif",
    ]
    for part in unit.parts:
        lines += ["", *_declarations(part)]
    more = {"host": _PARALLEL, "pool": _POOL.replace("PREFIX", unit.prefix).replace("MOST", str(MOST))}.get(
        unit.threads, ""
    )
    lines += more.rstrip("\n").split("\n") if more else []
    return "\n".join([*lines, "", "#ifdef __cplusplus", "}", "#endif", "#endif", ""])


def _declarations(part: DeclaredFunction) -> Iterator[str]:
    """What a function is of, its comment, both prototypes."""
    interface = part.interface
    tensors, asked = [*interface.arguments, *interface.outputs], interface.asked_sizes
    names = parameter_names([*(p.name for p in tensors), *asked])
    yield f"/* {part.about[0].upper()}{part.about[1:]}."
    for parameter in tensors:
        written = ", written" if parameter in interface.outputs else ""
        renamed = names[parameter.name]
        other = f" (`{renamed}` below)" if renamed != parameter.name else ""
        yield f"     {parameter}{written}{other}"
    yield from _holds(interface)
    sizes = [f"int64_t {names[name]}" for name in asked]
    read, written = (
        [Pointer(names[p.name], p.type, p.shape).declared(is_read=is_read) for p in parameters]
        for parameters, is_read in ((interface.arguments, True), (interface.outputs, False))
    )
    yield from prototype(f"int {part.name}", [*read, *written, "void *scratch", *sizes])
    yield from prototype(f"int64_t {part.name}_scratch", sizes)


def _holds(interface: Interface) -> Iterator[str]:
    """What of sizes, the end of a comment."""
    sizes = interface.asked_sizes
    holds = [f"{', '.join(sizes)} >= 0"] if sizes else []
    holds += [required_text(rows) for rows in interface.excluded]
    given = [f"{name} = {value}" for name, value in interface.given]
    if given:
        yield f"   Compiled for {', '.join(given)}."
    yield f"   Sizes: {'; '.join(holds)}. */" if holds else "   No sizes are left open. */"
