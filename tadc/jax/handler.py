"""XLA's foreign function interface in LLVM IR: one handler for all kernels, and a function for each.

XLA calls a handler with a frame, which says where the elements of arguments and results are, and their
extents (`xla/ffi/api/c_api.h`, which comes with jaxlib). Each structure begins with its size: what is read
of a structure is below that. Major version 0 of the interface adds fields at the ends of structures, and
changes no offset that is used here (minor versions 0 to 3 were looked at).

A call carries the number of its kernel and its program. `@tadc.xla` looks the number up in a table; where
it is not there, as in a process that has read an exported program, a callback compiles the program.
"""

from __future__ import annotations

from collections.abc import Sequence

from tadc.backend.runtime.interface import Interface
from tadc.backend.runtime.parameters import Parameter
from tadc.frontend.dtypes import DTYPES
from tadc.native.entry import NO_MEMORY, refusals
from tadc.native.ir_lines import Lines, text_constant

INVALID_ARGUMENT, RESOURCE_EXHAUSTED, INTERNAL = 3, 8, 13
"""Codes of XLA_FFI_Error."""

MESSAGE = 1024
"""A message of the callback has so many bytes at most."""

# Offsets in XLA_FFI_CallFrame, with the structures that lie in it.
_ARGS, _ARG_POINTERS, _RETS, _RET_POINTERS = 56, 72, 96, 112

_FAIL = """
define ptr @"{fail}"(ptr %frame, i32 %code, ptr %message) noinline {{
  %error = alloca {{ i64, ptr, ptr, i32 }}
  %api.at = getelementptr i8, ptr %frame, i64 16
  %api = load ptr, ptr %api.at
  %create.at = getelementptr i8, ptr %api, i64 48
  %create = load ptr, ptr %create.at
  %message.at = getelementptr i8, ptr %error, i64 16
  %code.at = getelementptr i8, ptr %error, i64 24
  %extension.at = getelementptr i8, ptr %error, i64 8
  store i64 28, ptr %error
  store ptr null, ptr %extension.at
  store ptr %message, ptr %message.at
  store i32 %code, ptr %code.at
  %made = call ptr %create(ptr %error)
  ret ptr %made
}}
"""


def dispatcher(major: int, minor: int) -> str:
    """The handler `@tadc.xla`, and `@tadc.install`, which tells it of a table of kernels and of the callback.

    It answers a question for its version with those given, and refuses frames that are too small.
    """
    old = _constant("tadc.old", "tadc: this version of XLA passes too little")
    odd = _constant("tadc.odd", "tadc: a call has no kernel")
    return (
        old
        + odd
        + _FAIL.format(fail="tadc.fail")
        + _DISPATCHER.format(
            major=major, minor=minor, message=MESSAGE, invalid=INVALID_ARGUMENT, internal=INTERNAL
        )
    )


