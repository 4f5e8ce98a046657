"""What the arguments of a call are: plain, of another library, on a GPU; and their shapes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from tadc.backend.runtime.frameworks import Framework

#: The modules of values that kernels take as they are.
_HOST = ("builtins", "numpy")
_RELATIONS = "tadc.backend.runtime.kept_indices"

#: Their types that were seen: to look one up takes a part of the time that asking for its module takes.
PLAIN: set[type] = {float, int, bool, list, tuple}


#: What holds several arrays of `out=`.
_CONTAINERS = (list, tuple, dict)


def shape_of(value: Any) -> tuple[int, ...]:
    """The shape of what an array is made from; nested lists count as far as their first elements go."""
    found: list[int] = []
    while isinstance(value, list | tuple):
        items: list[Any] = list(value)  # pyright: ignore[reportUnknownArgumentType]
        found.append(len(items))
        value = items[0] if items else 0
    return (*found, *getattr(value, "shape", ()))


def is_plain(value: Any) -> bool:
    """Whether a value is of NumPy or of Python itself, and its type from now on in `PLAIN`."""
    kind = cast("type[Any]", type(value))
    if kind.__module__.partition(".")[0] not in _HOST and kind.__module__ != _RELATIONS:
        return False
    PLAIN.add(kind)
    return True


def are_foreign(args: Sequence[Any], kwargs: Mapping[str, Any], out: Any) -> bool:
    """Whether an argument of a call, or an array of `out=`, is of another library than NumPy."""
    for value in (*args, *kwargs.values()) if kwargs else args:
        if type(value) not in PLAIN and not is_plain(value):
            return True
    return out is not None and not _are_plain(out)


def _are_plain(out: Any) -> bool:
    """Whether the arrays of `out=` are plain, all of them where it gives several."""
    if isinstance(out, _CONTAINERS):
        values = cast("Sequence[Any]", out.values() if isinstance(out, dict) else out)
        return all([type(value) in PLAIN or is_plain(value) for value in values])
    return type(out) in PLAIN or all(is_plain(value) for value in _items(out).values())


def _items(out: Any) -> dict[Any, Any]:
    """What `out=` gives, by name or by position."""
    if isinstance(out, Mapping):
        return dict(cast("Mapping[Any, Any]", out))
    return dict(enumerate(cast("Sequence[Any]", out) if isinstance(out, tuple | list) else (out,)))


def on_gpu(args: Sequence[Any], kwargs: Mapping[str, Any]) -> bool:
    """Whether an argument is an array on a GPU."""
    for value in (*args, *kwargs.values()):
        if type(value) not in PLAIN and not is_plain(value):
            from tadc.backend.target import BACKENDS, DEVICE

            if BACKENDS[DEVICE].holds(value):
                return True
    return False


class OnHost:
    """A call with arrays of other libraries on the host: what NumPy reads of it, and what its results become.

    Results are arrays of one library, and of a device of it: those of the first argument, in the order of the
    program, which is neither NumPy's nor a number or list of Python, nor of a library without a namespace.
    Memory is shared both ways where the library allows it.
    """

    def __init__(
        self, names: Sequence[str], args: Sequence[Any], kwargs: Mapping[str, Any], out: Any = None
    ) -> None:
        given = {**dict(zip(names, args, strict=False)), **kwargs}
        self.like = _first(given[name] for name in names if name in given)
        self.args = [as_numpy_array(value) for value in args]
        self.kwargs = {name: as_numpy_array(value) for name, value in kwargs.items()}
        self._given = {} if out is None else _items(out)
        written = {key: as_numpy_array(value, to_write=True) for key, value in self._given.items()}
        self.out: Any = (
            None if out is None else written if isinstance(out, Mapping) else list(written.values())
        )

    def results(self, names: Sequence[str], arrays: Sequence[Any]) -> list[Any]:
        """What the caller gets for the arrays of a kernel: those of `out=` where it gave some."""
        found: list[Any] = []
        for position, (name, array) in enumerate(zip(names, arrays, strict=True)):
            given = self._given.get(name, self._given.get(position))
            library = _library(given)
            if library is not None:
                library.was_written(given)
            found.append(_converted(array, self.like) if given is None else given)
        return found


#: A library, and the array of it that results are to be like.
_Like = tuple["Framework", Any]


def as_given(result: Any, *given: Any) -> Any:
    """Arrays of NumPy, one or a named tuple, as arrays of the first library among what was given."""
    return _converted(result, _first(value for one in given for value in _items(one).values()))


def _converted(result: Any, like: _Like | None) -> Any:
    if like is None:
        return result
    if isinstance(result, tuple):
        parts = [_converted(part, like) for part in cast("tuple[Any, ...]", result)]
        return cast("Any", result)._make(parts)
    return like[0].from_host(result, like[1]) if hasattr(result, "flags") else result


def _first(values: Iterable[Any]) -> _Like | None:
    """The first of the values that is of a library which makes arrays, and its library."""
    for value in values:
        library = _library(value)
        if library is not None and library.makes_arrays:
            return library, value
    return None


def _library(value: Any) -> Framework | None:
    if type(value) in PLAIN:
        return None
    from tadc.backend.runtime.frameworks import host_library

    return host_library(value)


def as_numpy_array(value: Any, to_write: bool = False) -> Any:
    """An array of another library as one of NumPy; what cannot be read stays, and is said to be so later."""
    library = _library(value)
    if library is None:
        return value
    try:
        return library.to_write(value) if to_write else library.on_host(value)
    except Exception:  # whatever the library of the value raises
        return value
