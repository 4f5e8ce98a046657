"""LLVM IR whose entry measures the calls that it makes: one for each map, or for maps that run together."""

from __future__ import annotations

import ctypes
import re
import time

_MEASURED = """  %tadc.begin{n} = call i64 @tadc.now()
{call}
  %tadc.end{n} = call i64 @tadc.now()
  %tadc.took{n} = sub i64 %tadc.end{n}, %tadc.begin{n}
  %tadc.all{n} = atomicrmw add ptr inttoptr (i64 {at} to ptr), i64 %tadc.took{n} monotonic
"""

_NOW = """
define internal i64 @tadc.now() noinline {{
  %time = alloca [2 x i64]
  %failed = call i32 inttoptr (i64 {address} to ptr)(i32 {clock}, ptr %time)
  %seconds = load i64, ptr %time
  %at = getelementptr i64, ptr %time, i64 1
  %rest = load i64, ptr %at
  %whole = mul i64 %seconds, 1000000000
  %now = add i64 %whole, %rest
  ret i64 %now
}}
"""


def calls_of_entry(text: str, symbol: str) -> list[re.Match[str]]:
    """The calls of functions of maps in the function `symbol`, in order, each a line."""
    entry = re.search(rf"^define void @{re.escape(symbol)}\(.*?^}}", text, re.M | re.S)
    if entry is None:
        return []
    call = re.compile(rf"^ +(?:tail )?call void @{re.escape(symbol)}\.([\w.]+)\([^\n]*\n", re.M)
    return list(call.finditer(text, entry.start(), entry.end()))


def timed_calls(text: str, symbol: str) -> tuple[str, ctypes.Array[ctypes.c_int64]]:
    """The text with calls measured, and where their nanoseconds are added up while the result lives.

    None are measured where the system has no clock of POSIX.
    """
    calls = calls_of_entry(text, symbol) if hasattr(time, "clock_gettime") else []
    totals = (ctypes.c_int64 * len(calls))()
    parts: list[str] = []
    last = 0
    for n, call in enumerate(calls):
        at = ctypes.addressof(totals) + 8 * n
        parts += [text[last : call.start()], _MEASURED.format(n=n, call=call[0].rstrip("\n"), at=at)]
        last = call.end()
    parts.append(text[last:])
    if calls:
        clock = ctypes.cast(ctypes.pythonapi.clock_gettime, ctypes.c_void_p).value
        parts.append(_NOW.format(address=clock, clock=time.CLOCK_MONOTONIC))
    return "".join(parts), totals
