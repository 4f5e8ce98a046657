"""Index expressions: from syntax to quasi-affine forms, exact or rejected."""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice

from tadc.frontend import syntax
from tadc.frontend.diagnostics import GUESS, SAFE, Diagnostic, Edit
from tadc.frontend.elsewhere import whole_number
from tadc.frontend.index_operators import combined
from tadc.frontend.limits import MAX_DIVISIONS
from tadc.frontend.report import Rejected, error
from tadc.frontend.scope import INT64_MAX, ProgramNames, Scope, ScopedSize, ScopedTensor
from tadc.frontend.source import Span
from tadc.lattice.affine import Affine, Floor

#: Longer source text is left out of a help.
LONG = 40
_LINEAR = "it must be a sum of integer multiples of indices plus a constant, with `//` and `%` by integers"


def fits(form: Affine) -> bool:
    """Whether the constant, all factors and all divisors are 64-bit integers."""
    return (
        abs(form.constant) <= INT64_MAX
        and all(abs(k) <= INT64_MAX for _, k in form.terms)
        and all(atom.denominator <= INT64_MAX for atom, _ in form.terms if isinstance(atom, Floor))
    )


def check_divisions(form: Affine, what: str, span: Span) -> None:
    """Raise Rejected where a form holds more floor divisions than can be reasoned with."""
    if sum(1 for _ in islice(form.floors(), MAX_DIVISIONS + 1)) > MAX_DIVISIONS:
        label = f"more than {MAX_DIVISIONS} of `//` and `%`"
        raise Rejected(error("TAD0112", f"too many divisions in one {what}", span, label))


