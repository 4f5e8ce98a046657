"""Whole arrays in a program: a shape, and what stands at each place of it.

An array is no tensor of the program: it is what an element would be, as a function of indices. A view
(`x[1:]`, `x.T`) reads another array at other places, a sum of arrays adds their elements. Only what is costly
and read more than once becomes a definition of its own, named after the variable of Python.
"""

from __future__ import annotations

import dis
import keyword
from collections.abc import Callable, Iterable, Sequence
from itertools import count
from typing import Any, cast

from tadc.building.python_expressions import (
    HOOKS,
    Condition,
    Expression,
    Index,
    Operand,
    Tensor,
    expression,
)
from tadc.building.python_forms import where
from tadc.building.python_lines import Site, here, standing_at, wrong
from tadc.building.size_forms import SizeForm, of_int, shape_text, size_form
from tadc.building.tensors import DefinedTensor

#: The indices of an element.
At = Sequence[Expression]
Shape = tuple[SizeForm, ...]

#: A definition is made of an element that is read twice and has more pieces of text than this, costly or not.
_LONG = 200
#: So many arrays are made of each other before one becomes a definition: an element is computed recursively.
_DEEP = 24
#: Arrays of Python and NumPy with more elements are arguments.
_FEW = 64

_numbers = count()


class FreshIndex(Index):
    """An index that gets its name where the program is written; `wanted` if that is free."""

    __slots__ = ("wanted",)

    def __init__(self, wanted: str = "") -> None:
        super().__init__(f"_{next(_numbers)}")
        self.wanted = wanted


class FreshTensor(DefinedTensor):
    """A definition that gets its name where the program is written."""

    __slots__ = ()


class ArrayExpression(Operand):
    """A whole array of a program: what `x @ w`, `x[1:]` and `np.exp(x)` are of arrays that a kernel takes.

    Functions of NumPy and its methods take it and make others, with NumPy's meaning.

    >>> import tadc
    >>> x = tadc.argument("x", "f64", ("N", 3))
    >>> x[1:] - x[:-1], (x * x).sum(axis=1)
    (<tadc.ArrayExpression of shape (N - 1, 3)>, <tadc.ArrayExpression of shape (N,)>)
    """

    __slots__ = (
        "_kept",
        "_read",
        "base",
        "costs",
        "depth",
        "extents",
        "is_bound",
        "is_short",
        "label",
        "site",
        "uses",
    )

    def __init__(
        self,
        extents: Iterable[SizeForm],
        read: Callable[[At], Any],
        made_of: Sequence[ArrayExpression] = (),
        *,
        is_view: bool = False,
        costs: bool = False,
        label: str = "h",
    ) -> None:
        """A view has elements of the one that it is made of. `costs`: one takes longer than to read it.

        `label` is what a definition is called where Python has no name for it.
        """
        self.extents: Shape = tuple(extents)
        self.base, self.label = made_of[0] if is_view else None, label
        self.costs = costs or any(array.costs for array in made_of)
        self.site = here()
        self.uses = 0
        self.is_bound = self.is_short = False
        self._read = read
        self._kept: DefinedTensor | None = None
        self.depth = 1 + max((array.depth for array in made_of), default=0)
        if self.depth > _DEEP and self.kept(always=True) is not None:
            self.depth = 0

    @property
    def is_array(self) -> bool:
        """See Operand."""
        return True

    def used(self, *, repeatedly: bool = False) -> None:
        """Something reads its elements, each more than once where `repeatedly`."""
        if self.base is not None:
            self.base.used(repeatedly=repeatedly)
        self.uses += 1 + repeatedly

    def element(self, at: At) -> Expression:
        """What stands at indices, one for each dimension."""
        kept = self._kept
        if kept is None and self.uses > 1 and self.base is None:
            kept = self.kept()
        if kept is None:
            return self.written_out(at)
        return kept.element(tuple(self._long(at)), "[")

    def _long(self, at: Sequence[Any]) -> list[Any]:
        """What belongs to the dimensions that have more than one element: only these are stored."""
        return [item for item, size in zip(at, self.extents, strict=True) if size.number != 1]

    def written_out(self, at: At) -> Expression:
        """The element as it is computed."""
        try:
            with standing_at(self.site):
                return expression(self._read(at))
        except RecursionError:
            help = 'name a step in between: `h = tadc.let("h", {i: N}, …)`'
            raise wrong("too many arrays are made of each other here", help, site=self.site) from None

    def kept(self, *, always: bool = False) -> DefinedTensor | None:
        """The definition of its elements; None where one costs nothing, or depends on others' indices."""
        if self._kept is not None or self.is_bound or (self.is_short and not always):
            return self._kept
        at: list[Any] = [expression(0) if size.number == 1 else FreshIndex() for size in self.extents]
        body = self.written_out(at)
        self.is_bound = bool(body.free.difference(i.name for i in self._long(at)))
        self.is_short = not self.costs and body.pieces <= _LONG
        if self.is_bound or (self.is_short and not always):
            return None
        return self.keep(at, body)

    def keep(self, at: Sequence[Index], body: Any, order: Expression | None = None) -> DefinedTensor:
        """Make the definition."""
        head = tuple((i, size.expression) for i, size in zip(at, self.extents, strict=True))
        name = assigned(self.site) or self.label
        self._kept = FreshTensor(name, tuple(self._long(head)), body, order, "", self.site)
        return self._kept

    @property
    def free(self) -> frozenset[str]:
        """The indices that its elements depend on besides their own."""
        at = [FreshIndex() for _ in self.extents]
        return self.element(at).free.difference(i.name for i in at)

    def __getitem__(self, key: Any) -> Any:
        return HOOKS.arrays.read(self, cast(tuple[Any, ...], key) if isinstance(key, tuple) else (key,))

    def shown(self) -> str:
        """What messages say in its place."""
        return f"an array of shape {shape_text(self.extents)}"

    def __repr__(self) -> str:
        return f"<tadc.ArrayExpression of shape {shape_text(self.extents)}>"


