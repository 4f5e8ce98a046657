"""Views of whole arrays: slices, transposes, reshapes, and what is put together of several."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any, cast

from tadc.building.python_expressions import Expression, Operand, Tensor, expression
from tadc.building.python_forms import where
from tadc.building.python_lines import wrong
from tadc.building.size_forms import SizeForm, listed, of_int, product, shape_text, size_form
from tadc.building.tensors import IndexArray
from tadc.building.whole_arrays import ArrayExpression, At, as_array, broadcast, own_places, view


def axis_of(array: ArrayExpression, axis: Any, rank: int | None = None) -> int:
    """An axis counted from the first one. Raises UsageError (TAD0510) in NumPy's words."""
    rank = len(array.extents) if rank is None else rank
    number = operator.index(axis) if hasattr(axis, "__index__") and not isinstance(axis, Operand) else None
    if number is None or not -rank <= number < rank:
        raise wrong(f"axis {axis!r} is out of bounds for array of dimension {rank}")
    return number % rank


def axes_of(array: ArrayExpression, axis: Any) -> list[int]:
    """One axis, several, or all of them for None."""
    if axis is None:
        return list(range(len(array.extents)))
    given = listed(axis)
    found = [axis_of(array, item) for item in given]
    if len(set(found)) < len(found):
        raise wrong(f"duplicate value in 'axis': {axis!r}")
    return found


# -- reading by a key ----------------------------------------------------------------------


def read(array: Any, key: tuple[Any, ...]) -> Any:
    """`array[key]` in NumPy's meaning, with expressions of indices and index arrays in the key."""
    whole = as_array(array)
    items = _expanded(whole, key)
    used = sum(item is not None for item in items)
    if used > len(whole.extents):
        raise wrong(
            f"too many indices for array: it has {len(whole.extents)} dimensions, and {used} are indexed"
        )
    items += [slice(None)] * (len(whole.extents) - used)
    if isinstance(array, Tensor) and all(_is_one(item) for item in items):
        places = [_place(item, size) for item, size in zip(items, whole.extents, strict=True)]
        return array.element(tuple(places), "[")
    return _KeyReader(whole, items).view()


def _is_one(item: Any) -> bool:
    return item is not None and not isinstance(item, slice) and not getattr(item, "is_array", False)


def _expanded(whole: ArrayExpression, key: tuple[Any, ...]) -> list[Any]:
    """The items of a key; slices in the place of an ellipsis."""
    dots = [n for n, item in enumerate(key) if item is Ellipsis]
    if len(dots) > 1:
        raise wrong("an index can only have a single ellipsis ('...')")
    if not dots:
        return list(key)
    used = sum(item is not None and item is not Ellipsis for item in key)
    filled = [slice(None)] * max(0, len(whole.extents) - used)
    return [*key[: dots[0]], *filled, *key[dots[0] + 1 :]]


def _place(item: Any, size: SizeForm) -> Expression:
    """One index; a negative number counts from the end."""
    if not isinstance(item, Operand) and (not hasattr(item, "__index__") or getattr(item, "shape", ())):
        helps = ["indices are integers, slices, `None`, `...`, expressions of indices and index arrays"]
        kind = type(item).__name__
        if kind in ("list", "ndarray"):
            helps.append("put elements at known positions together: `np.stack([x[0], x[2]])`")
        raise wrong(f"an array is not indexed by a {kind}", *helps)
    if isinstance(item, Operand):
        return expression(item)
    number = operator.index(item)
    if size.number is not None and not -size.number <= number < size.number:
        raise wrong(f"index {number} is out of bounds for axis with size {size.number}")
    return (size + number).expression if number < 0 else expression(number)


