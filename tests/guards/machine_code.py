"""Whether machine code keeps the masks of masked loads.

A copy of the LLVM IR reads by masked loads in a segment of x86, which nothing else does. The segment is part
of an address, and stays so on the way to machine code: the instructions that read there are what became of
masked loads, and each has to have a mask, or to read one element.
"""

from __future__ import annotations

import re

import tadc
from tadc.backend.binding import binding
from tadc.backend.cpu.processors import host
from tadc.backend.object_code import optimised
from tadc.compiler.all_stages import compile_until
from tadc.compiler.compile_options import Options
from tadc.compiler.stages import Compilation
from tadc.frontend.forks import LLVM_LOCK
from tadc.frontend.source import Source

#: The address space of LLVM that is the segment `%fs`.
_SPACE = 257
_LOADED = re.compile(r"^( *)(.* call .*@llvm\.masked\.load\.v\d+\w+\.p)0\(ptr ([^%@]*)([%@][\w.]+)", re.M)
_CALL = re.compile(r" call [^\n]*@llvm\.masked\.load\.")
_DECLARED = re.compile(r"^declare .*@llvm\.masked\.load\..*\n", re.M)

#: Reads without a `{%k}`: those by lane, under a mask in a register, and those of one element.
_SAFE = re.compile(
    r"v?p?maskmov\w+|v?mov(s[sd]|[dq]|ddup)|v?p?broadcast(s[sd]|[dq])|v?insertps|v?pinsr[dq]|v?mov[hl]p[sd]"
    r"|v?\w+s[sd]|mov[lq]?"
)
#: Instructions of AVX-512 that may fault where their mask is off (class E4NF of Intel's manual and kin).
_FAULTING = re.compile(
    r"v(perm\w*|p?unpck\w*|shuf\w*|p?align\w*|pshuf\w*|broadcast[fi]\d+\w*|movddup|mov[hl]dup)"
)


def check(function: tadc.Function, schedule: str | None = None) -> int:
    """Assert that the machine code of a function keeps all masks; the number of its masked loads.

    With a schedule, it is the code that this makes.
    """
    program = function.program
    options = Options(schedule=None if schedule is None else Source(schedule, "<schedule>"))
    state = Compilation(options, program.source, program=program)
    compile_until(state, "llvm", first="tad")
    text = optimised(state.llvm_ir)
    count = len(_CALL.findall(text))
    lost = unmasked(assembly(labelled(text))) if count else []
    assert not lost, "\n".join([*lost, str(function)])
    return count


def unmasked(assembly: str) -> list[str]:
    """The instructions that read in the segment without a mask."""
    return [line for line in map(str.strip, assembly.split("\n")) if "%fs:" in line and not _keeps(line)]


def _keeps(line: str) -> bool:
    """Whether an instruction reads under a mask, or one element."""
    instruction = line.split()[0]
    if "{%k" in line:
        return _FAULTING.fullmatch(instruction) is None
    return _SAFE.fullmatch(instruction) is not None


def labelled(text: str) -> str:
    """LLVM IR text whose masked loads, and nothing else, read in the segment."""
    spaces: list[str] = []

    def label(match: re.Match[str]) -> str:
        space, call, attributes, pointer = match.groups()
        spaces.append(f"%in.segment.{len(spaces)}")
        cast = f"{space}{spaces[-1]} = addrspacecast ptr {pointer} to ptr addrspace({_SPACE})"
        return f"{cast}\n{space}{call}{_SPACE}(ptr addrspace({_SPACE}) {attributes}{spaces[-1]}"

    calls = len(_CALL.findall(text))
    text = _LOADED.sub(label, _DECLARED.sub("", text))
    assert len(spaces) == calls, "a masked load that is written otherwise"
    names = {(m[1], m[2]) for m in re.finditer(r"call (<[^>]*>) (@llvm\.masked\.load\.[\w.]+)\(", text)}
    declared = [
        f"declare {type} {name}(ptr addrspace({_SPACE}), {re.sub('x .*', 'x i1>', type)}, {type})"
        for type, name in sorted(names)
    ]
    return "\n".join([text, *declared, ""])


def assembly(text: str) -> str:
    """Assembly of LLVM IR text as it is."""
    with LLVM_LOCK:
        module, machine = binding().parse_assembly(text), host().target_machine(3)
        module.triple, module.data_layout = binding().get_process_triple(), str(machine.target_data)
        return machine.emit_assembly(module)
