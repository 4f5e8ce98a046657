"""Reads and conditions: index expressions where they stand, proven in range."""

from __future__ import annotations

from collections.abc import Sequence

from tadc.frontend import syntax
from tadc.frontend.conditions import IndexCondition
from tadc.frontend.context import Context
from tadc.frontend.diagnostics import Diagnostic
from tadc.frontend.index_expr import IndexExprReader
from tadc.frontend.out_of_range import Access, check_access
from tadc.frontend.proof import fits_64_bits
from tadc.frontend.recurrences import OwnRead, Recurrence, check_earlier
from tadc.frontend.report import Rejected, Reporter, error
from tadc.frontend.scope import ProgramNames, Scope, ScopedIndex, ScopedTensor
from tadc.frontend.source import Span
from tadc.frontend.stored_places import not_sparse
from tadc.frontend.terms import Domain
from tadc.frontend.tree import children
from tadc.frontend.wording import counted
from tadc.lattice.affine import Affine
from tadc.lattice.late_dataclasses import dataclass


@dataclass(frozen=True)
class Setting:
    """Which indices a part of an expression sees, and what is known of them there."""

    scope: Scope
    context: Context


class ReadChecker:
    """Turns what holds index expressions into forms. What is wrong is reported and gives None."""

    def __init__(self, names: ProgramNames, reporter: Reporter, recurrence: Recurrence | None = None) -> None:
        self.names = names
        self.reporter = reporter
        #: Sets of sizes at which a read that was checked leaves its tensor, or is not earlier.
        self.excluded: list[Domain] = []
        #: The order of the definition at hand, if it has one.
        self.recurrence = recurrence

    def form(self, expr: syntax.Expr, what: str, setting: Setting) -> Affine | None:
        """The form of an index expression; `what` is as in `IndexExprReader`."""
        try:
            reader = IndexExprReader(
                self.names, setting.scope, self.reporter.text, what, lambda read: self.lookup(read, setting)
            )
            form = reader.read(expr)
            check_magnitude(form, what, expr.span, setting)
        except Rejected as problem:
            self.reporter.add(problem)
            return None
        return form

    def lookup(self, expr: syntax.Subscript, setting: Setting) -> Affine | None:
        """The form of an element of an index array; None for a read of something else.

        Raises Rejected, which is reported, where it is not in range.
        """
        if expr.tensor in setting.scope.indices:
            return None
        if expr.tensor not in self.names.index_arrays:
            return None
        if expr.tensor in self.names.outputs:
            raise Rejected
        found = self.element(expr, setting)
        if found is None:
            raise Rejected
        tensor, forms = found
        return tensor.lookup(forms)

    def conditions(
        self, relations: Sequence[syntax.RelationExpr], setting: Setting
    ) -> list[IndexCondition | None]:
        """Relations that are to hold together.

        One with lookups counts only where those hold that have none, or less deep ones: there its own are
        in range.
        """
        found: dict[int, IndexCondition | None] = {}

        def turn(n: int) -> tuple[int, bool]:
            return _lookups_in_each_other(relations[n]), relations[n].operator == "!="

        for n in sorted(range(len(relations)), key=turn):
            made = found[n] = self.condition(relations[n], setting)
            if made is not None:
                setting = Setting(setting.scope, setting.context.assume_any(made.holds))
        return [found[n] for n in range(len(relations))]

    def condition(self, relation: syntax.RelationExpr, setting: Setting) -> IndexCondition | None:
        """A relation of an `if`."""
        lhs = self.form(relation.lhs, "condition", setting)
        rhs = self.form(relation.rhs, "condition", setting)
        if lhs is None or rhs is None:
            return None
        try:
            check_magnitude(lhs - rhs, "condition", relation.span, setting)
        except Rejected as problem:
            self.reporter.add(problem)
            return None
        return IndexCondition(relation.operator, lhs - rhs, _lookups_in_each_other(relation))

    def element(self, expr: syntax.Subscript, setting: Setting) -> tuple[ScopedTensor, list[Affine]] | None:
        """The tensor, as the read has it, and the index forms, each proven in range."""
        tensor = self._tensor(expr, setting)
        found = [self.form(index, "tensor index", setting) for index in expr.indices]
        forms = [form for form in found if form is not None]
        if tensor is None:
            return None
        if len(tensor.shape) != len(found):
            self.reporter.add(rank_error(tensor, len(found), expr.span))
            return None
        in_range = True
        for dimension, form in enumerate(found):
            if form is not None:
                access = Access(
                    tensor, dimension, expr, *setting.context.naming(form), setting.scope, self.reporter.text
                )
                found_sizes = check_access(access)
                if isinstance(found_sizes, Diagnostic):
                    in_range = False
                    self.reporter.add(found_sizes)
                else:
                    self.excluded += found_sizes
        if not in_range or len(forms) < len(found):
            return None
        return (tensor, forms) if self.is_earlier(tensor, forms, expr.span, setting) else None

    def is_earlier(self, tensor: ScopedTensor, forms: list[Affine], span: Span, setting: Setting) -> bool:
        """Whether a read is of another tensor, or of an element computed before; else that is reported."""
        recurrence = self.recurrence
        if recurrence is None or tensor.name != recurrence.name:
            return True
        distance, context = setting.context.naming(recurrence.steps_back(forms) - 1)
        read = OwnRead(recurrence, forms, distance, span, setting.scope, context, self.reporter.text)
        found_sizes = check_earlier(read)
        if isinstance(found_sizes, Diagnostic):
            self.reporter.add(found_sizes)
            return False
        self.excluded += found_sizes
        return True

    def _tensor(self, expr: syntax.Subscript, setting: Setting) -> ScopedTensor | None:
        name, span = expr.tensor, expr.name_span
        try:
            if not self.names.is_visible(name, setting.scope):
                raise Rejected(self.names.unknown_tensor(name, span, len(expr.indices)))
            found = self.names.resolve(name, span, setting.scope)
            if isinstance(found, ScopedTensor):
                if expr.stored and found.pattern is None:
                    raise Rejected(not_sparse(name, span))
                return found.seen(expr)
            if isinstance(found, ScopedIndex) and self.names.hidden(name, setting.scope.owner):
                # The index that took the tensor's name is what was reported.
                raise Rejected
            kind = "an index" if isinstance(found, ScopedIndex) else "a size"
            label = "only tensors have elements"
            raise Rejected(error("TAD0211", f"`{name}` is {kind}, not a tensor", span, label))
        except Rejected as problem:
            self.reporter.add(problem)
            return None