class _KeyReader:
    """Where the elements of `array[key]` stand in the array."""

    def __init__(self, array: ArrayExpression, items: Sequence[Any]) -> None:
        self.array = array
        self.extents: list[SizeForm] = []
        #: For each dimension of the array its index, of the indices of the view.
        self.places: list[Callable[[At], Expression]] = []
        self.gathered = [as_array(item) for item in items if getattr(item, "is_array", False)]
        self.common = broadcast([g.extents for g in self.gathered], "index arrays") if self.gathered else ()
        positions = [n for n, item in enumerate(items) if getattr(item, "is_array", False)]
        # As in NumPy, dimensions of index arrays that do not stand side by side come first.
        apart = bool(positions) and positions[-1] - positions[0] >= len(positions)
        self.begins: int | None = 0 if apart else None
        if apart:
            self.extents += self.common
        for item in items:
            self._take(item)

    def _take(self, item: Any) -> None:
        position = len(self.extents)
        if item is None:
            self.extents.append(of_int(1))
            return
        size = self.array.extents[len(self.places)]
        if isinstance(item, slice):
            start, length, step = sliced(cast(Any, item), size)
            self.extents.append(length)
            self.places.append(lambda at: _stepped(start, step, at[position]))
        elif getattr(item, "is_array", False):
            self._gather(item)
        else:
            place = _place(item, size)
            self.places.append(lambda _: place)

    def _gather(self, item: Any) -> None:
        if not isinstance(item, IndexArray):
            help = "what indexes an array is an index array: `idx: tadc.IndexArray[E, N]`"
            raise wrong("an array is not indexed by values", help)
        if self.begins is None:
            self.begins = len(self.extents)
            self.extents += self.common
        array, begins, many = as_array(item), self.begins, len(self.common)
        self.places.append(lambda at: array.element(own_places(array, at[begins : begins + many])))

    def view(self) -> ArrayExpression:
        """The view."""
        return view(self.array, self.extents, lambda at: [place(at) for place in self.places])


def _stepped(start: SizeForm, step: int, i: Expression) -> Expression:
    moved = i if step == 1 else step * i
    return moved if start.number == 0 else start.expression + moved if step < 0 else moved + start.expression


def sliced(item: Any, size: SizeForm) -> tuple[SizeForm, SizeForm, int]:
    """First index, length and step of a slice of a dimension."""
    step = 1 if item.step is None else item.step
    if isinstance(step, Operand) or not hasattr(step, "__index__") or not operator.index(step):
        raise wrong(f"the step of a slice is a number other than 0, not {step!r}")
    step = operator.index(step)
    if size.number is not None and not any(isinstance(end, Operand) for end in (item.start, item.stop)):
        found = range(*slice(item.start, item.stop, step).indices(size.number))
        return of_int(found.start), of_int(len(found)), step
    backwards = step < 0
    start = _end(item.start, size, size - 1 if backwards else of_int(0))
    stop = _end(item.stop, size, of_int(-1) if backwards else size)
    span = start - stop if backwards else stop - start
    length = (span + (abs(step) - 1)) // abs(step)
    if any(leaf.free and name in str(length) for name, leaf in length.leaves.items()):
        help = "an array has one shape: `x[i : i + 3]` has 3 elements for each i"
        raise wrong(f"the length of a slice, `{length}`, depends on an index", help)
    return start, of_int(0) if (length.number or 0) < 0 else length, step


def _end(given: Any, size: SizeForm, otherwise: SizeForm) -> SizeForm:
    if given is None:
        return otherwise
    form = size_form(given)
    if form is None:
        raise wrong(f"the end of a slice is an integer or an expression of sizes and indices, not {given!r}")
    return size + form if form.number is not None and form.number < 0 else form


# -- axes ----------------------------------------------------------------------------------


def transpose(a: Any, axes: Any = None) -> ArrayExpression:
    """Axes in another order; the reverse one by default."""
    array = as_array(a)
    rank = len(array.extents)
    order = list(reversed(range(rank))) if axes is None else [axis_of(array, axis) for axis in axes]
    if sorted(order) != list(range(rank)):
        raise wrong(f"axes {axes!r} don't match array of dimension {rank}")
    places = [order.index(d) for d in range(rank)]
    return view(array, [array.extents[d] for d in order], lambda at: [at[p] for p in places])


