"""The `tad` dialect back to typed programs.

What a function says is read from its operations alone, so a module that other passes
touched, or another compiler wrote, reads as well. Names come from `tad.name` attributes
and name locations; where there are none, plain ones are made up. An operation that has no
place in a program is an error at its location.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from tadc.dialect.checks import is_index_array
from tadc.dialect.index_arrays import bound_of, inspected, is_increasing, is_inspected, pattern_of
from tadc.dialect.index_maps import parse_map
from tadc.dialect.locations import name_of, place_of
from tadc.dialect.mlir import ir
from tadc.dialect.ops import MAPS, indices_of, own_tensor
from tadc.dialect.region_reader import RegionReader, UnsupportedIR
from tadc.dialect.shapes import argument_shape, excluded_sets, map_shape, said_of
from tadc.frontend.deep import deep_recursion
from tadc.frontend.extents import Shape, extent
from tadc.frontend.lexer import RESERVED
from tadc.frontend.naming import first_free, is_legal
from tadc.frontend.program import Argument, Definition, Pattern, Program
from tadc.frontend.terms import Term
from tadc.lattice.affine import Affine

__all__ = ["Fused", "UnsupportedIR", "read_fused", "read_program", "tad_functions"]


@dataclass(frozen=True)
class Fused:
    """A program after `tad-fuse`: `maps` are the names of tensors computed together, in one nest of loops,
    and all values that are made for each of their elements.

    Sums of one region are a single loop where their numbers are in one set of `sums`.
    """

    program: Program
    maps: tuple[tuple[tuple[str, ...], tuple[Term, ...]], ...]
    sums: tuple[frozenset[int], ...]


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
    return any(op.operation.name in MAPS for op in function.regions[0].blocks[0].operations)


def read_program(function: Any) -> Program:
    """Read a `func.func`; raises UnsupportedIR where it is no program."""
    with deep_recursion():
        return _Reader(function).program()


def names_of(function: Any) -> tuple[list[str], list[str]]:
    """The names that a program of the function gives its arguments, sizes included, and its results."""
    block, reader = function.regions[0].blocks[0], _Reader(function)
    arguments = reader.claim("arg_attrs", block.arguments, "x")
    return arguments, reader.claim("res_attrs", list(list(block.operations)[-1].operands), "f")


def read_fused(function: Any) -> Fused:
    """Read a function that `tad-fuse` is through with; raises UnsupportedIR where it is no program.

    Results that were made before others of the function stand before them.
    """
    with deep_recursion():
        reader = _Reader(function, in_order=False)
        program = reader.program()
        return Fused(program, tuple(reader.maps), tuple(reader.inside.together))


class _Reader:
    """Reads a function; `results` are those that no definition has yet given.

    With `in_order`, definitions are results in the order of the function's.
    """

    def __init__(self, function: Any, in_order: bool = True) -> None:
        self.function, self.in_order = function, in_order
        self.inside = RegionReader()
        self.definitions: list[Definition] = []
        self.maps: list[tuple[tuple[str, ...], tuple[Term, ...]]] = []
        self.results: list[tuple[Any, str, str, str]] = []
        self.taken: set[str] = set(RESERVED)
        self.sizes: tuple[str, ...] = ()
        self.shapes: dict[Any, Shape] = {}
        self.spoken: set[str] = set()  # names of indices, which no tensor may have

    def program(self) -> Program:
        if len(self.function.regions[0].blocks) != 1:
            raise UnsupportedIR("a program is a function of one block", self.function.location)
        block = self.function.regions[0].blocks[0]
        operations = [op.operation for op in block.operations]
        returned = list(operations[-1].operands)
        inputs, outputs = len(block.arguments), len(returned)
        cotangents_of = self.attribute_texts("arg_attrs", "tad.cotangent_of", inputs)
        arguments_of = self.attribute_texts("arg_attrs", "tad.tangent_of", inputs)
        gradients_of = self.attribute_texts("res_attrs", "tad.gradient_of", outputs)
        outputs_of = self.attribute_texts("res_attrs", "tad.tangent_of", outputs)
        names = self.claim("arg_attrs", block.arguments, "x")
        values = list(zip(block.arguments, names, cotangents_of, arguments_of, strict=True))
        self.sizes = tuple(name for value, name, *_ in values if isinstance(value.type, ir.IndexType))
        for value, name, *_ in values:
            if name in self.sizes:
                self.inside.indices[value] = Affine.var(name)
        arguments = [self.argument(*each) for each in values if each[1] not in self.sizes]
        claimed = self.claim("res_attrs", returned, "f")
        self.results = list(zip(returned, claimed, gradients_of, outputs_of, strict=True))
        for operation in operations[:-1]:
            self.top_level(operation)
        if self.results:
            raise UnsupportedIR("a result must be the value of a 'tad.map'", self.function.location)
        patterns = {name: self.pattern(n, "res_attrs") for n, name in enumerate(claimed)}
        return Program(
            tuple(arguments),
            tuple(
                replace(d, pattern=found) if (found := patterns.get(d.name)) else d for d in self.definitions
            ),
            self.inside.terms,
            sizes=self.sizes,
            excluded=tuple(
                tuple(row.substitute(self.size_names()) for row in rows)
                for rows in excluded_sets(self.function)
            ),
        )

    def size_names(self) -> dict[str, Affine]:
        """The sizes by position, as the symbols of an attribute."""
        return {f"s{n}": Affine.var(name) for n, name in enumerate(self.sizes)}

    def claim(self, key: str, values: Any, otherwise: str) -> list[str]:
        """Names of arguments or results: as attributes say, else their locations, else made up."""
        said = self.attribute_texts(key, "tad.name", len(values))
        names: list[str] = []
        for name, value in zip(said, values, strict=True):
            made = key == "arg_attrs" and is_inspected(self.function, value)
            names.append(self.free(name or name_of(value.location), otherwise, is_made=made))
        return names

    def attribute_texts(self, key: str, name: str, count: int) -> list[str]:
        """A text attribute of every argument or result, empty where there is none."""
        if key not in self.function.attributes:
            return [""] * count
        listed: Any = ir.ArrayAttr(self.function.attributes[key])
        found: list[Any] = [ir.DictAttr(a) for a in listed]
        texts: list[Any] = [a[name] if name in a else None for a in found]
        for text in texts:
            if text is not None and not isinstance(text, ir.StringAttr):
                raise UnsupportedIR(f"'{name}' must be a string, got {text}", self.function.location)
        return ["" if text is None else text.value for text in texts]

    def free(self, wish: str, otherwise: str, *, is_made: bool = False) -> str:
        """Claim a name: the wish where a program can have it, else the first free one like it.

        An array that is made of others may have a name with dots, `src.ptr`.
        """
        fits = all(map(is_legal, wish.split("."))) if is_made else is_legal(wish)
        name = first_free(wish if fits else otherwise, self.taken, self.spoken)
        self.taken.add(name)
        return name

    def argument(self, value: Any, name: str, cotangent_of: str, tangent_of: str) -> Argument:
        function, place = self.function, place_of(value.location)
        kind = "i32" if is_index_array(value.type) else self.element_type(value.type, function.location)
        forms, below = argument_shape(function, value), bound_of(function, value)
        shape = tuple(extent(form.substitute(self.size_names())) for form in forms)
        self.inside.names[value] = name
        made = Argument(
            name, kind, shape, place, cotangent_of, tangent_of,
            pattern=self.pattern(value.arg_number, "arg_attrs"),
        )  # fmt: skip
        if below is None:
            return made
        below = self.inside.below[value] = below.substitute(self.size_names())
        rises, how = is_increasing(function, value), inspected(function, value)
        return replace(made, below=extent(below), increasing=rises, inspected=how)

    def pattern(self, number: int, key: str) -> Pattern | None:
        """Where the elements of an argument or a result stand, of a sparse one."""
        said = said_of(self.function, number, "tad.pattern", key)
        return pattern_of(said, self.size_names(), self.function.location)

    def element_type(self, type: Any, location: Any) -> str:
        if not isinstance(type, ir.RankedTensorType):
            raise UnsupportedIR(f"expected a tensor, got {type}", location)
        element = str(type.element_type)
        if element not in ("f32", "f64"):
            raise UnsupportedIR(f"expected elements of type f32 or f64, got {element}", location)
        return element

    def top_level(self, operation: Any) -> None:
        if operation.name in ("tad.map", "tad.scan"):
            self.definition(operation)
        elif operation.name == "tad.maps":
            self.fused(operation)
        elif operation.name.startswith(("arith.", "math.")):
            self.inside.scalar(operation)
        else:
            raise UnsupportedIR(f"'{operation.name}' has no place in a tensor program", operation.location)

    def definition(self, operation: Any) -> None:
        """Read a map: an output if it is the next result, else a let that a later copy may return."""
        value = operation.results[0]
        kind = self.element_type(value.type, operation.location)
        for size in operation.operands:
            self.inside.index(size, operation)
        shape = tuple(extent(form) for form in map_shape(operation, self.inside.indices))
        self.shapes[value] = shape
        name, is_output, gradient_of, tangent_of = self.role(value, operation.location)
        block, arguments = operation.regions[0].blocks[0], indices_of(operation)
        indices = self.index_names(name, [name_of(a.location) for a in arguments])
        for argument, index in zip(arguments, indices, strict=True):
            self.inside.indices[argument] = Affine.var(index)
        order = None
        if operation.name == "tad.scan":
            self.inside.names[own_tensor(operation)] = name
            names = {f"d{n}": Affine.var(index) for n, index in enumerate(indices)}
            order = parse_map(str(operation.attributes["order"])).forms[0].substitute(names)
        body = self.inside.region(block)
        self.inside.names[value] = name
        place = place_of(operation.location)
        definition = Definition(
            name, kind, shape, indices, body, is_output, place, gradient_of, tangent_of, order
        )
        self.definitions.append(definition.in_order())
        self.copies()

    def role(self, value: Any, location: Any) -> tuple[str, bool, str, str]:
        """The name of a tensor, whether it is a result, and of which it is the gradient and the tangent."""
        for place, (result, name, gradient_of, tangent_of) in enumerate(self.results):
            if result == value:
                del self.results[place]
                return name, True, gradient_of, tangent_of
            if self.in_order:
                break
        return self.free(name_of(location), "h"), False, "", ""

    def fused(self, operation: Any) -> None:
        """Read tensors that one map computes."""
        block = operation.regions[0].blocks[0]
        shape = tuple(extent(form) for form in map_shape(operation, self.inside.indices))
        indices = self.index_names("h", [name_of(a.location) for a in block.arguments])
        self.inside.indices |= zip(block.arguments, map(Affine.var, indices), strict=True)
        self.inside.is_fused = True
        bodies = self.inside.all_yielded(block)
        self.inside.is_fused = False
        names: list[str] = []
        for value, body in zip(operation.results, bodies, strict=True):
            name, is_output, _, _ = self.role(value, operation.location)
            self.shapes[value], self.inside.names[value] = shape, name
            kind = self.element_type(value.type, operation.location)
            self.definitions.append(Definition(name, kind, shape, indices, body, is_output))
            names.append(name)
        made = [value for op in block.operations for value in op.operation.results]
        roots = tuple(self.inside.values[value] for value in made if value in self.inside.values)
        self.maps.append((tuple(names), roots))
        self.copies()

    def index_names(self, name: str, wishes: Sequence[str]) -> tuple[str, ...]:
        """The names of a definition's indices: distinct, and of no tensor."""
        chosen: list[str] = []
        for number, wish in enumerate(wishes):
            fits = is_legal(wish) and wish not in self.taken and wish not in chosen
            chosen.append(wish if fits else first_free(f"{name}_{number}", self.taken, chosen))
        self.spoken.update(chosen)
        return tuple(chosen)

    def copies(self) -> None:
        """Results that are values made before: in a module of a user, cse may have merged equal tensors."""
        while self.results and self.results[0][0] in self.inside.names:
            value, name, gradient_of, tangent_of = self.results.pop(0)
            kind = self.element_type(value.type, self.function.location)
            shape = self.shapes[value]
            indices = self.index_names(name, [""] * len(shape))
            read = self.inside.names[value]
            body = self.inside.terms.read(read, [Affine.var(i) for i in indices], kind)
            self.definitions.append(
                Definition(name, kind, shape, indices, body, gradient_of=gradient_of, tangent_of=tangent_of)
            )
