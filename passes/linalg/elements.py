"""Tensors of an imported program and what their elements are: expressions, index expressions, conditions."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence

from tadc.frontend.float_functions import HOLDS, float_function
from tadc.frontend.functions import OPERATORS
from tadc.lattice.late_dataclasses import dataclass
from tadc.passes.linalg.index_forms import (
    Atom,
    Counter,
    IndexForm,
    Quotient,
    SizeSymbol,
    is_never_negative,
    of_atom,
    replaced,
)
from tadc.passes.linalg.source_places import SourcePlace


@dataclass(eq=False)
class ImportedTensor:
    """An argument or a definition. The name is chosen when all are known; until then it is a wish.

    An index array has what its elements are `below`. A definition reads `body` for its `counters`; one that
    has an `order` is a recurrence.
    """

    name: str
    type: str
    shape: tuple[IndexForm, ...]
    place: SourcePlace | None = None
    counters: tuple[Counter, ...] = ()
    body: Value | None = None
    order: IndexForm | None = None
    is_output: bool = False
    states_type: bool = False
    is_index: bool = False
    below: IndexForm | None = None
    wish: str = ""


@dataclass(frozen=True)
class Float:
    """A floating number."""

    value: float


@dataclass(frozen=True)
class Integer:
    """An integer that is an index expression."""

    form: IndexForm


@dataclass(frozen=True)
class TensorElement:
    """An element of an argument or a definition."""

    tensor: ImportedTensor
    at: tuple[IndexForm, ...]


@dataclass(frozen=True)
class Called:
    """A function or one of `+ - * / ** %`, and what it is applied to; `- x` has one operand."""

    function: str
    operands: tuple[Value, ...]


@dataclass(frozen=True)
class Chosen:
    """One of two values."""

    condition: Condition
    then: Value
    other: Value


@dataclass(frozen=True)
class Reduced:
    """A reduction over counters, where a condition of indices holds."""

    kind: str
    counters: tuple[Counter, ...]
    where: Condition
    body: Value


Value = Float | Integer | TensorElement | Called | Chosen | Reduced


@dataclass(frozen=True)
class Truth:
    """What is always or never so."""

    value: bool


@dataclass(frozen=True)
class Compared:
    """A comparison by one of `= < <= > >=`."""

    relation: str
    left: Value
    right: Value

    @property
    def is_of_indices(self) -> bool:
        """Whether both are index expressions."""
        return isinstance(self.left, Integer) and isinstance(self.right, Integer)


@dataclass(frozen=True)
class Negated:
    """What holds where another does not."""

    of: Condition


@dataclass(frozen=True)
class AllOf:
    """All of some conditions."""

    parts: tuple[Condition, ...]


Condition = Truth | Compared | Negated | AllOf
Scalar = Value | Condition

ZERO, ONE = Float(0.0), Float(1.0)
ALWAYS, NEVER = Truth(True), Truth(False)

#: What an operation weighs, where it is not 1.
_WEIGHTS = {"/": 2, "**": 2}
_LIGHT = frozenset(("+", "-", "*", "max", "min", "abs", "relu", "sign", "floor", "ceil"))


def weight_of(scalar: Scalar) -> int:
    """How much is written and computed for an element: a sum or product is 1."""
    total, stack = 0, [scalar]
    while stack:
        item = stack.pop()
        if isinstance(item, Called):
            total += 1 if item.function in _LIGHT else _WEIGHTS.get(item.function, 4)
            stack += item.operands
        elif isinstance(item, Chosen):
            total += 1
            stack += (item.condition, item.then, item.other)
        elif isinstance(item, Reduced):
            total += 6
            stack += (item.body, item.where)
        elif isinstance(item, Compared):
            total += not item.is_of_indices
            stack += (item.left, item.right)
        elif isinstance(item, Negated):
            stack.append(item.of)
        elif isinstance(item, AllOf):
            stack += item.parts
    return total


def has_reduction(scalar: Scalar) -> bool:
    """Whether a reduction is written out in it."""
    return any(isinstance(item, Reduced) for item in parts_of(scalar))


def parts_of(scalar: Scalar) -> Iterable[Scalar]:
    """It and all parts of it."""
    stack = [scalar]
    while stack:
        item = stack.pop()
        yield item
        if isinstance(item, Called):
            stack += item.operands
        elif isinstance(item, Chosen):
            stack += (item.condition, item.then, item.other)
        elif isinstance(item, Reduced):
            stack += (item.body, item.where)
        elif isinstance(item, Compared):
            stack += (item.left, item.right)
        elif isinstance(item, Negated):
            stack.append(item.of)
        elif isinstance(item, AllOf):
            stack += item.parts


def forms_of(scalar: Scalar) -> Iterable[IndexForm]:
    """The index expressions of all reads and comparisons in it."""
    for item in parts_of(scalar):
        if isinstance(item, Integer):
            yield item.form
        elif isinstance(item, TensorElement):
            yield from item.at


def applied(function: str, *operands: Value) -> Value:
    """A function of operands, without what is neutral."""
    if function in ("+", "-", "*", "/") and len(operands) == 2:
        left, right = operands
        if function in ("+", "-") and right == ZERO:
            return left
        if function == "+" and left == ZERO:
            return right
        if function in ("*", "/") and right == ONE:
            return left
        if function == "*" and left == ONE:
            return right
        if function == "*" and left == right:
            return Called("**", (left, Integer(IndexForm(2))))
    if function in ("max", "min") and len(operands) == 2:
        for one, other in (operands, operands[::-1]):
            if one == Float(-math.inf if function == "max" else math.inf):
                return other
    numbers = [operand.value for operand in operands if isinstance(operand, Float)]
    found = _of_numbers(function, numbers) if len(numbers) == len(operands) else math.nan
    return Float(found) if math.isfinite(found) else Called(function, operands)


def _of_numbers(function: str, numbers: Sequence[float]) -> float:
    """What a function of the language makes of numbers; NaN where that is no number."""
    if function == "-" and len(numbers) == 1:
        return -numbers[0]
    try:
        return float_function(OPERATORS.get(function, function))(*numbers)
    except (KeyError, ValueError, ZeroDivisionError, OverflowError):
        return math.nan


def chosen(condition: Condition, then: Value, other: Value) -> Value:
    """One of two values, or the one that is always taken."""
    if isinstance(condition, Negated):
        return chosen(condition.of, other, then)
    if isinstance(condition, Truth):
        return then if condition.value else other
    then, other = _under(then, condition), _under(other, negated(condition))
    return other if then == other or _is_case_of(condition, then, other) else Chosen(condition, then, other)


def _is_case_of(condition: Condition, then: Value, other: Value) -> bool:
    """Whether an index expression is what another is for a value of a size, as `0` is `n - 1` for `n = 1`."""
    if not isinstance(then, Integer) or not isinstance(other, Integer) or not isinstance(condition, Compared):
        return False
    left, right = condition.left, condition.right
    if condition.relation != "=" or not isinstance(left, Integer) or not isinstance(right, Integer):
        return False
    size, value = left.form.terms, right.form
    if len(size) != 1 or not isinstance(size[0][0], SizeSymbol) or left.form != of_atom(size[0][0]):
        return False
    return value.number is not None and then.form == replaced(
        other.form, lambda atom: value if atom == size[0][0] else None
    )


def _under(value: Value, known: Condition) -> Value:
    """A choice without what a condition decides."""
    while isinstance(value, Chosen):
        if both(known, value.condition) == NEVER:
            value = value.other
        elif both(known, negated(value.condition)) == NEVER:
            value = value.then
        else:
            break
    return value


def compared(relation: str, left: Value, right: Value) -> Condition:
    """A comparison; of index expressions what is proven is known."""
    if relation == "!=":
        return negated(compared("=", left, right))
    for one, two, is_left in ((left, right, True), (right, left, False)):
        # A comparison of a choice is a choice of comparisons, where these are of indices.
        if isinstance(one, Chosen) and is_whole(one) and isinstance(two, Integer):
            cases = (one.then, one.other)
            made = [compared(relation, *((case, two) if is_left else (two, case))) for case in cases]
            return either(both(one.condition, made[0]), both(negated(one.condition), made[1]))
    numbers = [_number(left), _number(right)]
    if numbers[0] is not None and numbers[1] is not None:
        return Truth(HOLDS[relation](numbers[0], numbers[1]))
    if not (isinstance(left, Integer) and isinstance(right, Integer)):
        return Compared(relation, left, right)
    if relation in (">", ">="):
        return compared({">": "<", ">=": "<="}[relation], right, left)
    gap = right.form - left.form
    if relation == "=":
        if gap.number is not None:
            return Truth(gap.number == 0)
        if is_never_negative(gap.plus(-1)) or is_never_negative(gap.scaled(-1).plus(-1)):
            return NEVER
        return Compared("=", left, right)
    strict = relation == "<"
    gap = _without_quotient(gap.plus(-strict)).plus(strict)
    left, right = (Integer(IndexForm(0)), Integer(gap)) if gap != right.form - left.form else (left, right)
    if is_never_negative(gap.plus(-strict)):
        return ALWAYS
    if is_never_negative(gap.scaled(-1).plus(strict - 1)):
        return NEVER
    return Compared(relation, left, right)


def _without_quotient(gap: IndexForm) -> IndexForm:
    """What is 0 or more where a form with a floored quotient is, without that quotient."""
    if len(gap.terms) != 1:
        return gap
    atom, times = gap.terms[0]
    if not isinstance(atom, Quotient) or atom.is_rest or abs(times) != 1:
        return gap
    if times > 0:
        return atom.of.plus(atom.by * gap.constant)
    return atom.of.scaled(-1).plus(atom.by * gap.constant + atom.by - 1)


def _number(value: Value) -> float | None:
    if isinstance(value, Float):
        return value.value
    return value.form.number if isinstance(value, Integer) else None


def negated(condition: Condition) -> Condition:
    """What holds where another does not; of indices the opposite comparison."""
    if isinstance(condition, Truth):
        return Truth(not condition.value)
    if isinstance(condition, Negated):
        return condition.of
    if isinstance(condition, Compared) and condition.is_of_indices and condition.relation in ("<", "<="):
        return Compared({"<": "<=", "<=": "<"}[condition.relation], condition.right, condition.left)
    return Negated(condition)


def both(*conditions: Condition) -> Condition:
    """All of some conditions."""
    parts: list[Condition] = []
    for condition in conditions:
        parts += condition.parts if isinstance(condition, AllOf) else (condition,)
    if NEVER in parts:
        return NEVER
    left = _consistent(dict.fromkeys(part for part in parts if part != ALWAYS))
    if left is None:
        return NEVER
    return ALWAYS if not left else left[0] if len(left) == 1 else AllOf(left)


def _consistent(parts: Iterable[Condition]) -> tuple[Condition, ...] | None:
    """Conditions without those that others imply; None where two exclude each other."""
    kept: list[Condition] = []
    for part in parts:
        gap = gap_of(part)
        if any(negated(other) == part for other in kept):
            return None
        if gap is None:
            kept.append(part)
            continue
        for other in list(kept):
            known = gap_of(other)
            if known is None:
                continue
            if (total := (known + gap).number) is not None and total < 0:
                return None
            more = (gap - known).number
            if more is not None and more >= 0:
                break
            if more is not None:
                kept.remove(other)
        else:
            kept.append(part)
    return tuple(kept)


def gap_of(condition: Condition) -> IndexForm | None:
    """What is 0 or more where a comparison of indices by `<` or `<=` holds; None for other conditions."""
    if not isinstance(condition, Compared):
        return None
    if not isinstance(condition.left, Integer) or not isinstance(condition.right, Integer):
        return None
    if condition.relation not in ("<", "<="):
        return None
    return (condition.right.form - condition.left.form).plus(-(condition.relation == "<"))


def is_of_indices(condition: Condition) -> bool:
    """Whether a condition is all of comparisons of indices."""
    parts = condition.parts if isinstance(condition, AllOf) else (condition,)
    return all(part == ALWAYS or (isinstance(part, Compared) and part.is_of_indices) for part in parts)


def either(*conditions: Condition) -> Condition:
    """One or more of some conditions."""
    return negated(both(*map(negated, conditions)))


def is_whole(value: Scalar) -> bool:
    """Whether a value is an index expression, or a choice of some by conditions of indices."""
    if isinstance(value, Chosen):
        return is_whole(value.then) and is_whole(value.other)
    return isinstance(value, Integer)


def by_cases(value: Value, make: Callable[[IndexForm], Value]) -> Value:
    """What is made of an integer, case by case where it is a choice."""
    if isinstance(value, Chosen):
        return chosen(value.condition, by_cases(value.then, make), by_cases(value.other, make))
    assert isinstance(value, Integer)
    return make(value.form)


def as_value(scalar: Scalar) -> Value:
    """A condition as 1 or 0."""
    if isinstance(scalar, Truth | Compared | Negated | AllOf):
        return chosen(scalar, Integer(IndexForm(1)), Integer(IndexForm(0)))
    return scalar


def as_condition(scalar: Scalar) -> Condition:
    """A value as the condition that it is not 0."""
    if isinstance(scalar, Truth | Compared | Negated | AllOf):
        return scalar
    return compared("!=", scalar, Integer(IndexForm(0)) if is_whole(scalar) else ZERO)


def with_atoms(scalar: Scalar, change: Callable[[Atom], IndexForm | None]) -> Scalar:
    """The same with other forms in the place of atoms."""
    if isinstance(scalar, Integer):
        return Integer(replaced(scalar.form, change))
    if isinstance(scalar, TensorElement):
        return TensorElement(scalar.tensor, tuple(replaced(form, change) for form in scalar.at))
    if isinstance(scalar, Called):
        return Called(scalar.function, tuple(_value(part, change) for part in scalar.operands))
    if isinstance(scalar, Chosen):
        condition = with_atoms(scalar.condition, change)
        return chosen(as_condition(condition), _value(scalar.then, change), _value(scalar.other, change))
    if isinstance(scalar, Reduced):
        where = as_condition(with_atoms(scalar.where, change))
        return Reduced(scalar.kind, scalar.counters, where, _value(scalar.body, change))
    if isinstance(scalar, Compared):
        return compared(scalar.relation, _value(scalar.left, change), _value(scalar.right, change))
    if isinstance(scalar, Negated):
        return negated(as_condition(with_atoms(scalar.of, change)))
    if isinstance(scalar, AllOf):
        return both(*(as_condition(with_atoms(part, change)) for part in scalar.parts))
    return scalar


def _value(value: Value, change: Callable[[Atom], IndexForm | None]) -> Value:
    return as_value(with_atoms(value, change))
