"""Integers that are computed by floating numbers of an index alone, as index expressions."""

from __future__ import annotations

from tadc.frontend.float_functions import HOLDS, float_function
from tadc.frontend.functions import OPERATORS
from tadc.passes.linalg.elements import (
    AllOf,
    Called,
    Chosen,
    Compared,
    Condition,
    Float,
    Integer,
    Negated,
    Reduced,
    TensorElement,
    Truth,
    Value,
    chosen,
    compared,
    forms_of,
    parts_of,
)
from tadc.passes.linalg.index_forms import (
    Atom,
    Counter,
    IndexForm,
    atoms_of,
    divided,
    number,
    of_atom,
    replaced,
)

#: So many values of an index are looked at, at most, and steps up to this.
_MOST, _STEEPEST = 1 << 14, 16

#: The functions of cheap arithmetic.
_FUNCTIONS = frozenset(
    ("+", "-", "*", "/", "%", "max", "min", "abs", "floor", "ceil", "sign", "relu", "sqrt")
)


def by_table(value: Value) -> Value | None:
    """An integer that depends on one index of a known range alone, as an index expression.

    Its values are computed, one for each of the index, and a floored quotient between two bounds is looked
    for that has them all. None where there is none, or where it depends on more.
    """
    atoms = {a for a in atoms_of(forms_of(value)) if isinstance(a, Counter)}
    if len(atoms) != 1:
        return None
    counter = next(iter(atoms))
    size = counter.size.number
    if size is None or size > _MOST:
        return None
    try:
        table = [int(evaluated(value, counter, i)) for i in range(size)]
    except (KeyError, ValueError, ZeroDivisionError, OverflowError, TypeError):
        return None
    return _fitted(table, of_atom(counter))


def is_of_indices(value: Value) -> bool:
    """Whether a value is cheap arithmetic of indices and constants."""
    return all(
        part.function in _FUNCTIONS
        if isinstance(part, Called)
        else not isinstance(part, TensorElement | Reduced)
        for part in parts_of(value)
    )


def _fitted(table: list[int], index: IndexForm) -> Value | None:
    low, high = min(table), max(table)
    inner = [i for i, t in enumerate(table) if low < t < high]
    for by in range(1, _STEEPEST + 1):
        for times in range(_STEEPEST + 1):
            places = inner or range(len(table))
            least = max(by * table[i] - times * i for i in places)
            most = min(by * table[i] + by - 1 - times * i for i in places)
            for offset in {least, most} if least <= most else ():
                line = [(times * i + offset) // by for i in range(len(table))]
                if [min(max(t, low), high) for t in line] == table:
                    return _bounded(index.scaled(times).plus(offset), by, line, low, high)
    return None


def _bounded(form: IndexForm, by: int, line: list[int], low: int, high: int) -> Value | None:
    quotient = divided(form, number(by))
    if quotient is None:
        return None
    found: Value = Integer(quotient)
    if max(line) > high:
        found = chosen(compared("<", Integer(number(by * high)), Integer(form)), Integer(number(high)), found)
    if min(line) < low:
        found = chosen(compared("<", Integer(form), Integer(number(by * low))), Integer(number(low)), found)
    return found


def evaluated(value: Value, counter: Counter, index: int) -> float:
    """The number that a value is where an index has a value. Raises KeyError where it needs more."""
    if isinstance(value, Float):
        return value.value
    if isinstance(value, Integer):
        return _form_value(value.form, counter, index)
    if isinstance(value, Called):
        operands = [evaluated(part, counter, index) for part in value.operands]
        if value.function not in _FUNCTIONS:
            raise KeyError
        name = OPERATORS.get(value.function, value.function)
        if name == "sub" and len(operands) == 1:
            name = "neg"
        return float_function(name)(*operands)
    if isinstance(value, Chosen):
        holds = _holds(value.condition, counter, index)
        return evaluated(value.then if holds else value.other, counter, index)
    raise KeyError


def _form_value(form: IndexForm, counter: Counter, index: int) -> int:
    def change(atom: Atom) -> IndexForm | None:
        return number(index) if atom is counter else None

    found = replaced(form, change).number
    if found is None:
        raise KeyError
    return found


def _holds(condition: Condition, counter: Counter, index: int) -> bool:
    if isinstance(condition, Truth):
        return condition.value
    if isinstance(condition, Negated):
        return not _holds(condition.of, counter, index)
    if isinstance(condition, AllOf):
        return all(_holds(part, counter, index) for part in condition.parts)
    assert isinstance(condition, Compared)
    return HOLDS[condition.relation](
        evaluated(condition.left, counter, index), evaluated(condition.right, counter, index)
    )
