"""LLVM IR text of a gpu module to PTX, and PTX to a cubin."""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections.abc import Mapping
from functools import cache, partial
from pathlib import Path
from typing import Any

from tadc.backend.backend_errors import backend_error
from tadc.backend.binding import binding, run_passes
from tadc.backend.compile_steps import step
from tadc.backend.cuda.approximate import approximate_function, with_approximate_divisions
from tadc.backend.cuda.architectures import CUDA_TRIPLE, DEFAULT_SM, cuda_machine
from tadc.backend.cuda.device_functions import device_function, device_instruction
from tadc.backend.cuda.selection import variant_for
from tadc.backend.cuda.toolkit import LIBDEVICE, find_ptxas, toolkit_file
from tadc.backend.interrupts import interruptible
from tadc.backend.llvm_ir import complete
from tadc.backend.object_code import run_pipeline
from tadc.frontend.diagnostics import CompileError
from tadc.frontend.forks import LLVM_LOCK
from tadc.frontend.packages import install_command
from tadc.lattice.late_dataclasses import dataclass

_DEVICE_FUNCTION = re.compile(r"^declare [^\n]*@(__nv_\w+)\(", re.M)
#: The names of libdevice's questions, and where it asks them.
_QUESTION = re.compile(r'^(@[\w.]+) = [^\n]*c"(\w+)\\00"', re.M)
_REFLECT = re.compile(r"call i32 @__nvvm_reflect\(ptr (@[\w.]+)\)(?: #\d+)?")

_NEGATION = re.compile(r"\bneg\.s32(\s+)(%r\d+), (%r\d+);")


def emit_ptx(text: str, sm: int, level: int = 3, use_libdevice: bool = True, fast_math: bool = False) -> str:
    """PTX for compute capability `sm / 10` of the LLVM IR text of a gpu module.

    Functions `__nv_*` come from libdevice where it is installed, else from our own. No
    multiplication and addition are fused but those that the text allows, no denormal is flushed. With
    `fast_math` approximate instructions compute what `approximate.py` says.

    Raises:
        CompileError: TAD0702, a function is in neither; TAD0705, an unknown architecture, or an intrinsic
            that it does not have.
    """
    return interruptible(partial(_emit_ptx, text, sm, level, use_libdevice, fast_math))


def _emit_ptx(text: str, sm: int, level: int, use_libdevice: bool, fast_math: bool) -> str:
    variant = variant_for(text, sm)
    with LLVM_LOCK:
        machine = cuda_machine(sm, level, variant)
        library = toolkit_file(LIBDEVICE) if use_libdevice else None
        if fast_math:
            text = complete(text, approximate_function)
        text = complete(text, device_instruction)
        needs = _DEVICE_FUNCTION.findall(text)
        if needs and library is None:
            text = complete(text, device_function)
            _reject_unknown(_DEVICE_FUNCTION.findall(text))
        module = binding().parse_assembly(text)
        module.triple = CUDA_TRIPLE
        module.data_layout = str(machine.target_data)
        if needs and library is not None:
            _link(module, library, needs, fast_math)
        with step("optimise"):
            run_pipeline(module, machine, level)
            if fast_math:
                module = binding().parse_assembly(with_approximate_divisions(str(module)))
        with step("emit"):
            return without_negations(machine.emit_assembly(module))


def without_negations(ptx: str) -> str:
    """PTX that negates 32-bit integers as `~x + 1`.

    Of `min(min(a, -b), c)` ptxas makes one instruction, which negates no operand, and takes `b` for
    `-b`: those of CUDA 12.9 and 13.0 do so for sm_90 at every level but `-O0`, and so does the driver. It
    does not take this form for a negation.
    """
    return _NEGATION.sub(r"not.b32\1\2, \3;\n\tadd.s32\1\2, \2, 1;", ptx)


def _reject_unknown(names: list[str]) -> None:
    if names:
        listed = ", ".join(f"`{name.removeprefix('__nv_')}`" for name in names)
        raise backend_error(
            "TAD0702",
            f"no device code for {listed}",
            ["the compiler's own device functions do not cover it; CUDA's libdevice does"],
            [f"install it with `{install_command('cuda')}`"],
        )


def _link(module: Any, library: Path, needs: list[str], fast_math: bool) -> None:
    """Link what the module uses of libdevice, as internal functions."""
    own = {function.name for function in module.functions if not function.is_declaration}
    layout = str(module.data_layout)
    device = binding().parse_assembly(_part_of_library(library, frozenset(needs), layout, fast_math))
    module.link_in(device)
    for function in module.functions:
        if not function.is_declaration and function.name not in own:
            function.linkage = "internal"
    _reject_unknown([f.name for f in module.functions if f.is_declaration and f.name.startswith("__nv_")])


