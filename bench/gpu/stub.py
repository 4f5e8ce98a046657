"""A libcuda whose functions only fill in handles: what a call costs on the host, without a GPU.

The functions are machine code that llvmlite makes: a function of Python in their place, as the emulator has,
would cost more than what is measured. Memory is never written; what is freed last is handed out first, as the
driver's pool does.
"""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any

from tadc.backend.cuda import api

#: The first address that is handed out, how far the next is, and how many can be free at a time.
FIRST, STEP, FREE = 1 << 36, 1 << 24, 4096

#: What a function writes to its first argument; the others write nothing.
_HANDLES = {
    "cuDevicePrimaryCtxRetain": 11, "cuCtxPopCurrent_v2": 11, "cuModuleLoadDataEx": 12,
    "cuModuleGetFunction": 13, "cuDeviceGetDefaultMemPool": 14, "cuEventCreate": 15, "cuGraphCreate": 16,
    "cuGraphAddKernelNode": 17, "cuGraphInstantiateWithFlags": 18,
}  # fmt: skip
_NUMBERS = {"cuDriverGetVersion": 13000, "cuDeviceGetCount": 1}
_ALLOCATING = ("cuMemAlloc_v2", "cuMemAllocAsync")
_FREEING = ("cuMemFree_v2", "cuMemFreeAsync")

#: The free addresses, and how many of all there are were never handed out.
_MEMORY = f"""
@free = internal global [{FREE} x i64] zeroinitializer
@count = internal global i64 0
@next = internal global i64 {FIRST}
"""
_ALLOCATE = f"""
  %p = inttoptr i64 %a0 to ptr
  %n = load i64, ptr @count
  %none = icmp eq i64 %n, 0
  br i1 %none, label %new, label %old
new:
  %fresh = load i64, ptr @next
  %after = add i64 %fresh, {STEP}
  store i64 %after, ptr @next
  store i64 %fresh, ptr %p
  br label %done
old:
  %m = sub i64 %n, 1
  store i64 %m, ptr @count
  %place = getelementptr i64, ptr @free, i64 %m
  %last = load i64, ptr %place
  store i64 %last, ptr %p
  br label %done
done:
"""
_FREE = """
  %n = load i64, ptr @count
  %place = getelementptr i64, ptr @free, i64 %n
  store i64 %a0, ptr %place
  %m = add i64 %n, 1
  store i64 %m, ptr @count
"""


def _text(name: str, types: tuple[Any, ...]) -> str:
    """LLVM IR of one function, which succeeds."""
    kinds = {1: "i8", 4: "i32", 8: "i64"}
    parameters = [f"{kinds[ctypes.sizeof(kind)]} %a{n}" for n, kind in enumerate(types)]
    body = ""
    if name in _HANDLES:
        body = f"  %p = inttoptr i64 %a0 to ptr\n  store i64 {_HANDLES[name]}, ptr %p\n"
    elif name in _NUMBERS:
        body = f"  %p = inttoptr i64 %a0 to ptr\n  store i32 {_NUMBERS[name]}, ptr %p\n"
    elif name in _ALLOCATING:
        body = _ALLOCATE
    elif name in _FREEING:
        body = _FREE
    elif name == "cuDeviceGetAttribute":
        body = (
            "  %p = inttoptr i64 %a0 to ptr\n"
            f"  %major = icmp eq i32 %a1, {api.MAJOR}\n"
            f"  %pools = icmp eq i32 %a1, {api.MEMORY_POOLS}\n"
            "  %one = zext i1 %pools to i32\n"
            "  %v = select i1 %major, i32 9, i32 %one\n"
            "  store i32 %v, ptr %p\n"
        )
    return f"define i32 @{name}({', '.join(parameters)}) {{\n{body}  ret i32 0\n}}\n"


@cache
def _engine() -> Any:
    """The functions as machine code. They live as long as the process: memory may be freed late."""
    from llvmlite import binding

    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    text = _MEMORY + "".join(_text(name, types) for name, types in api.PROTOTYPES.items())
    machine = binding.Target.from_default_triple().create_target_machine()
    engine = binding.create_mcjit_compiler(binding.parse_assembly(text), machine)
    engine.finalize_object()
    return engine


class StubCuda:
    """Stands for the libcuda of a GPU of architecture sm_90."""

    def __init__(self) -> None:
        for name, types in api.PROTOTYPES.items():
            # Made as ctypes makes the functions of a library, which release the interpreter lock.
            address = _engine().get_function_address(name)
            setattr(self, name, ctypes.CFUNCTYPE(ctypes.c_int, *types)(address))