_DISPATCHER = """
@"tadc.table" = internal global ptr null
@"tadc.missing" = internal global ptr null
define void @"tadc.install"(ptr %table, ptr %missing) {{
  store atomic ptr %missing, ptr @"tadc.missing" release, align 8
  store atomic ptr %table, ptr @"tadc.table" release, align 8
  ret void
}}
define ptr @"tadc.xla"(ptr %frame) {{
begin:
  %message = alloca [{message} x i8]
  %size = load i64, ptr %frame
  %extension.at = getelementptr i8, ptr %frame, i64 8
  %first = load ptr, ptr %extension.at
  br label %extension
extension:
  %this = phi ptr [ %first, %begin ], [ %next, %further ]
  %is.last = icmp eq ptr %this, null
  br i1 %is.last, label %call, label %look
look:
  %type.at = getelementptr i8, ptr %this, i64 8
  %type = load i32, ptr %type.at
  %is.question = icmp eq i32 %type, 1
  br i1 %is.question, label %question, label %further
further:
  %next.at = getelementptr i8, ptr %this, i64 16
  %next = load ptr, ptr %next.at
  br label %extension
question:
  %answer.at = getelementptr i8, ptr %this, i64 24
  %answer = load ptr, ptr %answer.at
  %answer.size = load i64, ptr %answer
  %has.room = icmp uge i64 %answer.size, 36
  br i1 %has.room, label %tell, label %told
tell:
  %major.at = getelementptr i8, ptr %answer, i64 24
  %minor.at = getelementptr i8, ptr %answer, i64 28
  %traits.at = getelementptr i8, ptr %answer, i64 32
  store i32 {major}, ptr %major.at
  store i32 {minor}, ptr %minor.at
  store i32 0, ptr %traits.at
  br label %told
told:
  ret ptr null
call:
  ; What is read below ends at byte 168.
  %is.whole = icmp uge i64 %size, 168
  br i1 %is.whole, label %attributes, label %small
small:
  %e0 = call ptr @"tadc.fail"(ptr %frame, i32 {internal}, ptr @"tadc.old")
  ret ptr %e0
attributes:
  %count.at = getelementptr i8, ptr %frame, i64 136
  %count = load i64, ptr %count.at
  %has.two = icmp eq i64 %count, 2
  br i1 %has.two, label %kinds, label %nameless
kinds:
  ; In the order of their names: the number `kernel` and the text `program`.
  %kinds.at = getelementptr i8, ptr %frame, i64 144
  %kinds.of = load ptr, ptr %kinds.at
  %both = load i64, ptr %kinds.of, align 4
  %is.right = icmp eq i64 %both, 17179869187
  br i1 %is.right, label %number, label %nameless
nameless:
  %e1 = call ptr @"tadc.fail"(ptr %frame, i32 {invalid}, ptr @"tadc.odd")
  ret ptr %e1
number:
  %values.at = getelementptr i8, ptr %frame, i64 160
  %values = load ptr, ptr %values.at
  %scalar = load ptr, ptr %values
  %number.at = getelementptr i8, ptr %scalar, i64 8
  %number.of = load ptr, ptr %number.at
  %key = load i64, ptr %number.of
  ; The table: the number of its places less 1, nothing, then a key and a function for each.
  %table = load atomic ptr, ptr @"tadc.table" acquire, align 8
  %mask = load i64, ptr %table
  br label %probe
probe:
  %turn = phi i64 [ %key, %number ], [ %after, %other ]
  %place = and i64 %turn, %mask
  %before = shl i64 %place, 4
  %in = getelementptr i8, ptr %table, i64 16
  %entry = getelementptr i8, ptr %in, i64 %before
  %function.at = getelementptr i8, ptr %entry, i64 8
  %function = load ptr, ptr %function.at
  %is.free = icmp eq ptr %function, null
  br i1 %is.free, label %missing, label %compare
compare:
  %here = load i64, ptr %entry
  %is.it = icmp eq i64 %here, %key
  br i1 %is.it, label %found, label %other
other:
  %after = add i64 %place, 1
  br label %probe
found:
  %done = tail call ptr %function(ptr %frame)
  ret ptr %done
missing:
  %second = getelementptr ptr, ptr %values, i64 1
  %text = load ptr, ptr %second
  %start = load ptr, ptr %text
  %length.at = getelementptr i8, ptr %text, i64 8
  %length = load i64, ptr %length.at
  %compile = load atomic ptr, ptr @"tadc.missing" acquire, align 8
  %made = call ptr %compile(i64 %key, ptr %start, i64 %length, ptr %message)
  %is.not = icmp eq ptr %made, null
  br i1 %is.not, label %failed, label %compiled
failed:
  %e2 = call ptr @"tadc.fail"(ptr %frame, i32 {internal}, ptr %message)
  ret ptr %e2
compiled:
  %now = tail call ptr %made(ptr %frame)
  ret ptr %now
}}
"""


def handler(interface: Interface, entry: str) -> tuple[str, str]:
    """The name and the text of the function for a kernel, around the function `entry` of its module."""
    return f"{interface.symbol}.xla", _Handler(interface, entry).text()


