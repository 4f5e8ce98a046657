"""Syntax tree to typed program: names, ranges, types, and every read proven in range.

Declarations are read first, wherever they stand, then definitions from top to bottom. What is wrong with one
is reported and its name is known to be rejected, so that it hides no error elsewhere and causes none.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import replace

from tadc.frontend import syntax
from tadc.frontend.binders import check_binders
from tadc.frontend.deep import deep_recursion
from tadc.frontend.diagnostics import CompileError, Diagnostic
from tadc.frontend.extents import Extent, as_form, size_sources, symbols_in
from tadc.frontend.index_sets import limits_told
from tadc.frontend.index_uses import RangeUses
from tadc.frontend.naming import first_free
from tadc.frontend.program import Argument, Definition, Program
from tadc.frontend.ranges import inferred_size, interval_text
from tadc.frontend.reads import ReadChecker, Setting
from tadc.frontend.recurrences import Recurrence, canonical_order, not_affine, type_without, types_of
from tadc.frontend.remembered import CheckedDefinition, CheckMemory
from tadc.frontend.report import Enough, Rejected, Reporter, error
from tadc.frontend.scope import ProgramNames, Scope, ScopedIndex, ScopedSize, ScopedTensor
from tadc.frontend.size_conditions import negative_sizes, not_negative, without_repeats
from tadc.frontend.size_values import size_values
from tadc.frontend.sizes import SizeReader, check_extent, unknown_size
from tadc.frontend.source import Source, Span
from tadc.frontend.sparse_lets import stored_let
from tadc.frontend.stored_places import check_index_array, own_indices, sparse_tensor
from tadc.frontend.stored_types import type_of_output
from tadc.frontend.terms import Domain, ElementType, Terms, natural_type
from tadc.frontend.tree import names_in
from tadc.frontend.values import ValueReader
from tadc.frontend.wording import counted
from tadc.lattice.affine import ZERO


class SizesNeeded(Exception):
    """A program whose index forms multiply or divide by sizes, which need values: the place of each."""

    def __init__(self, symbols: dict[str, Span]) -> None:
        super().__init__(", ".join(symbols))
        self.symbols = symbols


def check(
    module: syntax.Module,
    source: Source,
    sizes: Mapping[str, int] | None = None,
    *,
    and_others: bool = False,
    tell: Callable[[ProgramNames], object] | None = None,
    memory: CheckMemory | None = None,
) -> Program:
    """Check a program and give it types and ranges; `sizes` are values for size symbols, `and_others` too.

    What its names mean, of a program that is wrong too, is given to `tell`. What `memory` has is not checked
    again; the places of its terms are those that they had.

    Raises CompileError with every error that was found, those of syntax too, in the order of the text, at
    most `report.LIMIT`, or with what is no size (TAD0508); where there is none, SizesNeeded if the program
    can be read only with values for some symbols.
    """
    problems: list[Diagnostic] = []
    given = size_values(sizes or {}, problems)
    if problems:
        raise CompileError([*module.errors, *problems])
    reporter = Reporter(source, module.errors)
    if not module.statements and not module.errors:
        helps = ["a program declares arguments and defines outputs: `x: f64[N]` and `f = sum{i} (x[i]**2)`"]
        raise CompileError([Diagnostic("TAD0405", "the program is empty", helps=helps, source=source)])
    checker = program = None
    with deep_recursion(), limits_told(source), suppress(Enough):
        checker = _Checker(module, reporter, given, memory=memory)
        program = checker.program()
    if checker is not None and checker.stored_lets and len(reporter.diagnostics) > len(module.errors):
        # What is read of them may be something everywhere.
        reporter = Reporter(source, module.errors)
        with deep_recursion(), limits_told(source), suppress(Enough):
            checker = _Checker(module, reporter, given, stores_lets=False)
            program = checker.program()
    if checker is not None and tell is not None:
        tell(checker.names)
    reporter.finish()
    assert checker
    assert program
    if checker.names.coefficients:
        raise SizesNeeded(checker.names.coefficients)
    unknown = [name for name in given if name not in checker.sizes.used]
    if unknown and not and_others:
        raise CompileError([unknown_size(name, program) for name in unknown])
    program.given = tuple(checker.sizes.used.items())
    program.source = source
    return program


class _Checker:
    def __init__(
        self,
        module: syntax.Module,
        reporter: Reporter,
        sizes: Mapping[str, int],
        *,
        stores_lets: bool = True,
        memory: CheckMemory | None = None,
    ) -> None:
        self.module = module
        self.stores_lets = stores_lets
        """Whether tensors in between are stored where they are not 0; `stored_lets`, whether some are."""
        self.stored_lets = False
        self.reporter = reporter
        self.names = ProgramNames(module, reporter)
        self.sizes = SizeReader(self.names, reporter, sizes)
        self.memory = memory
        self.terms = memory.terms if memory is not None else Terms()
        #: Sets of sizes for which the program has no meaning.
        self.excluded: list[Domain] = []
        #: What the declarations of outputs say; None if that was rejected.
        self.declared: dict[str, ScopedTensor | None] = {}
        #: What tensors are stored as, one that states no type as if it were an output.
        self.types: dict[str, ElementType] = {}
        self.arguments: list[Argument] = []
        self.definitions: list[Definition] = []

    def program(self) -> Program:
        #: Sizes that declarations would tell which are rejected.
        told = set(self.module.unread)
        for statement in sorted(self.module.statements, key=_turn):
            meaning, name = self._attempt(statement), statement.name
            is_repeated = id(statement) in self.names.repeated
            if isinstance(statement, syntax.Declare) and (meaning is None or is_repeated):
                told |= names_in(statement.shape)
            if is_repeated:
                continue
            if isinstance(statement, syntax.Declare) and name in self.names.outputs:
                self.declared[name] = meaning if isinstance(meaning, ScopedTensor) else None
                continue
            self.names.known[name] = meaning
            if isinstance(statement, syntax.Declare) and isinstance(meaning, ScopedTensor):
                self.types[name] = meaning.type
                self.arguments.append(
                    Argument(
                        name,
                        meaning.type,
                        meaning.shape,
                        statement.span,
                        below=meaning.below,
                        increasing=statement.increasing is not None,
                        pattern=meaning.pattern,
                    )
                )
        told |= {found.symbol for found in size_sources([a.shape for a in self.arguments])}
        # A sparse array has a shape of its own, besides that of what it stores.
        told |= symbols_in(n for a in self.arguments if a.pattern for n in a.pattern.shape)
        declared = [s for s in self.module.statements if isinstance(s, syntax.Declare)]
        elsewhere = names_in(e for s in declared for e in s.shape if not isinstance(e, syntax.Name))
        for problem in self.sizes.untold(told, elsewhere):
            self.reporter.add(problem)
        symbols = tuple(sorted(self.sizes.symbols, key=lambda name: self.sizes.symbols[name].start))
        self.arguments.sort(key=lambda argument: self.names.sites[argument.name].span.start)
        excluded = without_repeats(self.excluded, not_negative(symbols))
        return Program(
            tuple(self.arguments), tuple(self.definitions), self.terms, sizes=symbols, excluded=excluded
        )

    def _attempt(self, statement: syntax.Statement) -> ScopedTensor | ScopedSize | None:
        """What a statement gives its name; None if it is rejected, which is reported."""
        try:
            match statement:
                case syntax.SizeDecl():
                    return self.sizes.declare(statement)
                case syntax.Declare():
                    return self._declare(statement)
                case syntax.Define():
                    if self.memory is None or id(statement) in self.names.repeated:
                        return self._define(statement)
                    return self._remembered(statement, self.memory)
        except Rejected as problem:
            self.reporter.add(problem)
            return None

    def _remembered(self, statement: syntax.Define, memory: CheckMemory) -> ScopedTensor | None:
        """What a definition means, as it was found before where nothing that it depends on is another."""
        start, names = statement.span.start, self.names
        text = self.reporter.source.text[start : statement.span.end]
        key = (statement.name in self.module.unread, memory.key(text, names, self.declared))
        found = memory.recall(key, statement, self._head(statement))
        if found is not None:
            self.definitions.append(found.definition)
            self.types[statement.name] = found.stored_type
            self.excluded += found.excluded
            names.ranges.update({start + at: range for at, range in found.ranges.items()})
            return found.meaning
        before = [
            len(self.reporter.diagnostics),
            len(names.coefficients),
            len(self.excluded),
            len(names.ranges),
        ]
        meaning = self._define(statement)
        # What is stored at places, declared elsewhere or wrong says more than its text.
        is_plain = statement.name not in names.outputs and not self.stored_lets
        after = [len(self.reporter.diagnostics), len(names.coefficients)]
        if meaning is not None and is_plain and meaning.pattern is None and after == before[:2]:
            ranges = list(names.ranges.items())[before[3] :]
            memory.remember(
                key,
                CheckedDefinition(
                    meaning,
                    self.types[statement.name],
                    self.definitions[-1],
                    tuple(self.excluded[before[2] :]),
                    {at - start: range for at, range in ranges},
                ),
            )
        return meaning

    def _declare(self, statement: syntax.Declare) -> ScopedTensor | None:
        sizes = [self._size(expr, declares=True) for expr in statement.shape]
        shape = tuple(size for size in sizes if size is not None)
        if len(shape) < len(sizes):
            return None
        dims = tuple(expr.span for expr in statement.shape)
        below = self._below(statement) if statement.below is not None else None
        made = ScopedTensor(
            statement.name, statement.element_type, shape, statement.span, dims, is_argument=True, below=below
        )
        if statement.at:
            made = sparse_tensor(statement, made, self.names)
        if statement.element_type:
            check_extent(statement.name, made.shape, statement.element_type, statement.span)
        return made

    def _below(self, statement: syntax.Declare) -> Extent:
        """What the elements of an index array are below. Raises Rejected where it is declared badly."""
        assert statement.below is not None
        below = self._size(statement.below, declares=True)
        if below is None:
            raise Rejected
        check_index_array(statement, below, is_defined=statement.name in self.names.outputs)
        return below

    def _size(
        self, expr: syntax.Expr, indices: Collection[str] = (), *, declares: bool = False
    ) -> Extent | None:
        try:
            size = self.sizes.resolve(expr, indices, declares=declares)
            self.excluded += negative_sizes(size)
            return size
        except Rejected as problem:
            self.reporter.add(problem)
            return None

    # -- definitions -----------------------------------------------------------------------

    def _define(self, statement: syntax.Define) -> ScopedTensor | None:
        self.names.forget_reported()
        head = self._head(statement)
        before = len(self.reporter.diagnostics)
        check_binders(statement.indices, self.names, self.reporter, statement.name, on_left=True)
        uses = RangeUses(statement, self.names)
        if statement.name in self.module.unread:
            uses.excuse()
        stored = self._declaration(statement)
        declared = stored and stored.seen(syntax.Subscript(head, statement.name, head, (), statement.stored))
        sizes = self._ranges(statement, declared, uses)
        context = self.sizes.context()
        keys = self._keys(statement)
        for key, size in zip(keys, sizes, strict=True):
            context = context.bind(key, size)
        spoken = [spec.name for spec in statement.indices]
        indices = {name: ScopedIndex(name, key) for name, key in zip(spoken, keys, strict=True)}
        setting = Setting(Scope(statement.name, head, indices), context)
        for spec, size in zip(statement.indices, sizes, strict=True):
            if size is not None:
                self.names.note_range(spec, [ZERO], [as_form(size) - 1], setting.scope)
        shape = tuple(size for size in sizes if size is not None)
        dims = declared.dims if declared else tuple(spec.span for spec in statement.indices)
        element = (declared.type if declared else statement.element_type) or None
        recurrence = None
        if statement.order is not None and id(statement) not in self.names.repeated:
            recurrence = self._recurrence(statement, statement.order, keys, setting)
            element = element or type_without(statement.name, statement.body, types_of(self.names.known))
            own = ScopedTensor(statement.name, element, shape, head, dims, is_argument=False)
            whole = recurrence is not None and len(shape) == len(sizes)
            self.names.known[statement.name] = own if whole else None
            uses = RangeUses(statement, self.names)
        reader = ValueReader(self.names, self.sizes, self.terms, self.reporter, uses, recurrence)
        value = reader.read(statement.body, setting)
        if value is not None and self.stores_lets and statement.is_let and not stored and not recurrence:
            whole = [(size, span) for size, span in zip(sizes, dims, strict=True) if size is not None]
            stored = stored_let(statement.name, value.term, keys, whole, self.names)
            self.stored_lets |= stored is not None
        own, places = own_indices(statement, keys, stored, self.names, self.reporter)
        body = reader.whole(value.term, own, places, statement.body.span) if value is not None else None
        self.excluded += reader.reads.excluded
        if body is None or len(shape) < len(sizes) or len(self.reporter.diagnostics) > before:
            return None
        stored_type = element or type_of_output(body, self.types)
        element = element or (natural_type(body) if statement.is_let else stored_type)
        self.types[statement.name] = stored_type
        made = ScopedTensor(statement.name, element, shape, head, dims, is_argument=False)
        if stored is not None:
            made = replace(stored, type=element, span=head, is_argument=False)
        check_extent(statement.name, made.shape, element, head)
        if id(statement) not in self.names.repeated:
            definition = Definition(
                statement.name,
                element,
                made.shape,
                own,
                body,
                is_output=not statement.is_let,
                span=statement.span,
                order=recurrence.order if recurrence else None,
                pattern=None if statement.is_let else made.pattern,
            )
            self.definitions.append(definition.in_order())
        return made

    def _keys(self, statement: syntax.Define) -> tuple[str, ...]:
        """What names the indices on the left in forms: no index has the name of any tensor there."""
        taken = {spec.name for spec in statement.indices}
        sites = self.names.sites
        return tuple(
            first_free(spec.name, sites, taken) if spec.name in sites else spec.name
            for spec in statement.indices
        )

    def _recurrence(
        self, statement: syntax.Define, order: syntax.Expr, indices: tuple[str, ...], setting: Setting
    ) -> Recurrence | None:
        """The order of a definition; None where it is rejected."""
        reads = ReadChecker(self.names, self.reporter)
        form = reads.form(order, "order", setting)
        if form is None:
            return None
        if not form.is_linear:
            self.reporter.add(not_affine(form, order.span))
            return None
        return Recurrence(statement.name, indices, canonical_order(form, indices), order.span)

    def _declaration(self, statement: syntax.Define) -> ScopedTensor | None:
        """The declaration of the output that is defined, if there is one."""
        name = statement.name
        site = self.names.outputs.get(name)
        if site is None or id(statement) in self.names.repeated:
            return None
        if statement.is_let:
            message = f"`{name}` is declared, so it is an output and no intermediate"
            secondary = [(site.span, "declared here")]
            helps = ["leave out `let`, or the declaration"]
            self.reporter.add(
                error("TAD0210", message, statement.name_span, secondary=secondary, helps=helps)
            )
        return self.declared[name]

    def _ranges(
        self, statement: syntax.Define, declared: ScopedTensor | None, uses: RangeUses
    ) -> list[Extent | None]:
        """The size of each index on the left; None where it is rejected."""
        specs, rank = statement.indices, len(statement.indices)
        own = [spec.name for spec in specs]
        stated = [self._size(spec.size, own) if spec.size is not None else None for spec in specs]
        if statement.name in self.names.outputs and id(statement) not in self.names.repeated:
            if declared is None:
                return [None] * rank
            if len(declared.shape) != rank:
                self.reporter.add(self._rank_error(statement, declared))
                return [None] * rank
            for spec, size, given, dim in zip(specs, stated, declared.shape, declared.dims, strict=True):
                if size is not None and size != given:
                    self.reporter.add(_two_ranges(spec, size, given, dim))
            return list(declared.shape)
        sizes: dict[str, Extent | None] = {}
        for spec, size in zip(specs, stated, strict=True):
            # A name that repeats is reported as such.
            if spec.name not in sizes:
                sizes[spec.name] = (
                    size if spec.size is not None else self._inferred(spec, statement.name, uses)
                )
        return [sizes[name] for name in own]

    def _inferred(self, spec: syntax.IndexSpec, owner: str, uses: RangeUses) -> Extent | None:
        try:
            if self.names.hidden(spec.name, owner):
                raise Rejected
            own = uses.own[spec.name]
            size = inferred_size(spec.name, spec.span, own, self.reporter.text, self.sizes.symbols)
            self.excluded += negative_sizes(size)
            return size
        except Rejected as problem:
            self.reporter.add(problem)
            return None

    def _rank_error(self, statement: syntax.Define, declared: ScopedTensor) -> Diagnostic:
        rank, count = len(declared.shape), len(statement.indices)
        used = f"with {counted(count, 'index', 'indices')}" if count else "without indices"
        return error(
            "TAD0301",
            f"`{statement.name}` has {counted(rank, 'dimension')} but is defined {used}",
            self._head(statement),
            f"{counted(count, 'index', 'indices')} here" if count else "no index here",
            secondary=[(declared.span, f"declared with {counted(rank, 'dimension')} here")],
        )

    def _head(self, statement: syntax.Define) -> Span:
        """Where `f[i, j]` stands."""
        start = statement.name_span
        if not statement.indices:
            return start
        last = statement.indices[-1].span.end
        closed = self.reporter.source.text.find("]", last, statement.body.span.start)
        return Span(start.start, max(last, closed + 1))


def _turn(statement: syntax.Statement) -> int:
    """When a statement is read: what it may speak of is read before it, wherever that stands."""
    match statement:
        case syntax.SizeDecl():
            return 0
        case syntax.Declare():
            return 2 if statement.at else 1
        case syntax.Define():
            return 3


def _two_ranges(spec: syntax.IndexSpec, size: Extent, given: Extent, dim: Span) -> Diagnostic:
    return error(
        "TAD0305",
        f"index `{spec.name}` has two ranges",
        spec.span,
        f"{interval_text(size)} here",
        secondary=[(dim, f"{interval_text(given)} in the declaration")],
        helps=[f"write `{spec.name}` alone: its range is declared"],
    )
