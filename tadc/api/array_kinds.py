"""What the arguments of a call are: plain, of another library, on a GPU; and their shapes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from tadc.backend.runtime.frameworks import Framework

#: The modules of values that kernels take as they are.
_HOST = ("builtins", "numpy")

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
    if kind.__module__.partition(".")[0] not in _HOST:
        return False
    PLAIN.add(kind)
    return True


def are_plain(out: Any) -> bool:
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

    Results are arrays of one library: that of the first argument, in the order of the program, which is
    neither NumPy's nor a number or list of Python. Memory is shared both ways where the library allows it.
    """

    def __init__(
        self, names: Sequence[str], args: Sequence[Any], kwargs: Mapping[str, Any], out: Any = None
    ) -> None:
        given = {**dict(zip(names, args, strict=False)), **kwargs}
        libraries = [_library(given[name]) for name in names if name in given]
        self.library: Framework | None = next((found for found in libraries if found), None)
        self.args = [_read(value) for value in args]
        self.kwargs = {name: _read(value) for name, value in kwargs.items()}
        self._given = {} if out is None else _items(out)
        read = {key: _read(value) for key, value in self._given.items()}
        self.out: Any = None if out is None else read if isinstance(out, Mapping) else list(read.values())

    def results(self, names: Sequence[str], arrays: Sequence[Any]) -> list[Any]:
        """What the caller gets for the arrays of a kernel: those of `out=` where it gave some."""
        found: list[Any] = []
        for position, (name, array) in enumerate(zip(names, arrays, strict=True)):
            given = self._given.get(name, self._given.get(position))
            found.append(self._of_library(array) if given is None else given)
        return found

    def _of_library(self, array: Any) -> Any:
        return array if self.library is None else self.library.from_host(array)


def as_given(result: Any, *given: Any) -> Any:
    """Arrays of NumPy, one or a named tuple, as arrays of the first library among what was given."""
    values = [value for one in given for value in _items(one).values()]
    library = next((found for found in map(_library, values) if found), None)
    return result if library is None else _converted(result, library)


def _converted(result: Any, library: Framework) -> Any:
    if isinstance(result, tuple):
        parts = [_converted(part, library) for part in cast("tuple[Any, ...]", result)]
        return cast("Any", result)._make(parts)
    return library.from_host(result) if hasattr(result, "flags") else result


def _library(value: Any) -> Framework | None:
    if type(value) in PLAIN:
        return None
    from tadc.backend.runtime.frameworks import host_library

    return host_library(value)


def _read(value: Any) -> Any:
    """An array of another library as one of NumPy; what cannot be read stays, and is said to be so later."""
    library = _library(value)
    if library is None:
        return value
    try:
        return library.on_host(value)
    except (TypeError, ValueError, BufferError, RuntimeError, AttributeError):
        return value
