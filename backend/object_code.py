"""LLVM IR text to optimised LLVM IR, assembly and object bytes for a CPU, the host where none is named."""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Sequence
from typing import Any, TypeVar

from tadc.backend.binding import binding, run_passes
from tadc.backend.compile_steps import step
from tadc.backend.cpu.processors import Processor, host
from tadc.backend.interrupts import interruptible
from tadc.backend.llvm_ir import (
    complete,
    defer,
    functions_for,
    loops_for_speed,
    not_inlined,
    set_apart,
    undefer,
)
from tadc.backend.masked_loads import LOAD, fenced
from tadc.backend.splitting import size_of_loops
from tadc.frontend.forks import LLVM_LOCK

T = TypeVar("T")

#: Texts beyond this many characters are compiled without unrolling, which makes most of their machine
#: code and takes half of the time; kernels of single formulas stay below.
LARGE = 28_000

#: Beyond this many, `sin` and `cos` are called and not inlined: again half of the time.
HUGE = 64_000

#: At -O3 loops are copied for each side of a branch, which takes a tenth of the time; those that gain by it
#: have been taken apart before.
MOST_LEVEL = 2

#: Passes for functions of little work, and for what is left of others once their loops are vectors.
_SIMPLIFYING = """always_inliner global_dead_code_eliminate simplify_cfg instruction_combine reassociate
    loop_rotate simplify_cfg"""

_DEFINITION = re.compile(r"^(define [^\n]*?)( #\d+)? \{$", re.M)


def optimised(text: str, level: int = 3, processor: Processor | None = None) -> str:
    """The text after LLVM's optimiser at -O`level`. Scalar functions are defined as needed."""
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
    """LLVM's optimiser at -O`level` for a processor."""

    def __init__(self, processor: Processor, level: int) -> None:
        self.level = level
        self.beside = 0
        """The characters of what is compiled for size beside the text."""
        self.machine = processor.target_machine(level)
        self.find = functions_for(processor)
        # LLVM keeps to 256 bits on CPUs that once slowed down with 512; exp runs 1.6 times faster with them.
        self.attributes = ' "prefer-vector-width"="512"' if processor.has("avx512f") else ""

    def optimise(self, text: str) -> Any:
        """The module of a text."""
        module = self._by_pipelines(text)
        # Last, since LLVM makes masked loads of its own where it turns loops into vectors.
        if any(function.name.startswith(LOAD) for function in module.functions):
            module = self._parsed(fenced(str(module)))
        return module

    def _by_pipelines(self, text: str) -> Any:
        """Functions of little work are simplified one by one, others by a pipeline for modules, beside them.

        What that does to loops would take longer for functions of little work than they ever run.
        """
        if self.level and not loops_for_speed(text):
            return self._inline(complete(text, self.find))
        rest, names, small = set_apart(text)
        self.beside = len(text) - len(rest)
        module = self._for_speed(rest)
        if names:
            module.link_in(self._inline(complete(small, self.find)))
        for name in names:
            module.get_function(name).linkage = "internal"
        return module

    def _for_speed(self, text: str) -> Any:
        is_huge = size_of_loops(text) + self.beside > HUGE
        deferred = None if is_huge or self.level < 2 else defer(text, self.find)
        if deferred is None:
            whole = complete(text, self.find)
            return self._run(not_inlined(whole) if is_huge else whole, min(self.level, MOST_LEVEL))
        return self._inline(undefer(str(self._run(deferred, min(self.level, MOST_LEVEL))), self.find))

    def _inline(self, text: str) -> Any:
        """Inline what is left in a text, and simplify: what is invariant stands outside of loops before, and
        all passes of -O1 take four times as long."""
        module, passes = self._parsed(text), binding().create_new_module_pass_manager()
        for name in _SIMPLIFYING.split():
            getattr(passes, f"add_{name}_pass")()
        run_passes(passes, _builder(self.machine, 1, unroll=False), [module])
        return module

    def _run(self, text: str, level: int) -> Any:
        module = self._parsed(text)
        run_pipeline(module, self.machine, level, unroll=size_of_loops(text) + self.beside <= LARGE)
        return module

    def _parsed(self, text: str) -> Any:
        """A module for the processor, whose functions use the vectors that it has."""
        text = _DEFINITION.sub(rf"\1\2 nounwind{self.attributes} {{", text)
        module = binding().parse_assembly(text)
        module.triple = self.machine.triple
        module.data_layout = str(self.machine.target_data)
        return module


def run_pipeline(module: Any, machine: Any, level: int, *, unroll: bool = True) -> None:
    """Run LLVM's default pipeline for -O`level` on a parsed module; loops become vectors, or are unrolled."""
    builder = _builder(machine, level, unroll=unroll)
    run_passes(builder.getModulePassManager(), builder, [module])


def _builder(machine: Any, level: int, *, unroll: bool) -> Any:
    """What makes LLVM's pipelines for -O`level`."""
    llvm = binding()
    options = llvm.create_pipeline_tuning_options(speed_level=level)
    options.loop_vectorization = options.loop_interleaving = level >= 2
    # Loops bring their vectors; packing what stands side by side besides gains nothing measurable here, and
    # has taken seconds over a function of 200 lines.
    options.slp_vectorization = False
    options.loop_unrolling = unroll and level >= 2
    return llvm.create_pass_builder(machine, options)