def moveaxis(a: Any, source: Any, destination: Any) -> ArrayExpression:
    """Axes moved to other positions."""
    array = as_array(a)
    from_, to = axes_of(array, source), axes_of(array, destination)
    if len(from_) != len(to):
        raise wrong("`source` and `destination` have the same number of axes")
    order = [d for d in range(len(array.extents)) if d not in from_]
    for target, axis in sorted(zip(to, from_, strict=True)):
        order.insert(target, axis)
    return transpose(array, order)


def swapaxes(a: Any, axis1: int, axis2: int) -> ArrayExpression:
    """Two axes, each in the place of the other."""
    array = as_array(a)
    order = list(range(len(array.extents)))
    first, second = axis_of(array, axis1), axis_of(array, axis2)
    order[first], order[second] = second, first
    return transpose(array, order)


def expand_dims(a: Any, axis: Any) -> ArrayExpression:
    """Axes of one element more."""
    array = as_array(a)
    given = listed(axis)
    rank = len(array.extents) + len(given)
    new = {axis_of(array, item, rank) for item in given}
    old = iter(array.extents)
    extents = [of_int(1) if d in new else next(old) for d in range(rank)]
    return view(array, extents, lambda at: [i for d, i in enumerate(at) if d not in new])


def squeeze(a: Any, axis: Any = None) -> ArrayExpression:
    """The array without axes of one element."""
    array = as_array(a)
    ones = [d for d, size in enumerate(array.extents) if size.number == 1]
    dropped = ones if axis is None else axes_of(array, axis)
    if not set(dropped) <= set(ones):
        raise wrong("cannot select an axis to squeeze out which has size not equal to one")
    kept = [d for d in range(len(array.extents)) if d not in dropped]

    def places(at: At) -> At:
        found = [expression(0)] * len(array.extents)
        for d, i in zip(kept, at, strict=True):
            found[d] = i
        return found

    return view(array, [array.extents[d] for d in kept], places)


def shape_of(given: Any) -> list[SizeForm]:
    """A shape that is given as sizes, one or several."""
    found = [size_form(size) for size in listed(given)]
    if any(size is None for size in found):
        raise wrong(f"a shape is made of integers and sizes, not {given!r}")
    return cast(list[SizeForm], found)


def broadcast_to(array: Any, shape: Any) -> ArrayExpression:
    """The array, repeated to a shape."""
    whole, extents = as_array(array), tuple(shape_of(shape))
    if broadcast([whole.extents, extents]) != extents:
        raise wrong(f"cannot broadcast shape {shape_text(whole.extents)} to shape {shape_text(extents)}")
    made = view(whole, extents, lambda at: own_places(whole, at))
    whole.used()  # each element is read again
    return made


def flip(m: Any, axis: Any = None) -> ArrayExpression:
    """The elements along axes the other way round."""
    array = as_array(m)
    turned = axes_of(array, axis)

    def places(at: At) -> At:
        return [(array.extents[d] - 1).expression - i if d in turned else i for d, i in enumerate(at)]

    return view(array, array.extents, places)


