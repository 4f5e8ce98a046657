"""The boxed kernel of an operator: a function around the kernel that libtorch calls with its tensors."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from tadc.backend.cpu.kept_code import linked
from tadc.backend.cpu.linking import Library
from tadc.backend.runtime.interface import Interface
from tadc.native.door_table import door_code, door_table
from tadc.native.entry import Entry
from tadc.native.watched_calls import WATCH, WatchedDoor
from tadc.torch.libtorch import cpu_number, element_number, externals

_CALL = "tadc.torch.call"


def boxed(interface: Interface, entry: Entry) -> tuple[str, str]:
    """The name of the boxed kernel, and LLVM IR that defines it beside the kernel and its entry."""
    table, text = door_table(interface, entry, element_number, cpu_number())
    symbol, types = f"{interface.symbol}.boxed", "ptr, i64, i64, i64, ptr"
    given = f'ptr %0, i64 ptrtoint (ptr @"{table}" to i64), i64 0, i64 0, ptr null'
    call = f'  musttail call void @"{_CALL}"({given})\n  ret void'
    return (
        symbol,
        f'{text}declare void @"{_CALL}"({types})\ndefine void @"{symbol}"({types}) {{\n{call}\n}}\n',
    )


def called_here() -> dict[str, int]:
    """The address of what boxed kernels call: code for all of them."""
    return {_CALL: _library()[_CALL]}


@cache
def _library() -> Library:
    made = linked(door_code(Path(__file__).with_name("boxed.ll")), [_CALL, WATCH], externals(), level=1)
    WatchedDoor(made[WATCH]).add()
    return made
