"""LLVM IR text to optimised LLVM IR, assembly and object bytes for a CPU, the host where none is named."""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Sequence
from typing import Any, TypeVar

from tadc.backend.binding import binding, run_passes
from tadc.backend.compile_steps import step
from tadc.backend.cpu.processors import Processor, host
from tadc.backend.interrupts import interruptible
from tadc.backend.llvm_ir import complete, functions_for, not_inlined
from tadc.backend.masked_loads import LOAD, fenced
from tadc.backend.splitting import size_of_loops
from tadc.frontend.forks import LLVM_LOCK

T = TypeVar("T")

#: In texts beyond this many characters `sin` and `cos` are called and not inlined: that takes half the time.
HUGE = 64_000

#: What is done to functions: loops are vectors before, and what is invariant stands outside of them.
SIMPLIFYING = """always_inliner global_dead_code_eliminate simplify_cfg instruction_combine reassociate
    loop_rotate simplify_cfg"""

#: Then short loops are written out, but in texts of more than so many characters, where that makes most of
#: their machine code and takes half of the time; kernels of single formulas stay below.
WRITING_OUT = "loop_unroll simplify_cfg instruction_combine"
LARGE = 28_000

_DEFINITION = re.compile(r"^(define [^\n]*?)( #\d+)? \{$", re.M)


def optimised(text: str, level: int = 3, processor: Processor | None = None) -> str:
    """The text after LLVM's passes, but at level 0. Scalar functions are defined as needed."""
    return _made(text, level, processor, lambda machine, module: str(module))


def assembly(text: str, level: int = 3, processor: Processor | None = None) -> str:
    """Assembly of text as for `optimised`."""
    return _made(text, level, processor, lambda machine, module: machine.emit_assembly(module))


def object_code(text: str, level: int = 3, processor: Processor | None = None) -> bytes:
    """The bytes of a relocatable object file, for `jit.load`, a cache on disk, or a linker."""
    with step("object"):
        return _made(text, level, processor, lambda machine, module: machine.emit_object(module))


def one_object(texts: Sequence[str], public: Container[str], level: int, processor: Processor) -> bytes:
    """The bytes of one object file of several texts, each optimised by itself.

    What a text defines others may call; of all that, only functions with a name in `public` are seen outside.
    """

    def emit(machine: Any, module: Any) -> bytes:
        for text in texts[1:]:
            module.link_in(_Optimiser(processor, level).optimise(text))
        for function in module.functions:
            if not function.is_declaration and function.name not in public:
                function.linkage = "internal"
        # What only branches call that are gone, as those for threads; addresses in it would need a table.
        dead = binding().create_new_module_pass_manager()
        dead.add_global_dead_code_eliminate_pass()
        run_passes(dead, _builder(machine, 1), [module])
        return machine.emit_object(module)

    with step("object"):
        return _made(texts[0], level, processor, emit)


def _made(text: str, level: int, processor: Processor | None, emit: Callable[[Any, Any], T]) -> T:
    """What is emitted of the optimised text."""

    def work() -> T:
        with LLVM_LOCK:
            code = _Optimiser(processor or host(), level)
            with step("optimise"):
                module = code.optimise(text)
            with step("emit"):
                return emit(code.machine, module)

    return interruptible(work)


class _Optimiser:
    """LLVM's passes that simplify code, but at level 0, for a processor."""

    def __init__(self, processor: Processor, level: int) -> None:
        self.level = level
        self.machine = processor.target_machine(level)
        self.find = functions_for(processor)
        # LLVM keeps to 256 bits on CPUs that once slowed down with 512; exp runs 1.6 times faster with them.
        self.attributes = ' "prefer-vector-width"="512"' if processor.has("avx512f") else ""

    def optimise(self, text: str) -> Any:
        """The module of a text."""
        size, text = size_of_loops(text), complete(text, self.find)
        if size > HUGE:
            text = not_inlined(text)
        if LOAD in text:
            text = fenced(text)
        module, passes = self._parsed(text), binding().create_new_module_pass_manager()
        names = SIMPLIFYING if self.level else "always_inliner"
        if self.level and size <= LARGE:
            names += f" {WRITING_OUT}"
        for name in names.split():
            getattr(passes, f"add_{name}_pass")()
        run_passes(passes, _builder(self.machine, 1), [module])
        return module

    def _parsed(self, text: str) -> Any:
        """A module for the processor, whose functions use the vectors that it has."""
        text = _DEFINITION.sub(rf"\1\2 nounwind{self.attributes} {{", text)
        module = binding().parse_assembly(text)
        module.triple = self.machine.triple
        module.data_layout = str(self.machine.target_data)
        return module


def run_pipeline(module: Any, machine: Any, level: int) -> None:
    """Run LLVM's default pipeline for -O`level` on a parsed module of a GPU; loops become vectors, or are
    unrolled."""
    builder = _builder(machine, level)
    run_passes(builder.getModulePassManager(), builder, [module])


def _builder(machine: Any, level: int) -> Any:
    """What makes LLVM's pipelines for -O`level`."""
    llvm = binding()
    options = llvm.create_pipeline_tuning_options(speed_level=level)
    options.loop_vectorization = options.loop_interleaving = level >= 2
    # Loops bring their vectors; packing what stands side by side besides gains nothing measurable here, and
    # has taken seconds over a function of 200 lines.
    options.slp_vectorization = False
    options.loop_unrolling = level >= 2
    return llvm.create_pass_builder(machine, options)