def diagonal(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> ArrayExpression:
    """The elements of two axes whose indices differ by `offset`, as the last axis."""
    array = as_array(a)
    first, second = axis_of(array, axis1), axis_of(array, axis2)
    rest = [d for d in range(len(array.extents)) if d not in (first, second)]
    rows, columns = array.extents[first] + min(offset, 0), array.extents[second] - max(offset, 0)
    numbers = [n for size in (rows, columns) if (n := size.number) is not None]
    if rows != columns and len(numbers) < 2:
        raise wrong(f"the diagonal of a matrix of {rows} by {columns} has no length that is known here")
    length = rows if rows == columns else of_int(max(0, min(numbers)))

    def places(at: At) -> At:
        found = dict(zip(rest, at[:-1], strict=True))
        found[first] = at[-1] - offset if offset < 0 else at[-1]
        found[second] = at[-1] + offset if offset > 0 else at[-1]
        return [found[d] for d in range(len(found))]

    return view(array, [*(array.extents[d] for d in rest), length], places)


# -- reshapes ------------------------------------------------------------------------------


def reshape(a: Any, shape: Any, order: str = "C") -> ArrayExpression:
    """The same elements in rows of another shape; -1 for what is left."""
    if order != "C":
        raise wrong(f"elements are in the order 'C', and not in {order!r}")
    array = as_array(a)
    wanted = _filled(array, shape_of(shape))
    groups = _groups(list(array.extents), wanted)
    if groups is None:
        message = f"cannot reshape array of shape {shape_text(array.extents)} into shape {shape_text(wanted)}"
        raise wrong(message, "sizes must be the same product whatever their values are")

    def places(at: At) -> At:
        found: list[Expression] = []
        rest = list(at)
        for old, new in groups:
            own, rest = rest[: len(new)], rest[len(new) :]
            found += own if old == new else _split(_merged(own, new), old)
        return found

    return view(array, wanted, places)


def _filled(array: ArrayExpression, wanted: list[SizeForm]) -> list[SizeForm]:
    """The shape, with what is left in the place of -1."""
    unknown = [n for n, size in enumerate(wanted) if size.number == -1]
    if not unknown:
        return wanted
    if len(unknown) > 1:
        raise wrong("can only specify one unknown dimension")
    have, known = list(array.extents), [size for size in wanted if size.number != -1]
    for size in list(known):
        if size in have:
            have.remove(size)
            known.remove(size)
    left = product(have).over(product(known))
    if left is None:
        message = f"cannot reshape array of shape {shape_text(array.extents)} into shape {shape_text(wanted)}"
        raise wrong(message, f"declare a size that `{product(known)}` divides, as in `x: f64[4*N]`")
    wanted[unknown[0]] = left
    return wanted


def _groups(old: list[SizeForm], new: list[SizeForm]) -> list[tuple[list[SizeForm], list[SizeForm]]] | None:
    """Runs of dimensions with the same number of elements, as short as they can be."""
    found: list[tuple[list[SizeForm], list[SizeForm]]] = []
    a = b = 0
    while a < len(old) or b < len(new):
        for count in range(1, len(old) - a + len(new) - b + 1):
            ends = [
                (a + n, b + count - n)
                for n in range(count + 1)
                if a + n <= len(old) and b + count - n <= len(new)
            ]
            end = next((e for e in ends if product(old[a : e[0]]) == product(new[b : e[1]])), None)
            if end is not None:
                found.append((old[a : end[0]], new[b : end[1]]))
                a, b = end
                break
        else:
            return None
    return found


def _merged(at: At, sizes: Sequence[SizeForm]) -> Expression:
    """The number of an element of a block, counted along its last dimension first."""
    total: Expression | None = None
    for i, size in zip(at, sizes, strict=True):
        if size.number == 1:
            continue
        total = i if total is None else total * size.expression + i
    return expression(0) if total is None else total


def _split(number: Expression, sizes: Sequence[SizeForm]) -> list[Expression]:
    """The indices of the element of a block that has a number."""
    found: list[Expression] = []
    is_first = True
    for n, size in enumerate(sizes):
        below = product(sizes[n + 1 :])
        place = number if below.number == 1 else number // below.expression
        if size.number == 1:
            found.append(expression(0))
            continue
        found.append(place if is_first else place % size.expression)
        is_first = False
    return found


def ravel(a: Any, order: str = "C") -> ArrayExpression:
    """All elements in one dimension."""
    return reshape(a, -1, order)


# -- several arrays ------------------------------------------------------------------------


def concatenate(arrays: Sequence[Any], axis: Any = 0) -> ArrayExpression:
    """Arrays one behind the other along an axis."""
    items = [as_array(item) for item in arrays]
    if not items:
        raise wrong("need at least one array to concatenate")
    if axis is None:
        items, axis = [ravel(item) for item in items], 0
    if any(len(item.extents) != len(items[0].extents) for item in items):
        raise wrong("all the input arrays must have same number of dimensions")
    along = axis_of(items[0], axis)
    for item in items:
        others = [
            (a, b) for d, (a, b) in enumerate(zip(item.extents, items[0].extents, strict=True)) if d != along
        ]
        if any(a != b for a, b in others):
            texts = ", ".join(shape_text(array.extents) for array in items)
            raise wrong(f"all dimensions but that of axis {along} must match exactly, and shapes are {texts}")
        item.used()
    ends: list[SizeForm] = []
    for item in items:
        ends.append((ends[-1] if ends else of_int(0)) + item.extents[along])

    def read(at: At) -> Any:
        value: Any = None
        for n in reversed(range(len(items))):
            moved = list(at)
            if n:
                moved[along] = at[along] - ends[n - 1].expression
            own = items[n].element(moved)
            value = own if value is None else where(at[along] < ends[n].expression, own, value)
        return value

    extents = [ends[-1] if d == along else size for d, size in enumerate(items[0].extents)]
    return ArrayExpression(extents, read, items)


def stack(arrays: Sequence[Any], axis: int = 0) -> ArrayExpression:
    """Arrays of one shape along a new axis."""
    made = as_array(list(arrays))
    return moveaxis(made, 0, axis_of(made, axis))


def roll(a: Any, shift: Any, axis: Any = None) -> ArrayExpression:
    """Elements moved along an axis, those beyond its end to its beginning."""
    array = as_array(a)
    if axis is None:
        return reshape(roll(ravel(array), shift, 0), [size.expression for size in array.extents])
    shifts = listed(shift) if isinstance(shift, tuple | list) else [shift] * len(axes_of(array, axis))
    for along, by in zip(axes_of(array, axis), shifts, strict=True):
        array = _rolled(array, operator.index(by), along)
    return array


def _rolled(array: ArrayExpression, by: int, along: int) -> ArrayExpression:
    size = array.extents[along]
    if size.number is not None:
        by = by % size.number if size.number else 0
    if not by:
        return array
    cut = of_int(-by) if by < 0 else size - by
    key = (slice(None),) * along
    behind = (*key, slice(cut.expression, None))
    before = (*key, slice(None, cut.expression))
    return concatenate([read(array, behind), read(array, before)], along)


def tile(A: Any, reps: Any) -> ArrayExpression:
    """The array several times along each axis."""
    array = as_array(A)
    times = [operator.index(n) for n in listed(reps)]
    rank = max(len(times), len(array.extents))
    times = [1] * (rank - len(times)) + times
    missing = rank - len(array.extents)
    extents = [*[of_int(1)] * missing, *array.extents]
    spread = [size for n, old in zip(times, extents, strict=True) for size in (of_int(n), old)]
    array.used(repeatedly=True)
    whole = view(array, spread, lambda at: at[2 * missing + 1 :: 2])
    return reshape(whole, [(old * n).expression for n, old in zip(times, extents, strict=True)])


def repeat(a: Any, repeats: Any, axis: Any = None) -> ArrayExpression:
    """Each element several times."""
    array = ravel(a) if axis is None else as_array(a)
    along, times = axis_of(array, 0 if axis is None else axis), operator.index(repeats)
    extents = list(array.extents)
    spread = view(
        array,
        [*extents[: along + 1], of_int(times), *extents[along + 1 :]],
        lambda at: [*at[: along + 1], *at[along + 2 :]],
    )
    array.used()
    extents[along] = extents[along] * times
    return reshape(spread, [size.expression for size in extents])


#: How far from the edge what is padded before the first and behind the last element stands, by the distance
#: 1, 2, … from there, in an axis of n elements.
_PADS: dict[str, tuple[Callable[[Any, Any], Any], Callable[[Any, Any], Any]]] = {
    "edge": (lambda d, n: 0 * d, lambda d, n: n - 1 + 0 * d),
    "reflect": (lambda d, n: d, lambda d, n: n - 1 - d),
    "symmetric": (lambda d, n: d - 1, lambda d, n: n - d),
    "wrap": (lambda d, n: n - d, lambda d, n: d - 1),
}


def pad(array: Any, pad_width: Any, mode: str = "constant", constant_values: Any = 0) -> ArrayExpression:
    """Elements more at the ends of each axis."""
    whole = as_array(array)
    if mode != "constant" and mode not in _PADS:
        raise wrong(f"mode {mode!r} is not supported", f"there are constant, {', '.join(_PADS)}")
    widths = [listed(item) for item in listed(pad_width)]
    if len(widths) == 2 and all(len(item) == 1 for item in widths):
        widths = [[before for (before,) in widths]]
    if len(widths) == 1:
        widths *= len(whole.extents)
    if len(widths) != len(whole.extents):
        raise wrong(f"`pad_width` has a pair for each of {len(whole.extents)} axes, not {pad_width!r}")
    for along, item in enumerate(widths):
        before, behind = operator.index(item[0]), operator.index(item[-1])
        whole = _padded(whole, along, before, behind, mode, constant_values)
    return whole


def _padded(
    array: ArrayExpression, along: int, before: int, behind: int, mode: str, value: Any
) -> ArrayExpression:
    if not before and not behind:
        return array
    size = array.extents[along]
    if mode != "constant":
        array.used()

    def read(at: At) -> Any:
        i, n = at[along], size.expression

        def there(place: Any) -> Any:
            return array.element([*at[:along], place, *at[along + 1 :]])

        ends = [value, value]
        if mode != "constant":
            low, high = _PADS[mode]
            ends = [
                there(low(before - i, n)) if before else 0,
                there(high(i - (n + (before - 1)), n)) if behind else 0,
            ]
        found = there(i - before if before else i)
        if behind:
            found = where(i < n + before, found, ends[1])
        return where(i >= before, found, ends[0]) if before else found

    extents = [*array.extents[:along], size + before + behind, *array.extents[along + 1 :]]
    array.used()
    return ArrayExpression(extents, read, [array])


def padded_by(array: ArrayExpression, before: SizeForm, behind: SizeForm) -> ArrayExpression:
    """An array of one dimension with zeros at both ends."""
    (size,) = array.extents
    array.used()

    def read(at: At) -> Any:
        inside = (at[0] >= before.expression) & (at[0] < (size + before).expression)
        return where(inside, array.element([at[0] - before.expression]), 0)

    return ArrayExpression([size + before + behind], read, [array])


def full(shape: Any, fill_value: Any) -> ArrayExpression:
    """One value everywhere."""
    return broadcast_to(as_array(fill_value), shape)


def of_places(shape: Any, make: Callable[[At], Any]) -> ArrayExpression:
    """An array of what is made of the indices of each element."""
    return ArrayExpression(shape_of(shape), make)


def where_places(a: Any, holds: Callable[[Expression, Expression], Any]) -> ArrayExpression:
    """The elements for which a comparison of their last two indices holds, 0 elsewhere."""
    array = as_array(a)
    if len(array.extents) < 2:
        raise wrong("a matrix has two dimensions")
    array.used()
    return ArrayExpression(
        array.extents, lambda at: where(holds(at[-2], at[-1]), array.element(at), 0), [array]
    )


def size_value(size: SizeForm) -> Any:
    """A size as Python has it: a number, or an expression."""
    return size.expression if size.number is None else size.number


def count_of(array: ArrayExpression, axes: Sequence[int]) -> Any:
    """How many elements there are along axes."""
    return size_value(product(array.extents[d] for d in axes))
