"""The stages of the compiler, in one tuple that a person reads top to bottom.

`--emit`, `--dump-dir`, `--time`, the documentation and the tests all derive from `STAGES`.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

from tadc import stages as st
from tadc import term_stages as terms
from tadc.backend.steps import step
from tadc.stages import Compilation, Options


@dataclass(frozen=True)
class Stage:
    """A step: `run` makes it, `show` gives its text (or bytes), `when` says if it is taken.

    One that is `aside` is taken where it is the last: nothing below is made of it.
    """

    name: str
    run: Callable[[Compilation], None]
    show: Callable[[Compilation], str | bytes]
    suffix: str
    about: str
    when: Callable[[Options], bool] = lambda options: True
    aside: bool = False


def _cpu(options: Options) -> bool:
    return not options.is_cuda


def _cuda(options: Options) -> bool:
    return options.is_cuda


def _derivative(options: Options) -> bool:
    return options.differentiates


def _materializes(options: Options) -> bool:
    return options.materialize != "never"


STAGES: tuple[Stage, ...] = (
    Stage("ast", st.parse_text, st.show_tree, ".txt", "the syntax tree"),
    Stage("typed", st.check_tree, st.show_program, ".tad", "the checked program, every range stated"),
    Stage("tad", terms.begin, st.show_module, ".mlir", "the tad dialect"),
    Stage("diff", terms.differentiate, st.show_module, ".mlir", "its derivative, with deltas", _derivative),
    Stage("cancel", terms.cancel_deltas, st.show_module, ".mlir", "deltas cancelled"),
    Stage("opt", terms.clean_up, st.show_module, ".mlir", "simplified"),
    Stage("hoist", terms.hoist, st.show_module, ".mlir", "sums out of loops", _materializes),
    Stage("nest", st.make_nests, lambda state: state.nests, ".nest", "plain loop nests", aside=True),
    Stage("loops", st.lower_to_loops, st.show_module, ".mlir", "scf loops over buffers", _cpu),
    Stage("llvm-dialect", st.lower_to_llvm_dialect, st.show_module, ".mlir", "the llvm dialect", _cpu),
    Stage("gpu", st.lower_to_gpu, st.show_module, ".mlir", "kernels of the gpu dialect", _cuda),
    Stage("nvvm", st.lower_to_llvm_dialect, st.show_module, ".mlir", "the nvvm dialect", _cuda),
    Stage("llvm", st.translate, st.show_llvm, ".ll", "LLVM IR"),
    Stage("asm", st.emit_assembly, st.show_assembly, ".s", "assembly of this machine", _cpu),
    Stage("ptx", st.emit_ptx, lambda state: state.ptx, ".ptx", "PTX", _cuda),
    Stage("cubin", st.emit_cubin, lambda state: state.cubin, ".cubin",
          "machine code of the GPU (needs ptxas)", _cuda),
)  # fmt: skip

STAGE_NAMES = tuple(stage.name for stage in STAGES)


def planned(options: Options, first: str = "ast", last: str | None = None) -> list[Stage]:
    """The stages that these options take, from `first` to `last`.

    Raises ValueError where `last` is not among them.
    """
    begin = STAGE_NAMES.index(first)
    taken = [s for s in STAGES[begin:] if s.when(options) and (not s.aside or s.name == last)]
    if last is None:
        return taken
    names = [s.name for s in taken]
    if last not in names:
        raise ValueError(f"stage `{last}` is not taken here; the stages are {', '.join(names)}")
    return taken[: names.index(last) + 1]


def compile_until(
    state: Compilation,
    last: str,
    *,
    first: str = "ast",
    after: Callable[[Stage, Compilation, float], None] | None = None,
) -> Stage:
    """Run the stages from `first` to `last`; `after` sees each with its seconds.

    Raises CompileError for a program or a module that is wrong, ValueError for stages that
    the options do not take.
    """
    taken = planned(state.options, first, last)
    for stage in taken:
        begin = time.perf_counter()
        with step(stage.name), _lock_for(stage):
            stage.run(state)
        if after:
            after(stage, state, time.perf_counter() - begin)
    return taken[-1]


def _lock_for(stage: Stage) -> AbstractContextManager[object]:
    """Stages on IR run one at a time in a process."""
    if stage.name in ("ast", "typed"):
        return nullcontext()
    from tadc.dialect.mlir import LOCK

    return LOCK
