"""Index forms of attributes, written over the forms that the operands stand for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from tadc.dialect.index_maps import parse_map
from tadc.dialect.mlir import ir
from tadc.lattice.affine import Affine


def over(
    operands: Iterable[ir.Value], letter: str, forms: Sequence[Affine], known: Mapping[ir.Value, Affine]
) -> list[Affine]:
    """Forms in which `letter` and a number is an operand, with what is known of the operands put in."""
    mapping = {f"{letter}{i}": known[v] for i, v in enumerate(operands)}
    return [form.substitute(mapping) for form in forms]


def subscripts(
    op: ir.Operation, operands: Iterable[ir.Value], known: Mapping[ir.Value, Affine]
) -> list[Affine]:
    """The forms of an op's map over its index operands."""
    return over(operands, "d", parse_map(str(op.attributes["at"])).forms, known)
