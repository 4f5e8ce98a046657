"""Our placing of objects in memory against LLVM's linker, and what is left to that."""

from __future__ import annotations

import ctypes
import struct
import sys

import pytest

from tadc.backend.cpu import elf, linking
from tadc.backend.cpu.jit import load
from tadc.backend.cpu.linking import Library, LinkError
from tadc.backend.object_code import object_code

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="objects are ELF on Linux alone")

#: Constants, writable and zeroed data, a table of addresses, a jump table, calls in and out.
OBJECT = """
@state = global i64 5
@zeros = global [100 x i64] zeroinitializer
@constants = constant [4 x double] [double 1.5, double 2.5, double 4.5, double 8.5]
@table = global [2 x ptr] [ptr @add, ptr @double]

declare double @cos(double)
declare i64 @outside(i64)

define i64 @add(i64 %x) noinline {
  %s = load i64, ptr @state
  %r = add i64 %x, %s
  store i64 %r, ptr @state
  ret i64 %r
}

define i64 @double(i64 %x) noinline {
  %r = mul i64 %x, 2
  ret i64 %r
}

define i64 @through(i64 %which, i64 %x) {
  %at = getelementptr [2 x ptr], ptr @table, i64 0, i64 %which
  %f = load ptr, ptr %at
  %r = call i64 %f(i64 %x)
  ret i64 %r
}

define i64 @count(i64 %n) {
  %at = getelementptr [100 x i64], ptr @zeros, i64 0, i64 %n
  %old = load i64, ptr %at
  %new = add i64 %old, 1
  store i64 %new, ptr %at
  ret i64 %new
}

define double @constant(i64 %n) {
  %at = getelementptr [4 x double], ptr @constants, i64 0, i64 %n
  %r = load double, ptr %at
  ret double %r
}

define double @cosine(double %x) {
  %r = call double @cos(double %x)
  ret double %r
}

define i64 @call_outside(i64 %x) {
  %r = call i64 @outside(i64 %x)
  %s = call i64 @add(i64 %r)
  ret i64 %s
}

define i64 @choose(i64 %x) {
  switch i64 %x, label %no [i64 0, label %a
    i64 1, label %b
    i64 2, label %c
    i64 3, label %d
    i64 4, label %e]
a:
  %ra = call i64 @add(i64 1)
  ret i64 %ra
b:
  %rb = call i64 @double(i64 11)
  ret i64 %rb
c:
  %rc = call i64 @count(i64 3)
  ret i64 %rc
d:
  %rd = call i64 @through(i64 0, i64 7)
  ret i64 %rd
e:
  %re = call i64 @outside(i64 9)
  ret i64 %re
no:
  ret i64 -1
}
"""
SYMBOLS = ["through", "count", "constant", "cosine", "call_outside", "choose"]

CALLBACK = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)


@CALLBACK
def outside(x: int) -> int:
    return 1000 + x


EXTERNALS = {"outside": ctypes.cast(outside, ctypes.c_void_p).value or 0}


def results(library: Library) -> list[float]:
    def whole(name: str, *arguments: int) -> int:
        types = [ctypes.c_int64] * len(arguments)
        return ctypes.CFUNCTYPE(ctypes.c_int64, *types)(library[name])(*arguments)

    def real(name: str, type: type, argument: float) -> float:
        return ctypes.CFUNCTYPE(ctypes.c_double, type)(library[name])(argument)

    found: list[float] = [whole("through", 0, 3), whole("through", 1, 3), whole("through", 0, 1)]
    found += [whole("count", 99), whole("count", 99), whole("count", 0)]
    found += [real("constant", ctypes.c_int64, n) for n in range(4)]
    found += [real("cosine", ctypes.c_double, 1.0), whole("call_outside", 5)]
    return found + [whole("choose", n) for n in range(6)]


@pytest.mark.parametrize("level", [0, 1, 2, 3])
def test_runs_as_with_llvm_s_linker(level: int, monkeypatch: pytest.MonkeyPatch) -> None:
    code = object_code(OBJECT, level)
    expected = results(linking._load_by_llvm(code, SYMBOLS, EXTERNALS))
    monkeypatch.setattr(linking, "_load_by_llvm", None)  # not even asked
    assert results(load(code, SYMBOLS, EXTERNALS)) == expected
    # Each has data of its own.
    assert results(load(code, SYMBOLS, EXTERNALS)) == expected


def test_no_memory_is_writable_and_executable() -> None:
    library = load(object_code(OBJECT), SYMBOLS, EXTERNALS)
    address = library["through"]
    for line in open("/proc/self/maps"):
        start, end = (int(part, 16) for part in line.split()[0].split("-"))
        if start <= address < end:
            assert line.split()[1] == "r-xp"
            return
    pytest.fail("the code is nowhere")


def test_memory_is_given_back() -> None:
    code = object_code(OBJECT)

    def mapped() -> int:
        return len(open("/proc/self/maps").readlines())

    load(code, SYMBOLS, EXTERNALS)
    before = mapped()
    for _ in range(50):
        load(code, SYMBOLS, EXTERNALS)
    assert mapped() < before + 50


def test_a_given_address_comes_before_the_process_s() -> None:
    text = "declare i64 @labs(i64)\ndefine i64 @k(i64 %x) {\n  %r = call i64 @labs(i64 %x)\n  ret i64 %r\n}"
    code = object_code(text, 0)
    library = load(code, ["k"])
    assert CALLBACK(library["k"])(-5) == 5
    other = load(code, ["k"], {"labs": EXTERNALS["outside"]})
    assert CALLBACK(other["k"])(-5) == 995


def test_variables_of_a_thread_are_left_to_llvm() -> None:
    code = object_code("@t = thread_local global i32 0\ndefine ptr @k() {\n  ret ptr @t\n}")
    with pytest.raises(elf.Unsupported, match="section"):
        elf.place(code, ["k"], elf.resolver({}))


def test_a_symbol_that_nobody_has() -> None:
    with pytest.raises(LinkError, match="outside"):
        load(object_code(OBJECT), SYMBOLS)


def test_damaged_objects_are_refused() -> None:
    """An object is never trusted so far that its bytes could write elsewhere: struct checks each place."""
    code = object_code(OBJECT)
    for cut in (0, 10, 70, len(code) // 2, len(code) - 10):
        with pytest.raises(elf.Unsupported):
            elf.place(code[:cut], SYMBOLS, elf.resolver(EXTERNALS))
    other_machine = code[:18] + struct.pack("<H", 183) + code[20:]
    with pytest.raises(elf.Unsupported, match="x86-64"):
        elf.place(other_machine, SYMBOLS, elf.resolver(EXTERNALS))
