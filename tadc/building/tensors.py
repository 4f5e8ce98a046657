"""What programs are made of: indices, sizes, arguments, and definitions."""

from __future__ import annotations

import inspect
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from itertools import repeat
from typing import Any, NoReturn, cast

from tadc.building.jax_arguments import refuse_in_jax
from tadc.building.python_expressions import HOOKS, Expression, Index, Size, Tensor, expression, moments
from tadc.building.python_lines import Site, here, wrong
from tadc.caller.boundary import public
from tadc.frontend.dtypes import FLOATS, TYPE_PARAMETER, types_listed
from tadc.frontend.elsewhere import TYPES
from tadc.lattice.late_dataclasses import dataclass

_NAME = re.compile(r"[^\W\d]\w*\Z")

#: What a shape, or one size, is given as.
SizeLike = int | str | Expression
#: Indices of a head or a reduction: one, several, or several with their sizes.
Head = Index | Sequence[Index] | Mapping[Index, SizeLike | None]


@dataclass(frozen=True)
class TensorType:
    """What an annotation such as `tadc.f64[3, "N"]` says of a parameter; of an index array with more."""

    type: str
    shape: SizeLike | tuple[SizeLike, ...]
    below: SizeLike | None = None
    increasing: bool = False

    def argument(self, name: str) -> ArgumentTensor:
        """The argument of this type."""
        if self.below is None:
            return argument(name, self.type, self.shape)
        return index_array(name, self.shape, self.below, increasing=self.increasing)


class ArgumentTensor(Tensor):
    """An argument with its element type and shape; of a sparse one with the index arrays of its places."""

    __slots__ = ("places", "sizes", "type")

    def __init__(
        self,
        name: str,
        type: str,
        shape: tuple[Expression, ...],
        site: Site,
        places: tuple[IndexArray, ...] = (),
    ) -> None:
        super().__init__(name, site)
        self.type, self.sizes, self.places = type, shape, places

    @property
    def extents(self) -> tuple[Expression, ...]:
        """See Tensor."""
        return self.sizes

    def __repr__(self) -> str:
        return f"<tadc.Argument {self.name}: {Expression(tuple(self.declared_type()))}>"

    def declared_type(self) -> list[str | Expression]:
        """The type as a declaration states it."""
        return [self.type, *_listed("[", self.sizes, "]"), *at_parts(self.places)]


class IndexArray(ArgumentTensor):
    """An index array: an element stands wherever an index does.

    As the type of a parameter of a `tadc.kernel` it has in brackets what `tadc.index_array` takes behind the
    name: its shape and what its elements are below, and "increasing" where they do not fall.

    >>> import tadc
    >>> e, n, E, N = *tadc.indices("e n"), *tadc.sizes("E N")
    >>> @tadc.kernel({n: N})
    ... def corners(face: tadc.IndexArray[(E, 3), N], x: tadc.f64[E]):
    ...     return tadc.sum(e, x[e], where=face[e, 0] == n)
    >>> corners
    <tadc.Function (face: index[E, 3] in N, x: f64[E]) -> (corners: f64[N])>
    """

    __slots__ = ("below", "increasing")

    def __class_getitem__(cls, given: Any) -> TensorType:
        shape, below, *more = cast("tuple[Any, ...]", given if isinstance(given, tuple) else (given, None))
        if below is None or not all(isinstance(word, str) and word == "increasing" for word in more):
            raise wrong(
                "the type of an index array says its shape, and what its elements are below",
                "write `tadc.IndexArray[E, N]`, of two dimensions `tadc.IndexArray[(E, 3), N]`",
            )
        return TensorType("index", shape, below, bool(more))

    #: What is read of it is an index expression.
    elements_are_forms = True

    def __init__(
        self, name: str, shape: tuple[Expression, ...], below: Expression, site: Site, *, increasing: bool
    ) -> None:
        super().__init__(name, "index", shape, site)
        self.is_form = not shape
        self.below, self.increasing = below, increasing

    def declared_type(self) -> list[str | Expression]:
        """See Argument."""
        return [*super().declared_type(), " in ", self.below, " increasing" * self.increasing]


def at_parts(places: Sequence[IndexArray]) -> list[str | Expression]:
    """The text that says where the elements of a sparse tensor are."""
    return _listed(" at (", places, ")")


def _listed(before: str, items: Sequence[Expression], behind: str) -> list[str | Expression]:
    parts: list[str | Expression] = []
    for item in items:
        parts += [", " if parts else before, item]
    return [*parts, behind] if parts else []


