"""Functions of `linalg` over tensors in a host's module, read into programs where they stand."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from tadc.dialect.index_maps import IndexOverflow
from tadc.dialect.locations import UnsupportedIR, name_of, place_of
from tadc.dialect.mlir import ir, passmanager
from tadc.dialect.writer import write_program
from tadc.frontend.diagnostics import CompileError
from tadc.frontend.extents import as_form
from tadc.frontend.naming import first_free
from tadc.frontend.per_value import read_program
from tadc.frontend.program import Definition, Program
from tadc.frontend.source import Place, Span
from tadc.lattice.affine import Affine, Constraint
from tadc.lattice.late_dataclasses import dataclass, replace
from tadc.passes.linalg.elements import Compared, Integer
from tadc.passes.linalg.imported_arrays import Numbers
from tadc.passes.linalg.index_forms import IndexForm, SizeSymbol
from tadc.passes.linalg.linalg_generic import inner_operations
from tadc.passes.linalg.linalg_programs import (
    ImportedProgram,
    NamedValue,
    legal_names,
    open_sizes,
    program_of,
)
from tadc.passes.linalg.placed_text import ImportedSource
from tadc.passes.linalg.refusals import Refusal
from tadc.passes.linalg.size_assertions import excluded
from tadc.passes.maps.lower_body import box_rows
from tadc.passes.wrappers import Wrapper, symbol_name

_FLOATS = ("f16", "bf16", "f32", "f64")
#: Elements of index arrays, with what makes them those of the language's.
_PLACES = {"i1": "arith.extui", "i8": "arith.extsi", "i16": "arith.extsi", "i32": "", "i64": "arith.trunci",
           "index": "arith.index_cast"}  # fmt: skip
#: The types of values that are read.
_READ = (ir.RankedTensorType, ir.FloatType, ir.IntegerType, ir.IndexType)
_COMPUTING = ("arith.", "math.", "tensor.")
_PREPARED = "builtin.module(func.func(linalg-generalize-named-ops,canonicalize,cse))"


def is_of_linalg(function: ir.Operation) -> bool:
    """Whether a function has operations of linalg, or others that compute tensors."""
    if function.name != "func.func" or not function.regions[0].blocks:
        return False
    return any(
        op.name.startswith("linalg.")
        or (
            op.name.startswith(_COMPUTING)
            and any(isinstance(r.type, ir.RankedTensorType) for r in op.results)
        )
        for op in _operations(function)
    )


def read_linalg(module: ir.Operation, function: ir.Operation) -> None:
    """Make a program of a function, in its place where callers see no other type; else it calls that.

    Raises UnsupportedIR, before anything is changed, for one that is no program.
    """
    check_types(function)
    with function.context, ir.Location.unknown(function.context):
        copy = ir.Module.create()
        copy.body.append(function.clone())
        passmanager.PassManager.parse(_PREPARED).run(copy.operation)
        (read,) = (op.operation for op in copy.body.operations)
        found = _FoundProgram.of(read)
        taken = {symbol_name(op.operation) for op in module.regions[0].blocks[0].operations
                 if "sym_name" in op.operation.attributes}  # fmt: skip
        name = symbol_name(function)
        try:
            made = write_program(found.program, module, first_free(f"{name}_program", taken), before=function)
        except IndexOverflow as overflow:
            raise UnsupportedIR(str(overflow), function.location) from None
        if found.takes_place_of(function, made):
            made.attributes["sym_name"] = ir.StringAttr.get(name)
            for said in function.attributes:
                if said not in (*made.attributes, "arg_attrs", "res_attrs"):
                    made.attributes[said] = function.attributes[said]
            function.erase()
        else:
            made.attributes["sym_visibility"] = ir.StringAttr.get("private")
            _call_program(Wrapper(function), made, found)


def check_types(function: ir.Operation) -> None:
    """Raise UnsupportedIR for what is known not to be read: buffers, calls, other blocks and types."""
    if len(function.regions[0].blocks) != 1:
        raise UnsupportedIR("it has branches between blocks", function.location)
    block = function.regions[0].blocks[0]
    returned = list(list(block.operations)[-1].operation.operands)
    for value in (*block.arguments, *returned):
        is_tensor = isinstance(value.type, ir.RankedTensorType)
        scalar = str(value.type.element_type if is_tensor else value.type)
        if "memref<" in str(value.type):
            raise UnsupportedIR("it works on buffers: read it before it is bufferized", function.location)
        is_places = is_tensor and scalar in _PLACES and value not in returned
        if scalar not in _FLOATS and str(value.type) != "index" and not is_places:
            raise UnsupportedIR(f"it takes and gives tensors of floats, not {value.type}", function.location)
        if value in returned and not is_tensor:
            raise UnsupportedIR(f"it gives {value.type}, which is no tensor", function.location)
    for op in _operations(function):
        if op.name in ("func.call", "func.call_indirect"):
            raise UnsupportedIR("it calls functions: `inline` puts these in their places", op.location)
        for value in (*op.operands, *op.results):
            if not isinstance(value.type, _READ):
                raise UnsupportedIR(f"`{op.name}` has a value of type {value.type}", op.location)


def _operations(function: ir.Operation) -> Iterator[ir.Operation]:
    for block in function.regions[0].blocks:
        yield from inner_operations(block)


@dataclass(frozen=True)
class _FoundProgram:
    """A program, the names of its results in the order of the function's, and arrays that are its last
    arguments."""

    program: Program
    results: tuple[str, ...]
    constants: Mapping[str, Numbers]

    @staticmethod
    def of(function: ir.Operation) -> _FoundProgram:
        """Read a function. Raises UnsupportedIR for one that is no program."""
        block = function.regions[0].blocks[0]
        names = legal_names([name_of(a.location) or f"x{n}" for n, a in enumerate(block.arguments)])
        given = list(map(NamedValue, names, open_sizes(list(block.arguments), names, 0)))
        count, name = len(list(list(block.operations)[-1].operation.operands)), symbol_name(function)
        wishes = legal_names([name] if count == 1 else [f"{name}_{n}" for n in range(count)])
        try:
            read = program_of(function, given, wishes, name, None, all_arguments=True)
            program = read_program(read.source)
        except CompileError as problem:
            raise _unsupported(problem, function) from None
        for array in read.mixed:
            message = f"elements of `{array}` are for dimensions of several sizes: give an array for each"
            raise UnsupportedIR(message, function.location)
        for array in read.valued:
            message = (
                f"elements of `{array}` are used other than as subscripts: no integers below 0 are taken"
            )
            raise UnsupportedIR(message, function.location)
        if not isinstance(program, Program):
            raise UnsupportedIR(
                "what it computes has another form for each value of a size", function.location
            )
        sizes = [n for n, a in zip(names, block.arguments, strict=True) if isinstance(a.type, ir.IndexType)]
        try:
            return _FoundProgram(_completed(program, read, sizes), read.results, read.constants)
        except ValueError:
            message = "it asserts something about more than sizes"
            raise UnsupportedIR(message, function.location) from None

    def takes_place_of(self, function: ir.Operation, made: ir.Operation) -> bool:
        """Whether the program, as it is made, has the type of a function."""
        if self.results != tuple(d.name for d in self.program.outputs):
            return False
        if any(a.is_index_array for a in self.program.arguments):
            return False  # Its elements are tested, and may be of another type.
        return made.attributes["function_type"] == function.attributes["function_type"]


def _completed(program: Program, read: ImportedProgram, sizes: Sequence[str]) -> Program:
    """The program with the function's own sizes first, with what that asserts, and its places.

    Raises ValueError where it asserts something of more than sizes.
    """
    others = [size for size in program.sizes if size not in sizes]
    rows = [tuple(map(_row, together)) for together in excluded(read.equal, read.asserted)]
    # An argument that is no extent could be negative, which no size of a program is.
    extents = {extent for argument in program.arguments for extent in argument.shape}
    forms = [Affine.var(size) for size in sizes]
    rows += [(Constraint(-form - 1),) for form in forms if form not in extents]
    not_taken = [*program.excluded, *(r for r in rows if r not in program.excluded)]
    placed = tuple(replace(d, span=_place(d, read.source)) for d in program.definitions)
    return replace(
        program, definitions=placed, sizes=(*sizes, *others), excluded=tuple(not_taken), source=None
    )  # fmt: skip


def _row(condition: Compared) -> Constraint:
    left, right = (
        _affine(side.form) for side in (condition.left, condition.right) if isinstance(side, Integer)
    )
    return Constraint(right - left - (condition.relation == "<"), condition.relation == "=")


def _affine(form: IndexForm) -> Affine:
    total = Affine.const(form.constant)
    for atom, times in form.terms:
        assert isinstance(atom, SizeSymbol)
        total += times * Affine.var(atom.name)
    return total


def _place(definition: Definition, source: ImportedSource) -> Place | None:
    """Where a definition is in the module's file."""
    span = definition.span
    if not isinstance(span, Span):
        return span
    found = next((p for s, p in source.places if s.start <= span.start < s.end + 1), None)
    return found and Place(found.file, found.number, 1)


