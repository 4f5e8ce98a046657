"""What a tensor is to those who invert: a value, its tangent or cotangent, what is divided by."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final, Literal, NamedTuple, TypeAlias

from tadc.toolkit.language import Argument, Definition, Program, Terms, tensors_read
from tadc.toolkit.transforms import needed

RoleKind = Literal[
    "value", "tangent", "cotangent", "pivot", "column", "right side", "least", "total", "between", "inner"
]

VALUE: Final = "value"
TANGENT: Final = "tangent"
COTANGENT: Final = "cotangent"
#: What is divided by; columns of a matrix that share no row; what a system is solved for.
PIVOT: Final = "pivot"
COLUMN: Final = "column"
RIGHT_SIDE: Final = "right side"
#: The least magnitude of pivots; the logarithm of the magnitude of a determinant.
LEAST: Final = "least"
TOTAL: Final = "total"
#: A value in between of one component; what is only part of one program.
BETWEEN: Final = "between"
INNER: Final = "inner"


class Role(NamedTuple):
    """A tensor is the `kind` of the value `name`; `of` tells apart components."""

    kind: RoleKind
    name: str = ""
    of: int = -1


#: What each tensor of a program is among all: a role by its own.
Naming: TypeAlias = Callable[[Role], Role]


def value_of(name: str) -> Role:
    """The role of a value itself."""
    return Role(VALUE, name)


@dataclass(frozen=True)
class RoledProgram:
    """A program, and the roles of its tensors by name; others are values."""

    program: Program
    roles: dict[str, Role]

    def role(self, name: str) -> Role:
        """The role of a tensor."""
        return self.roles.get(name) or Role(VALUE, name)

    @cached_property
    def names(self) -> dict[Role, str]:
        """The tensors with a role of their own, by role."""
        return {role: name for name, role in self.roles.items()}

    @property
    def inputs(self) -> tuple[Role, ...]:
        """The arguments, in order."""
        return tuple(self.role(a.name) for a in self.program.arguments)

    @property
    def outputs(self) -> tuple[Role, ...]:
        """The results, in order."""
        return tuple(self.role(d.name) for d in self.program.outputs)

    def only(self, kind: RoleKind) -> RoledProgram:
        """The program of the results of one kind."""
        made = self.program
        kept = returning(made.definitions, [d.name for d in made.outputs if self.role(d.name).kind == kind])
        return replace(self, program=program_of(kept, made.arguments, made.terms))


def program_of(definitions: Sequence[Definition], known: Iterable[Argument], terms: Terms) -> Program:
    """The program of the definitions that results need, and of those of the arguments that these read."""
    kept = needed(definitions)
    read = tensors_read(d.body for d in kept) - {d.name for d in kept}
    return Program(tuple(a for a in known if a.name in read), kept, terms)


def returning(definitions: Iterable[Definition], results: Collection[str]) -> list[Definition]:
    """The definitions, of which these are the results."""
    return [replace(d, is_output=d.name in results) for d in definitions]