class DefinedTensor(Tensor):
    """A tensor that is defined for its indices, each with its size where that is stated."""

    __slots__ = ("body", "indices", "places", "scan", "type")

    def __init__(
        self,
        name: str,
        indices: tuple[tuple[Index, Expression | None], ...],
        body: Any,
        scan: Expression | None,
        type: str,
        site: Site,
        places: tuple[IndexArray, ...] = (),
    ) -> None:
        """A body that can be called is called with the tensor itself."""
        super().__init__(name, site)
        self.indices, self.scan, self.type, self.places = indices, scan, type, places
        value = self._called(body) if callable(body) else body
        if getattr(value, "shape", ()):
            self.indices, value = HOOKS.arrays.spread(self.indices, value)
        self.body = expression(value)
        # What the body has defined stands before it.
        self.order = next(moments)

    @property
    def extents(self) -> tuple[Expression | None, ...]:
        """See Tensor."""
        return tuple(size for _, size in self.indices)

    def _called(self, body: Callable[..., Any]) -> Any:
        try:
            inspect.signature(body).bind(self)
        except TypeError:
            help = f"write `lambda {self.name}: …`"
            raise wrong(
                f"a body that is a function takes `{self.name}` itself, and nothing else", help
            ) from None
        return body(self)


class index:
    """An index of this name.

    >>> import tadc
    >>> t = tadc.index("t")
    >>> 2 * t + 1
    <tadc.Expression 2 * t + 1>
    """

    @public
    def __new__(cls, name: str) -> Index:
        """The index."""
        return Index(checked_name(name, "an index"))

    @public
    def __class_getitem__(cls, _: Any) -> NoReturn:
        help = "write `tadc.IndexArray[E, N]` for an index array whose elements are below N"
        raise wrong("`tadc.index` is no type", help)


@public
def indices(names: str) -> tuple[Index, ...]:
    """Indices of names that stand between blanks or commas.

    >>> import tadc
    >>> i, j, k = tadc.indices("i j k")
    """
    return tuple(Index(checked_name(name, "an index")) for name in _split(names))


@public
def size(name: str, value: int | None = None) -> Size:
    """A size: a symbol that shapes tell or a call gives by name, or one with a fixed value.

    >>> import tadc
    >>> i, N, M = tadc.index("i"), tadc.size("N"), tadc.size("M", 2)
    >>> x = tadc.argument("x", "f64", M * N)
    >>> print(tadc.define("y", {i: N}, x[M * i]), end="")
    x: f64[2*N]
    y: f64[N]
    <BLANKLINE>
    y[i] = x[2*i]
    """
    site = here()
    if value is not None and (isinstance(value, bool) or not hasattr(value, "__index__")):
        raise wrong(f"the value of a size is an integer, not {value!r}")
    return Size(checked_name(name, "a size"), None if value is None else operator.index(value), site)


@public
def sizes(names: str) -> tuple[Size, ...]:
    """Sizes of names that stand between blanks or commas.

    >>> import tadc
    >>> N, K = tadc.sizes("N K")
    >>> tadc.argument("x", "f64", (N, K + 1))
    <tadc.Argument x: f64[N, K + 1]>
    """
    site = here()
    return tuple(Size(checked_name(name, "a size"), None, site) for name in _split(names))


@public
def argument(
    name: str, type: Any = "f64", shape: SizeLike | Sequence[SizeLike] = (), *, at: Any = ()
) -> ArgumentTensor:
    """An argument: its name, its element type, and its shape, () of a scalar.

    A size is an integer, a name, or an expression of sizes. Functions take arguments in the order in which
    these were made. It is sparse where index arrays say `at` which places its elements are: one, or one for
    each of its first dimensions. Then `a[i, j]` is the sum of what is stored there, and `a.at[e]` what is
    stored at e.

    >>> import tadc
    >>> i, j = tadc.indices("i j")
    >>> a, s = tadc.argument("a", "f32", (3, "N")), tadc.argument("s", "f32")
    >>> tadc.define("f", [j], tadc.sum(i, s * a[i, j]))
    <tadc.Function (a: f32[3, N], s: f32) -> (f: f32[N])>
    """
    site = here()
    where = checked_places(at)
    refuse_in_jax()
    return ArgumentTensor(
        checked_name(name, "an argument"), element_type(type), checked_shape(shape), site, where
    )


@public
def index_array(
    name: str, shape: SizeLike | Sequence[SizeLike], below: SizeLike, *, increasing: bool = False
) -> IndexArray:
    """An index array: its name, its shape, () of a scalar, and what its elements are below.

    They are integers from 0 to `below` - 1, which a call tests; those of an `increasing` one do not fall.
    An element is an index expression: it reads tensors, bounds sums and is compared.

    >>> import tadc
    >>> e, n, N = tadc.index("e"), tadc.index("n"), tadc.size("N")
    >>> src, dst = tadc.index_array("src", "E", N), tadc.index_array("dst", "E", N)
    >>> x = tadc.argument("x", "f64", N)
    >>> tadc.define("m", {n: N}, tadc.sum(e, x[src[e]], where=dst[e] == n))([0, 2], [1, 1], [1, 2, 3])
    array([0., 4., 0.])
    """
    site = here()
    name = checked_name(name, "an index array")
    return IndexArray(name, checked_shape(shape), extent(below), site, increasing=bool(increasing))


