"""Sizes: the one place where a size in the text becomes its value."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from math import prod

from tadc.frontend import syntax
from tadc.frontend.diagnostics import Diagnostic
from tadc.frontend.report import Rejected, Reporter, error
from tadc.frontend.scope import INT64_MAX, Names, Size
from tadc.frontend.source import Span
from tadc.frontend.suggest import did_you_mean
from tadc.frontend.terms import ElementType

_BYTES = {"f32": 4, "f64": 8}


class Sizes:
    """Resolves the sizes of shapes, stated ranges and `size` statements."""

    def __init__(self, names: Names, reporter: Reporter) -> None:
        self.names = names
        self.reporter = reporter

    def declare(self, statement: syntax.SizeDecl) -> Size:
        """Read `size M = 4`. Raises Rejected for a symbol without a value."""
        if statement.value is None:
            raise Rejected(self._without_value(statement.name, statement.span))
        return Size(statement.name, _checked(statement.value, statement.span))

    def resolve(self, expr: syntax.Expr, indices: Collection[str] = ()) -> int:
        """The value of a size; `indices` are names that mean an index here.

        Raises Rejected for what is no integer >= 0 of 64 bits and no size symbol with a value.
        """
        match expr:
            case syntax.Number(value=int(value)):
                return _checked(value, expr.span)
            case syntax.Name(id=name):
                return self._symbol(name, expr.span, indices)
            case syntax.Number():
                raise Rejected(error("TAD0308", "a size is an integer", expr.span, "not an integer"))
            case syntax.Unary(operand=syntax.Number()):
                raise Rejected(error("TAD0308", "a size cannot be negative", expr.span, "less than 0"))
            case _:
                helps = ["give it a name: `size N = 4`"]
                label = "neither an integer nor a size symbol"
                raise Rejected(
                    error("TAD0308", "a size cannot be an expression", expr.span, label, helps=helps)
                )

    def _symbol(self, name: str, span: Span, indices: Collection[str]) -> int:
        if name in indices:
            helps = ["state such a range by bounds: `sum{k}_0^(i - 1) (…)`"]
            raise Rejected(
                error("TAD0308", "a size cannot depend on an index", span, "an index", helps=helps)
            )
        site = self.names.sites.get(name)
        if site and site.kind == "tensor":
            secondary = [(site.span, "a tensor")]
            message = f"`{name}` is a tensor, not a size"
            raise Rejected(error("TAD0211", message, span, secondary=secondary))
        if name in self.names.known:
            found = self.names.known[name]
            if isinstance(found, Size):
                return found.value
            raise Rejected
        if site:
            raise Rejected(self.names.too_early(name, span, owner=""))
        problem = self._without_value(name, span)
        # Reported once; later uses stay silent.
        self.names.known[name] = None
        raise Rejected(problem)

    def _without_value(self, name: str, span: Span) -> Diagnostic:
        known = [n for n, found in self.names.known.items() if isinstance(found, Size)]
        helps = [*did_you_mean(name, known), f"give it one above: `size {name} = 4`"]
        message = "size symbols without a value are not supported yet"
        return error("TAD0209", message, span, f"`{name}` has no value", helps=helps)


def _checked(value: int, span: Span) -> int:
    if value > INT64_MAX:
        raise Rejected(error("TAD0309", "size is beyond 64 bits", span))
    return value


def check_extent(name: str, shape: Sequence[int], element: ElementType, span: Span) -> None:
    """Raise Rejected where a stride or an offset in bytes needs more than 64 bits."""
    # A dimension of size 0 does not make the strides of the others smaller.
    if prod(max(size, 1) for size in shape) * _BYTES[element] > INT64_MAX:
        label = " * ".join(map(str, shape)) + f" elements of {_BYTES[element]} bytes"
        raise Rejected(error("TAD0309", f"offsets in `{name}` are beyond 64 bits", span, label))