def _unsupported(problem: CompileError, function: ir.Operation) -> UnsupportedIR:
    """What stopped a reading, at the operation that it is about."""
    if isinstance(problem, Refusal) and problem.place is not None:
        line = problem.place.file, problem.place.number
        for op in _operations(function):
            place = place_of(op.location)
            if place is not None and (place.file, place.line) == line:
                return UnsupportedIR(problem.diagnostics[0].message, op.location)
    return UnsupportedIR(problem.diagnostics[0].message, function.location)


def _call_program(wrapper: Wrapper, made: ir.Operation, found: _FoundProgram) -> None:
    """Have a function call its program, where its sizes fit."""
    program, types = found.program, ir.FunctionType(ir.TypeAttr(made.attributes["function_type"]).value)
    known = dict(zip(program.sizes, wrapper.forms, strict=False))
    shapes = [tuple(map(as_form, argument.shape)) for argument in program.arguments]
    expected: list[tuple[ir.Value, int, Affine]] = []
    for tensor, shape in zip(wrapper.tensors, shapes, strict=False):
        for n, form in enumerate(shape):
            symbol = next(iter(form.variables), "")
            if form == Affine.var(symbol) and symbol not in known:
                known[symbol] = wrapper.dimension(tensor, n)
            elif not form.is_constant:
                expected.append((tensor, n, form))
    for rows in program.excluded:
        wrapper.exclude(tuple(row.substitute(known) for row in rows))
    for tensor, n, form in expected:
        wrapper.expect(tensor, n, form.substitute(known))
    given: list[ir.Value] = []
    for value, type, argument in zip(wrapper.tensors, types.inputs, program.arguments, strict=False):
        if not isinstance(value.type, ir.RankedTensorType):
            given += wrapper.made("tensor.from_elements", [type], [value])
            continue
        if argument.below is not None:
            value = _places(wrapper, value, as_form(argument.below).substitute(known))
        given.append(wrapper.cast(value, type))
    for name, type in zip(found.constants, types.inputs[len(given) :], strict=False):
        value = ir.DenseElementsAttr.get(found.constants[name], type=type.element_type)
        given += wrapper.made("arith.constant", [type], [], value=value)
    given += [wrapper.affine([known[size]], wrapper.point) for size in program.sizes]
    results = wrapper.call(symbol_name(made), list(types.results), given)
    by_name = dict(zip((d.name for d in program.outputs), results, strict=True))
    wrapper.finish([by_name[name] for name in found.results])