class _Handler:
    """The function that takes a frame apart and calls a kernel."""

    def __init__(self, interface: Interface, entry: str) -> None:
        self.interface = interface
        self.entry = entry
        self.lines = Lines()
        self.constants: list[str] = []
        self.extents = [(p, n) for p in interface.arguments for n in range(len(p.shape))]

    def text(self) -> str:
        """All that is needed beside the module of the kernel."""
        lines, tensors = self.lines, len(self.interface.arguments) + len(self.interface.outputs)
        data = lines.put(f"alloca [{max(1, tensors)} x ptr]")
        dims = lines.put(f"alloca [{max(1, len(self.extents))} x i64]")
        given = self.buffers(self.interface.arguments, _ARGS, _ARG_POINTERS)
        results = self.buffers(self.interface.outputs, _RETS, _RET_POINTERS)
        for n, buffer in enumerate([*given, *results]):
            lines.do(f"store ptr {self.load('ptr', buffer, 24)}, ptr {lines.word(data, n)}")
        position = 0
        for parameter, buffer in zip(self.interface.arguments, given, strict=True):
            extents = self.load("ptr", buffer, 40) if parameter.shape else ""
            for n in range(len(parameter.shape)):
                value = lines.put(f"load i64, ptr {lines.word(extents, n)}")
                lines.do(f"store i64 {value}, ptr {lines.word(dims, position)}")
                position += 1
        found = lines.put(f'call i64 @"{self.entry}"(ptr {data}, ptr {dims})')
        self.report(found)
        fail = _FAIL.format(fail=self.named("fail"))
        function = lines.function(f'ptr @"{self.named("xla")}"(ptr %frame)', {})
        return "\n".join(self.constants) + fail + function

    def named(self, name: str) -> str:
        """The name of what stands beside the kernel."""
        return f"{self.interface.symbol}.{name}" if name == "xla" else f"{self.interface.symbol}.xla.{name}"

    def load(self, type: str, pointer: str, offset: int) -> str:
        at = self.lines.put(f"getelementptr i8, ptr {pointer}, i64 {offset}")
        return self.lines.put(f"load {type}, ptr {at}")

    def buffers(self, parameters: Sequence[Parameter], count: int, pointers: int) -> list[str]:
        """The buffers of tensors, if they have the types and ranks of these; the function ends if not."""
        lines = self.lines
        found: list[str] = []
        lines.require(
            lines.put(f"icmp eq i64 {self.load('i64', '%frame', count)}, {len(parameters)}"), "other"
        )
        array = self.load("ptr", "%frame", pointers) if parameters else ""
        for n, parameter in enumerate(parameters):
            buffer = lines.put(f"load ptr, ptr {lines.word(array, n)}")
            type, rank = self.load("i32", buffer, 16), self.load("i64", buffer, 32)
            lines.require(lines.put(f"icmp uge i64 {lines.put(f'load i64, ptr {buffer}')}, 48"), "other")
            lines.require(lines.put(f"icmp eq i32 {type}, {DTYPES[parameter.type].xla}"), "other")
            lines.require(lines.put(f"icmp eq i64 {rank}, {len(parameter.shape)}"), "other")
            found.append(buffer)
        return found

    def report(self, found: str) -> None:
        """Return what the kernel says: nothing, or an error of XLA."""
        lines = self.lines
        said = {n: text for n, text in refusals(self.interface).items() if n <= len(self.extents)}
        codes = {NO_MEMORY: RESOURCE_EXHAUSTED}
        cases = [(n, text, codes.get(n, INVALID_ARGUMENT)) for n, text in said.items()]
        labels = " ".join(f"i64 {value}, label %case{k}" for k, (value, _, _) in enumerate(cases))
        lines.do(f"switch i64 {found}, label %other [ i64 0, label %fine {labels} ]")
        lines.label("fine")
        lines.do("ret ptr null")
        cases.append((0, "tadc: an argument or a result is not of the type that the kernel takes", INTERNAL))
        for k, (_, message, code) in enumerate(cases):
            name = self.named(f"message{k}")
            self.constants.append(_constant(name, message))
            lines.label(f"case{k}" if k < len(cases) - 1 else "other")
            made = lines.put(f'call ptr @"{self.named("fail")}"(ptr %frame, i32 {code}, ptr @"{name}")')
            lines.do(f"ret ptr {made}")


def _constant(name: str, text: str) -> str:
    """A text that ends with a zero, as a global."""
    return f'@"{name}" = internal constant {text_constant(text)}\n'
