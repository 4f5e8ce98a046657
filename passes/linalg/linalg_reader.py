"""Reads a function of MLIR's `linalg` dialect: what each of its arrays is, and which become definitions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import reduce
from typing import NoReturn, TypeAlias

from tadc.dialect.mlir import ir
from tadc.passes.linalg.decided_choices import decided
from tadc.passes.linalg.elements import (
    AllOf,
    Chosen,
    Compared,
    Condition,
    Float,
    ImportedTensor,
    Integer,
    Negated,
    Scalar,
    TensorElement,
    Truth,
    Value,
    as_condition,
    as_value,
    both,
    by_cases,
    compared,
    forms_of,
    has_reduction,
    is_whole,
    negated,
    parts_of,
    weight_of,
)
from tadc.passes.linalg.imported_arrays import At, ImportedArray, Numbers, counters_of, forms_at
from tadc.passes.linalg.index_forms import (
    Counter,
    Element,
    IndexForm,
    atoms_of,
    divided,
    is_never_negative,
    least,
    number,
    of_atom,
    product,
    remainder,
)
from tadc.passes.linalg.index_tables import is_of_indices
from tadc.passes.linalg.refusals import refuse, refuse_operation
from tadc.passes.linalg.scalar_operations import OPERATIONS, RELATIONS, select
from tadc.passes.linalg.source_places import SourcePlace, place_of

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
#: Of one bit these make 0 or -1.
_SIGNED = ("arith.extsi", "arith.sitofp", "arith.index_cast")
#: These make places of places.
_LINEAR = ("arith.addi", "arith.subi", "arith.muli", "arith.extsi", "arith.trunci", "arith.index_cast")
_AFFINE = ("affine.apply", "affine.max", "affine.min")
_DYNAMIC = -(2**63)
_FLOATS = ("f16", "bf16", "f32", "f64")
_WIDTHS = {"f16": 16, "bf16": 16, "f32": 32, "f64": 64}

#: What scalars of a body are known by: values, and numbers of loops.
Key: TypeAlias = "ir.Value | tuple[str, int]"
Translation = Callable[["LinalgReader", "ir.Operation"], None]

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

    def __init__(self, bounds: dict[str, IndexForm], where: SourcePlace | None, widest: str) -> None:
        self.where = where
        #: The widest element type of arguments and results: what is wider in between is computed in it.
        self.widest = widest
        self.arrays: dict[ir.Value, ImportedArray] = {}
        self.tensors: list[ImportedTensor] = []
        self.bounds = bounds
        self.demands: dict[str, IndexForm] = {}
        #: Index arrays with elements for dimensions of several sizes, as the columns of a `tensor.gather`.
        self.mixed: dict[str, None] = {}
        #: Index arrays whose elements are used for more than places, where those below 0 may be meant.
        self.valued: set[str] = set()
        self._demanded: dict[str, list[tuple[Element, IndexForm]]] = {}
        #: What the function asserts of sizes, and forms that are equal where shapes fit each other.
        self.asserted: list[Condition] = []
        self.equal: list[tuple[IndexForm, IndexForm]] = []
        #: Where a size that types left open is said to be a number.
        self.fixed: list[SourcePlace | None] = []
        self._scalars: dict[Key, Scalar] = {}
        #: Resources of the module by their names, in hexadecimal; empty until one is asked for.
        self.resources: dict[str, str] = {}
        #: Counters of loops that are read now, and tensors that are not defined yet.
        self.loops: list[Counter] = []
        self.open: set[ImportedTensor] = set()

    # Reading operations.
    def read_block(self, block: ir.Block) -> ir.Operation:
        """Read all operations of a block; its terminator."""
        operations = [op.operation for op in block.operations]
        for op in operations:
            self.read(op)
        return operations[-1]

    def read(self, op: ir.Operation) -> None:
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
            *_AFFINE,
        ):
            if op.results and self.is_array(op.results[0]):
                TRANSLATIONS["elementwise"](self, op)
        elif name == "cf.assert":
            self.asserted.append(as_condition(self.scalar(op.operands[0])))
        elif name.rpartition(".")[2] not in ("return", "yield", "assert"):
            called = op.attributes["call_target_name"].value if "call_target_name" in op.attributes else ""
            refuse_operation(name, self.place(op), called)

    @staticmethod
    def is_array(value: ir.Value) -> bool:
        """Whether a value of MLIR is a tensor."""
        return str(value.type).startswith("tensor<")

    def array(self, value: ir.Value) -> ImportedArray:
        """The array of a value."""
        return self.arrays[value]

    def give(self, value: ir.Value, array: ImportedArray) -> None:
        """Say what a value is."""
        array.uses = sum(1 for use in value.uses if use.owner.name != "tensor.dim")
        self.arrays[value] = array

    # What arrays are made of.
    def element_type(self, value: ir.Value) -> str:
        """The name of the element type; refuses complex numbers and others that there are not."""
        element = str(value.type.element_type)
        if element in _FLOATS or element == "index" or element.lstrip("sui").isdigit():
            return element
        what = "complex numbers" if element.startswith("complex") else f"elements of type `{element}`"
        help = "write real and imaginary parts as two arrays" if "complex" in what else "convert them to f32"
        refuse(f"{what} cannot be imported", self.place(value.owner), help)

    def place(self, op: ir.Operation) -> SourcePlace | None:
        """Where an operation stands in the user's source."""
        found = place_of(op.location) if hasattr(op, "location") else None
        # What is outside of the function's file, as who called it, says nothing where there is no other.
        return found or self.where

    def shape(self, value: ir.Value, known: Sequence[IndexForm | None] = ()) -> tuple[IndexForm, ...]:
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
    def scalar(self, value: ir.Value, known: dict[Key, Scalar] | None = None) -> Scalar:
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

    def give_scalar(self, value: ir.Value, scalar: Scalar) -> None:
        """Say what a scalar is that is an argument."""
        self._scalars[value] = scalar

    def form(self, value: ir.Value, known: dict[Key, Scalar] | None = None) -> IndexForm:
        """An index of MLIR as an index expression."""
        found = as_value(self.scalar(value, known))
        if not isinstance(found, Integer):
            self.refuse_index(value.owner)
        return found.form

    def size(self, value: ir.Value) -> IndexForm:
        """A size of MLIR; one that is not negative, as the function asserts, may be written so."""
        found = decided(as_value(self.scalar(value)), both(*self.asserted))
        if not isinstance(found, Integer):
            self.refuse_index(value.owner)
        return found.form

    def refuse_index(self, op: ir.Operation) -> NoReturn:
        """Say that an index depends on values."""
        refuse(
            "an index that is computed of values cannot be imported",
            self.place(op),
            "give such indices as an argument, an array of integers",
        )

    def _computed(self, op: ir.Operation, value: ir.Value, memo: dict[Key, Scalar]) -> Scalar:
        name = op.name
        if name == "arith.constant":
            return self._constant(op.attributes["value"], value)
        if name == "tensor.dim":
            shape, dimension = self.array(op.operands[0]).shape, self.form(op.operands[1]).number
            if dimension is None or not 0 <= dimension < len(shape):
                refuse("a size of a dimension that there is not, or that no number tells", self.place(op))
            return Integer(shape[dimension])
        if name == "tensor.extract":
            array = self.array(op.operands[0])
            indices = [as_value(self.scalar(index, memo)) for index in list(op.operands)[1:]]
            if op.parent.name == "scf.if":  # It may not be read.
                self.use_values(indices)
            return self.element(array, indices, op)
        if name == "linalg.index":
            return memo[("index", op.attributes["dim"].value)]
        if name in _AFFINE:
            return self._affine(op, memo)
        if name == "scf.if":
            position = list(op.results).index(value)
            branches = [list(region.blocks[0].operations)[-1].operation for region in op.regions]
            then, other = (self.scalar(branch.operands[position], memo) for branch in branches)
            return select(self.scalar(op.operands[0], memo), then, other)
        operands = [self.scalar(operand, memo) for operand in op.operands]
        return self.operation(op, operands)

    def _affine(self, op: ir.Operation, memo: dict[Key, Scalar]) -> Scalar:
        """A form of indices, or the least or greatest of several; of choices, case by case."""
        said = op.attributes["map"].value
        join = OPERATIONS["arith.maxsi" if op.name == "affine.max" else "arith.minsi"]

        def of(forms: list[IndexForm], values: list[Value]) -> Value:
            if values:
                return by_cases(values[0], lambda form: of([*forms, form], values[1:]))
            dims, symbols = dict(enumerate(forms)), dict(enumerate(forms[said.n_dims :]))
            made = [affine_form(result, dims, symbols) for result in said.results]
            if None in made:
                refuse("an index that is no sum of multiples cannot be imported", self.place(op))
            return as_value(reduce(join, [Integer(form) for form in made if form is not None]))

        values = [as_value(self.scalar(operand, memo)) for operand in op.operands]
        if op.name != "affine.apply" or any(word in str(said) for word in ("mod", "div")):
            self.use_values(values)
        if not all(map(is_whole, values)):
            self.refuse_index(op)
        return of([], values)

    def operation(self, op: ir.Operation, operands: Sequence[Scalar]) -> Scalar:
        """What an operation on scalars makes of its operands."""
        name = op.name
        if name in ("arith.cmpf", "arith.cmpi"):
            return self.comparison(name, op.attributes["predicate"].value, operands)
        made = OPERATIONS.get(name)
        if made is None:
            refuse_operation(name, self.place(op))
        if name not in _LINEAR:
            self.use_values(operands)
        types = [getattr(value.type, "element_type", value.type) for value in (*op.results, *op.operands)]
        if name in _SIGNED and str(types[-1]) == "i1":
            operands = [OPERATIONS["arith.subi"](Integer(number(0)), as_value(operands[0]))]
        if name == "arith.trunci" and not _fits(as_value(operands[0]), types[0].width):
            refuse("an integer that is made narrower and may not fit", self.place(op))
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

    def _constant(self, attribute: ir.Attribute, value: ir.Value) -> Scalar:
        return constant_scalar(attribute.value, str(value.type))

    def element(self, array: ImportedArray, indices: Sequence[Value], op: ir.Operation) -> Scalar:
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

    def use_values(self, operands: Iterable[Scalar]) -> None:
        """Note index arrays whose elements are in integers that are not only places."""
        forms = (p.form for operand in operands for p in parts_of(operand) if isinstance(p, Integer))
        self.valued.update(atom.array for atom in atoms_of(forms) if isinstance(atom, Element))

    def demand(self, form: IndexForm, size: IndexForm) -> None:
        """Note that an index expression has to be below a size."""
        elements = [(a, n) for a, n in form.terms if isinstance(a, Element)]
        if len(elements) != 1 or elements[0][1] != 1:
            self.use_values([Integer(form)])
            return
        element = elements[0][0]
        first = least(form - of_atom(element))
        if first is None or not is_never_negative(first.scaled(-1)):  # One below 0 can be a place, too.
            self.use_values([Integer(form)])
        rest = least((form - of_atom(element)).scaled(-1))
        if rest is None:
            return
        below = size + rest
        others = self._demanded.setdefault(element.array, [])
        if any(most != below and _are_apart(element, other) for other, most in others):
            self.mixed[element.array] = None
        if (element, below) not in others:
            others.append((element, below))
        known = self.demands.get(element.array)
        if known is None or is_never_negative(known - below):
            self.demands[element.array] = below

    def constant_argument(self, values: Numbers, type: str) -> ImportedArray:
        """An argument that has a value: an array of constants."""
        raise NotImplementedError

    # Definitions.
    def settled(self, value: ir.Value, *, wider: bool, reducing: bool = False) -> ImportedArray:
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

    def converted(self, array: ImportedArray, before: str, place: SourcePlace | None) -> None:
        """Store what is converted from another type: an expression has the type of what it reads."""
        most = _WIDTHS[self.widest]
        old, new = (min(_WIDTHS[type], most) for type in (before, array.type))
        # What is read of f16 and bf16 is an f32.
        if old == new or (old, new) == (16, 32):
            return
        self.store(array, place, states_type=True)
        if not array.is_stored:
            refuse(f"a conversion from {before} to {array.type} inside of a loop", place, "do it before")

    def store(self, array: ImportedArray, place: SourcePlace | None, *, states_type: bool = False) -> None:
        """Make an array a definition, unless it depends on one that is being made."""
        counters = counters_of(array.shape)
        at = forms_at(counters)
        scalar = array.at(at)
        body = as_value(scalar)
        depends = any(isinstance(p, TensorElement) and p.tensor in self.open for p in parts_of(body))
        if depends or (is_whole(body) and not isinstance(body, Float)):
            return
        if not states_type and (isinstance(body, Float | TensorElement) or is_of_indices(body)):
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
            states_type=states_type,
        )
        self.tensors.append(tensor)
        positions = [i for i, c in enumerate(counters) if c.size.number != 1]
        loops = tuple(map(of_atom, outer))

        def read(where: tuple[IndexForm, ...]) -> Scalar:
            element = TensorElement(tensor, (*loops, *(where[i] for i in positions)))
            return compared(">", element, Float(0.5)) if is_condition else element

        array.at, array.is_stored, array.weight, array.reduces = read, True, 0, False

    def computed(
        self,
        value: ir.Value,
        shape: Sequence[IndexForm],
        at: At,
        kind: str = "",
        place: SourcePlace | None = None,
    ) -> ImportedArray:
        """Say that a value has elements that are computed; how much that is is found at a sample."""
        array = ImportedArray(tuple(shape), self.element_type(value), at, place or self.place(value.owner))
        array.kind = kind
        sample = array.at(forms_at(counters_of(shape)))
        array.weight, array.reduces = weight_of(sample), has_reduction(sample)
        self.give(value, array)
        return array


