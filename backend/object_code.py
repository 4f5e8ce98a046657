"""LLVM IR text to optimised LLVM IR, assembly and object bytes for the host."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from typing import Any, TypeVar

from tadc.backend.interrupts import interruptible
from tadc.backend.llvm_ir import complete, defer, loops_for_speed, not_inlined, undefer
from tadc.backend.masked_loads import LOAD, fenced
from tadc.backend.splitting import size_of_loops
from tadc.backend.steps import step
from tadc.backend.target import binding, host_features, host_machine

T = TypeVar("T")

#: llvmlite keeps one LLVM context for the process, which only one thread may use at a time.
LLVM_LOCK = threading.RLock()

#: Texts beyond this many characters are compiled without unrolling, which makes most of their machine
#: code and takes half of the time; kernels of single formulas stay below.
LARGE = 28_000

#: Beyond this many, `sin` and `cos` are called and not inlined, and loops are not copied for each side of a
#: branch: again half of the time.
HUGE = 64_000

_DEFINITION = re.compile(r"^(define [^\n]*?)( #\d+)? \{$", re.M)


def optimised(text: str, level: int = 3) -> str:
    """The text after LLVM's optimiser at -O`level` for the host. Scalar functions are defined as needed."""
    return _made(text, level, lambda machine, module: str(module))


def assembly(text: str, level: int = 3) -> str:
    """Assembly for the host, of text as for `optimised`."""
    return _made(text, level, lambda machine, module: machine.emit_assembly(module))


def object_code(text: str, level: int = 3) -> bytes:
    """The bytes of a relocatable object file for the host, for `jit.load` or a cache on disk."""
    with step("object"):
        return _made(text, level, lambda machine, module: machine.emit_object(module))


def _made(text: str, level: int, emit: Callable[[Any, Any], T]) -> T:
    """What is emitted of the optimised text."""

    def work() -> T:
        with LLVM_LOCK:
            machine = host_machine(level)
            with step("optimise"):
                module = _optimise(text, machine, level)
            with step("emit"):
                return emit(machine, module)

    return interruptible(work)


def _optimise(text: str, machine: Any, level: int) -> Any:
    module = _by_pipelines(text, machine, level)
    # Last, since LLVM makes masked loads of its own where it turns loops into vectors.
    if any(function.name.startswith(LOAD) for function in module.functions):
        module = _parsed(fenced(str(module)), machine)
    return module


def _by_pipelines(text: str, machine: Any, level: int) -> Any:
    is_huge = size_of_loops(text) > HUGE
    deferred = None if is_huge or level < 2 else defer(text)
    if deferred is None:
        whole = not_inlined(complete(text)) if is_huge else complete(text)
        enough = 1 if not loops_for_speed(text) else 2 if is_huge else 3
        return _run(whole, machine, min(level, enough), vectorise=level >= 2)
    return _inline(undefer(str(_run(deferred, machine, level))), machine)


def _inline(text: str, machine: Any) -> Any:
    """Inline what is left to inline in optimised text; functions are simplified once more, by themselves."""
    module, builder = _parsed(text, machine), _builder(machine, 1, vectorise=False, unroll=False)
    passes = binding().create_new_module_pass_manager()
    passes.add_always_inliner_pass()
    passes.add_global_dead_code_eliminate_pass()
    passes.run(module, builder)
    simplify = builder.getFunctionPassManager()
    for function in module.functions:
        if not function.is_declaration:
            simplify.run(function, builder)
    return module


def _run(text: str, machine: Any, level: int, *, vectorise: bool = True) -> Any:
    module = _parsed(text, machine)
    unroll = vectorise and size_of_loops(text) <= LARGE
    run_pipeline(module, machine, level, vectorise=vectorise, unroll=unroll)
    return module


def _parsed(text: str, machine: Any) -> Any:
    """A module for the host."""
    llvm = binding()
    module = llvm.parse_assembly(_with_host_attributes(text))
    module.triple = llvm.get_process_triple()
    module.data_layout = str(machine.target_data)
    return module


def run_pipeline(
    module: Any, machine: Any, level: int, *, vectorise: bool = True, unroll: bool = True
) -> None:
    """Run LLVM's default pipeline for -O`level` on a parsed module; loops become vectors, or are unrolled."""
    builder = _builder(machine, level, vectorise=vectorise, unroll=unroll)
    builder.getModulePassManager().run(module, builder)


def _builder(machine: Any, level: int, *, vectorise: bool, unroll: bool) -> Any:
    """What makes LLVM's pipelines for -O`level`."""
    llvm = binding()
    options = llvm.create_pipeline_tuning_options(speed_level=level)
    options.loop_vectorization = vectorise
    # Loops bring their vectors; packing what stands side by side besides gains nothing measurable here, and
    # has taken seconds over a function of 200 lines.
    options.slp_vectorization = False
    options.loop_interleaving = vectorise
    options.loop_unrolling = unroll
    return llvm.create_pass_builder(machine, options)


def _with_host_attributes(text: str) -> str:
    """Attributes on every function that make LLVM use the vectors that the host has."""
    # LLVM keeps to 256 bits on CPUs that once slowed down with 512; exp runs 1.6 times faster with them.
    width = ' "prefer-vector-width"="512"' if host_features().get("avx512f") else ""
    return _DEFINITION.sub(rf"\1\2 nounwind{width} {{", text)