def _lookups_in_each_other(node: syntax.Node) -> int:
    """How deep reads stand in each other at and below a node."""
    inner = max((_lookups_in_each_other(below) for _, below in children(node)), default=0)
    return inner + isinstance(node, syntax.Subscript)


def check_magnitude(form: Affine, what: str, span: Span, setting: Setting) -> None:
    """Raise Rejected where a form may leave the 64-bit integers."""
    if not fits_64_bits(*setting.context.naming(form)):
        raise Rejected(error("TAD0309", f"{what} is beyond 64 bits", span))


def rank_error(tensor: ScopedTensor, count: int, span: Span) -> Diagnostic:
    """Build the error for a read with a wrong number of indices."""
    rank = len(tensor.shape)
    verb = "declared" if tensor.is_argument else "defined"
    given = counted(count, "index", "indices") if count else "no index"
    if not rank:
        message = f"`{tensor.name}` is a scalar but is read with {given}"
        secondary = [(tensor.span, f"{verb} without dimensions here")]
        helps = [f"write `{tensor.name}` alone"]
        return error("TAD0301", message, span, f"{given} here", secondary=secondary, helps=helps)
    dimensions = counted(rank, "dimension")
    message = (
        f"`{tensor.name}` has {dimensions} but is read {f'with {given}' if count else 'without indices'}"
    )
    secondary = [(tensor.span, f"{verb} with {dimensions} here")]
    if tensor.pattern is not None:
        whole = ", ".join("ijklmn"[: len(tensor.pattern.shape)])
        if tensor.shape != tensor.pattern.shape:
            message = f"`{tensor.name}` stores a tensor of {dimensions} but is read with {given} behind `at`"
        secondary = [(tensor.span, f"{verb} sparse here")]
        helps = [f"`{tensor.name}[{whole}]` is an element, and `{tensor.name}[at e]` what is stored at e"]
        return error("TAD0301", message, span, f"{given} here", secondary=secondary, helps=helps)
    indices = ", ".join("ijklmn"[:rank]) if rank < 7 else "i, …"
    helps = [f"there is an index for each dimension: `{tensor.name}[{indices}]`"]
    if not count:
        helps = [f"name an index for each dimension: `f[{indices}] = … {tensor.name}[{indices}] …`"]
    return error("TAD0301", message, span, f"{given} here", secondary=secondary, helps=helps)
