"""Memory for what is in between in all calls on the host, and for what calls of operators keep.

Large blocks come from the system a page at a time, filled with zeros, which takes longer than many kernels.
So one is kept from call to call for all kernels of the process; whoever finds it in use, or too small, makes
another. What a kernel keeps of its own stays until it is put in the place of it.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import cache

from tadc.backend.cpu.kept_code import linked
from tadc.backend.cpu.linking import Library
from tadc.backend.runtime.workspace import ALIGNMENT

TAKE, GIVE = "tadc.scratch.take", "tadc.scratch.give"
"""`ptr TAKE(i64 bytes)`, null where there is no memory, and `void GIVE(ptr block)`."""

NEW, DROP, KEEP = "tadc.block.new", "tadc.block.drop", "tadc.block.keep"
"""`ptr NEW(i64 bytes)`, null where there is no memory, `void DROP(ptr block)`, which may be null, and `void
KEEP(ptr place, ptr block)`, which puts one in a place, and drops what was there."""

LEAST, MOST = 1 << 18, 128 << 20
"""Blocks of fewer bytes the allocator of the process keeps itself; one of more is not kept."""

MOST_KEPT = 1 << 28
"""A kernel keeps no more bytes of its own."""


@cache
def _library() -> Library:
    return linked(TEXT, [TAKE, GIVE, NEW, DROP, KEEP], level=1)


def addresses() -> dict[str, int]:
    """Where the functions are; a process has one of each."""
    return dict(_library().addresses)


@cache
def _functions() -> tuple[Callable[[int], int | None], Callable[[int], None]]:
    found = addresses()
    take = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_int64)(found[TAKE])
    return take, ctypes.CFUNCTYPE(None, ctypes.c_void_p)(found[GIVE])


@contextmanager
def scratch(size: int) -> Generator[int]:
    """The address of so many bytes, which begin with a line of the cache. Raises MemoryError."""
    take, give = _functions()
    block = take(size)
    if block is None:
        raise MemoryError(f"no room for {size} bytes")
    try:
        yield block
    finally:
        give(block)


TEXT = f"""
@block = internal global ptr null
declare ptr @malloc(i64)
declare void @free(ptr)

define ptr @"{TAKE}"(i64 %size) {{
  %is.small = icmp ult i64 %size, {LEAST}
  br i1 %is.small, label %new, label %ask
ask:
  %kept = atomicrmw xchg ptr @block, ptr null acq_rel
  %is.none = icmp eq ptr %kept, null
  br i1 %is.none, label %new, label %look
look:
  %size.at = getelementptr i64, ptr %kept, i64 -1
  %room = load i64, ptr %size.at
  %fits = icmp uge i64 %room, %size
  br i1 %fits, label %found, label %small
found:
  ret ptr %kept
small:
  call void @"{DROP}"(ptr %kept)
  br label %new
new:
  %made = call ptr @"{NEW}"(i64 %size)
  ret ptr %made
}}

define ptr @"{NEW}"(i64 %size) {{
  ; Before a block stand the address to free and its size.
  %all = add i64 %size, {2 * ALIGNMENT}
  %raw = call ptr @malloc(i64 %all)
  %is.null = icmp eq ptr %raw, null
  br i1 %is.null, label %no, label %made
no:
  ret ptr null
made:
  %begin = ptrtoint ptr %raw to i64
  %up = add i64 %begin, {2 * ALIGNMENT - 1}
  %line = and i64 %up, -{ALIGNMENT}
  %skip = sub i64 %line, %begin
  %aligned = getelementptr i8, ptr %raw, i64 %skip
  %new.size.at = getelementptr i64, ptr %aligned, i64 -1
  store i64 %size, ptr %new.size.at
  %raw.at = getelementptr ptr, ptr %aligned, i64 -2
  store ptr %raw, ptr %raw.at
  ret ptr %aligned
}}

define void @"{GIVE}"(ptr %block) {{
begin:
  %size.at = getelementptr i64, ptr %block, i64 -1
  %size = load i64, ptr %size.at
  %from.least = sub i64 %size, {LEAST}
  %is.kept = icmp ule i64 %from.least, {MOST - LEAST}
  br i1 %is.kept, label %keep, label %drop
keep:
  %other = atomicrmw xchg ptr @block, ptr %block acq_rel
  %is.none = icmp eq ptr %other, null
  br i1 %is.none, label %end, label %drop
drop:
  %gone = phi ptr [ %block, %begin ], [ %other, %keep ]
  call void @"{DROP}"(ptr %gone)
  br label %end
end:
  ret void
}}

define void @"{DROP}"(ptr %block) {{
  %is.none = icmp eq ptr %block, null
  br i1 %is.none, label %end, label %drop
drop:
  %raw.at = getelementptr ptr, ptr %block, i64 -2
  %raw = load ptr, ptr %raw.at
  call void @free(ptr %raw)
  br label %end
end:
  ret void
}}

define void @"{KEEP}"(ptr %place, ptr %block) {{
  %size.at = getelementptr i64, ptr %block, i64 -1
  %size = load i64, ptr %size.at
  %is.kept = icmp ule i64 %size, {MOST_KEPT}
  br i1 %is.kept, label %keep, label %drop
keep:
  %other = atomicrmw xchg ptr %place, ptr %block acq_rel
  call void @"{DROP}"(ptr %other)
  ret void
drop:
  call void @"{DROP}"(ptr %block)
  ret void
}}
"""
