"""Axes by name, as einops writes them: `b (h d) n -> (b h) n d`."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, NoReturn

from tadc.api.function import Function
from tadc.building.array_rules import has_operand
from tadc.building.array_sums import reduced
from tadc.building.array_views import count_of, reshape, size_value, transpose
from tadc.building.built_programs import define
from tadc.building.given_arrays import element_type_of, shape_of_given
from tadc.building.python_expressions import Expression
from tadc.building.size_forms import SizeForm, of_int, product, size_form
from tadc.building.tensors import argument, size
from tadc.building.whole_arrays import ArrayExpression, as_array, view
from tadc.caller.boundary import public
from tadc.frontend.diagnostics import Diagnostic, Label, UsageError
from tadc.frontend.functions import SPELLED_REDUCTIONS
from tadc.frontend.source import Source, Span
from tadc.lattice.late_dataclasses import dataclass

_TOKEN = re.compile(r"\s*(\.\.\.|->|\w+|\S)")

#: The names of the axes that one dimension is made of; ("...",) is an ellipsis.
Group = tuple[str, ...]


@public
def rearrange(pattern: str, array: Any, /, **sizes: Any) -> Any:
    """An array with its axes in another order, split and merged, by einops' patterns.

    Each name is an axis, `(h d)` a dimension that is made of two, `1` one of a single element, `...` all that
    are not named. Of a dimension that is split all sizes but one are given. The array may be one of a
    `tadc.kernel`. It and the pattern may stand in either order.

    >>> import numpy as np, tadc
    >>> tadc.rearrange("b (h d) n -> (b h) n d", np.ones((2, 12, 5)), h=4).shape
    (8, 5, 3)

    Raises UsageError (TAD0510) that shows the place in a pattern that is wrong.
    """
    return _made(pattern, array, "", sizes)


@public
def reduce(pattern: str, array: Any, reduction: str, /, **sizes: Any) -> Any:
    """The reduction over the axes that the pattern drops, "mean" or one of the language, as "sum" and "max".

    >>> import numpy as np, tadc
    >>> tadc.reduce("b (h 2) (w 2) c -> b h w c", np.ones((1, 4, 6, 3)), "max").shape
    (1, 2, 3, 3)

    Patterns and errors are those of `tadc.rearrange`; a number in a pattern is an axis of that size.
    """
    if reduction not in (*SPELLED_REDUCTIONS, "mean"):
        kinds = ", ".join(f'"{kind}"' for kind in (*SPELLED_REDUCTIONS, "mean"))
        raise UsageError(
            [Diagnostic("TAD0510", f"there is no reduction {reduction!r}", helps=[f"there are {kinds}"])]
        )
    return _made(pattern, array, reduction, sizes)


@public
def repeat(pattern: str, array: Any, /, **sizes: Any) -> Any:
    """The array, repeated along the axes that the pattern adds, of which the sizes are given.

    >>> import tadc
    >>> tadc.repeat("n -> (n r)", [1, 2], r=2)
    array([1., 1., 2., 2.])

    Patterns and errors are those of `tadc.rearrange`.
    """
    return _made(pattern, array, "repeat", sizes)


def _made(first: Any, second: Any, kind: str, sizes: Mapping[str, Any]) -> Any:
    pattern, array = (first, second) if isinstance(first, str) else (second, first)
    if not isinstance(pattern, str):
        raise UsageError([Diagnostic("TAD0510", f'a pattern is text, as "a b -> b a", not {pattern!r}')])
    if has_operand(array):
        return rearranged(as_array(array), _Pattern(pattern), kind, sizes)
    named = tuple(sorted(sizes.items()))
    rank = len(shape_of_given(array))
    return _function(pattern, rank, element_type_of(array), kind, named)(array)


@lru_cache(256)
def _function(pattern: str, rank: int, type: str, kind: str, named: tuple[tuple[str, Any], ...]) -> Function:
    """The function of arrays of all sizes; those that are given are fixed."""
    sizes = dict(named)
    read = _Pattern(pattern)
    shape: list[Any] = []
    for group in read.of_rank(rank)[0]:
        own: list[Any] = [sizes.get(name, read.numbers.get(name)) for name in group]
        known = product(
            of_int(read.size(name, given)) for name, given in zip(group, own, strict=True) if given
        )
        free = [name for name, given in zip(group, own, strict=True) if given is None]
        read.check_one_unknown(free)
        shape.append(size_value(known) if not free else known.expression * size(f"N_{free[0].strip('.')}"))
    x = argument("x", type, shape)
    return define("result", [], rearranged(as_array(x), read, kind, sizes))


def rearranged(
    array: ArrayExpression, read: _Pattern, kind: str, sizes: Mapping[str, Any]
) -> ArrayExpression:
    """The array that a pattern says, reduced by a `kind`; "repeat" for one that adds axes, "" for neither."""
    left, right = read.of_rank(len(array.extents))
    known = read.sizes_of(array.extents, left, sizes)
    names = [name for group in left for name in group]
    whole = reshape(array, [size_value(known[name]) for name in names])
    wanted = [name for group in right for name in group]
    read.check_sides(names, wanted, kind)
    for name in wanted:
        if name not in known:
            known[name] = of_int(read.size(name, sizes.get(name, read.numbers.get(name))))
    dropped = [n for n, name in enumerate(names) if name not in wanted]
    if dropped:
        whole = _reduced(kind, whole, dropped)
        names = [name for name in names if name in wanted]
    whole = transpose(whole, [names.index(name) for name in wanted if name in names])
    kept = [n for n, name in enumerate(wanted) if name in names]
    if len(kept) < len(wanted):
        whole.used()
        whole = view(whole, [known[name] for name in wanted], lambda at: [at[n] for n in kept])
    return reshape(whole, [size_value(product(known[name] for name in group)) for group in right])


def _reduced(kind: str, array: ArrayExpression, axes: list[int]) -> Any:
    if kind != "mean":
        return reduced(kind, array, axes)
    return as_array(reduced("sum", array, axes) / count_of(array, axes))


@dataclass
class _Side:
    """The groups of one side of a pattern, and where each name stands."""

    groups: list[Group]
    places: dict[str, int]


class _Pattern:
    """A pattern that was read. Raises UsageError (TAD0510) that shows the place."""

    def __init__(self, text: str) -> None:
        self.text = text
        #: Axes that a number stands for.
        self.numbers: dict[str, int] = {}
        if text.count("->") != 1:
            self.stop(0, "a pattern has one `->`", 'as in "b (h d) n -> (b h) n d"')
        middle = text.index("->")
        self.left, self.right = self._side(0, middle), self._side(middle + 2, len(text))

    def stop(self, place: int, message: str, *helps: str) -> NoReturn:
        """Raise the error about a place."""
        source = Source(self.text, "<pattern>")
        place = min(place, max(0, len(self.text) - 1))
        shown = Label(Span(place, place + 1))
        raise UsageError([Diagnostic("TAD0510", message, shown, helps=list(helps), source=source)])

    def _side(self, start: int, end: int) -> _Side:
        side = _Side([], {})
        open_: list[str] | None = None
        for token in _TOKEN.finditer(self.text, start, end):
            word, place = token[1], token.start(1)
            if word == "(" and open_ is None:
                open_ = []
            elif word == ")" and open_ is not None:
                side.groups.append(tuple(open_))
                open_ = None
            elif word == "..." or (word.isidentifier() and not word[0].isdigit()) or word.isdecimal():
                name = self._name(word, place, side)
                if open_ is None:
                    side.groups.append((name,) if name else ())
                elif name:
                    open_.append(name)
            else:
                self.stop(
                    place, f"unexpected `{word}`", "a pattern has names, numbers, `( )`, `...` and one `->`"
                )
        if open_ is not None:
            self.stop(end - 1, "a bracket is not closed")
        return side

    def _name(self, word: str, place: int, side: _Side) -> str:
        """The axis of a word; "" for one of a single element."""
        if word == "1":
            return ""
        name = word
        if word.isdecimal():
            name = f"#{place}"
            self.numbers[name] = int(word)
        if name in side.places:
            self.stop(place, f"`{word}` stands twice on one side")
        side.places[name] = place
        return name

    @staticmethod
    def word(name: str) -> str:
        """An axis as the pattern writes it."""
        return "..." if name.startswith(".") else name

    def place(self, name: str) -> int:
        """Where an axis stands."""
        name = self.word(name)
        return self.left.places.get(name, self.right.places.get(name, 0))

    def size(self, name: str, given: Any) -> int:
        """The size of an axis. Raises UsageError where it is not given as a number."""
        if given is None:
            help = f"give its size: `{name}=2`"
            self.stop(self.place(name), f"the size of `{name}` is not told by the array", help)
        if (
            isinstance(given, bool)
            or not hasattr(given, "__index__")
            or isinstance(given, Expression)
            or int(given) < 1
        ):
            self.stop(self.place(name), f"the size of `{name}` is a number, not {given!r}")
        return int(given)

    def of_rank(self, rank: int) -> tuple[list[Group], list[Group]]:
        """The groups of both sides, with as many dimensions for an ellipsis as an array has."""
        many = rank - len(self.left.groups) + ("..." in self.left.places)
        has_dots = "..." in self.left.places
        if many < 0 or (not has_dots and rank != len(self.left.groups)):
            self.stop(
                0, f"the pattern has {len(self.left.groups) - has_dots} dimensions, and the array {rank}"
            )
        dots = tuple(f".{n}" for n in range(many))
        return self._with_dots(self.left, dots), self._with_dots(self.right, dots)

    @staticmethod
    def _with_dots(side: _Side, dots: Group) -> list[Group]:
        found: list[Group] = []
        for group in side.groups:
            if group == ("...",):
                found += [(name,) for name in dots]
            else:
                found.append(tuple(n for name in group for n in (dots if name == "..." else (name,))))
        return found

    def check_one_unknown(self, free: Sequence[str]) -> None:
        """Of what a dimension is made of all sizes but one are given."""
        if len(free) > 1:
            self.stop(
                self.place(free[0]),
                f"the sizes of {' and '.join(f'`{name}`' for name in free)} are not told",
                f"give all but one: `{free[0]}=2`",
            )

    def sizes_of(
        self, extents: Sequence[SizeForm], groups: Sequence[Group], given: Mapping[str, Any]
    ) -> dict[str, SizeForm]:
        """The size of each axis of the array."""
        known: dict[str, SizeForm] = {}
        for extent, group in zip(extents, groups, strict=True):
            for name in group:
                told = given.get(name, self.numbers.get(name))
                form = None if told is None else size_form(told)
                if form is not None:
                    known[name] = form
            free = [name for name in group if name not in known]
            self.check_one_unknown(free)
            rest = extent.over(product(known[name] for name in group if name in known))
            if rest is None or (not free and rest.number != 1):
                words = " ".join(f"{name}={known[name]}" for name in group if name in known) or "1"
                self.stop(
                    self.place(group[0]) if group else 0,
                    f"a dimension of size {extent} is not made of {words}",
                )
            known |= {name: rest for name in free}
        return known

    def check_sides(self, names: Sequence[str], wanted: Sequence[str], kind: str) -> None:
        """Which names may stand on one side alone."""
        for name in names:
            if name not in wanted and kind in ("", "repeat"):
                self.stop(
                    self.place(name),
                    f"`{self.word(name)}` does not stand behind `->`",
                    "`tadc.reduce` drops axes",
                )
        for name in wanted:
            if name not in names and kind != "repeat":
                self.stop(self.place(name), f"`{name}` does not stand before `->`", "`tadc.repeat` adds axes")
