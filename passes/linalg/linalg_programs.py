"""A function of `linalg` as the text of a program."""

from __future__ import annotations

import re
from collections.abc import Container, Iterator, Mapping, Sequence
from itertools import count

from tadc.dialect.mlir import ir
from tadc.frontend.naming import first_free, is_legal
from tadc.lattice.late_dataclasses import dataclass, field
from tadc.passes.linalg import (
    array_windows,
    dynamic_shapes,
    linalg_generic,
    linalg_scatters,
    loops,
    tensor_views,
)
from tadc.passes.linalg.constant_arrays import argument_array, give_constant
from tadc.passes.linalg.decided_choices import decided
from tadc.passes.linalg.elements import (
    Condition,
    ImportedTensor,
    Integer,
    TensorElement,
    Value,
    as_value,
    both,
    forms_of,
    parts_of,
)
from tadc.passes.linalg.imported_arrays import ImportedArray, Numbers, counters_of, forms_at
from tadc.passes.linalg.index_forms import (
    Counter,
    Element,
    IndexForm,
    SizeSymbol,
    atoms_of,
    number,
    of_atom,
    replaced,
)
from tadc.passes.linalg.linalg_generic import inner_operations
from tadc.passes.linalg.linalg_reader import LinalgReader
from tadc.passes.linalg.placed_text import ImportedSource
from tadc.passes.linalg.program_text import declaration, definition
from tadc.passes.linalg.refusals import refuse, refuse_known
from tadc.passes.linalg.size_assertions import Sizes, by, solved
from tadc.passes.linalg.source_places import SourcePlace

_READ = (array_windows, dynamic_shapes, linalg_generic, linalg_scatters, loops, tensor_views)
_DYNAMIC = -(2**63)
_FLOATS = ("f16", "bf16", "f32", "f64")


@dataclass
class NamedValue:
    """An argument as the front end knows it: its name, and sizes that are symbols.

    An index is a size itself, a float a tensor without dimensions.
    """

    name: str
    sizes: Mapping[int, IndexForm] = field(default_factory=dict[int, IndexForm])
    #: Of an array without dimensions that is a size its symbol.
    size: SizeSymbol | None = None
    #: Of a constant its elements.
    value: Numbers | None = None


def open_sizes(
    arguments: Sequence[ir.Value], taken: Container[str] = (), least: int = 1
) -> list[dict[int, IndexForm]]:
    """A symbol for each size that types leave open, `least` or more, for each argument."""
    free = free_letters(taken)
    shapes = [list(a.type.shape) if isinstance(a.type, ir.RankedTensorType) else [] for a in arguments]
    return [
        {i: of_atom(SizeSymbol(next(free), least)) for i, size in enumerate(shape) if size == _DYNAMIC}
        for shape in shapes
    ]


def free_letters(taken: Container[str]) -> Iterator[str]:
    """Names for sizes, none of those that are taken."""
    letters = (f"{letter}{n or ''}" for n in count() for letter in "NMKLPQRSTUVWXYZ")
    return (letter for letter in letters if letter not in taken)


@dataclass
class ImportedProgram:
    """A program's text, with the places of its lines, and the arrays that constants became."""

    source: ImportedSource
    constants: Mapping[str, Numbers]
    #: What a size is told by, where no argument tells it.
    inputs: tuple[str, ...] = ()
    #: The outputs in the order in which the function returned them.
    results: tuple[str, ...] = ()
    #: What the function asserts of sizes, and what is equal where its shapes fit each other.
    asserted: tuple[Condition, ...] = ()
    equal: tuple[tuple[IndexForm, IndexForm], ...] = ()
    #: Index arrays that are bounded by the smallest of the dimensions that their elements are for.
    mixed: tuple[str, ...] = ()
    #: Arguments of integers whose elements are more than places, or none.
    valued: tuple[str, ...] = ()


def program_of(
    function: ir.Operation,
    given: Sequence[NamedValue],
    results: Sequence[str],
    name: str,
    place: SourcePlace | None,
    *,
    all_arguments: bool = False,
    stays_open: bool = False,
) -> ImportedProgram:
    """The program of a function of `linalg`, read first for the bounds of its index arrays and equal sizes.

    Arguments that nothing reads are left out, unless `all_arguments` are asked for. Raises Refusal where a
    size that `stays_open` would be a number: torch-mlir says so of dimensions that it cannot make one.
    """
    refuse_known(inner_operations(function.regions[0].blocks[0]), place)
    found = _Reading(function, given, results, name, place, {}, {})
    if stays_open and found.fixed:
        refuse(
            "dimensions of sizes that nothing tells become one",
            found.fixed[0],
            "keep them apart, or let the size of all but the first be a number",
        )
    sizes = solved(found.equal, found.asserted)
    if sizes or any(tensor.is_index and tensor.below is None for tensor in found.arguments):
        found = _Reading(function, given, results, name, place, found.found_bounds(), sizes)
    return found.program(all_arguments)


