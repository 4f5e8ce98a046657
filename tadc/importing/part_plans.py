"""How a function is divided into programs and what stays where it is: until each program can be made."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, Protocol, TypeVar

from tadc.api.function import Function
from tadc.frontend.diagnostics import CompileError
from tadc.importing.computation_parts import Computation, Part, Sorting, parts_of, say_what_it_reads
from tadc.importing.imported_function import ImportedFunction
from tadc.lattice.late_dataclasses import dataclass
from tadc.passes.linalg.linalg_programs import legal_names
from tadc.passes.linalg.source_places import SourcePlace

#: A program of fewer operations is left, but for one that has others inside: it gains nothing.
_LEAST = 2

E = TypeVar("E", bound=Computation)


@dataclass(frozen=True)
class LeftOperation:
    """An operation that stays where it is: its name there, why, and its line in the user's source."""

    name: str
    reason: str
    place: SourcePlace | None

    def __str__(self) -> str:
        return f"{self.name} ({self.where}): {self.reason}"

    @property
    def where(self) -> str:
        """The file and the line."""
        return f"{self.place.file}:{self.place.number}" if self.place is not None else "no line is known"


def names_of(
    values: Sequence[Any],
    makers: Mapping[Any, Computation],
    given: Callable[[Any], str | None],
    otherwise: str,
) -> list[str]:
    """What programs call values: as given, or else as what the user's source assigns them to."""
    found: list[str] = []
    for value in values:
        place = makers[value].place if value in makers else None
        assigned = place.variable() if place is not None else None
        found.append(given(value) or (assigned[0] if assigned else otherwise))
    return legal_names(found)


class Host(Protocol):
    """What runs a function of which programs compute parts; values are what its operations read."""

    def compute(self, operations: Sequence[Any], known: dict[Any, Any]) -> None:
        """Run operations that stay; what they compute is known then."""
        ...

    def value(self, value: Any, known: dict[Any, Any]) -> Any:
        """The array of a value, which is known or a constant."""
        ...

    def is_condition(self, value: Any) -> bool:
        """Whether a value has truth values, which are numbers to programs."""
        ...

    def numbers(self, conditions: Any) -> Any:
        """Truth values as integers."""
        ...

    def of_program(self, f: Function) -> Callable[..., Any]:
        """A program as a function of the host's arrays."""
        ...


class PartProgram(Generic[E]):
    """The program of a part, whose inputs have names in it, and how it is called among the others.

    Inputs are handed over with their dimensions in `orders`, if they have one there.
    """

    def __init__(
        self,
        part: Part[E],
        names: Sequence[str],
        function: ImportedFunction,
        orders: Mapping[Any, Sequence[int]] | None = None,
    ) -> None:
        self.part, self.names, self.function, self.orders = part, names, function, orders or {}

    def run(self, host: Host, known: dict[Any, Any]) -> None:
        """Call it; what it computes is known then."""
        given = dict(self.function.constants)
        for value, name in zip(self.part.inputs, self.names, strict=True):
            if name in self.function.inputs:
                array = host.value(value, known)
                array = array.permute(self.orders[value]) if value in self.orders else array
                given[name] = host.numbers(array) if host.is_condition(value) else array
        found = host.of_program(self.function)(**given)
        outputs = self.function.outputs
        by_name = dict(zip(outputs, found if len(outputs) > 1 else (found,), strict=True))
        for value, name in zip(self.part.outputs, self.function.results, strict=True):
            known[value] = by_name[name] != 0 if host.is_condition(value) else by_name[name]


class PartPlan(Generic[E]):
    """The parts of a function in the order in which they run, and the programs of those that have one.

    `sort` tells what stays, beside what is refused; `said` of an operation is the same for those that are
    alike; `program` makes the program of a part, of at most so many inputs, or raises CompileError.
    """

    def __init__(
        self,
        equations: Sequence[E],
        results: Sequence[Any],
        sort: Callable[[dict[E, str]], Sorting[E]],
        said: Callable[[E], Any],
        program: Callable[[Part[E]], PartProgram[E]],
        most_inputs: int | None = None,
    ) -> None:
        self.equations, self.program = equations, program
        self._made: dict[Any, PartProgram[E]] = {}
        self.programs: dict[Part[E], PartProgram[E]] = {}
        #: What looked like a part of a program, and why it is none.
        self.refused: dict[E, str] = {}
        while True:
            self.sorting = sort(self.refused)
            self.parts = parts_of(equations, results, self.sorting, most_inputs)
            found = self._first_refused()
            if found is None:
                return
            equation, reason = found
            alike = said(equation)
            self.refused.update({e: reason for e in equations if said(e) == alike})

    @property
    def functions(self) -> list[ImportedFunction]:
        """The programs in the order in which they run."""
        return [self.programs[part].function for part in self.parts if part in self.programs]

    def run(self, host: Host, known: dict[Any, Any]) -> None:
        """Run all parts; `known` has the arrays of arguments, and gets what is computed."""
        for part in self.parts:
            if part in self.programs:
                self.programs[part].run(host, known)
            else:
                host.compute(part.equations, known)

    def _first_refused(self) -> tuple[E, str] | None:
        """Make the programs; an operation that is the reason why one cannot be made."""
        self.programs.clear()
        for part in self.parts:
            if not part.is_program:
                continue
            key = tuple(part.equations), tuple(part.outputs)
            try:
                made = self._made[key] = self._made.get(key) or self.program(part)
            except CompileError as error:
                message = error.diagnostics[0].message
                return self._reason(part.own), message.partition(" cannot be imported")[0]
            if len(part.own) >= _LEAST or part.own[0].is_compound:
                self.programs[part] = made
        return None

    def _reason(self, own: Sequence[E]) -> E:
        """The last of the fewest first operations that are no program."""
        fits, fails = 0, len(own)
        while fails - fits > 1:
            middle = (fits + fails) // 2
            part = Part(True, list(own[:middle]))
            say_what_it_reads(part, self.equations, self.sorting)
            read = {v for e in part.equations for v in e.inputs}
            part.outputs = [v for e in part.own for v in e.outputs if v not in read]
            try:
                self.program(part)
                fits = middle
            except CompileError:
                fails = middle
        return own[fails - 1]
