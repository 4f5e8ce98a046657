"""What a tensor is to those who invert: a value, its tangent or cotangent, what is divided by."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, NamedTuple

from tadc.toolkit.language import Program

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
    """A tensor is the `kind` of the value `name`; `of` tells apart components, or columns."""

    kind: RoleKind
    name: str = ""
    of: int = -1


def value_of(name: str) -> Role:
    """The role of a value itself."""
    return Role(VALUE, name)


@dataclass(frozen=True)
class RoledProgram:
    """A program, and the roles of its arguments and results by name; others are values."""

    program: Program
    roles: dict[str, Role]

    def role(self, name: str) -> Role:
        """The role of a tensor."""
        return self.roles.get(name) or Role(VALUE, name)
