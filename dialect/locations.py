"""What MLIR locations say: a name, a place in a file; and errors that have one."""

from __future__ import annotations

from typing import Any

from tadc.dialect.mlir import ir
from tadc.frontend.source import Place


class UnsupportedIR(Exception):
    """IR that no program of the language says; `location` is where."""

    def __init__(self, message: str, location: Any) -> None:
        super().__init__(message)
        self.message = message
        self.location = location


class ProgramLocations(dict[Place | None, Any]):
    """The location of each place in a program, made once."""

    def __init__(self, context: Any) -> None:
        super().__init__({None: ir.Location.unknown(context)})
        self.context = context

    def __missing__(self, place: Place) -> Any:
        self[place] = ir.Location.file(place.file, place.line, place.column, context=self.context)
        return self[place]


def labelled(label: str, where: Any) -> Any:
    """A location with a name that a person reads, where there is one."""
    return ir.Location.name(label, where, context=where.context) if label else where


def name_of(location: Any) -> str:
    """The name that a location carries, or nothing."""
    return location.name_str if isinstance(location, ir.NameLoc) else ""


def names_in(location: Any) -> list[str]:
    """The names that a location carries, of several all, each once."""
    parts: list[Any] = list(location.locations) if isinstance(location, ir.FusedLoc) else [location]
    return list(dict.fromkeys(name for part in parts if (name := name_of(part))))


def place_of(location: Any) -> Place | None:
    """The first file position in a location."""
    if type(location) is ir.Location:  # as diagnostics give it
        location = ir.Location.from_attr(location.attr, location.context)
    if isinstance(location, ir.FileLineColLoc):
        return Place(str(location.filename), location.start_line, location.start_col)
    if isinstance(location, ir.NameLoc):
        return place_of(location.child_loc)
    if isinstance(location, ir.FusedLoc):
        return next((p for p in map(place_of, location.locations) if p), None)
    return None


def unnamed(location: Any) -> Any:
    """A location without the name that it carries; of several the first."""
    location = location.maybe_downcast() if hasattr(location, "maybe_downcast") else location
    if isinstance(location, ir.FusedLoc):
        return unnamed(location.locations[0])
    return unnamed(location.child_loc) if isinstance(location, ir.NameLoc) else location