def _places(wrapper: Wrapper, tensor: ir.Value, below: Affine) -> ir.Value:
    """An index array as a program takes it, of i32; the host stops where an element is out of range."""
    names = [f"d{n}" for n in range(tensor.type.rank)]
    here = list(map(Affine.var, names))
    kind, truth = str(tensor.type.element_type), ir.IntegerType.get_signless(1)
    yes = wrapper.constant(truth, 1, wrapper.point)
    first = wrapper.made("tensor.from_elements", [ir.RankedTensorType.get([], truth)], [yes])
    test = wrapper.generic([tensor], first, [here, []], (), names)
    (element, before), point = wrapper.body(test)
    if kind != "index":
        cast = "arith.index_castui" if kind == "i1" else "arith.index_cast"
        element = wrapper.create(cast, [wrapper.index_type], [element], point).results[0]
    holds = wrapper.holds(tuple(box_rows([wrapper.variable(element)], [below])), point)
    both = wrapper.create("arith.andi", [truth], [before, holds], point).results
    wrapper.create("linalg.yield", [], both, point)
    wrapper.stop_unless(
        wrapper.made("tensor.extract", [truth], test.results)[0], f"elements{wrapper.argument(tensor)}"
    )
    if not _PLACES[kind]:
        return tensor
    sizes = [
        wrapper.dimension(tensor, n) if tensor.type.is_dynamic_dim(n) else Affine.const(size)
        for n, size in enumerate(tensor.type.shape)
    ]
    shape, values = wrapper.extents(sizes)
    whole = ir.IntegerType.get_signless(32)
    room = wrapper.made("tensor.empty", [ir.RankedTensorType.get(shape, whole)], values)
    made = wrapper.generic([tensor], room, [here, here], names)
    (element, _), point = wrapper.body(made)
    wrapper.create(
        "linalg.yield", [], wrapper.create(_PLACES[kind], [whole], [element], point).results, point
    )
    return made.results[0]