def _are_apart(one: Element, other: Element) -> bool:
    """Whether elements of an array are never the same one: a subscript is another number."""
    numbers = ((a.number, b.number) for a, b in zip(one.at, other.at, strict=True))
    return any(a is not None and b is not None and a != b for a, b in numbers)


def _fits(value: Value, bits: int) -> bool:
    """Whether an integer has so many bits or fewer, of which 32 are enough for whatever is no number."""
    if isinstance(value, Chosen):
        return _fits(value.then, bits) and _fits(value.other, bits)
    if not isinstance(value, Integer) or (bits >= 32 and value.form.number is None):
        return bits >= 32
    most = 2 ** (bits - 1)
    above, below = value.form.plus(most), value.form.scaled(-1).plus(most - (bits > 1))
    return is_never_negative(above) and is_never_negative(below)


def affine_form(
    expression: ir.AffineExpr, dims: Mapping[int, IndexForm], symbols: Mapping[int, IndexForm] | None = None
) -> IndexForm | None:
    """An affine expression of MLIR at values of its dimensions; None where no index expression says it."""
    if isinstance(expression, ir.AffineDimExpr):
        return dims[expression.position]
    if isinstance(expression, ir.AffineSymbolExpr):
        return (symbols or {})[expression.position]
    if isinstance(expression, ir.AffineConstantExpr):
        return number(expression.value)
    left, right = (affine_form(side, dims, symbols) for side in (expression.lhs, expression.rhs))
    if left is None or right is None:
        return None
    if isinstance(expression, ir.AffineAddExpr):
        return left + right
    if isinstance(expression, ir.AffineMulExpr):
        return product(left, right)
    if not is_never_negative(right.plus(-1)):
        return None
    if isinstance(expression, ir.AffineModExpr):
        return remainder(left, right)
    if isinstance(expression, ir.AffineFloorDivExpr):
        return divided(left, right)
    return divided(left + right.plus(-1), right)


def constant_scalar(value: float | bool, type: str) -> Scalar:
    """A number of MLIR: of one bit a condition, an integer as an index expression."""
    if type == "i1":
        return Truth(bool(value))
    if type == "index" or type.lstrip("sui").isdigit():
        return Integer(number(int(value)))
    return Float(float(value))
