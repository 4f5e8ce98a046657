"""Sizes: the one place where a size in the text becomes an extent."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from math import prod

from tadc.frontend import syntax
from tadc.frontend.context import Context
from tadc.frontend.diagnostics import SAFE, Diagnostic, Edit
from tadc.frontend.dtypes import bytes_of_type
from tadc.frontend.elsewhere import whole_number
from tadc.frontend.extents import SIZE_LIMIT, Extent, extent
from tadc.frontend.index_expr import IndexExprReader
from tadc.frontend.program import Program
from tadc.frontend.report import Rejected, Reporter, error
from tadc.frontend.scope import INT64_MAX, NameSite, ProgramNames, Scope, ScopedSize
from tadc.frontend.source import Span
from tadc.frontend.suggest import correction, did_you_mean
from tadc.frontend.terms import ElementType
from tadc.frontend.tree import walk


class SizeReader:
    """Resolves the sizes of shapes, stated ranges and `size` statements.

    `given` are values of size symbols, to check the program for these alone.
    """

    def __init__(self, names: ProgramNames, reporter: Reporter, given: Mapping[str, int]) -> None:
        self.names = names
        self.reporter = reporter
        self.given = given
        #: Where each symbol without a value is first named.
        self.symbols: dict[str, Span] = {}
        #: The given values that some symbol has.
        self.used: dict[str, int] = {}
        #: Symbols that a `size` statement declares.
        self.declared: set[str] = set()

    def declare(self, statement: syntax.SizeDecl) -> ScopedSize:
        """Read `size M` and `size M = 4`."""
        name = statement.name
        self.declared.add(name)
        if statement.value is not None:
            return ScopedSize(name, _checked(statement.value, statement.span))
        return self._introduce(name)

    def _introduce(self, name: str) -> ScopedSize:
        if name in self.given:
            self.used[name] = self.given[name]
            return ScopedSize(name, self.given[name])
        self.symbols[name] = self.names.sites[name].span
        return ScopedSize(name)

    def context(self) -> Context:
        """What is known before any index is bound: the ranges of the symbols."""
        return Context(dict.fromkeys(self.symbols, (0, SIZE_LIMIT - 1)), sizes=frozenset(self.symbols))

    def resolve(self, expr: syntax.Expr, indices: Collection[str] = (), *, declares: bool = False) -> Extent:
        """The extent that an expression says; `indices` are names that mean an index here.

        Where it `declares`, a name that nothing else has is a new size symbol. Raises Rejected
        for what is no integer >= 0 of 64 bits and no form of size symbols.
        """
        match expr:
            case syntax.Number(value=int(value)):
                return _checked(value, expr.span)
            case syntax.Number(value=value) if written := whole_number(value):
                helps, edits = [f"write `{written}`"], [Edit(expr.span, written, SAFE)]
                message, label = "a size is an integer", "not written as one"
                raise Rejected(error("TAD0308", message, expr.span, label, helps=helps, edits=edits))
            case syntax.Number() | syntax.Pi():
                raise Rejected(error("TAD0308", "a size is an integer", expr.span, "not an integer"))
            case syntax.Unary(operand=syntax.Number()):
                raise Rejected(error("TAD0308", "a size cannot be negative", expr.span, "less than 0"))
            case syntax.Name(id=name):
                return extent(self._symbol(name, expr.span, indices, declares=declares).form)
            case _:
                return self._expression(expr, indices, declares=declares)

    def _expression(self, expr: syntax.Expr, indices: Collection[str], *, declares: bool) -> Extent:
        for _, _, node in walk(expr):
            if isinstance(node, syntax.Name):
                self._symbol(node.id, node.span, indices, declares=declares)
        nowhere = Scope("", expr.span, {})
        form = IndexExprReader(self.names, nowhere, self.reporter.text, "size").read(expr)
        if form.is_constant and form.constant < 0:
            label = f"its value is {form.constant}"
            raise Rejected(error("TAD0308", "a size cannot be negative", expr.span, label))
        return extent(form) if form.terms else _checked(form.constant, expr.span)

    def _symbol(self, name: str, span: Span, indices: Collection[str], *, declares: bool) -> ScopedSize:
        if name in indices:
            helps = ["state such a range by bounds: `sum{k}_0^(i - 1) (…)`"]
            raise Rejected(
                error("TAD0308", "a size cannot depend on an index", span, "an index", helps=helps)
            )
        site = self.names.sites.get(name)
        if site and site.kind == "tensor":
            raise Rejected(self._tensor(name, site, span))
        if name in self.names.known:
            found = self.names.known[name]
            if isinstance(found, ScopedSize):
                return found
            raise Rejected
        if declares:
            made = self._introduce(name)
            self.names.known[name] = made
            return made
        if site:
            raise Rejected
        # Reported once; later uses stay silent.
        self.names.known[name] = None
        raise Rejected(self._unknown(name, span))

    def _tensor(self, name: str, site: NameSite, span: Span) -> Diagnostic:
        """Build the error for a tensor where a size stands."""
        helps, edits = ["a size has another name: `size N`, or `f64[N]` of an argument"], list[Edit]()
        body = site.scalar.body if site.scalar else None
        if site.scalar and isinstance(body, syntax.Number) and isinstance(body.value, int):
            helps = [f"a fixed size is stated by `size {name} = {body.value}`"]
            edits = [Edit(Span(site.scalar.span.start, site.span.start), "size ", SAFE)]
        elif body and _is_made_of_sizes(body, self.names):
            written = self.reporter.text(body.span)
            helps = [f"a size that is made of others has no name: write `{written}` where it is used"]
            edits = [Edit(span, f"({written})", SAFE)]
        message, secondary = f"`{name}` is a tensor, not a size", [(site.span, "a tensor")]
        return error("TAD0211", message, span, secondary=secondary, helps=helps, edits=edits)

    def _unknown(self, name: str, span: Span) -> Diagnostic:
        known = [n for n, found in self.names.known.items() if isinstance(found, ScopedSize)]
        helps = [*did_you_mean(name, known), f"declare it: `size {name}`, or `size {name} = 4`"]
        label = "no declaration has this symbol"
        edits = correction(name, span, known)
        return error("TAD0209", f"unknown size `{name}`", span, label, helps=helps, edits=edits)

    def untold(self, told: Collection[str], elsewhere: Collection[str] = ()) -> list[Diagnostic]:
        """Errors for symbols that neither the shape of an argument tells nor a `size` statement declares.

        `elsewhere` are those that stand in shapes which tell none.
        """
        return [
            error(
                "TAD0209",
                f"no argument tells the size `{name}`",
                span,
                "first here" if name in elsewhere else "only here",
                notes=["dimensions such as `2*N + 1` tell N, others as `N*N` do not"]
                if name in elsewhere
                else [],
                helps=[f"to pass it by name at the call, declare it: `size {name}`"],
            )
            for name, span in self.symbols.items()
            if name not in told and name not in self.declared
        ]


def _is_made_of_sizes(expr: syntax.Expr, names: ProgramNames) -> bool:
    """Whether only size symbols, numbers and operators stand in an expression."""
    nodes = [node for _, _, node in walk(expr)]
    return all(isinstance(node, syntax.Binary | syntax.Number | syntax.Name) for node in nodes) and all(
        isinstance(names.known.get(node.id), ScopedSize) for node in nodes if isinstance(node, syntax.Name)
    )


def _checked(value: int, span: Span) -> int:
    if value > INT64_MAX:
        raise Rejected(error("TAD0309", "size is beyond 64 bits", span))
    return value


def check_extent(name: str, shape: Sequence[Extent], element: ElementType, span: Span) -> None:
    """Raise Rejected where a stride or an offset in bytes needs more than 64 bits at any sizes."""
    # A dimension of size 0 does not make the strides of the others smaller.
    known = [size for size in shape if isinstance(size, int)]
    if prod(max(size, 1) for size in known) * bytes_of_type(element) > INT64_MAX:
        label = " * ".join(map(str, shape)) + f" elements of {bytes_of_type(element)} bytes"
        raise Rejected(error("TAD0309", f"offsets in `{name}` are beyond 64 bits", span, label))


def unknown_size(name: str, program: Program) -> Diagnostic:
    """Build the error for a value of a size symbol that the program has not."""
    known = [*program.sizes, *(symbol for symbol, _ in program.given)]
    has = f"its size symbols: {', '.join(known)}" if known else "it has none"
    return Diagnostic(
        "TAD0209",
        f"the program has no size symbol `{name}`",
        notes=[has],
        helps=did_you_mean(name, known),
        source=program.source,
    )