def assigned(site: Site) -> str:
    """The variable that the value of an expression of Python is assigned to at once, or ""."""
    if site.instruction < 0:
        return ""
    following = (i for i in dis.get_instructions(site.code) if i.offset > site.instruction)
    found = next(following, None)
    name = str(found.argval) if found is not None and found.opname.startswith("STORE_") else ""
    return name if name.isidentifier() and not keyword.iskeyword(name) else ""


def as_array(value: Any) -> ArrayExpression:
    """An array as it is; of a tensor, a number, a list or an array of constants, the array."""
    if isinstance(value, ArrayExpression):
        return value
    if isinstance(value, Tensor) and value.is_array:
        return of_tensor(value)
    if isinstance(value, Condition):
        return elementwise(where, [value, 1, 0], chooses=True)
    if isinstance(value, list | tuple):
        return _stacked(cast(Sequence[Any], value))
    if not isinstance(value, Operand) and getattr(value, "shape", ()):
        return _constant(value)
    held = expression(value)
    return ArrayExpression((), lambda _: held)


def of_tensor(tensor: Tensor) -> ArrayExpression:
    """An argument or a definition as an array. Raises UsageError (TAD0510) where its sizes are not stated."""
    extents: list[SizeForm] = []
    for position, size in enumerate(tensor.extents):
        form = None if size is None else size_form(size)
        if form is None:
            help = f'state it: `tadc.let("{tensor.name}", {{i: N}}, …)`'
            raise wrong(f"the size of dimension {position} of `{tensor.name}` is not known here", help)
        extents.append(form)
    return ArrayExpression(extents, lambda at: tensor.element(tuple(at), "["))


