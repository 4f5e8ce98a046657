"""Which terms depend on the same elements of what is differentiated by.

Of `m[i] * sqrt(x[i])` the factor m does not change along x, of `x[i] * sqrt(x[i])` x does, and of
`x[i + 1] * sqrt(x[i])` another element of x does. What only steps (a comparison, `floor`) does not count.
"""

from __future__ import annotations

from collections.abc import Iterable

from tadc.frontend.functions import having
from tadc.frontend.program import Program
from tadc.frontend.terms import Apply, Read, Select, Term, bottom_up
from tadc.lattice.late_dataclasses import dataclass, field

_FLAT = having("flat")
_Reads = frozenset[Read]
_NONE: _Reads = frozenset()


@dataclass
class Sharing:
    """Of the arguments `wrt`; `sources` are those that the elements of a tensor depend on."""

    wrt: frozenset[str]
    sources: dict[str, frozenset[str]] = field(default_factory=dict[str, frozenset[str]])
    known: dict[int, _Reads] = field(default_factory=dict[int, _Reads])

    @staticmethod
    def of(program: Program, wrt: Iterable[str]) -> Sharing:
        """Of a program."""
        found = Sharing(frozenset(wrt))
        found.sources = {name: frozenset({name}) for name in wrt}
        for definition in program.definitions:
            found.define(definition.name, definition.body)
        return found

    def define(self, name: str, body: Term) -> frozenset[str]:
        """Look at the body of a tensor; where it reads itself, nothing new comes of that."""
        reads = (read.tensor for read in self.reads(body))
        self.sources[name] = frozenset[str]().union(*(self.sources.get(tensor, ()) for tensor in reads))
        return self.sources[name]

    def reads(self, term: Term) -> _Reads:
        """The reads that a term depends on otherwise than in steps."""
        return bottom_up(term, self.known, self._reads)

    def _reads(self, node: Term, below: list[_Reads]) -> _Reads:
        match node:
            case Read():
                return frozenset({node})
            case Select():
                return below[2] | below[3]
            case Apply(function=function) if function in _FLAT:
                return _NONE
            case _:
                return below[0].union(*below[1:]) if below else _NONE

    def __call__(self, x: Term, y: Term) -> bool:
        """Whether both may depend on one element."""
        others = [(read, self.sources.get(read.tensor, frozenset())) for read in self.reads(y)]
        return any(
            not sources.isdisjoint(self.sources.get(read.tensor, ())) and not self.are_apart(read, other)
            for other, sources in others
            if sources
            for read in self.reads(x)
        )

    def are_apart(self, x: Read, y: Read) -> bool:
        """Whether both are of one argument, and never the same element."""
        if x.tensor != y.tensor or x.tensor not in self.wrt:
            return False
        for one, other in zip(x.indices, y.indices, strict=True):
            apart = one - other  # `$0` is another index in each sum
            if (
                apart.is_constant
                and apart.constant
                and not any(name.startswith("$") for name in one.variables)
            ):
                return True
        return False
