"""The `tad` dialect back to typed programs.

What a function says is read from its operations alone, so a module that other passes
touched, or another compiler wrote, reads as well. Names come from `tad.name` attributes
and name locations; where there are none, plain ones are made up. An operation that has no
place in a program is an error at its location.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tadc.dialect.declarations import Declarations, element_type, indices_of
from tadc.dialect.index_maps import extents_over, parse_over
from tadc.dialect.locations import UnsupportedIR, name_of, place_of
from tadc.dialect.mlir import ir
from tadc.dialect.ops import MAPS, own_tensor
from tadc.dialect.region_reader import RegionReader
from tadc.frontend.deep import deep_recursion
from tadc.frontend.extents import Shape, as_form, extent
from tadc.frontend.lexer import RESERVED
from tadc.frontend.naming import distinct, first_free, is_legal
from tadc.frontend.program import Argument, Definition, Program
from tadc.frontend.source import Place
from tadc.frontend.terms import Term
from tadc.lattice.affine import Affine
from tadc.lattice.late_dataclasses import dataclass, replace

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


def _returned(block: Any) -> list[Any]:
    return list(list(block.operations)[-1].operands)


def read_program(function: Any) -> Program:
    """Read a `func.func`; raises UnsupportedIR where it is no program."""
    with deep_recursion():
        return _FunctionReader(function).program()


def names_of(function: Any) -> tuple[list[str], list[str]]:
    """The names that a program of the function gives its arguments, sizes included, and its results."""
    block, reader = function.regions[0].blocks[0], _FunctionReader(function)
    return reader.claim("arg_attrs", block.arguments), reader.claim("res_attrs", _returned(block))


def read_fused(function: Any) -> Fused:
    """Read a function that `tad-fuse` is through with; raises UnsupportedIR where it is no program.

    Results that were made before others of the function stand before them.
    """
    with deep_recursion():
        reader = _FunctionReader(function, in_order=False)
        program = reader.program()
        return Fused(program, tuple(reader.maps), tuple(reader.inside.together))


class _FunctionReader:
    """Reads a function; `results` are those that no definition has yet given.

    With `in_order`, definitions are results in the order of the function's.
    """

    def __init__(self, function: Any, in_order: bool = True) -> None:
        self.function, self.in_order = function, in_order
        self.inside = RegionReader()
        self.declared = Declarations(function)
        self.definitions: list[Definition] = []
        self.maps: list[tuple[tuple[str, ...], tuple[Term, ...]]] = []
        self.results: list[tuple[Any, int, str]] = []
        self.taken: set[str] = set(RESERVED)
        self.shapes: dict[Any, Shape] = {}
        self.spoken: set[str] = set()  # names of indices, which no tensor may have

    def program(self) -> Program:
        if len(self.function.regions[0].blocks) != 1:
            raise UnsupportedIR("a program is a function of one block", self.function.location)
        block, inside = self.function.regions[0].blocks[0], self.inside
        named = dict(zip(block.arguments, self.claim("arg_attrs", block.arguments), strict=True))
        sizes = {value: name for value, name in named.items() if isinstance(value.type, ir.IndexType)}
        inside.indices |= {value: Affine.var(name) for value, name in sizes.items()}
        self.declared = Declarations(self.function, list(sizes.values()))
        arguments: list[Argument] = []
        for value, name in named.items():
            if value not in sizes:
                made = self.declared.argument(value, name)
                inside.names[value] = name
                if made.below is not None:
                    inside.arrays[value] = name, as_form(made.below)
                arguments.append(made)
        returned = _returned(block)
        self.results = list(
            zip(returned, range(len(returned)), self.claim("res_attrs", returned), strict=True)
        )
        for operation in list(block.operations)[:-1]:
            self.top_level(operation.operation)
        if self.results:
            raise UnsupportedIR("a result must be the value of a 'tad.map'", self.function.location)
        return Program(
            tuple(arguments), tuple(self.definitions), inside.terms,
            sizes=tuple(sizes.values()), excluded=self.declared.excluded(),
        )  # fmt: skip

    def claim(self, key: str, values: Any) -> list[str]:
        """Names of arguments or results: as attributes say, else their locations, else made up.

        An array that is made of others may have a name with dots, `src.ptr`.
        """
        said, otherwise = self.declared, "x" if key == "arg_attrs" else "f"
        names: list[str] = []
        for n, value in enumerate(values):
            wish = said.text("tad.name", n, key) or name_of(value.location)
            parts = wish.split(".") if said.said("tad.inspected", n, key) is not None else [wish]
            names.append(self.free(wish if all(map(is_legal, parts)) else otherwise))
        return names

    def free(self, wish: str) -> str:
        """Claim the first free name like a legal one."""
        name = first_free(wish, self.taken, self.spoken)
        self.taken.add(name)
        return name

    def top_level(self, operation: Any) -> None:
        if operation.name in MAPS:
            self.map(operation)
        elif operation.name.startswith(("arith.", "math.")):
            self.inside.scalar(operation)
        else:
            raise UnsupportedIR(f"'{operation.name}' has no place in a tensor program", operation.location)

    def map(self, operation: Any) -> None:
        """Read tensors that one map computes: outputs if they are the next results, else lets."""
        inside, block, location = self.inside, operation.regions[0].blocks[0], operation.location
        for value in operation.results:
            element_type(value.type, location)
        sizes = inside.over(operation, operation.operands)
        shape = tuple(map(extent, extents_over(str(operation.attributes["domain"]), sizes)))
        roles = [self.role(value, location) for value in operation.results]
        bound = indices_of(operation)
        indices = self.index_names(roles[0][0], [name_of(index.location) for index in bound])
        forms = tuple(map(Affine.var, indices))
        inside.indices |= zip(bound, forms, strict=True)
        order = None
        if operation.name == "tad.scan":
            inside.names[own_tensor(operation)] = roles[0][0]
            (order,) = parse_over(str(operation.attributes["order"]), forms).forms
        inside.is_fused = len(roles) > 1 or not self.in_order
        bodies = inside.all_yielded(block)
        place = None if len(roles) > 1 else place_of(location)
        for value, role, body in zip(operation.results, roles, bodies, strict=True):
            self.shapes[value], inside.names[value] = shape, role[0]
            self.define(value, role, indices, body, place, order)
        if len(roles) > 1:
            made = [value for op in block.operations for value in op.operation.results]
            values = tuple(inside.values[value] for value in made if value in inside.values)
            self.maps.append((tuple(name for name, _ in roles), values))
        inside.is_fused = False
        self.copies()

    def role(self, value: Any, location: Any) -> tuple[str, int | None]:
        """The name of a tensor, and the number of the result that it is."""
        for place, (result, number, name) in enumerate(self.results):
            if result == value:
                del self.results[place]
                return name, number
            if self.in_order:
                break
        wish = name_of(location)
        return self.free(wish if is_legal(wish) else "h"), None

    def define(
        self,
        value: Any,
        role: tuple[str, int | None],
        indices: tuple[str, ...],
        body: Term,
        place: Place | None = None,
        order: Affine | None = None,
    ) -> None:
        """Add a definition, with what the function says of its result."""
        name, number = role
        kind = element_type(value.type, self.function.location)
        made = Definition(
            name, kind, self.shapes[value], indices, body, number is not None, place, order=order
        )
        if number is not None:
            roles = [
                self.declared.text(f"tad.{of}_of", number, "res_attrs") for of in ("gradient", "tangent")
            ]
            pattern = self.declared.pattern(number, "res_attrs")
            made = replace(made, gradient_of=roles[0], tangent_of=roles[1], pattern=pattern)
        self.definitions.append(made.in_order())

    def index_names(self, name: str, wishes: Sequence[str]) -> tuple[str, ...]:
        """The names of a definition's indices: distinct, and of no tensor."""
        chosen = distinct(wishes, name, self.taken)
        self.spoken.update(chosen)
        return chosen

    def copies(self) -> None:
        """Results that are values made before: in a module of a user, cse may have merged equal tensors."""
        while self.results and self.results[0][0] in self.shapes:
            value, number, name = self.results.pop(0)
            indices = self.index_names(name, [""] * len(self.shapes[value]))
            read = self.inside.terms.read(
                self.inside.names[value], [Affine.var(i) for i in indices], str(value.type.element_type)
            )
            self.define(value, (name, number), indices, read)
