"""Typed programs to the `tad` dialect.

One function for a program: arguments and results carry their names as `tad.name`; each
definition is a `tad.map`, a recurrence a `tad.scan`. What a region holds says `evaluation_order.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tadc.dialect.declarations import attributes_of
from tadc.dialect.locations import labelled
from tadc.dialect.mlir import ir, new_context
from tadc.dialect.op_writer import OpWriter
from tadc.dialect.ops import load_dialect
from tadc.frontend.deep import deep_recursion
from tadc.frontend.evaluation_order import EvaluationWalk, RegionScope
from tadc.frontend.limits import MAX_OPERATIONS
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
            return _ProgramWriter(program, context).function(point, name or program.symbol)


class _ProgramWriter(OpWriter, EvaluationWalk[Any]):
    def __init__(self, program: Program, context: Any) -> None:
        super().__init__(context, MAX_OPERATIONS)
        self.program = program

    def function(self, point: Any, name: str) -> Any:
        program, outputs = self.program, self.program.outputs
        tensors = [self.tensor_type(a.type, a.shape) for a in program.arguments]
        arguments = [*tensors, *[self.index_type] * len(program.sizes)]
        results = [self.tensor_type(d.type, d.shape) for d in outputs]
        attributes = {
            "sym_name": ir.StringAttr.get(name),
            "function_type": ir.TypeAttr.get(ir.FunctionType.get(arguments, results)),
            "arg_attrs": ir.ArrayAttr.get([*map(self.about, (*program.arguments, *program.sizes))]),
            "res_attrs": ir.ArrayAttr.get([*map(self.about, outputs)]),
        }
        if program.excluded:
            sets = [self.listed("set", rows, (), program.sizes) for rows in program.excluded]
            attributes["tad.excluded"] = ir.ArrayAttr.get(sets)
        function = ir.Operation.create("func.func", attributes=attributes, regions=1, ip=point)
        places = [labelled(a.name, self.at(a.span)) for a in program.arguments]
        places += [labelled(name, self.unknown) for name in program.sizes]
        block = ir.Block.create_at_start(function.regions[0], arguments, places)
        self.point, given = ir.InsertionPoint(block), list(block.arguments)
        self.tensors = dict(zip((a.name for a in program.arguments), given, strict=False))
        self.indices.update(zip(program.sizes, given[len(tensors) :], strict=True))
        for definition in program.definitions:
            self.definition(definition)
        returned = [self.tensors[d.name] for d in outputs]
        ir.Operation.create("func.return", operands=returned, ip=self.point)
        return function

    def about(self, tensor: Argument | Definition | str) -> Any:
        return attributes_of(tensor, self.program.sizes, self.context)

    def definition(self, made: Definition) -> None:
        self.location = self.at(made.span)
        type, place = self.tensor_type(made.type, made.shape), labelled(made.name, self.location)
        operation = self.map([type], made.indices, made.shape, made.order, place, {})
        with self.region(operation, 0, made.indices, self.named(made.indices)) as block:
            if made.order is not None:
                self.tensors[made.name] = block.add_argument(type, labelled("own", self.location))
            self.fill(made.body, made.type, None)
        self.tensors[made.name] = operation.results[0]

    def named(self, indices: Sequence[str]) -> list[Any]:
        """The places of indices, with the names that have been given to them."""
        return [self.location if is_bound(n) else labelled(n, self.unknown) for n in indices]

    # -- terms ---------------------------------------------------------------------------------

    def fill(self, root: Term, type: str, outer: RegionScope[Any] | None) -> None:
        """Fill a region, and yield the root."""
        self.create("tad.yield", [], [self.evaluated(root, type, outer)])

    def begin(self, term: Term) -> None:
        if term.span is not None:
            self.location = self.at(term.span)

    def made(self, term: Term, type: str, scope: RegionScope[Any]) -> Any:
        return self.operation(term, type, scope).results[0]

    def converted(self, value: Any, type: str) -> Any:
        return self.apply("convert", [value], self.types[type]).results[0]

    def operation(self, term: Term, type: str, scope: RegionScope[Any]) -> Any:
        """The operation of a term."""
        result, values = self.types[type], self.below(term, type, scope)
        match term:
            case Const():
                return self.constant(float(term.value), result)
            case IndexValue():
                return self.number(term.form, result)
            case Read():
                stored = self.tensors[term.tensor].type.element_type
                made = self.element("tad.read", stored, term.tensor, term.indices)
                return made if stored == result else self.apply("convert", made.results, result)
            case Apply():
                exponent = integer_exponent(term)
                function = term.function if exponent is None else "powi"
                return self.apply(function, values, result, exponent or 0)
            case Select():
                lhs, rhs, *choices = values
                chosen = self.apply(term.relation, [lhs, rhs], result).results[0]
                return self.apply("choose", [chosen, *choices], result)
            case Reduce():
                hints = zip(term.hints or term.binders, term.binders, strict=True)
                places = self.named([hint or name for hint, name in hints])
                with self.reduction(term.kind, term.domain, term.binders, places, [result]) as operation:
                    self.fill(term.body, type, scope)
                return operation
            case Guard():
                operation = self.guard(term.conditions, result)
                for number, branch in enumerate((term.then, term.otherwise)):
                    with self.region(operation, number):
                        self.fill(branch, type, scope)
                return operation
            case _:
                raise TypeError(f"no such term: {term}")

    def at(self, span: Span | Place | None) -> Any:
        """The location of a span."""
        if isinstance(span, Span):
            if self.program.source is None:
                return self.unknown
            line, column = self.program.source.position(span.start)
            span = Place(self.program.source.name, line, column)
        return self.places[span]
