"""Passes by name, with their options.

@register("tad-simplify", "guards and rows that say nothing are gone")
@dataclass
class Simplify(TermPass): ...
"""

from __future__ import annotations

import dataclasses
import typing
from collections.abc import Callable
from typing import Any, ClassVar

from tadc.lattice.late_dataclasses import dataclass, field

REGISTRY: dict[str, type[Pass]] = {}


def names_option(help: str) -> Any:
    """An option of a pass that is a list of names, empty by default."""
    return field(default_factory=list[str], metadata={"help": help})


def flag_option(help: str) -> Any:
    """An option of a pass that is off by default."""
    return field(default=False, metadata={"help": help})


def word_option(default: str, help: str, check: Callable[[str], object] | None = None) -> Any:
    """An option of a pass that is a word; `check` raises ValueError for one that it cannot be."""
    return field(default=default, metadata={"help": help, "check": check})


def number_option(default: int, help: str) -> Any:
    """An option of a pass that is a number."""
    return field(default=default, metadata={"help": help})


@dataclass
class Pass:
    """A pass over a module: a dataclass whose fields are its options."""

    argument: ClassVar[str] = ""
    description: ClassVar[str] = ""
    #: Dialects of what it makes, beside those of every context: none can be loaded while passes run.
    dialects: ClassVar[tuple[str, ...]] = ()

    def run(self, module: Any) -> None:
        """Transform the module in place; raises UnsupportedIR or a limit with what stops it."""
        raise NotImplementedError

    def text(self) -> str:
        """How a pipeline spells this pass."""
        parts: list[str] = []
        for spec in dataclasses.fields(self):
            value: list[str] | bool | int | str = getattr(self, spec.name)
            default: Any = [] if spec.default is dataclasses.MISSING else spec.default
            if value != default:
                shown = ",".join(value) if isinstance(value, list) else str(value).lower()
                parts.append(f"{spec.name.replace('_', '-')}={shown}")
        return self.argument + ("{" + " ".join(parts) + "}" if parts else "")


P = typing.TypeVar("P", bound=Pass)


def is_ours(cls: type[Pass]) -> bool:
    """Whether a pass is the compiler's own, and of no plug-in."""
    return cls.__module__.startswith("tadc.passes.")


def register(argument: str, description: str) -> Callable[[type[P]], type[P]]:
    """Enter a pass under its name; `description` is one sentence of what it guarantees."""

    def enter(cls: type[P]) -> type[P]:
        cls.argument, cls.description = argument, description
        REGISTRY[argument] = cls
        return cls

    return enter


def made_pass(
    base: type[P], argument: str, rewrite: Callable[..., object], options: dict[str, Any]
) -> type[P]:
    """A pass of such a kind with these options, to be registered."""
    name = "".join(word.capitalize() for word in argument.split("-")[1:])
    fields: list[tuple[str, type, object]] = [
        (name, list[str] if option.default is dataclasses.MISSING else type(option.default), option)
        for name, option in options.items()
    ]
    members = {"rewrite": rewrite, "__module__": __name__}
    return dataclasses.make_dataclass(name, fields, bases=(base,), namespace=members)  # pyright: ignore[reportReturnType]


@dataclass(frozen=True)
class PassOption:
    """An option of a pass as a pipeline writes it, `name=default`; `kind` says what its values are."""

    name: str
    kind: str
    default: str
    help: str


#: What the values of an option are, by the type of its field.
_KINDS = {list[str]: "names", bool: "flag", int: "number", str: "word"}


def options_of(cls: type[Pass]) -> list[PassOption]:
    """The options of a pass, in order; raises TypeError for a field of another type than a pipeline gives."""
    hints = typing.get_type_hints(cls)
    found: list[PassOption] = []
    for spec in dataclasses.fields(cls):
        if hints[spec.name] not in _KINDS:
            kinds = "list[str], bool, int or str"
            raise TypeError(f"option `{spec.name}` of `{cls.argument}` is not of type {kinds}")
        kind = _KINDS[hints[spec.name]]
        default = "" if spec.default is dataclasses.MISSING else str(spec.default)
        shown = default.lower() if kind == "flag" else default
        found.append(PassOption(spec.name.replace("_", "-"), kind, shown, spec.metadata.get("help", "")))
    return found