class IndexExprReader:
    """Turns the expressions of one kind of place (`what`) into forms.

    `what` is "tensor index", "bound of the sum", "condition" or "index expression";
    `text` gives the source text of a span, `lookup` the form of an element of an index array, None for
    what is none; where it is not given, nothing is looked up.
    """

    def __init__(
        self,
        names: ProgramNames,
        scope: Scope,
        text: Callable[[Span], str],
        what: str,
        lookup: Callable[[syntax.Subscript], Affine | None] = lambda read: None,
    ) -> None:
        self.lookup = lookup
        self.names = names
        self.scope = scope
        self.text = text
        self.what = what

    def read(self, expr: syntax.Expr) -> Affine:
        """The form of an expression. Raises Rejected with the rule that it breaks."""
        chain: list[syntax.Binary] = []
        # A long sum is a deep tree on the left.
        while isinstance(expr, syntax.Binary):
            chain.append(expr)
            expr = expr.lhs
        form = self._leaf(expr)
        for node in reversed(chain):
            form = self._binary(node, form)
            if not fits(form):
                raise Rejected(error("TAD0309", f"{self.what} is beyond 64 bits", node.span))
            if node.operator in ("//", "%", "+", "-"):
                check_divisions(form, self.what, node.span)
        return form

    def _leaf(self, expr: syntax.Expr) -> Affine:
        match expr:
            case syntax.Number(value=int(value)):
                if value > INT64_MAX:
                    raise Rejected(error("TAD0309", f"{self.what} is beyond 64 bits", expr.span))
                return Affine.const(value)
            case syntax.Number(value=value) if written := whole_number(value):
                helps, edits = [f"write `{written}`"], [Edit(expr.span, written, SAFE)]
                raise Rejected(self._fraction(expr.span, "not written as an integer", helps, edits))
            case syntax.Number() | syntax.Pi():
                raise Rejected(self._fraction(expr.span, "not an integer"))
            case syntax.Name():
                return self._name(expr)
            case syntax.Unary():
                return -self.read(expr.operand)
            case syntax.Subscript():
                found = self.lookup(expr)
                if found is None:
                    raise Rejected(self._value(expr.span, expr.tensor))
                return found
            case syntax.CallExpr():
                raise Rejected(self._call(expr))
            case syntax.ReduceExpr():
                raise Rejected(self._nonlinear(expr.span, "a sum"))
            case _:
                raise Rejected(self._nonlinear(expr.span, "a choice"))

    def _name(self, expr: syntax.Name) -> Affine:
        name = expr.id
        if not self.names.is_visible(name, self.scope):
            raise Rejected(self.names.unbound(name, expr.span, self.scope, self.what))
        match self.names.resolve(name, expr.span, self.scope):
            case ScopedTensor():
                found = self.lookup(syntax.Subscript(expr.span, name, expr.span, ()))
                if found is None:
                    raise Rejected(self._value(expr.span, name))
                return found
            case ScopedSize() as size:
                return size.form
            case index:
                return Affine.var(index.key)

    def _binary(self, node: syntax.Binary, lhs: Affine) -> Affine:
        rhs = self.read(node.rhs)
        form = combined(node.operator, lhs, rhs)
        if form is not None:
            return form
        match node.operator:
            case "*":
                self._needs_value(node, lhs, rhs)
                raise Rejected(self._nonlinear(node.span, "product of two indices"))
            case "//" | "%":
                raise self.no_divisor(node, rhs)
            case "/":
                raise Rejected(self._division(node, lhs, rhs))
            case _:
                raise Rejected(self._power(node, lhs, rhs))

    def no_divisor(self, node: syntax.Binary, form: Affine) -> Rejected:
        """What is wrong with the right side of `//` or `%`, which is no positive integer."""
        self._needs_value(node, form)
        label = "depends on an index" if not form.is_constant else f"is {form.constant}"
        message = f"`{node.operator}` in an index expression needs a positive integer on its right"
        return Rejected(error("TAD0310", message, node.rhs.span, label))

    def _needs_value(self, node: syntax.Binary, *factors: Affine) -> None:
        """Note that the sizes in a factor of sizes alone need values; raises Rejected if there is one."""
        for factor in factors:
            if not factor.is_constant and all(self.names.is_size(name) for name in factor.variables):
                for name in sorted(factor.variables):
                    self.names.coefficients.setdefault(name, node.span)
                raise Rejected

    # -- errors ----------------------------------------------------------------------------

    def _nonlinear(self, span: Span, label: str, helps: list[str] | None = None) -> Diagnostic:
        return error("TAD0303", f"{self.what} is not linear", span, label, notes=[_LINEAR], helps=helps or [])

    def _fraction(
        self, span: Span, label: str, helps: list[str] | None = None, edits: list[Edit] | None = None
    ) -> Diagnostic:
        message = f"{self.what} may be fractional"
        return error("TAD0304", message, span, label, helps=helps or [], edits=edits or [])

    def _division(self, node: syntax.Binary, lhs: Affine, rhs: Affine) -> Diagnostic:
        whole, top, below = (self.text(span) for span in (node.span, node.lhs.span, node.rhs.span))
        if isinstance(node.lhs, syntax.Name) and rhs == Affine.const(2) and not lhs.is_constant:
            return self._fraction(
                node.span,
                f"`{whole}` is not an integer for odd `{top}`",
                [f"`{top} // {below}` rounds down"],
                [Edit(node.span, f"{top} // {below}", GUESS)],
            )
        helps = [f"`//` rounds down: `{grouped(node.lhs, self.text)} // {below}`"] if rhs.is_constant else []
        return self._fraction(node.span, f"`{whole}` is not always an integer", helps)

    def _power(self, node: syntax.Binary, base: Affine, exponent: Affine) -> Diagnostic:
        found = self._nonlinear(node.span, "a power")
        if base.is_constant and exponent.is_constant and 0 <= exponent.constant < 63:
            value = str(base.constant**exponent.constant)
            found.helps, found.edits = [f"write its value: `{value}`"], [Edit(node.span, value, SAFE)]
        return found

    def _call(self, expr: syntax.CallExpr) -> Diagnostic:
        inner = expr.arguments[0]
        helps: list[str] = []
        edits: list[Edit] = []
        if expr.function == "floor" and isinstance(inner, syntax.Binary) and inner.operator == "/":
            written = f"{grouped(inner.lhs, self.text)} // {grouped(inner.rhs, self.text)}"
            helps, edits = [f"write `{written}`"], [Edit(expr.span, self._apart(expr.span, written), SAFE)]
        elif expr.function in ("max", "min") and self.what.startswith("bound"):
            helps = ["several lower bounds are `_(max [e; e])`, several upper ones `^(min [e; e])`"]
        elif expr.function in ("max", "min"):
            helps = ["choose by an `if`: `if {i < 2} then (x[i]) else (x[2])`"]
        found = self._nonlinear(expr.span, f"the function `{expr.function}`", helps)
        found.edits = edits
        return found

    def _apart(self, span: Span, written: str) -> str:
        """A quotient for the place of a call: in parentheses where an operator stands beside it."""
        before, behind = self.text(Span(0, span.start))[-1:], self.text(Span(span.end, span.end + LONG))[:1]
        return written if before in "[,({:=" and behind in "],)}:=;" else f"({written})"

    def _value(self, span: Span, name: str) -> Diagnostic:
        """Raises Rejected where the tensor is."""
        tensor = self.names.known.get(name, self.names.sites.get(name))
        if tensor is None:
            raise Rejected(
                *[self.names.unknown(name, span, self.names.known, "name")][: name not in self.names.known]
            )
        declared = f"an array of indices is declared as one: `{name}: index[…] in N`"
        if isinstance(tensor, ScopedTensor) and not tensor.is_argument:
            declared = f"`{name}` has floating numbers: read an index array itself where this reads `{name}`"
        helps = [declared] if not self.what.startswith("condition") else []
        if self.what == "tensor index":
            helps.append("to pick an element by a value, sum over all: `sum{j} (select(y[i] = j, x[j], 0))`")
        message = f"{self.what} depends on a value"
        return error("TAD0307", message, span, f"`{name}` is a tensor", helps=helps)


def grouped(expr: syntax.Expr, text: Callable[[Span], str]) -> str:
    """The text of an operand of `/`, with the parentheses that its span leaves out."""
    inner = text(expr.span)
    return f"({inner})" if isinstance(expr, syntax.Binary) else inner
