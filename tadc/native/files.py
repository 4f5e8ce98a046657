"""What files hold of a unit of native code."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tadc.native.archive import archive
from tadc.native.header import header_text
from tadc.native.shared import shared_library
from tadc.native.unit import NativeUnit


def _header(unit: NativeUnit) -> str:
    from tadc import __version__

    return header_text(unit, __version__)


_MADE: Mapping[str, Callable[[NativeUnit], str | bytes]] = {
    "obj": lambda unit: unit.object(),
    "lib": lambda unit: archive(unit.prefix, unit.object(), unit.symbols),
    "so": shared_library,
    "h": _header,
}


def file_of(unit: NativeUnit, form: str) -> str | bytes:
    """The content of a file of one of the forms that `UNIT_FORMS` names. Raises CompileError."""
    return _MADE[form](unit)
