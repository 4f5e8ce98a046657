"""Kernels that XLA can call: compiled, and in the table of the one handler that XLA knows."""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownLambdaType=false
# JAX leaves much of itself untyped.

from __future__ import annotations

import ctypes
import json
import re
from hashlib import sha256
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary, finalize

import jax

from tadc.api.function import Function, restored
from tadc.backend.cpu.kept_code import linked
from tadc.backend.runtime.interface import Interface
from tadc.caller.boundary import usage
from tadc.compiler.compile_options import Options
from tadc.frontend.dtypes import DTYPES
from tadc.frontend.forks import REGISTRY_LOCK
from tadc.native.door_table import door_code, door_table
from tadc.native.entry import Entry
from tadc.native.framed_kernels import Framed, framed_kernel
from tadc.native.watched_calls import WATCH, WatchedDoor

TARGET = "tadc"
"""The name by which XLA knows the handler."""

_MAJOR = 0
"""The major version of XLA's interface that the handler is written for."""

MESSAGE = 1024
"""A message of the callback has so many bytes at most."""

SOURCE = Path(__file__).with_name("xla.ll")
"""The handler."""

_LEAST = 64
"""So many places a table has at first."""


class XlaKernels:
    """The kernels of this process by their keys. Code stays in memory: what XLA has compiled may call it."""

    def __init__(self) -> None:
        self._functions: dict[int, int] = {}
        self._kept: list[Any] = []
        self._made: dict[int, Framed] = {}
        #: Functions whose end frees what their kernels keep of index arrays.
        self._ending: WeakKeyDictionary[Function, Any] = WeakKeyDictionary()
        self._install: Any = None

    def __len__(self) -> int:
        return len(self._functions)

    def ready(self, function: Function) -> tuple[int, str]:
        """The key and the program of a function whose kernel is ready. Raises CompileError as `compile`."""
        text = _text_of(function)
        key = _key_of(text)
        self._address(key, function)
        return key, text

    def register(self) -> None:
        """Tell XLA of the handler, once. Raises UsageError for an interface that is not known."""
        with REGISTRY_LOCK:
            if self._install is not None:
                return
            minor = _version()
            library = linked(door_code(SOURCE), ["tadc.xla", "tadc.install", WATCH], level=1)
            WatchedDoor(library[WATCH], _wait_for_arrays).add()
            install = Install(library["tadc.install"])
            missing = _Missing(self._missing)
            self._kept += [library, missing]
            self._missing_at = ctypes.cast(missing, ctypes.c_void_p)
            self._install = lambda table: install(table, self._missing_at, _MAJOR, minor)
            self._publish()
            capsule = jax.ffi.pycapsule(library["tadc.xla"])
            jax.ffi.register_ffi_target(TARGET, capsule, platform="cpu")

    def _address(self, key: int, function: Function) -> int:
        self.register()
        found = self._functions.get(key)
        if found is None:
            with REGISTRY_LOCK:
                found = self._functions.get(key) or self._compiled(key, function)
                if key not in self._functions:
                    self._functions[key] = found
                    self._publish()
        with REGISTRY_LOCK:
            if function not in self._ending:
                # An equal function, or what XLA has compiled, may still call: it looks at its arrays anew.
                self._ending[function] = end = finalize(function, self._made[key].forget)
                end.atexit = False
        return found

    def _compiled(self, key: int, function: Function) -> int:
        made = framed_kernel(function, "XLA", table_of)
        self._made[key] = made
        return made.address

    def _publish(self) -> None:
        """Give the handler a table with all kernels. It may look into older ones meanwhile: they stay."""
        places = _LEAST
        while places < 2 * len(self._functions):
            places *= 2
        table = (ctypes.c_int64 * (2 + 2 * places))(places - 1)
        for key, address in self._functions.items():
            place = key & (places - 1)
            while table[2 * place + 3]:
                place = (place + 1) & (places - 1)
            table[2 * place + 2], table[2 * place + 3] = key, address
        self._kept.append(table)
        self._install(table)

    def _missing(self, key: int, start: int, length: int, message: int) -> int | None:
        """What the handler calls for a key that is not in the table: the address of the kernel."""
        try:
            text = ctypes.string_at(start, length).decode()
            about = json.loads(text)
            function = restored(about["program"], {}, {}, {}, "<string>", Options().storing(*about["stored"]))
            if _key_of(text) != key:
                raise ValueError("the program is not that of its key")
            return self._address(key, function)
        except Exception as error:  # nothing may pass through XLA
            said = f"tadc: the program of a call cannot be compiled: {error}".encode()
            ctypes.memmove(message, said[: MESSAGE - 1] + b"\0", min(len(said), MESSAGE - 1) + 1)
            return None


_Missing = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_int64, ctypes.c_void_p, ctypes.c_int64, ctypes.c_void_p)

KERNELS = XlaKernels()
"""Those of this process."""


Install = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int32, ctypes.c_int32)
"""The kind of `tadc.install`."""


def table_of(interface: Interface, entry: Entry) -> tuple[str, str]:
    """The name of what the handler knows of a kernel, and LLVM IR that defines it."""
    return door_table(interface, entry, lambda kind: DTYPES[kind].xla)


def _text_of(function: Function) -> str:
    """All that a kernel is made from."""
    return json.dumps({"program": str(function), "stored": _stored(function)})


def _stored(function: Function) -> tuple[str | None, int | None]:
    """How a function says which tensors are stored."""
    return function.options.materialize, function.options.memory_limit


def _key_of(text: str) -> int:
    return int.from_bytes(sha256(text.encode()).digest()[:8], "little", signed=True)


def _wait_for_arrays() -> list[Exception]:
    """Wait until arrays are computed, of which JAX hands out some before; the errors that some ended with."""
    found: list[Exception] = []
    for array in jax.live_arrays():
        try:
            array.block_until_ready()
        except (RuntimeError, ValueError) as error:  # ValueError: deleted by another thread since
            found.append(error)
    return found


def _version() -> int:
    """The minor version of the interface, told by the header that jaxlib brings. Raises UsageError."""
    header = Path(jax.ffi.include_dir()) / "xla" / "ffi" / "api" / "c_api.h"
    found = dict(re.findall(r"#define XLA_FFI_API_(MAJOR|MINOR) (\d+)", header.read_text(encoding="utf-8")))
    if int(found.get("MAJOR", -1)) != _MAJOR or "MINOR" not in found:
        version = f"version {found.get('MAJOR')}.{found.get('MINOR')} of XLA's foreign function interface"
        raise usage(f"JAX {jax.__version__} has {version}, which tadc does not know", "install an older JAX")
    return int(found["MINOR"])
