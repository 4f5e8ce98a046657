"""Modules of MLIR: how they are read, brought to `linalg`, and made a program."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from tadc.dialect import mlir
from tadc.frontend.naming import first_free, is_legal
from tadc.importing import linalg_generic, linalg_scatters, loops, tensor_views
from tadc.importing.constant_arrays import argument_array
from tadc.importing.elements import ImportedTensor, TensorElement, Value, as_value, forms_of, parts_of
from tadc.importing.imported_arrays import ImportedArray, counters_of, forms_at
from tadc.importing.index_forms import Element, IndexForm, SizeSymbol, atoms_of, number, of_atom
from tadc.importing.linalg_generic import inner_operations
from tadc.importing.linalg_reader import LinalgReader
from tadc.importing.placed_text import ImportedSource
from tadc.importing.program_text import declaration, definition
from tadc.importing.refusals import refuse, refuse_known
from tadc.importing.source_places import SourcePlace
from tadc.lattice.late_dataclasses import dataclass, field

_READ = (linalg_generic, linalg_scatters, loops, tensor_views)
_FLOATS = ("f16", "bf16", "f32", "f64")

#: From StableHLO, and whatever named operations there are, to `linalg.generic`.
_PASSES = (
    "builtin.module(symbol-dce,stablehlo-legalize-to-linalg,linalg-generalize-named-ops,canonicalize,cse)"
)


def module_context() -> Any:
    """A context that knows StableHLO, and leaves operations of others as they are."""
    context = mlir.ir.Context()
    mlir.torch_mlir.register_dialect(context)
    mlir.stablehlo.register_dialect(context)
    context.allow_unregistered_dialects = True
    return context


def lowered(module: Any) -> Any:
    """The module in `linalg`, in place."""
    run = mlir.passmanager.PassManager.parse
    run("builtin.module(inline)", module.context).run(module.operation)
    _inline_the_rest(module)
    run(_PASSES, module.context).run(module.operation)
    return module


def entry_of(module: Any) -> Any:
    """The first function of a module that has a body."""
    return next(
        op.operation
        for op in module.body.operations
        if op.operation.name == "func.func" and list(op.operation.regions[0].blocks)
    )


def _inline_the_rest(module: Any) -> None:
    """Put in place what MLIR leaves as calls, as it does not know an operation of the function."""
    functions = {op.attributes["sym_name"].value: op.operation for op in module.body.operations}
    entry = entry_of(module)
    while calls := [op for op in inner_operations(entry.regions[0].blocks[0]) if op.name == "func.call"]:
        for call in calls:
            with mlir.ir.InsertionPoint(call):
                copy = functions[call.attributes["callee"].value].clone()
            block = copy.regions[0].blocks[0]
            for argument, operand in zip(block.arguments, call.operands, strict=True):
                argument.replace_all_uses_with(operand)
            *body, returned = (op.operation for op in block.operations)
            for op in body:
                op.move_before(call)
            for result, value in zip(call.results, returned.operands, strict=True):
                result.replace_all_uses_with(value)
            call.erase()
            copy.erase()


@dataclass
class NamedValue:
    """An argument as the front end knows it: its name, and sizes that are symbols."""

    name: str
    sizes: Mapping[int, IndexForm] = field(default_factory=dict[int, IndexForm])


@dataclass
class ImportedProgram:
    """A program's text, with the places of its lines, and the arrays that constants became."""

    source: ImportedSource
    constants: Mapping[str, Any]
    #: What a size is told by, where no argument tells it.
    inputs: tuple[str, ...] = ()
    #: The outputs in the order in which the function returned them.
    results: tuple[str, ...] = ()


def program_of(
    function: Any,
    given: Sequence[NamedValue],
    results: Sequence[str],
    name: str,
    place: SourcePlace | None,
) -> ImportedProgram:
    """The program of a function of `linalg`, read first for the bounds of its index arrays."""
    refuse_known(inner_operations(function.regions[0].blocks[0]), place)
    first = _Reading(function, given, results, name, place, {})
    if not any(tensor.is_index and tensor.below is None for tensor in first.arguments):
        return first.program()
    bounds = first.found_bounds()
    return _Reading(function, given, results, name, place, bounds).program()


class _Reading(LinalgReader):
    """One reading of a function."""

    def __init__(
        self,
        function: Any,
        given: Sequence[NamedValue],
        results: Sequence[str],
        name: str,
        place: SourcePlace | None,
        bounds: dict[str, IndexForm],
    ) -> None:
        super().__init__(bounds, place)
        self.function, self.name = function, name
        self.constants: dict[str, Any] = {}
        self.arguments: list[ImportedTensor] = []
        self.result_names = results
        block = function.regions[0].blocks[0]
        for value, said in zip(block.arguments, given, strict=True):
            self._argument(value, said)
        terminator = self.read_block(block)
        self.outputs = [self._output(i, value) for i, value in enumerate(terminator.operands)]

    def _argument(self, value: Any, said: NamedValue) -> None:
        type = self.element_type(value)
        shape = self.shape(value, [said.sizes.get(i) for i in range(len(value.type.shape))])
        is_index = type not in _FLOATS
        below = number(2) if type == "i1" else self.bounds.get(said.name)
        tensor = ImportedTensor(
            said.name, type if not is_index else "index", shape, self.where, is_index=is_index, below=below
        )
        self.arguments.append(tensor)
        self.give(value, argument_array(tensor, type))

    def constant_argument(self, values: Any, type: str) -> ImportedArray:
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

    def _output(self, position: int, value: Any) -> ImportedTensor:
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

    def _as_output(self, body: Value, counters: Sequence[Any]) -> ImportedTensor | None:
        """A definition that is the result itself."""
        if not isinstance(body, TensorElement) or body.tensor.body is None or body.tensor.is_output:
            return None
        same = body.at == tuple(map(of_atom, counters)) and body.tensor.shape == tuple(
            c.size for c in counters
        )
        return body.tensor if same and body.tensor.order is None else None

    def program(self) -> ImportedProgram:
        """The program."""
        tensors = self._needed()
        self.arguments = self._read_arguments(tensors)
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
        )

    @staticmethod
    def _told(tensor: ImportedTensor) -> set[str]:
        return {
            atom.name for size in tensor.shape for atom in atoms_of([size]) if isinstance(atom, SizeSymbol)
        }

    def _sizes(self, tensors: Sequence[ImportedTensor]) -> list[str]:
        found: dict[str, None] = {}
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