@public
def let(
    name: str, indices: Head, body: Any, *, order: Any = None, dtype: Any = None, at: Any = ()
) -> DefinedTensor:
    """A tensor that is defined by an expression: others read it, or `program` makes it a result.

    `indices` are one index, several, or a mapping with their sizes, None where what is read tells it; () of a
    scalar. With an `order`, an expression such as `t`, it is a recurrence: elements are computed in that
    order and may read earlier ones. Then the body is a function of the tensor. A result that index arrays say
    `at` which places it is is sparse, as an argument may be.

    >>> import tadc
    >>> t, x = tadc.index("t"), tadc.argument("x", "f64", "N")
    >>> total = tadc.let("total", [t], lambda s: tadc.where(t == 0, x[0], s[t - 1] + x[t]), order=t)
    >>> tadc.program(total)([1, 2, 3])
    array([1., 3., 6.])
    """
    site = here()
    head = checked_head(indices)
    scan = None if order is None else expression(order)
    type = "" if dtype is None else element_type(dtype)
    return DefinedTensor(checked_name(name, "a tensor"), head, body, scan, type, site, checked_places(at))


def checked_name(name: Any, what: str) -> str:
    """A name. Raises UsageError (TAD0510) for what is none; which are reserved is the parser's to say."""
    if isinstance(name, str) and _NAME.match(name):
        return name
    raise wrong(f"the name of {what} is a word, not {name!r}", "names are letters, digits and `_`")


def element_type(type: Any) -> str:
    """`f32` or `f64`, of what other programs call them too. Raises UsageError (TAD0510)."""
    given = type if isinstance(type, str) else getattr(type, "__name__", getattr(type, "name", None))
    meant = TYPES.get(given) if isinstance(given, str) else None
    found = meant.text if meant and meant.text else given
    if isinstance(found, str) and TYPE_PARAMETER.fullmatch(found):
        return found
    if found not in FLOATS:
        help = meant.help if meant else f"the element types are {types_listed('and')}"
        raise wrong(f"{given or type!r} is no element type", help)
    return found


def checked_shape(given: Any) -> tuple[Expression, ...]:
    """The sizes of a shape, of one or several. Raises UsageError (TAD0510)."""
    return tuple(map(extent, _several(given)))


def checked_places(given: Any) -> tuple[IndexArray, ...]:
    """Index arrays, one or several. Raises UsageError (TAD0510) for what are none."""
    places = _several(given)
    for place in places:
        if not isinstance(place, IndexArray):
            help = 'make it first: `row = tadc.index_array("row", "E", "N")`'
            raise wrong(f"an index array says where elements are, not {place!r}", help)
    return places


def _several(given: Any) -> tuple[Any, ...]:
    if isinstance(given, str) or not isinstance(given, Sequence):
        return (given,)
    return tuple(cast(Sequence[Any], given))


def extent(given: Any) -> Expression:
    """A size, of a number, a name or an expression."""
    if isinstance(given, str):
        if not _NAME.match(given):
            help = 'an expression is made of sizes: `N = tadc.size("N")`, then `2*N - 1`'
            raise wrong(f"a size is a number, a name or an expression, not {given!r}", help)
        return Size(given, None, here())
    found = expression(given)
    if not found.is_form and isinstance(given, float):
        raise wrong(f"a size is an integer, a name or an expression of sizes, not {given!r}")
    if found.free:
        help = "state such a range by bounds: `tadc.sum(k, 0, i - 1, …)`"
        raise wrong(f"a size cannot depend on an index, as `{found.shown()}` does", help)
    return found


def checked_head(given: Any) -> tuple[tuple[Index, Expression | None], ...]:
    """Indices with their sizes, if stated. Raises UsageError (TAD0510) for what are none."""
    if isinstance(given, Index):
        return ((given, None),)
    if given is None:
        return ()
    if isinstance(given, Expression) or not isinstance(given, Sequence | Mapping) or isinstance(given, str):
        help = 'indices are made first: `i, j = tadc.indices("i j")`, and given as `[i, j]` or `{i: 3, j: N}`'
        raise wrong(f"an index, or a list of them, stands here, not {given!r}", help)
    listed = cast(Any, given)
    head: list[tuple[Any, Any]] = list(
        listed.items() if isinstance(given, Mapping) else zip(listed, repeat(None))
    )
    for item, _ in head:
        if not isinstance(item, Index):
            help = "shift what is read instead: `x[i - 1]`" if isinstance(item, Expression) else ""
            raise wrong(f"an index stands here, not {item!r}", *[help] * bool(help))
    return tuple((i, None if size is None else extent(size)) for i, size in head)


def _split(names: Any) -> list[str]:
    if not isinstance(names, str):
        raise wrong(f'names stand in a string, as "i j k", not {names!r}')
    return names.replace(",", " ").split()