@cache
def _part_of_library(library: Path, names: frozenset[str], data_layout: str, fast_math: bool) -> str:
    """LLVM IR of these functions of libdevice and of what they use."""
    llvm = binding()
    device = llvm.parse_bitcode(library.read_bytes())
    device.triple, device.data_layout = CUDA_TRIPLE, data_layout
    for function in device.functions:
        if not function.is_declaration and function.name not in names:
            function.linkage = "internal"
    machine = cuda_machine(DEFAULT_SM, 1)
    builder = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(speed_level=1))
    passes = llvm.create_new_module_pass_manager()
    passes.add_global_dead_code_eliminate_pass()
    run_passes(passes, builder, [device])
    return _reflected(str(device), {"__CUDA_FTZ": 0, "__CUDA_PREC_SQRT": int(not fast_math)})


def _reflected(text: str, values: Mapping[str, int]) -> str:
    """The text of libdevice with answers in the place of its questions for how to compile it.

    Without one LLVM answers 0: square roots inside of functions would then be approximate. The architecture
    is left for it to answer.
    """
    named = {name: values[asked] for name, asked in _QUESTION.findall(text) if asked in values}
    return _REFLECT.sub(lambda m: f"add i32 0, {named[m[1]]}" if m[1] in named else m[0], text)


def assemble(ptx: str, sm: int) -> bytes:
    """The cubin that ptxas makes of PTX.

    Raises:
        CompileError: TAD0703, ptxas rejects the text; TAD0704, there is no ptxas.
    """
    with step("ptxas"):
        return _run_ptxas(ptx, sm)[0]


def tools() -> str:
    """Text that differs between versions of libdevice and of ptxas, and where one is missing."""
    found = [toolkit_file(LIBDEVICE), find_ptxas()]
    return " ".join(f"{path} {path.stat().st_mtime_ns}" if path else "none" for path in found)


def machine_code(ptx: str, sm: int) -> bytes:
    """The cubin, or nothing where there is no ptxas that makes one: the driver compiles PTX itself."""
    try:
        return assemble(ptx, sm)
    except CompileError:
        return b""


@dataclass(frozen=True)
class Resources:
    """What ptxas gives a thread of a kernel: registers, and bytes that it spills; shared bytes of a block."""

    registers: int
    spilled: int
    shared: int


_RESOURCES = re.compile(
    r"Compiling entry function '(\w+)'.*?(\d+) bytes spill stores.*?Used (\d+) registers([^\n]*)", re.S
)
_SHARED = re.compile(r"(\d+) bytes smem")


def resources(ptx: str, sm: int) -> dict[str, Resources]:
    """What each kernel of PTX takes of an architecture, by name.

    Raises:
        CompileError: TAD0703, ptxas rejects the text; TAD0704, there is no ptxas.
    """
    found: dict[str, Resources] = {}
    for name, spilled, registers, rest in _RESOURCES.findall(_run_ptxas(ptx, sm)[1]):
        shared = _SHARED.search(rest)
        found[name] = Resources(int(registers), int(spilled), int(shared[1]) if shared else 0)
    return found


def _run_ptxas(ptx: str, sm: int) -> tuple[bytes, str]:
    """The cubin, and what ptxas says of the kernels."""
    program = find_ptxas()
    if program is None:
        helps = [f"install it with `{install_command('cuda')}`"]
        raise backend_error("TAD0704", "there is no ptxas to assemble PTX", helps=helps)
    with tempfile.TemporaryDirectory(prefix="tadc-") as folder:
        source, result = Path(folder, "kernel.ptx"), Path(folder, "kernel.cubin")
        source.write_text(ptx)
        # `sm_90a` where the text is of instructions that this architecture alone has.
        own = f".target sm_{sm}a" in ptx
        command = [str(program), "-v", f"-arch=sm_{sm}{'a' * own}", str(source), "-o", str(result)]
        run = subprocess.run(command, capture_output=True, text=True, check=False)
        if run.returncode:
            words = (run.stdout + run.stderr).replace(str(source), "kernel.ptx").strip()
            raise backend_error("TAD0703", f"ptxas rejects the PTX for sm_{sm}", words.splitlines())
        return result.read_bytes(), run.stderr
