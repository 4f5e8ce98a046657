"""The `tad` dialect back to typed programs.

What a function says is read from its operations alone, so a module that other passes
touched, or another compiler wrote, reads as well. Names come from `tad.name` attributes
and name locations; where there are none, plain ones are made up. An operation that has no
place in a program is an error at its location.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from tadc.dialect import scalar_ops
from tadc.dialect.index_maps import parse_map, parse_set
from tadc.dialect.mlir import ir
from tadc.frontend.program import Argument, Definition, Program
from tadc.frontend.source import Place
from tadc.frontend.terms import Const, Term, Terms
from tadc.lattice.affine import Affine


class UnsupportedIR(Exception):
    """IR that no program of the language says; `location` is where."""

    def __init__(self, message: str, location: Any) -> None:
        super().__init__(message)
        self.message = message
        self.location = location


def tad_functions(module: Any) -> list[Any]:
    """The functions of a module that hold a program."""
    return [
        op.operation
        for op in module.regions[0].blocks[0].operations
        if op.operation.name == "func.func" and _is_program(op.operation)
    ]


def _is_program(function: Any) -> bool:
    if not function.regions or not function.regions[0].blocks:
        return False
    if "tad.name" in str(function.attributes["arg_attrs"] if "arg_attrs" in function.attributes else ""):
        return True
    return any(op.operation.name == "tad.map" for op in function.regions[0].blocks[0].operations)


def read_program(function: Any) -> Program:
    """Read a `func.func`; raises UnsupportedIR where it is no program."""
    return _Reader(function).program()


@dataclass
class _Reader:
    function: Any
    terms: Terms = field(default_factory=Terms)
    names: dict[Any, str] = field(default_factory=dict[Any, str])
    indices: dict[Any, Affine] = field(default_factory=dict[Any, Affine])
    values: dict[Any, Term] = field(default_factory=dict[Any, Term])
    definitions: list[Definition] = field(default_factory=list[Definition])
    results: list[tuple[Any, str, str]] = field(default_factory=list[tuple[Any, str, str]])
    taken: set[str] = field(default_factory=set[str])

    # -- functions and definitions -------------------------------------------------------------

    def program(self) -> Program:
        block = self.function.regions[0].blocks[0]
        operations = [op.operation for op in block.operations]
        returned = list(operations[-1].operands)
        result_names = self.attribute_texts("res_attrs", "tad.name", len(returned))
        argument_names = self.attribute_texts("arg_attrs", "tad.name", len(block.arguments))
        outputs_of = self.attribute_texts("arg_attrs", "tad.cotangent_of", len(block.arguments))
        gradients_of = self.attribute_texts("res_attrs", "tad.gradient_of", len(returned))
        self.taken = {n for n in (*result_names, *argument_names) if n}
        arguments = [
            self.argument(value, name, of)
            for value, name, of in zip(block.arguments, argument_names, outputs_of, strict=True)
        ]
        self.results = [
            (value, result_names[position] or self.free(f"out{position}"), gradients_of[position])
            for position, value in enumerate(returned)
        ]
        for operation in operations[:-1]:
            self.top_level(operation)
        if self.results:
            raise UnsupportedIR("a result must be the value of a 'tad.map'", self.function.location)
        return Program(tuple(arguments), tuple(self.definitions), self.terms)

    def attribute_texts(self, key: str, name: str, count: int) -> list[str]:
        """A text attribute of every argument or result, empty where there is none."""
        if key not in self.function.attributes:
            return [""] * count
        found = [ir.DictAttr(a) for a in ir.ArrayAttr(self.function.attributes[key])]
        return [ir.StringAttr(a[name]).value if name in a else "" for a in found]

    def free(self, wish: str) -> str:
        """Claim the first free of `wish`, `wish_1`, `wish_2`, …"""
        name, number = wish, 0
        while name in self.taken:
            number += 1
            name = f"{wish}_{number}"
        self.taken.add(name)
        return name

    def argument(self, value: Any, name: str, cotangent_of: str) -> Argument:
        kind, shape = self.tensor_type(value.type, self.function.location)
        name = name or self.free("x")
        self.names[value] = name
        return Argument(name, kind, shape, place_of(value.location), cotangent_of)

    def tensor_type(self, type: Any, location: Any) -> tuple[str, tuple[int, ...]]:
        if not isinstance(type, ir.RankedTensorType) or not type.has_static_shape:
            raise UnsupportedIR(f"expected a tensor of static shape, got {type}", location)
        element = str(type.element_type)
        if element not in ("f32", "f64"):
            raise UnsupportedIR(f"expected elements of type f32 or f64, got {element}", location)
        return element, tuple(type.shape)

    def top_level(self, operation: Any) -> None:
        if operation.name == "tad.map":
            self.definition(operation)
        elif operation.name.startswith(("arith.", "math.")):
            self.scalar(operation)
        else:
            raise UnsupportedIR(f"'{operation.name}' has no place in a tensor program", operation.location)

    def definition(self, operation: Any) -> None:
        """Read a map: an output if it is the next result, else a let that a later copy may return."""
        value = operation.results[0]
        kind, shape = self.tensor_type(value.type, operation.location)
        is_output = bool(self.results) and self.results[0][0] == value
        gradient_of = ""
        if is_output:
            _, name, gradient_of = self.results.pop(0)
        else:
            name = self.free(name_of(operation.location) or "h")
        block = operation.regions[0].blocks[0]
        wished = [name_of(a.location) or f"{name}_{n}" for n, a in enumerate(block.arguments)]
        indices = tuple(w if wished.count(w) == 1 else f"{name}_{n}" for n, w in enumerate(wished))
        for argument, index in zip(block.arguments, indices, strict=True):
            self.indices[argument] = Affine.var(index)
        body = self.region(block)
        self.names[value] = name
        place = place_of(operation.location)
        self.definitions.append(Definition(name, kind, shape, indices, body, is_output, place, gradient_of))
        self.copies()

    def copies(self) -> None:
        """Results that are values made before: cse merges equal tensors."""
        while self.results and self.results[0][0] in self.names:
            value, name, gradient_of = self.results.pop(0)
            kind, shape = self.tensor_type(value.type, self.function.location)
            indices = tuple(f"{name}_{n}" for n in range(len(shape)))
            body = self.terms.read(self.names[value], [Affine.var(i) for i in indices], kind)
            self.definitions.append(Definition(name, kind, shape, indices, body, gradient_of=gradient_of))

    # -- regions and scalars -------------------------------------------------------------------

    def region(self, block: Any) -> Term:
        operations = [op.operation for op in block.operations]
        for operation in operations[:-1]:
            self.scalar(operation)
        return self.term(operations[-1].operands[0])

    def term(self, value: Any) -> Term:
        found = self.values.get(value)
        if found is None:
            raise UnsupportedIR("a region may use indices and scalars only", value.location)
        return found

    def scalar(self, operation: Any) -> None:
        name, place = operation.name, place_of(operation.location)
        if name == "tad.index":
            self.indices[operation.results[0]] = self.forms(operation, operation.operands)[0]
            return
        if name == "arith.cmpf" or (name == "arith.constant" and not _is_float(operation)):
            return  # read where they are used: by a select, by an integer power
        result = operation.results[0]
        if name == "tad.map":
            raise UnsupportedIR("'tad.map' cannot stand inside another op", operation.location)
        if name.startswith("tad."):
            self.values[result] = self.indexed(operation, place)
        elif name in ("arith.extf", "arith.truncf"):
            self.values[result] = self.term(operation.operands[0])
        elif name == "arith.constant":
            self.values[result] = self.terms.const(_plain(operation.attributes["value"].value), place)
        elif name == "arith.select":
            self.values[result] = self.select(operation, place)
        elif name == scalar_ops.INTEGER_POWER:
            self.values[result] = self.power(operation, place)
        elif name in scalar_ops.FUNCTION_OF:
            below = [self.term(v) for v in operation.operands]
            if name == "arith.mulf" and isinstance(below[1], Const) and not isinstance(below[0], Const):
                below.reverse()  # canonicalisation puts literals last, people put factors first
            self.values[result] = self.terms.apply(scalar_ops.FUNCTION_OF[name], below, place)
        else:
            raise UnsupportedIR(f"'{name}' has no place in a tensor program", operation.location)

    def forms(self, operation: Any, indices: Any) -> list[Affine]:
        """The forms of an op's map over its index operands."""
        found = parse_map(str(operation.attributes["at"]))
        mapping = {f"d{i}": self.index(v, operation) for i, v in enumerate(indices)}
        return [form.substitute(mapping) for form in found.forms]

    def index(self, value: Any, operation: Any) -> Affine:
        found = self.indices.get(value)
        if found is None:
            raise UnsupportedIR(
                "an index must be bound by a region or made by 'tad.index'", operation.location
            )
        return found

    def indexed(self, operation: Any, place: Place | None) -> Term:
        match operation.name:
            case "tad.read":
                tensor = operation.operands[0]
                if tensor not in self.names:
                    raise UnsupportedIR("the tensor read is no argument and no 'tad.map'", operation.location)
                forms = self.forms(operation, list(operation.operands)[1:])
                kind = str(operation.results[0].type)
                return self.terms.read(self.names[tensor], forms, kind, place)
            case "tad.value_of":
                return self.terms.index(self.index(operation.operands[0], operation), place)
            case "tad.apply":
                below = [self.term(v) for v in operation.operands]
                return self.terms.apply(ir.StringAttr(operation.attributes["fn"]).value, below, place)
            case "tad.sum":
                return self.reduce(operation, place)
            case "tad.guard":
                found = parse_set(str(operation.attributes["where"]))
                mapping = {f"d{i}": self.index(v, operation) for i, v in enumerate(operation.operands)}
                rows = [c.substitute(mapping) for c in found.constraints]
                then, otherwise = (self.region(r.blocks[0]) for r in operation.regions)
                return self.terms.guard(rows, then, otherwise, place)
            case _:
                raise UnsupportedIR(f"'{operation.name}' cannot stand here", operation.location)

    def reduce(self, operation: Any, place: Place | None) -> Term:
        found = parse_set(str(operation.attributes["domain"]))
        block = operation.regions[0].blocks[0]
        binders = [self.terms.fresh("s") for _ in block.arguments]
        for argument, binder in zip(block.arguments, binders, strict=True):
            self.indices[argument] = Affine.var(binder)
        mapping = {f"d{i}": Affine.var(b) for i, b in enumerate(binders)}
        mapping |= {f"s{i}": self.index(v, operation) for i, v in enumerate(operation.operands)}
        rows = [c.substitute(mapping) for c in found.constraints]
        hints = [name_of(a.location) for a in block.arguments]
        return self.terms.reduce(binders, rows, self.region(block), hints=hints, span=place)

    def select(self, operation: Any, place: Place | None) -> Term:
        compare = operation.operands[0].owner
        compare = getattr(compare, "operation", compare)
        predicate = compare.attributes["predicate"].value if compare.name == "arith.cmpf" else None
        if predicate not in scalar_ops.RELATION_OF:
            raise UnsupportedIR("a select must choose by an ordered 'arith.cmpf'", operation.location)
        lhs, rhs = (self.term(v) for v in compare.operands)
        then, otherwise = (self.term(v) for v in list(operation.operands)[1:])
        return self.terms.select(scalar_ops.RELATION_OF[predicate], lhs, rhs, then, otherwise, place)

    def power(self, operation: Any, place: Place | None) -> Term:
        exponent = operation.operands[1].owner
        exponent = getattr(exponent, "operation", exponent)
        if exponent.name != "arith.constant":
            raise UnsupportedIR("the exponent of an integer power must be a constant", operation.location)
        power = self.terms.const(ir.IntegerAttr(exponent.attributes["value"]).value)
        return self.terms.apply("pow", [self.term(operation.operands[0]), power], place)


def _is_float(operation: Any) -> bool:
    return str(operation.results[0].type) in ("f32", "f64")


def _plain(value: float) -> int | float:
    """An integral literal as an int, so that it prints as one; not where `x**2.0` would change."""
    return int(value) if value.is_integer() and abs(value) < 2**53 and repr(value) != "-0.0" else value


def name_of(location: Any) -> str:
    """The name that a location carries, or nothing."""
    return location.name_str if isinstance(location, ir.NameLoc) else ""


def place_of(location: Any) -> Place | None:
    """The first file position in a location."""
    if type(location) is ir.Location:  # as diagnostics give it
        location = ir.Location.from_attr(location.attr, location.context)
    if isinstance(location, ir.FileLineColLoc):
        return Place(str(location.filename), location.start_line, location.start_col)
    if isinstance(location, ir.NameLoc):
        return place_of(location.child_loc)
    if isinstance(location, ir.FusedLoc):
        return next((p for p in map(place_of, location.locations) if p), None)
    return None
