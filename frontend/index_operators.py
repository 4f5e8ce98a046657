"""What the operators in the text of an index form make, whatever the text calls them."""

from __future__ import annotations

from tadc.lattice.affine import Affine


def combined(operator: str, left: Affine, right: Affine) -> Affine | None:
    """The form of an operation on two forms; None where it is no form, for a product of two that are no
    numbers, and where what divides is no positive number."""
    match operator:
        case "+":
            return left + right
        case "-":
            return left - right
        case "*" if right.is_constant:
            return left * right.constant
        case "*" if left.is_constant:
            return right * left.constant
        case "//" | "floordiv" if divides(right):
            return left.floordiv(right.constant)
        case "%" | "mod" if divides(right):
            return left.mod(right.constant)
        case "ceildiv" if divides(right):
            return -(-left).floordiv(right.constant)
        case _:
            return None


def divides(form: Affine) -> bool:
    """Whether a form is a positive number."""
    return form.is_constant and form.constant > 0
