"""Memory for what is in between in calls of a framework's operators, shared by all kernels of the process.

Large blocks come from the system a page at a time, filled with zeros, which takes longer than many kernels.
So one is kept from call to call; whoever finds it in use, or too small, makes another.
"""

from __future__ import annotations

from functools import cache

from tadc.backend.cpu.kept_code import linked
from tadc.backend.cpu.linking import Library
from tadc.backend.runtime.workspace import ALIGNMENT

TAKE, GIVE = "tadc.scratch.take", "tadc.scratch.give"
"""`ptr TAKE(i64 bytes)`, null where there is no memory, and `void GIVE(ptr block)`."""

LEAST, MOST = 1 << 18, 64 << 20
"""Blocks of fewer bytes the allocator of the process keeps itself; one of more is not kept."""


@cache
def _library() -> Library:
    return linked(TEXT, [TAKE, GIVE], level=1)


def addresses() -> dict[str, int]:
    """Where the two functions are; a process has one pair."""
    return {name: _library()[name] for name in (TAKE, GIVE)}


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
  %old.at = getelementptr ptr, ptr %kept, i64 -2
  %old = load ptr, ptr %old.at
  call void @free(ptr %old)
  br label %new
new:
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
  %raw.at = getelementptr ptr, ptr %gone, i64 -2
  %raw = load ptr, ptr %raw.at
  call void @free(ptr %raw)
  br label %end
end:
  ret void
}}
"""
