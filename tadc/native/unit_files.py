"""What files hold of a unit of native code."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

from tadc.backend.runtime.call_messages import WORDS
from tadc.backend.runtime.interface import Interface
from tadc.frontend.extents import extent_text
from tadc.frontend.packages import VERSION
from tadc.native.archive import archive
from tadc.native.header import header_text
from tadc.native.shared_library import shared_library
from tadc.native.unit import NativeUnit


def _header(unit: NativeUnit) -> str:
    return header_text(unit, VERSION)


def _module(unit: NativeUnit) -> bytes:
    from tadc.backend.wasm.code import wasm_module

    passed = [
        replace(it, inputs=it.arguments, sizes=it.asked_sizes) for it in (p.interface for p in unit.parts)
    ]
    described = [
        {"name": p.name, **it.as_json(), **_words(it)} for p, it in zip(unit.parts, passed, strict=True)
    ]
    kept = ("name", "inputs", "outputs", "sizes", "declared", "below")
    about = json.dumps([{key: each[key] for key in kept} for each in described]).encode()
    return wasm_module(unit.texts(), unit.symbols, unit.options.level, ("tadc", about))


def _words(interface: Interface) -> dict[str, dict[str, str]]:
    """How tensors are declared, and index arrays bounded."""
    tensors = (*interface.arguments, *interface.outputs)
    below = {p.name: extent_text(p.below) for p in tensors if p.below is not None}
    return {"declared": {p.name: str(p) for p in tensors}, "below": below}


def _loader(unit: NativeUnit) -> str:
    text = Path(__file__).with_name("loader.mjs").read_text()
    return text.replace("MESSAGES = {}", f"MESSAGES = {json.dumps(WORDS, ensure_ascii=False)}")


_MADE: Mapping[str, Callable[[NativeUnit], str | bytes]] = {
    "obj": lambda unit: unit.object(),
    "lib": lambda unit: archive(unit.prefix, unit.object(), unit.symbols),
    "so": shared_library,
    "h": _header,
    "wasm": _module,
    "js": _loader,
}


def file_of(unit: NativeUnit, form: str) -> str | bytes:
    """The content of a file of one of the forms that `UNIT_FORMS` names. Raises CompileError."""
    return _MADE[form](unit)
