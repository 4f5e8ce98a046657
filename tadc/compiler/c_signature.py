"""The C function that a compiled program is, in words: its declaration, and what a caller owes it.

Stands at the head of `--emit llvm` and `--emit asm`, where types say no more than `ptr`, and where memory for
tensors in between is an argument that no program names.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from itertools import count
from math import prod
from typing import TYPE_CHECKING, Any

from tadc.frontend.dtypes import DTYPES
from tadc.frontend.extents import Extent, Shape, extent, extent_text, required_text, shape_text
from tadc.lattice.affine import Affine
from tadc.lattice.late_dataclasses import dataclass

if TYPE_CHECKING:
    from tadc.frontend.terms import Domain
    from tadc.passes.maps.map import MapFunction, TensorDecl

_WIDTH = 100
_TIED = "\N{NO-BREAK SPACE}"


@dataclass(frozen=True)
class Pointer:
    """A tensor that is passed as the address of its first element, row-major without gaps."""

    name: str
    type: str
    shape: Shape

    def declared(self, *, is_read: bool) -> str:
        """The parameter."""
        return f"{'const ' if is_read else ''}{DTYPES[self.type].c} *{self.name}"

    def said(self) -> str:
        """The tensor as a program declares it."""
        return f"{self.name}: {self.type}" + (f"[{shape_text(self.shape)}]" if self.shape else "")

    @property
    def bytes(self) -> str:
        """How many there are, in the sizes."""
        size = DTYPES[self.type].bytes
        if all(isinstance(n, int) for n in self.shape):
            return str(size * prod(n for n in self.shape if isinstance(n, int)))
        return "*".join([str(size), *(_factor(n) for n in self.shape if n != 1)])


def _factor(size: Extent) -> str:
    text = extent_text(size)
    return text if text.isidentifier() or text.isdigit() else f"({text})"


def prototype(begin: str, parameters: Sequence[str]) -> list[str]:
    """A prototype in lines, which break between parameters and never within one."""
    tied = ", ".join(parameter.replace(" ", _TIED) for parameter in parameters or ["void"])
    whole, indent = f"{begin.replace(' ', _TIED)}({tied});", " " * (len(begin) + 1)
    lines = textwrap.wrap(whole, _WIDTH, subsequent_indent=indent, break_long_words=False)
    return [line.replace(_TIED, " ") for line in lines]


@dataclass(frozen=True)
class CSignature:
    """The parameters of a compiled function, in order: tensors that it reads, results, scratch, sizes.

    `excluded` are sets of sizes that it must not be called with.
    """

    symbol: str
    read: tuple[Pointer, ...]
    written: tuple[Pointer, ...]
    scratch: tuple[Pointer, ...]
    sizes: tuple[str, ...]
    excluded: tuple[Domain, ...]

    def declaration(self) -> list[str]:
        """As a header of C has it, in lines."""
        parameters = [
            *(p.declared(is_read=True) for p in self.read),
            *(p.declared(is_read=False) for p in (*self.written, *self.scratch)),
            *(f"int64_t {name}" for name in self.sizes),
        ]
        return prototype(f"void {self.symbol}", parameters)

    def text(self, comment: str) -> str:
        """The declaration and what must hold in a call, each line a comment that starts so."""
        lines = self.declaration()
        lines += [f"  {p.said()}" for p in self.read]
        lines += [f"  {p.said()}, written" for p in self.written]
        lines += [f"  {p.said()}, scratch of {p.bytes} bytes, of any content" for p in self.scratch]
        if self.sizes:
            holds = [f"{', '.join(self.sizes)} >= 0", *map(required_text, self.excluded)]
            lines.append(f"Sizes: {'; '.join(holds)}.")
        lines.append("Tensors are row-major without gaps. What is written, scratch too, overlaps nothing.")
        return "".join(f"{comment} {line}\n" for line in lines)


def signature_of(function: Any, maps: MapFunction) -> CSignature:
    """The signature of a function of the `tad` dialect, whose maps these are."""
    from tadc.dialect.declarations import Declarations, indices_of
    from tadc.dialect.program_reader import names_of
    from tadc.passes.maps.memory_of_tensors import memory_of

    given, returned = names_of(function)
    memory, indices = memory_of(maps), indices_of(function)
    named = list(zip(function.regions[0].blocks[0].arguments, given, strict=True))
    tensors = [name for value, name in named if value not in indices]
    sizes = tuple(name for value, name in named if value in indices)
    symbols = {own: Affine.var(name) for own, name in zip(maps.sizes, sizes, strict=True)}

    def pointer(tensor: TensorDecl, name: str) -> Pointer:
        return Pointer(name, tensor.type, tuple(extent(form.substitute(symbols)) for form in tensor.shape))

    taken = {*given, *returned}
    numbered = (f"scratch_{n}" if n else "scratch" for n in count())
    scratch = zip(memory.temporaries, (name for name in numbered if name not in taken), strict=False)
    return CSignature(
        maps.name,
        tuple(map(pointer, memory.arguments, tensors)),
        tuple(map(pointer, memory.results, returned)),
        tuple(pointer(tensor, name) for tensor, name in scratch),
        sizes,
        Declarations(function, sizes).excluded(),
    )
