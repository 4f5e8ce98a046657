"""Functions that others of a module call keep their names and their types, whatever passes make of them.

A pass that gives a function another type leaves a wrapper in its place: a function as callers know it, which
calls the new one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod

from tadc.dialect.declarations import Declarations
from tadc.dialect.index_maps import IndexOverflow, index_attribute
from tadc.dialect.mlir import ir
from tadc.dialect.program_reader import UnsupportedIR, read_program, tad_functions
from tadc.dialect.writer import write_program
from tadc.frontend.program import Program
from tadc.frontend.terms import Domain
from tadc.lattice.affine import ZERO, Affine
from tadc.lattice.late_dataclasses import replace
from tadc.passes.maps.buffers import buffer_type
from tadc.passes.maps.lower_body import BodyLowering
from tadc.passes.maps.map import TensorDecl
from tadc.passes.terms.liveness import needed


def called_names(module: ir.Module) -> set[str]:
    """The names of functions that anything in a module refers to; programs, which may be long, never do."""
    found, programs = set[str](), {symbol_name(function) for function in tad_functions(module)}

    def visit(op: ir.Operation) -> ir.WalkResult:
        for name in op.attributes:
            if isinstance(attribute := op.attributes[name], ir.SymbolRefAttr | ir.FlatSymbolRefAttr):
                found.add(str(attribute).split("::")[0].removeprefix("@").strip('"'))
        return ir.WalkResult.ADVANCE

    for op in module.regions[0].blocks[0].operations:
        if "sym_name" not in op.attributes or symbol_name(op.operation) not in programs:
            op.operation.walk(visit)
    return found


def symbol_name(function: ir.Operation) -> str:
    """The name of a function."""
    return ir.StringAttr(function.attributes["sym_name"]).value


class Wrapper(BodyLowering):
    """A function that is emptied, to be filled with a call of what it has become.

    It is no program any more, so what it says of its arguments and results goes; sizes that it excludes stop
    the host, by `cf.assert`.
    """

    def __init__(self, function: ir.Operation) -> None:
        super().__init__(function.context)
        self.function, self.block = function, function.regions[0].blocks[0]
        self.arguments = list(self.block.arguments)
        self.sizes = [a for a in self.arguments if isinstance(a.type, ir.IndexType)]
        self.tensors = [a for a in self.arguments if not isinstance(a.type, ir.IndexType)]
        self.forms = [self.variable(size) for size in self.sizes]
        names = [f"s{n}" for n in range(len(self.sizes))]
        excluded, self.location = Declarations(function, names).excluded(), function.location
        for op in reversed(list(self.block.operations)):
            op.operation.erase()
        for name in ("arg_attrs", "res_attrs", "tad.excluded"):
            if name in function.attributes:
                del function.attributes[name]
        self.point = ir.InsertionPoint(self.block)
        for rows in excluded:
            known = dict(zip(names, self.forms, strict=True))
            self.exclude(tuple(row.substitute(known) for row in rows))

    @property
    def results(self) -> list[ir.Type]:
        """The types of what callers get."""
        return list(ir.FunctionType(ir.TypeAttr(self.function.attributes["function_type"]).value).results)

    def made(
        self, name: str, results: Sequence[ir.Type], operands: Sequence[ir.Value], **attributes: ir.Attribute
    ) -> list[ir.Value]:
        """Add an operation; its results."""
        return list(self.create(name, results, operands, self.point, attributes).results)

    def call(self, function: str, results: Sequence[ir.Type], operands: Sequence[ir.Value]) -> list[ir.Value]:
        """Add a call; its results."""
        return self.made(
            "func.call", results, operands, callee=ir.FlatSymbolRefAttr.get(function, self.context)
        )

    def stop_where(self, condition: ir.Value, what: str) -> None:
        """Stop the host where a condition holds, with a message about what."""
        no = self.constant(condition.type, 0, self.point)
        self.stop_unless(self.compare("eq", condition, no, self.point), what)

    def stop_unless(self, holds: ir.Value, what: str) -> None:
        """Stop the host where a condition does not hold, with a message about what."""
        text = f"tadc: @{symbol_name(self.function)} does not take the {what}"
        self.made("cf.assert", [], [holds], msg=ir.StringAttr.get(text, self.context))

    def exclude(self, rows: Domain) -> None:
        """Stop the host for sizes for which all rows hold."""
        self.stop_where(self.holds(rows, self.point), "sizes of a call")

    def dimension(self, tensor: ir.Value, dimension: int) -> Affine:
        """The extent of a tensor as a form."""
        operands = [tensor, self.index(dimension, self.point)]
        return self.variable(self.made("tensor.dim", [self.index_type], operands)[0])

    def expect(self, tensor: ir.Value, dimension: int, extent: Affine) -> None:
        """Stop the host where a tensor has another extent."""
        found = self.affine([self.dimension(tensor, dimension)], self.point)
        differs = self.compare("ne", found, self.affine([extent], self.point), self.point)
        self.stop_where(differs, f"extent of dimension {dimension}{self.argument(tensor)}")

    @staticmethod
    def argument(tensor: ir.Value) -> str:
        """Which argument a tensor is, for a message."""
        return f" of argument {tensor.arg_number}" if isinstance(tensor, ir.BlockArgument) else ""

    def generic(
        self,
        given: Sequence[ir.Value],
        outs: Sequence[ir.Value],
        maps: Sequence[Sequence[Affine]],
        parallel: Sequence[str],
        reduced: Sequence[str] = (),
    ) -> ir.Operation:
        """Add a `linalg.generic` over loops, with a map for each operand and no body yet."""
        iterators = ["parallel"] * len(parallel) + ["reduction"] * len(reduced)
        kinds = [ir.Attribute.parse(f"#linalg.iterator_type<{kind}>", self.context) for kind in iterators]
        listed = [index_attribute("map", forms, (*parallel, *reduced), self.context) for forms in maps]
        segments = [len(given), len(outs)]
        return self.create(
            "linalg.generic", [out.type for out in outs], [*given, *outs], self.point,
            {
                "indexing_maps": ir.ArrayAttr.get(listed, self.context),
                "iterator_types": ir.ArrayAttr.get(kinds, self.context),
                "operandSegmentSizes": ir.DenseI32ArrayAttr.get(segments, self.context),
            }, regions=1,
        )  # fmt: skip

    def body(self, operation: ir.Operation) -> tuple[list[ir.Value], ir.InsertionPoint]:
        """The arguments of the body of a `linalg.generic`, an element of each operand, and its end."""
        types = [value.type.element_type for value in operation.operands]
        block = ir.Block.create_at_start(operation.regions[0], types, [self.location] * len(types))
        return list(block.arguments), ir.InsertionPoint(block)

    def extents(self, forms: Sequence[Affine]) -> tuple[list[int], list[ir.Value]]:
        """The extents of a type, and the values of those that it leaves open; none is less than 0."""
        dynamic = ir.ShapedType.get_dynamic_size()
        sizes = [max(form.constant, 0) if form.is_constant else dynamic for form in forms]
        least = (
            self.extreme("affine.max", [form, ZERO], self.point) for form in forms if not form.is_constant
        )
        return sizes, [self.affine([form], self.point) for form in least]

    def cast(self, tensor: ir.Value, type: ir.Type) -> ir.Value:
        """A tensor with another type of as many dimensions; dimensions that are known there are tested."""
        if tensor.type == type:
            return tensor
        for n in range(type.rank):
            if tensor.type.is_dynamic_dim(n) and not type.is_dynamic_dim(n):
                self.expect(tensor, n, Affine.const(type.get_dim_size(n)))
        return self.made("tensor.cast", [type], [tensor])[0]

    def finish(self, results: Sequence[ir.Value]) -> None:
        """Return results, as callers know them."""
        self.made("func.return", [], [self.cast(r, t) for r, t in zip(results, self.results, strict=True)])


class BufferWrapper(Wrapper):
    """A wrapper that makes buffers."""

    def expect_shapes(self, arguments: Sequence[TensorDecl], forms: Mapping[str, Affine]) -> None:
        """Stop the host where an argument has other extents than its type leaves open."""
        for tensor, value in zip(arguments, self.tensors, strict=True):
            for n, extent in enumerate(tensor.shape):
                if value.type.is_dynamic_dim(n):
                    self.expect(value, n, extent.substitute(forms))

    def buffer_of(self, tensor: ir.Value) -> ir.Value:
        """A tensor that is read."""
        type = ir.MemRefType.get(list(tensor.type.shape), tensor.type.element_type)
        return self.made(
            "bufferization.to_buffer", [type], [tensor], read_only=ir.UnitAttr.get(self.context)
        )[0]

    def tensor_of(self, buffer: ir.Value, type: ir.Type) -> ir.Value:
        """A buffer that nothing else holds."""
        unit = ir.UnitAttr.get(self.context)
        shaped = ir.RankedTensorType.get(list(buffer.type.shape), type.element_type)
        return self.made("bufferization.to_tensor", [shaped], [buffer], restrict=unit, writable=unit)[0]

    def room(self, tensor: TensorDecl, forms: Mapping[str, Affine], by: str = "memref.alloc") -> ir.Value:
        """A new buffer for a tensor; where an extent is negative, for none of its elements.

        `memref.alloc` makes it, or `gpu.alloc` in the memory of the GPU.
        """
        sizes, values = self.extents([extent.substitute(forms) for extent in tensor.shape])
        type = ir.MemRefType.get(sizes, ir.Type.parse(tensor.type, self.context))
        counts = [0] * (by == "gpu.alloc") + [len(values), 0]
        segments = ir.DenseI32ArrayAttr.get(counts, self.context)
        return self.made(by, [type], values, operandSegmentSizes=segments)[0]

    def passed(self, buffer: ir.Value, tensor: TensorDecl) -> ir.Value:
        """A buffer as loops take it: in a static type, from its first element on."""
        type = buffer_type(tensor)
        if buffer.type == type:
            return buffer
        sizes = list(type.shape)
        strides = [prod(sizes[n + 1 :]) for n in range(len(sizes))]
        numbers = {"static_offsets": [0], "static_sizes": sizes, "static_strides": strides}
        attributes: dict[str, ir.Attribute] = {
            name: ir.DenseI64ArrayAttr.get(listed, self.context) for name, listed in numbers.items()
        }
        attributes["operandSegmentSizes"] = ir.DenseI32ArrayAttr.get([1, 0, 0, 0], self.context)
        return self.made("memref.reinterpret_cast", [type], [buffer], **attributes)[0]


def wrap_tensors(function: ir.Operation, made: ir.Operation, kept: Sequence[int]) -> None:
    """Have a function call another that computes the same of tensors whose shapes are known better, and of
    those of its sizes that are at the places `kept`."""
    wrapper = Wrapper(function)
    types = ir.FunctionType(ir.TypeAttr(made.attributes["function_type"]).value)
    tensors = zip(wrapper.tensors, types.inputs, strict=False)
    given = [wrapper.cast(tensor, type) for tensor, type in tensors]
    given += [wrapper.sizes[n] for n in kept]
    wrapper.finish(wrapper.call(symbol_name(made), list(types.results), given))


def rewrite_functions(module: ir.Module, rewrite: Callable[[Program], Program], suffix: str = "") -> None:
    """Replace every program of a module by what `rewrite` makes of it and needs, if that is another.

    One that others of the module call stays beside what has a `suffix`, and has its type whatever becomes
    of it.
    """
    called = called_names(module)
    for function in tad_functions(module):
        before, name = read_program(function), symbol_name(function)
        program = rewrite(before)
        if program is before:
            continue
        if name not in called:
            write_beside(program, module, name + suffix, function)
            function.erase()
        elif suffix:
            write_beside(program, module, name + suffix, function)
        elif signature(program) == signature(before):
            write_beside(program, module, name, function)
            function.erase()
        else:
            made = write_beside(program, module, f"{name}_specialised", function)
            wrap_tensors(function, made, [before.sizes.index(size) for size in program.sizes])


def signature(program: Program) -> object:
    """What callers of a program know of it."""
    tensors = (*program.arguments, *program.outputs)
    return [(tensor.type, tensor.shape) for tensor in tensors], program.sizes


def write_beside(program: Program, module: ir.Module, name: str, function: ir.Operation) -> ir.Operation:
    """Write a program as a function before another; raises UnsupportedIR where MLIR cannot hold it."""
    program = replace(program, definitions=needed(program.definitions))
    try:
        return write_program(program, module, name, before=function)
    except IndexOverflow as overflow:
        raise UnsupportedIR(str(overflow), function.location) from None
