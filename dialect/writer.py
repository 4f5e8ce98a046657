"""Typed programs to the `tad` dialect.

One function for a program: arguments and results carry their names as `tad.name`; each
definition is a `tad.map`, a recurrence a `tad.scan`. A region holds what it always evaluates,
operations before the regions that use them; what only a branch or a sum needs stays in
there, so no read leaves the guard that protects it. An element of an index array is looked up once in a
region, and where one further out has it, not again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tadc.dialect import scalar_ops
from tadc.dialect.declarations import attributes_of
from tadc.dialect.evaluation_order import Scope, always_evaluated, schedule
from tadc.dialect.index_maps import Name, in_order, map_attribute, set_attribute
from tadc.dialect.lookups import own_lookups
from tadc.dialect.mlir import ir, new_context
from tadc.dialect.ops import load_dialect
from tadc.frontend.deep import deep_recursion
from tadc.frontend.extents import Extent
from tadc.frontend.limits import MAX_OPERATIONS, MAX_REGIONS, too_large
from tadc.frontend.program import Argument, Definition, Program
from tadc.frontend.source import Place, Span
from tadc.frontend.terms import (
    Apply,
    Const,
    Guard,
    IndexValue,
    Read,
    Reduce,
    Select,
    Term,
    integer_exponent,
    is_bound,
)
from tadc.lattice.affine import Affine, box


def new_module(program: Program) -> Any:
    """A module that holds the program alone, in a context of its own. Raises as `write_program`."""
    module = ir.Module.create(ir.Location.unknown(new_context()))
    write_program(program, module)
    return module


def write_program(program: Program, module: Any, name: str | None = None, before: Any = None) -> Any:
    """Add the program to a module of any context as a function, at its end or before an operation.

    Raises IndexOverflow where an index coefficient does not fit 64 bits, CompileError (TAD0113) where
    the program has too many operations.
    """
    context = module.context
    load_dialect(context)
    with context, ir.Location.unknown(context):
        body = module.operation.regions[0].blocks[0]
        point = ir.InsertionPoint(body) if before is None else ir.InsertionPoint(before)
        with deep_recursion():
            return _Writer(program, context).function(point, name)


class _Writer:
    def __init__(self, program: Program, context: Any) -> None:
        self.program = program
        self.context = context
        self.types = {"f32": ir.F32Type.get(context), "f64": ir.F64Type.get(context)}
        self.types["i32"] = ir.IntegerType.get_signless(32, context)
        self.index_type = ir.IndexType.get(context)
        self.tensors: dict[str, Any] = {}
        self.location = ir.Location.unknown(context)
        self.count = self.depth = 0

    # -- the function --------------------------------------------------------------------------

    def function(self, point: Any, name: str | None) -> Any:
        program = self.program
        outputs = program.outputs
        name = name or program.symbol
        tensors = [self.tensor_type(a.type, a.shape) for a in program.arguments]
        arguments = [*tensors, *[self.index_type] * len(program.sizes)]
        results = [self.tensor_type(d.type, d.shape) for d in outputs]
        attributes = {
            "sym_name": ir.StringAttr.get(name),
            "function_type": ir.TypeAttr.get(ir.FunctionType.get(arguments, results)),
            "arg_attrs": ir.ArrayAttr.get(
                [self.about(each) for each in (*program.arguments, *program.sizes)]
            ),
            "res_attrs": ir.ArrayAttr.get([*map(self.about, outputs)]),
        }
        if program.excluded:
            excluded = [set_attribute(rows, (), self.context, program.sizes) for rows in program.excluded]
            attributes["tad.excluded"] = ir.ArrayAttr.get(excluded)
        function = ir.Operation.create("func.func", attributes=attributes, regions=1, ip=point)
        places = [self.named(a.name, a.span) for a in program.arguments]
        places += [self.named(name, None) for name in program.sizes]
        block = ir.Block.create_at_start(function.regions[0], arguments, places)
        given = list(block.arguments)
        self.tensors = dict(zip((a.name for a in program.arguments), given, strict=False))
        point = ir.InsertionPoint(block)
        sizes = dict[Name, Any](zip(program.sizes, given[len(tensors) :], strict=True))
        self.outermost = Scope(None, point, sizes)
        for definition in program.definitions:
            self.tensors[definition.name] = self.definition(definition, point)
        results = [self.tensors[d.name] for d in outputs]
        ir.Operation.create("func.return", operands=results, ip=point)
        return function

    def tensor_type(self, type: str, shape: Sequence[Extent]) -> Any:
        dynamic = ir.ShapedType.get_dynamic_size()
        dims = [size if isinstance(size, int) else dynamic for size in shape]
        return ir.RankedTensorType.get(dims, self.types[type])

    def about(self, tensor: Argument | Definition | str) -> Any:
        return attributes_of(tensor, self.program.sizes, self.context)

    def definition(self, definition: Definition, point: Any) -> Any:
        rows = box(definition.indices, definition.shape)
        sizes = [n for n in in_order([c.form for c in rows]) if n not in definition.indices]
        attributes = {"domain": set_attribute(rows, definition.indices, self.context, sizes)}
        order = definition.order
        if order is not None:
            attributes["order"] = map_attribute([order], definition.indices, self.context)
        self.location = self.place(definition.span)
        type = self.tensor_type(definition.type, definition.shape)
        operation = self.create(
            "tad.map" if order is None else "tad.scan",
            type,
            [self.index(n, self.outermost) for n in sizes],
            attributes,
            point,
            regions=1,
            location=self.named(definition.name, definition.span),
        )
        scope = self.region(operation, 0, self.outermost, definition.indices)
        if order is not None:
            block = operation.regions[0].blocks[0]
            self.tensors[definition.name] = block.add_argument(type, self.named("own", definition.span))
        self.body(definition.body, definition.type, scope)
        return operation.results[0]

    # -- regions -------------------------------------------------------------------------------

    def region(
        self,
        operation: Any,
        number: int,
        outer: Scope | None,
        binders: Sequence[str] = (),
        hints: Sequence[str] = (),
    ) -> Scope:
        """Open a region whose block arguments are these indices."""
        names = [hint or binder for hint, binder in zip(hints or binders, binders, strict=True)]
        places = [self.named(n, None) if not is_bound(n) else self.location for n in names]
        block = ir.Block.create_at_start(operation.regions[number], [self.index_type] * len(binders), places)
        return Scope(outer, ir.InsertionPoint(block), dict(zip(binders, block.arguments, strict=True)))

    def body(self, root: Term, type: str, scope: Scope) -> None:
        """Fill a region with what it always evaluates, then yield the root."""
        self.depth += 1
        # The lowest term may stand in as many sums and branches as a program may have, and its derivative.
        if self.depth > 2 * MAX_REGIONS:
            raise too_large(f"more than {2 * MAX_REGIONS} sums and guards in each other")
        for term, wanted in schedule(root, type, scope):
            self.emit(term, wanted, scope)
        self.depth -= 1
        self.create("tad.yield", None, [self.emit(root, type, scope)], {}, scope.point)

    # -- terms ---------------------------------------------------------------------------------

    def emit(self, term: Term, type: str, scope: Scope) -> Any:
        """The value of a term in a type, made in this region if it is not there."""
        found = scope.value(term, type)
        if found is not None:
            return found
        if term.span is not None:
            self.location = self.place(term.span)
        natural = term.type or type
        if natural != type:
            operation = "arith.extf" if type == "f64" else "arith.truncf"
            made = self.create(
                operation, self.types[type], [self.emit(term, natural, scope)], {}, scope.point
            )
            value = made.results[0]
        else:
            value = self.make(term, type, scope).results[0]
        scope.values[term.number, type] = value
        return value

    def make(self, term: Term, type: str, scope: Scope) -> Any:
        result, point = self.types[type], scope.point
        match term:
            case Const():
                value = ir.FloatAttr.get(result, float(term.value))
                return self.create("arith.constant", result, [], {"value": value}, point)
            case IndexValue():
                names = in_order([term.form])
                attributes = {"at": map_attribute([term.form], names, self.context)}
                index = self.create(
                    "tad.index", self.index_type, [self.index(n, scope) for n in names], attributes, point
                )
                return self.create("tad.value_of", result, [index.results[0]], {}, point)
            case Read():
                return self.element("tad.read", result, term.tensor, term.indices, scope)
            case Apply():
                return self.apply(term, type, scope)
            case Reduce():
                return self.reduce(term, type, scope)
            case Guard():
                return self.guard(term, type, scope)
            case Select():
                return self.select(term, type, scope)
            case _:
                raise TypeError(f"no such term: {term}")

    def element(self, name: str, result: Any, tensor: str, at: Sequence[Affine], scope: Scope) -> Any:
        """A read of a tensor, or a lookup."""
        names = in_order(at)
        values = [self.tensors[tensor], *(self.index(n, scope) for n in names)]
        attributes = {"at": map_attribute(at, names, self.context)}
        place = self.location if name == "tad.read" else ir.Location.name("t", self.location)
        return self.create(name, result, values, attributes, scope.point, location=place)

    def index(self, name: Name, scope: Scope) -> Any:
        """The value of an index, or of a lookup, made in this region if it is not there."""
        found = scope.index(name)
        if found is None:
            if isinstance(name, str):
                raise KeyError(name)
            made = self.element("tad.lookup", self.index_type, name.array, name.at, scope)
            found = scope.indices[name] = made.results[0]
        return found

    def apply(self, term: Apply, type: str, scope: Scope) -> Any:
        values = [self.emit(t, wanted, scope) for t, wanted in always_evaluated(term, type)]
        result, point = self.types[type], scope.point
        exponent = integer_exponent(term)
        if exponent is not None:
            whole = ir.IntegerType.get_signless(64)
            value = ir.IntegerAttr.get(whole, exponent)
            power = self.create("arith.constant", whole, [], {"value": value}, point)
            return self.create(scalar_ops.INTEGER_POWER, result, [*values, power.results[0]], {}, point)
        if term.function in scalar_ops.UPSTREAM:
            return self.create(scalar_ops.UPSTREAM[term.function], result, values, {}, point)
        return self.create("tad.apply", result, values, {"fn": ir.StringAttr.get(term.function)}, point)

    def reduce(self, term: Reduce, type: str, scope: Scope) -> Any:
        own, outer, needed = own_lookups(term.domain, term.binders)
        domain = set_attribute(term.domain, [*term.binders, *own], self.context, outer)
        values = [self.index(n, scope) for n in (*outer, *needed)][: len(outer)]
        attributes, name = {"domain": domain}, "tad.sum"
        if term.kind != "sum":
            attributes, name = {"kind": ir.StringAttr.get(term.kind), **attributes}, "tad.reduce"
        operation = self.create(name, self.types[type], values, attributes, scope.point, regions=1)
        inner = self.region(operation, 0, scope, term.binders, term.hints)
        for lookup in own:
            self.index(lookup, inner)
        self.body(term.body, type, inner)
        return operation

    def guard(self, term: Guard, type: str, scope: Scope) -> Any:
        names = in_order([c.form for c in term.conditions])
        where = set_attribute(term.conditions, names, self.context)
        values = [self.index(n, scope) for n in names]
        operation = self.create(
            "tad.guard", self.types[type], values, {"where": where}, scope.point, regions=2
        )
        self.body(term.then, type, self.region(operation, 0, scope))
        self.body(term.otherwise, type, self.region(operation, 1, scope))
        return operation

    def select(self, term: Select, type: str, scope: Scope) -> Any:
        lhs, rhs, then, otherwise = (self.emit(t, w, scope) for t, w in always_evaluated(term, type))
        predicate = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), scalar_ops.PREDICATES[term.relation])
        truth = ir.IntegerType.get_signless(1)
        compare = self.create("arith.cmpf", truth, [lhs, rhs], {"predicate": predicate}, scope.point)
        values = [compare.results[0], then, otherwise]
        return self.create("arith.select", self.types[type], values, {}, scope.point)

    # -- operations and places -----------------------------------------------------------------

    def create(
        self,
        name: str,
        result: Any,
        values: Sequence[Any],
        attributes: dict[str, Any],
        point: Any,
        *,
        regions: int = 0,
        location: Any = None,
    ) -> Any:
        self.count += 1
        if self.count > MAX_OPERATIONS:
            raise too_large(f"more than {MAX_OPERATIONS} operations")
        return ir.Operation.create(
            name,
            results=[] if result is None else [result],
            operands=values,
            attributes=attributes,
            regions=regions,
            loc=location or self.location,
            ip=point,
        )

    def place(self, span: Span | Place | None) -> Any:
        """The location of a span."""
        if isinstance(span, Place):
            return ir.Location.file(span.file, span.line, span.column, context=self.context)
        if span is None or self.program.source is None:
            return ir.Location.unknown(self.context)
        line, column = self.program.source.position(span.start)
        return ir.Location.file(self.program.source.name, line, column, context=self.context)

    def named(self, name: str, span: Span | Place | None) -> Any:
        """The location of a span, carrying the name that a person reads."""
        return ir.Location.name(name, self.place(span), context=self.context)