def _stacked(items: Sequence[Any]) -> ArrayExpression:
    """Items of Python's list as an array of one dimension more."""
    from_ = [as_array(item) for item in items]
    if not from_:
        raise wrong("an array of no elements stands in a program")
    shape = broadcast([item.extents for item in from_], "the items of a list")
    if any(item.extents != shape for item in from_):
        texts = ", ".join(shape_text(item.extents) for item in from_)
        raise wrong(f"all items of a list have one shape, and these have {texts}")
    for item in from_:
        item.used()

    def read(at: At) -> Any:
        return chosen(at[0], [(n, item.element(at[1:])) for n, item in enumerate(from_)])

    return ArrayExpression((of_int(len(from_)), *shape), read, from_)


def chosen(at: Expression, items: Sequence[tuple[int, Any]]) -> Any:
    """The item that stands at an index; the last one where no other does."""
    written = str(at)
    for n, item in items:
        if written == str(n):
            return item
    *others, (_, value) = items
    for n, item in reversed(others):
        value = where(at == n, item, value)
    return value


def _constant(value: Any) -> ArrayExpression:
    """An array of numbers as an expression: each is written in the program."""
    if value.size > _FEW:
        raise wrong(
            f"an array of {value.size} numbers stands in a program",
            'make it an argument, `x = tadc.argument("x", "f64", "N")`, and call the function with it',
        )
    return _stacked([item if not getattr(item, "shape", ()) else _constant(item) for item in value])


def broadcast(shapes: Sequence[Shape], what: str = "operands") -> Shape:
    """The shape of what is computed element by element. Raises UsageError (TAD0510) in NumPy's words."""
    rank = max(map(len, shapes), default=0)
    found: list[SizeForm] = []
    for dimension in range(-rank, 0):
        sizes = [shape[dimension] for shape in shapes if len(shape) >= -dimension]
        others = [size for size in sizes if size.number != 1] or sizes[:1]
        if any(size != others[0] for size in others):
            texts = " ".join(map(shape_text, shapes))
            raise wrong(f"{what} could not be broadcast together with shapes {texts}", *_equal(others))
        found.append(others[0])
    return tuple(found)


def _equal(sizes: Sequence[SizeForm]) -> list[str]:
    first, second = sizes[0], next(size for size in sizes if size != sizes[0])
    if first.number is not None and second.number is not None:
        return []
    return [f"if `{first}` and `{second}` are always equal, declare both with one size"]


def elementwise(
    make: Callable[..., Any], operands: Sequence[Any], *, costs: bool = False, chooses: bool = False
) -> ArrayExpression:
    """The array of what `make` makes of the elements of others, which are broadcast.

    It `chooses` by its first operand, a condition; elsewhere these are 1 and 0.
    """
    relations = operands[0].relations if chooses else ()
    sides = [as_array(side) for left, _, right in relations for side in (left, right)]
    signs = [sign for _, sign, _ in relations]
    items = [*sides, *(as_array(operand) for operand in operands[chooses:])]
    shape = broadcast([item.extents for item in items])
    for item in items:
        item.used(repeatedly=item.extents != shape)

    def read(at: At) -> Any:
        elements = [item.element(own_places(item, at)) for item in items]
        given = elements[: len(sides)]
        held = [Condition(list(zip(given[::2], signs, given[1::2], strict=True)))] * chooses
        return make(*held, *elements[len(sides) :])

    return ArrayExpression(shape, read, items, costs=costs)


def own_places(array: ArrayExpression, at: At) -> list[Expression]:
    """The indices of the element of an array that is broadcast to others."""
    own = at[len(at) - len(array.extents) :]
    zero = expression(0)
    return [zero if size.number == 1 else i for size, i in zip(array.extents, own, strict=True)]


def view(array: ArrayExpression, extents: Iterable[SizeForm], places: Callable[[At], At]) -> ArrayExpression:
    """An array that reads another one at other places."""
    return ArrayExpression(extents, lambda at: array.element(places(at)), [array], is_view=True)
