"""Programs to kernels of this machine."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from tadc.backend.steps import step
from tadc.compiled import Compiled
from tadc.driver import compile_until
from tadc.frontend.diagnostics import CompileError, Diagnostic
from tadc.frontend.program import Program
from tadc.frontend.specialise import problems_at
from tadc.interfaces import interface_of
from tadc.recipes import Recipe, keep_kernel, keep_on_gpu
from tadc.stages import Compilation, Options

if TYPE_CHECKING:
    from tadc.backend.runtime.kernel import Kernel
    from tadc.backend.target import Target


def compile_program(
    program: Program,
    target: Target | None = None,
    level: int = 3,
    materialize: str = "auto",
    fast_math: bool = False,
    memory_limit: int | None = None,
) -> Compiled:
    """Compile for this machine, value and derivatives alike.

    Raises CompileError where the target cannot be run here, or there is nothing to run.
    """
    options = Options(
        target=target, level=level, materialize=materialize, fast_math=fast_math, memory_limit=memory_limit
    )
    return compile_recipe(None, program, options)


def compile_recipe(recipe: Recipe | None, program: Program, options: Options) -> Compiled:
    """The same with all options; the kernel is kept on disk by the recipe of the program, if it has one."""
    if not program.outputs:
        raise CompileError([Diagnostic("TAD0405", "the program defines no output", source=program.source)])
    if options.is_cuda:
        from tadc.gpu_kernels import gpu_kernel

        kernel = gpu_kernel(program, options)
        keep_on_gpu(recipe, options, kernel)
        return Compiled(kernel)
    state = Compilation(options, program.source, program=program)
    compile_until(state, "llvm", first="tad")
    interface, code = interface_of(state, program), _code(state)
    keep_kernel(recipe, options, interface, code)
    return Compiled(interface.load(code, partial(problems_at, program)))


def load_kernel(state: Compilation, program: Program) -> Kernel:
    """Object code and its place in this process."""
    return interface_of(state, program).load(_code(state), partial(problems_at, program))


def _code(state: Compilation) -> bytes:
    from tadc.backend.object_code import object_code
    from tadc.backend.runtime.threads import get_num_threads

    # What is wrong with the environment is said of every program, not of those alone that are worth threads.
    get_num_threads()
    return object_code(state.llvm_ir, state.options.level)


def evaluate(compiled: Compiled, arrays: Mapping[str, Any]) -> dict[str, Any]:
    """The results by name."""
    with step("run"):
        found = compiled.kernel((), dict(arrays))
    return dict(zip((p.name for p in compiled.kernel.outputs), found, strict=True))
