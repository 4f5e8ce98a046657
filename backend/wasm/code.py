"""LLVM IR texts as a module of WebAssembly."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from tadc.backend.cpu.processors import WASM
from tadc.backend.object_code import one_object
from tadc.backend.wasm.linking import module_of

#: What takes integers of 128 bits: products of 64 bits among it that are looked at for overflow.
_WIDE = re.compile(r"\bi128\b|call [^\n]*\.with\.overflow\.i64")
_WORDS = ("__multi3", "__ashlti3", "__lshrti3", "__ashrti3")


def wasm_module(texts: Sequence[str], symbols: Sequence[str], level: int, about: tuple[str, bytes]) -> bytes:
    """The module of texts that define these functions; `about` is a section for who loads it."""
    if any(_WIDE.search(text) for text in texts):
        texts = [*texts, Path(__file__).with_name("integers_of_128_bits.ll").read_text()]
    # Without optimisation what threads would run is there yet, and asks for a table of functions.
    code = one_object(texts, {*symbols, *_WORDS}, max(level, 1), WASM)
    return module_of(code, symbols, about)
