"""`dataclass` as that of the standard library, which compiles no code for a class before that is needed.

The other compiles six functions for each class, for half a millisecond: a third of the time of a first
compilation, and of that of `import tadc`. Here a class has its fields at once, and a method from its first
call on. What inherits from a frozen one of these, and is frozen, has to be one too.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import MISSING, field, fields, replace
from typing import TYPE_CHECKING, Any

__all__ = ["dataclass", "field", "fields", "replace"]

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
else:

    def dataclass(cls: type | None = None, /, **options: bool) -> Any:
        """Make a class a dataclass."""
        if cls is None:
            return lambda cls: dataclass(cls, **options)
        # One that inherits from another of the standard library is of its kind.
        bases = (vars(base).get("__dataclass_params__") for base in cls.__mro__)
        is_usual = options.keys() <= {"frozen", "eq", "repr"} and "__init__" not in vars(cls)
        if not is_usual or any(base is not None and base.init for base in bases):
            return dataclasses.dataclass(**options)(cls)
        cls.__doc__ = cls.__doc__ or cls.__name__  # where there is none a signature is made, for long
        dataclasses.dataclass(init=False, repr=False, eq=False)(cls)
        _prepare(cls, **options)
        return cls


def _prepare(cls: Any, frozen: bool = False, eq: bool = True, repr: bool = True) -> None:
    """Give a class methods that need no code of their own, and what makes others as they are called first."""
    own: Mapping[str, Any] = cls.__dict__
    if repr and "__repr__" not in own:
        cls.__repr__ = _text
    if frozen:
        cls.__setattr__ = cls.__delattr__ = _refuse
    elif eq and "__hash__" not in own:
        cls.__hash__ = None
    compared = [name for name in ("__eq__", "__hash__") if eq and own.get(name) is None]
    for name in ["__init__", *(name for name in compared if frozen or name == "__eq__")]:
        setattr(cls, name, _first(cls, name, frozen))


def _first(cls: Any, name: str, frozen: bool) -> Callable[..., Any]:
    """A method that is made at its first call, as the one that it becomes. Two threads may make the same."""

    def method(self: object, *args: object, **named: object) -> Any:
        made = _init(cls, frozen) if name == "__init__" else _comparing(cls, name)
        made.__qualname__ = f"{cls.__qualname__}.{name}"
        setattr(cls, name, made)
        return made(self, *args, **named)

    return method


def _init(cls: Any, frozen: bool) -> Any:
    known: dict[str, Any] = {"MADE": object()}
    given: dict[bool, list[str]] = {False: ["self"], True: []}
    values = dict[str, str]()
    for each in fields(cls):
        name, value, default = each.name, each.name, each.default is not MISSING
        known[f"DEFAULT_{name}"], known[f"NEW_{name}"] = each.default, each.default_factory
        if each.default_factory is not MISSING:
            value = f"NEW_{name}() if {name} is MADE else {name}" if each.init else f"NEW_{name}()"
        if each.init:
            ending = f"=DEFAULT_{name}" if default else "=MADE" if value != name else ""
            given[bool(each.kw_only)].append(name + ending)
        if each.init or value != name:
            values[name] = value
    body = f"self.__dict__.update({', '.join(f'{name}={value}' for name, value in values.items())})"
    if not frozen:
        body = "; ".join([f"self.{name} = {value}" for name, value in values.items()]) or "pass"
    parameters = ", ".join([*given[False], *(["*", *given[True]] if given[True] else [])])
    after = "; self.__post_init__()" if hasattr(cls, "__post_init__") else ""
    exec(f"def __init__({parameters}): {body}{after}", known)
    return known["__init__"]


def _comparing(cls: Any, name: str) -> Any:
    own, others = ("".join(f"{of}.{f.name}, " for f in fields(cls) if f.compare) for of in ("self", "other"))
    same = f"({own}) == ({others}) if other.__class__ is self.__class__ else NotImplemented"
    is_hash = name == "__hash__"
    return eval(f"lambda self: hash(({own}))" if is_hash else f"lambda self, other: {same}")


def _text(self: Any) -> str:
    shown = (each.name for each in fields(self) if each.repr)
    return f"{type(self).__qualname__}({', '.join(f'{name}={getattr(self, name)!r}' for name in shown)})"


def _refuse(self: Any, name: str, *value: object) -> None:
    raise dataclasses.FrozenInstanceError(f"cannot {'assign to' if value else 'delete'} field {name!r}")