class _Reading(LinalgReader):
    """One reading of a function."""

    def __init__(
        self,
        function: ir.Operation,
        given: Sequence[NamedValue],
        results: Sequence[str],
        name: str,
        place: SourcePlace | None,
        bounds: dict[str, IndexForm],
        known: Sizes,
    ) -> None:
        block = function.regions[0].blocks[0]
        returned = list(block.operations)[-1].operation.operands
        types = [self.element_type(v) for v in (*block.arguments, *returned) if self.is_array(v)]
        super().__init__(bounds, place, next((t for t in reversed(_FLOATS) if t in types), "f64"))
        self.function, self.name, self.known = function, name, by(known)
        self.constants: dict[str, Numbers] = {}
        self.given_sizes: list[str] = []
        self.integers: list[str] = []
        self.arguments: list[ImportedTensor] = []
        self.result_names = results
        for value, said in zip(block.arguments, given, strict=True):
            self._argument(value, said)
        terminator = self.read_block(block)
        self.outputs = [self._output(i, value) for i, value in enumerate(terminator.operands)]

    def _argument(self, value: ir.Value, said: NamedValue) -> None:
        if not self.is_array(value):
            self._scalar_argument(value, said.name)
            return
        type = self.element_type(value)
        if said.size is not None:
            size = Integer(of_atom(said.size))
            self.give(value, ImportedArray((), type, lambda _: size))
            return
        if said.value is not None:
            give_constant(self, value, said.value, type)
            return
        open_sizes = {i: replaced(form, self.known) for i, form in said.sizes.items()}
        shape = self.shape(value, [open_sizes.get(i) for i in range(len(value.type.shape))])
        is_index = type not in _FLOATS
        below = number(2) if type == "i1" else self.bounds.get(said.name)
        tensor = ImportedTensor(
            said.name, type if not is_index else "index", shape, self.where, is_index=is_index, below=below
        )
        self.arguments.append(tensor)
        if is_index and type != "i1":
            self.integers.append(said.name)
        self.give(value, argument_array(tensor, type))

    def _scalar_argument(self, value: ir.Value, name: str) -> None:
        if str(value.type) == "index":
            self.given_sizes.append(name)
            self.give_scalar(value, Integer(of_atom(SizeSymbol(name, 0, is_given=True))))
            return
        tensor = ImportedTensor(name, str(value.type), (), self.where)
        self.arguments.append(tensor)
        self.give_scalar(value, TensorElement(tensor, ()))

    def constant_argument(self, values: Numbers, type: str) -> ImportedArray:
        """An argument that has a value: an array of constants."""
        taken = {tensor.name for tensor in self.arguments}
        name = first_free("constant", taken)
        is_index = type not in _FLOATS
        if is_index and values.min() < 0:
            refuse("constant arrays of negative integers cannot be imported", self.where)
        below = number(int(values.max()) + 1) if is_index else None
        shape = tuple(map(number, values.shape))
        tensor = ImportedTensor(
            name, "index" if is_index else type, shape, self.where, is_index=is_index, below=below
        )
        self.arguments.append(tensor)
        self.constants[name] = values
        return argument_array(tensor, type)

    def found_bounds(self) -> dict[str, IndexForm]:
        """What elements of index arrays are below, as their reads demand, or comparisons with indices."""
        return dict(self.demands)

    def _output(self, position: int, value: ir.Value) -> ImportedTensor:
        array = self.array(value)
        type = array.type if array.type in _FLOATS else "f64"
        root = array.root
        if root.reduces or root.weight > 2:
            if sum(1 for _ in value.uses) > 1 or root.uses > 1:
                self.settle(array, array.place, wider=True)
        counters = counters_of(array.shape)
        body = as_value(array.at(forms_at(counters)))
        made = self._as_output(body, counters)
        tensor = made or ImportedTensor(
            "", type, array.shape, array.place or self.where, counters, body, is_output=True, states_type=True
        )
        tensor.wish = self.result_names[position]
        tensor.is_output = tensor.states_type = True
        tensor.type = type
        if made is None:
            self.tensors.append(tensor)
        return tensor

    def _as_output(self, body: Value, counters: Sequence[Counter]) -> ImportedTensor | None:
        """A definition that is the result itself."""
        if not isinstance(body, TensorElement) or body.tensor.body is None or body.tensor.is_output:
            return None
        same = body.at == tuple(map(of_atom, counters)) and body.tensor.shape == tuple(
            c.size for c in counters
        )
        return body.tensor if same and body.tensor.order is None else None

    def program(self, all_arguments: bool = False) -> ImportedProgram:
        """The program."""
        for tensor in self.tensors:
            if tensor.body is not None:
                tensor.body = decided(tensor.body, both(*self.asserted))
        tensors = self._needed()
        self.arguments = self.arguments if all_arguments else self._read_arguments(tensors)
        self._name(tensors)
        sizes = self._sizes(tensors)
        taken = frozenset((*(t.name for t in (*self.arguments, *tensors)), *sizes))
        told = {str_ for t in self.arguments for str_ in self._told(t)}
        lines: list[tuple[str, SourcePlace | None]] = []
        lines += [(f"size {size}", self.where) for size in sizes if size not in told]
        lines += [(declaration(tensor), tensor.place) for tensor in self.arguments]
        lines += [(definition(tensor, taken), tensor.place) for tensor in tensors]
        source = ImportedSource.of(lines, f"<{self.name}>")
        return ImportedProgram(
            source,
            self.constants,
            tuple(t.name for t in self.arguments),
            tuple(t.name for t in self.outputs),
            tuple(self.asserted),
            tuple(self.equal),
            tuple(self.mixed),
            tuple(name for name in self.integers if name in self.valued or name not in self.demands),
        )

    @staticmethod
    def _told(tensor: ImportedTensor) -> set[str]:
        return {
            atom.name for size in tensor.shape for atom in atoms_of([size]) if isinstance(atom, SizeSymbol)
        }

    def _sizes(self, tensors: Sequence[ImportedTensor]) -> list[str]:
        found: dict[str, None] = dict.fromkeys(self.given_sizes)
        for tensor in (*self.arguments, *tensors):
            found.update(dict.fromkeys(sorted(self._told(tensor))))
        return list(found)

    def _read_arguments(self, tensors: Sequence[ImportedTensor]) -> list[ImportedTensor]:
        """The arguments that something reads, or that alone tell a size."""
        read: set[ImportedTensor | str] = set()
        for body in (tensor.body for tensor in tensors if tensor.body is not None):
            read |= {part.tensor for part in parts_of(body) if isinstance(part, TensorElement)}
            read |= {a.array for a in atoms_of(forms_of(body)) if isinstance(a, Element)}
        return [t for t in self.arguments if t in read or t.name in read or self._told(t)]

    def _needed(self) -> list[ImportedTensor]:
        """Definitions that outputs read, in order."""
        needed: set[ImportedTensor] = set(self.outputs)
        for tensor in reversed(self.tensors):
            if tensor in needed and tensor.body is not None:
                needed |= {part.tensor for part in parts_of(tensor.body) if isinstance(part, TensorElement)}
        return [tensor for tensor in self.tensors if tensor in needed]

    def _name(self, tensors: Sequence[ImportedTensor]) -> None:
        """Names: those of results, then of the variables that the source assigns to, then short ones."""
        taken = {tensor.name for tensor in self.arguments}
        taken |= {size for tensor in (*self.arguments, *tensors) for size in self._told(tensor)}
        for tensor in self.outputs:
            tensor.name = first_free(tensor.wish, taken)
            taken.add(tensor.name)
        last: dict[tuple[str, str, int], ImportedTensor] = {}
        for tensor in tensors:
            variable = tensor.place.variable() if tensor.place is not None else None
            if variable is not None and tensor.place is not None:
                last[tensor.place.file, *variable] = tensor
        finals = {id(tensor): key[1] for key, tensor in last.items()}
        for tensor in tensors:
            if tensor.is_output and tensor.name:
                continue
            wish = finals.get(id(tensor)) or _SHORT.get(tensor.wish.rpartition(".")[2], "h")
            tensor.name = first_free(_legal(wish), taken)
            taken.add(tensor.name)


#: Names of what has none, by what computes it.
_SHORT = {
    "sum": "total",
    "max": "largest",
    "maximumf": "largest",
    "min": "smallest",
    "prod": "product",
    "exp": "e",
    "tanh": "t",
    "divf": "ratio",
    "sqrt": "root",
}


def _legal(wish: str) -> str:
    cleaned = re.sub(r"\W", "_", wish).strip("_")
    cleaned = cleaned if cleaned[:1].isalpha() else f"v{cleaned}"
    return cleaned if is_legal(cleaned) and cleaned != "out" else f"{cleaned}_"


def legal_names(wishes: Sequence[str]) -> list[str]:
    """Names that a program may have, as near to what is wished as can be, all different."""
    found: list[str] = []
    for wish in wishes:
        found.append(first_free(_legal(wish), found))
    return found
