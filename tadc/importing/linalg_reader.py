"""Reads a function of MLIR's `linalg` dialect: what each of its arrays is, and which become definitions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from tadc.importing.elements import (
    AllOf,
    Compared,
    Float,
    ImportedTensor,
    Integer,
    Negated,
    Scalar,
    TensorElement,
    Truth,
    Value,
    as_value,
    by_cases,
    compared,
    forms_of,
    has_reduction,
    is_whole,
    negated,
    parts_of,
    weight_of,
)
from tadc.importing.imported_arrays import At, ImportedArray, counters_of, forms_at
from tadc.importing.index_forms import (
    Counter,
    Element,
    IndexForm,
    atoms_of,
    is_never_negative,
    least,
    number,
    of_atom,
)
from tadc.importing.index_tables import is_of_indices
from tadc.importing.refusals import refuse, refuse_operation
from tadc.importing.scalar_operations import OPERATIONS, RELATIONS, select
from tadc.importing.source_places import SourcePlace, place_of

#: An element that weighs more is a definition where several read it, or one that is longer than it.
_LIGHT = 2
#: What is written in one expression at most.
_HEAVY = 32

_FLOAT_PREDICATES = (
    "",
    "eq",
    "gt",
    "ge",
    "lt",
    "le",
    "ne",
    "ord",
    "eq",
    "gt",
    "ge",
    "lt",
    "le",
    "ne",
    "uno",
    "",
)
_INTEGER_PREDICATES = ("eq", "ne", "lt", "le", "gt", "ge", "lt", "le", "gt", "ge")
_DYNAMIC = -(2**63)
_FLOATS = ("f16", "bf16", "f32", "f64")

Translation = Callable[["LinalgReader", Any], None]

#: Operations on arrays, by name; the modules beside this one fill it.
TRANSLATIONS: dict[str, Translation] = {}


def translation(*names: str) -> Callable[[Translation], Translation]:
    """Make a function the translation of operations."""

    def register(function: Translation) -> Translation:
        TRANSLATIONS.update(dict.fromkeys(names, function))
        return function

    return register


class LinalgReader:
    """The arrays of a function by the values of MLIR, and the definitions so far.

    `bounds` has what elements of index arrays are below, by their names, as a first reading has found.
    """

    def __init__(self, bounds: dict[str, IndexForm], where: SourcePlace | None) -> None:
        self.where = where
        self.arrays: dict[Any, ImportedArray] = {}
        self.tensors: list[ImportedTensor] = []
        self.bounds = bounds
        self.demands: dict[str, IndexForm] = {}
        self._scalars: dict[Any, Scalar] = {}
        #: Counters of loops that are read now, and tensors that are not defined yet.
        self.loops: list[Counter] = []
        self.open: set[ImportedTensor] = set()

    # Reading operations.
    def read_block(self, block: Any) -> Any:
        """Read all operations of a block; its terminator."""
        last = None
        for op in block.operations:
            last = op.operation
            self.read(last)
        return last

    def read(self, op: Any) -> None:
        """Read an operation."""
        name = op.name
        for result in op.results:
            if self.is_array(result):
                self.element_type(result)
        made = TRANSLATIONS.get(name)
        if made is not None:
            made(self, op)
        elif name.startswith(("arith.", "math.")) or name in (
            "tensor.dim",
            "tensor.extract",
            "index.constant",
        ):
            if op.results and self.is_array(op.results[0]):
                TRANSLATIONS["elementwise"](self, op)
        elif name.rpartition(".")[2] not in ("return", "yield", "assert"):
            refuse_operation(name, self.place(op))

    @staticmethod
    def is_array(value: Any) -> bool:
        """Whether a value of MLIR is a tensor."""
        return str(value.type).startswith("tensor<")

    def array(self, value: Any) -> ImportedArray:
        """The array of a value."""
        return self.arrays[value]

    def give(self, value: Any, array: ImportedArray) -> None:
        """Say what a value is."""
        array.uses = sum(1 for use in value.uses if use.owner.name != "tensor.dim")
        self.arrays[value] = array

    # What arrays are made of.
    def element_type(self, value: Any) -> str:
        """The name of the element type; refuses complex numbers and others that there are not."""
        element = str(value.type.element_type)
        if element in _FLOATS or element == "index" or element.lstrip("sui").isdigit():
            return element
        what = "complex numbers" if element.startswith("complex") else f"elements of type `{element}`"
        help = "write real and imaginary parts as two arrays" if "complex" in what else "convert them to f32"
        refuse(f"{what} cannot be imported", self.place(value.owner), help)

    def place(self, op: Any) -> SourcePlace | None:
        """Where an operation stands in the user's source."""
        found = place_of(op.location) if hasattr(op, "location") else None
        # What is outside of the function's file, as who called it, says nothing where there is no other.
        return found or self.where

    def shape(self, value: Any, known: Sequence[IndexForm | None] = ()) -> tuple[IndexForm, ...]:
        """The shape of a value; where its type does not tell a size, what is known."""
        sizes: list[IndexForm] = []
        for position, size in enumerate(value.type.shape):
            if size != _DYNAMIC:
                sizes.append(number(size))
                continue
            found = known[position] if position < len(known) else None
            if found is None:
                refuse("a size that nothing tells before the call", self.place(value.owner))
            sizes.append(found)
        return tuple(sizes)

    # Scalars.
    def scalar(self, value: Any, known: dict[Any, Scalar] | None = None) -> Scalar:
        """What a scalar of MLIR is; `known` has those of a body, and takes what is found."""
        memo = self._scalars if known is None else known
        if value in memo:
            return memo[value]
        if value in self._scalars:
            return self._scalars[value]
        op = value.owner.operation if hasattr(value.owner, "operation") else value.owner
        found = self._computed(op, value, memo)
        memo[value] = found
        return found

    def form(self, value: Any, known: dict[Any, Scalar] | None = None) -> IndexForm:
        """An index of MLIR as an index expression."""
        found = as_value(self.scalar(value, known))
        if not isinstance(found, Integer):
            self.refuse_index(value.owner)
        return found.form

    def refuse_index(self, op: Any) -> NoReturn:
        """Say that an index depends on values."""
        refuse(
            "an index that is computed of values cannot be imported",
            self.place(op),
            "give such indices as an argument, an array of integers",
        )

    def _computed(self, op: Any, value: Any, memo: dict[Any, Scalar]) -> Scalar:
        name = op.name
        if name == "arith.constant":
            return self._constant(op.attributes["value"], value)
        if name == "tensor.dim":
            dimension = self.form(op.operands[1]).number
            return Integer(self.array(op.operands[0]).shape[dimension or 0])
        if name == "tensor.extract":
            array = self.array(op.operands[0])
            indices = [as_value(self.scalar(index, memo)) for index in list(op.operands)[1:]]
            return self.element(array, indices, op)
        if name == "linalg.index":
            return memo[("index", op.attributes["dim"].value)]
        if name == "scf.if":
            position = list(op.results).index(value)
            branches = [list(region.blocks[0].operations)[-1].operation for region in op.regions]
            then, other = (self.scalar(branch.operands[position], memo) for branch in branches)
            return select(self.scalar(op.operands[0], memo), then, other)
        operands = [self.scalar(operand, memo) for operand in op.operands]
        return self.operation(op, operands)

    def operation(self, op: Any, operands: Sequence[Scalar]) -> Scalar:
        """What an operation on scalars makes of its operands."""
        name = op.name
        if name in ("arith.cmpf", "arith.cmpi"):
            return self.comparison(name, op.attributes["predicate"].value, operands)
        made = OPERATIONS.get(name)
        if made is None:
            refuse_operation(name, self.place(op))
        if name in ("arith.andi", "arith.ori", "arith.xori") and str(op.results[0].type) not in (
            "i1",
            "tensor<i1>",
        ):
            element = getattr(op.results[0].type, "element_type", op.results[0].type)
            if str(element) != "i1":
                refuse("operations on the bits of integers cannot be imported", self.place(op))
        return made(*operands)

    @staticmethod
    def comparison(name: str, predicate: int, operands: Sequence[Scalar]) -> Scalar:
        """What a comparison makes of its operands."""
        kinds = _FLOAT_PREDICATES if name == "arith.cmpf" else _INTEGER_PREDICATES
        kind = kinds[predicate]
        left, right = map(as_value, operands)
        if kind == "":
            return Truth(predicate != 0)
        if kind in ("ord", "uno"):
            pairs = [operand for operand in (left, right) if not isinstance(operand, Float)]
            if not pairs:
                return Truth(kind == "ord")
            is_nan = compared("!=", pairs[0], pairs[0])
            return is_nan if kind == "uno" else negated(is_nan)
        return compared(RELATIONS[kind], left, right)

    def _constant(self, attribute: Any, value: Any) -> Scalar:
        return constant_scalar(attribute.value, str(value.type))

    def element(self, array: ImportedArray, indices: Sequence[Value], op: Any) -> Scalar:
        """An element of an array at indices, of which some may be choices."""
        for position, index in enumerate(indices):
            if isinstance(index, Integer):
                continue
            if not is_whole(index):
                self.refuse_index(op)
            before, after = list(indices[:position]), list(indices[position + 1 :])
            return by_cases(
                index, lambda form: as_value(self.element(array, [*before, Integer(form), *after], op))
            )
        forms = [index.form for index in indices if isinstance(index, Integer)]
        for form, size in zip(forms, array.shape, strict=True):
            self.demand(form, size)
        return array.at(tuple(forms))

    def demand(self, form: IndexForm, size: IndexForm) -> None:
        """Note that an index expression has to be below a size."""
        elements = [(a, n) for a, n in form.terms if isinstance(a, Element)]
        if len(elements) != 1 or elements[0][1] != 1:
            return
        element = elements[0][0]
        rest = least((form - of_atom(element)).scaled(-1))
        if rest is None:
            return
        below = size + rest
        known = self.demands.get(element.array)
        if known is None or is_never_negative(known - below):
            self.demands[element.array] = below

    def constant_argument(self, values: Any, type: str) -> ImportedArray:
        """An argument that has a value: an array of constants."""
        raise NotImplementedError

    # Definitions.
    def settled(self, value: Any, *, wider: bool, reducing: bool = False) -> ImportedArray:
        """The array of an operand, stored before where what reads it would compute it more than once."""
        return self.settle(self.array(value), self.place(value.owner), wider=wider, reducing=reducing)

    def settle(
        self, array: ImportedArray, place: SourcePlace | None, *, wider: bool, reducing: bool = False
    ) -> ImportedArray:
        """See `settled`."""
        root = array.root
        if root.is_stored:
            return array
        several = array.uses > 1 or root.uses > 1
        is_due = (root.weight > _LIGHT and (several or wider)) or root.weight > _HEAVY
        if is_due or (root.reduces and (several or wider or reducing)):
            self.store(root, root.place or place)
        return array

    def store(self, array: ImportedArray, place: SourcePlace | None) -> None:
        """Make an array a definition, unless it depends on one that is being made."""
        counters = counters_of(array.shape)
        at = forms_at(counters)
        scalar = array.at(at)
        body = as_value(scalar)
        depends = any(isinstance(p, TensorElement) and p.tensor in self.open for p in parts_of(body))
        if depends or (is_whole(body) and not isinstance(body, Float)):
            return
        if isinstance(body, Float | TensorElement) or is_of_indices(body):
            return
        outer = tuple(loop for loop in self.loops if loop in set(atoms_of(forms_of(body))))
        kept = tuple(c for c in counters if c.size.number != 1)
        is_condition = isinstance(scalar, Truth | Compared | Negated | AllOf)
        tensor = ImportedTensor(
            "",
            "f64" if is_condition else array.type,
            tuple(c.size for c in (*outer, *kept)),
            place,
            (*outer, *kept),
            body,
            wish=array.kind,
        )
        self.tensors.append(tensor)
        positions = [i for i, c in enumerate(counters) if c.size.number != 1]
        loops = tuple(map(of_atom, outer))

        def read(where: tuple[IndexForm, ...]) -> Scalar:
            element = TensorElement(tensor, (*loops, *(where[i] for i in positions)))
            return compared(">", element, Float(0.5)) if is_condition else element

        array.at, array.is_stored, array.weight, array.reduces = read, True, 0, False

    def computed(
        self, value: Any, shape: Sequence[IndexForm], at: At, kind: str = "", place: SourcePlace | None = None
    ) -> ImportedArray:
        """Say that a value has elements that are computed; how much that is is found at a sample."""
        array = ImportedArray(tuple(shape), self.element_type(value), at, place or self.place(value.owner))
        array.kind = kind
        sample = array.at(forms_at(counters_of(shape)))
        array.weight, array.reduces = weight_of(sample), has_reduction(sample)
        self.give(value, array)
        return array


def constant_scalar(value: Any, type: str) -> Scalar:
    """A number of MLIR: of one bit a condition, an integer as an index expression."""
    if type == "i1":
        return Truth(bool(value))
    if type == "index" or type.lstrip("sui").isdigit():
        return Integer(number(int(value)))
    return Float(float(value))
