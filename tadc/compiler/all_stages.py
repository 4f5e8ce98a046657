"""The stages of the compiler, in one tuple that a person reads top to bottom.

`--emit`, `--dump-dir`, `--time`, the documentation and the tests all derive from `STAGES`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext

from tadc.backend.compile_steps import step
from tadc.backend.target import BACKENDS
from tadc.compiler import code_stages as code
from tadc.compiler import nest_stages as nests
from tadc.compiler import stages as st
from tadc.compiler import term_stages as terms
from tadc.compiler.compile_options import Options
from tadc.compiler.garbage import fewer_collections
from tadc.compiler.stages import Compilation
from tadc.frontend.forks import MLIR_LOCK
from tadc.frontend.index_sets import work_told
from tadc.lattice.late_dataclasses import dataclass


@dataclass(frozen=True)
class LoweringStage:
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


def _loops(options: Options) -> bool:
    return not options.backend.launches_kernels


def _kernels(options: Options) -> bool:
    return options.backend.launches_kernels


def _derivative(options: Options) -> bool:
    return options.differentiates


#: What all targets have in common.
_UPPER = (
    LoweringStage("ast", st.parse_text, st.show_tree, ".txt", "the syntax tree"),
    LoweringStage("typed", st.check_tree, st.show_program, ".tad", "the checked program, every range stated"),
    LoweringStage("tad", terms.begin, st.show_module, ".mlir", "the tad dialect"),
    LoweringStage("diff", terms.differentiate, st.show_module, ".mlir", "its derivative, with deltas",
                  _derivative),
    LoweringStage("cancel", terms.cancel_deltas, st.show_module, ".mlir", "deltas cancelled"),
    LoweringStage("opt", terms.clean_up, st.show_module, ".mlir", "simplified"),
    LoweringStage("hoist", terms.hoist, st.show_module, ".mlir", "sums out of loops"),
    LoweringStage("nest", nests.make_nests, lambda state: state.nests, ".nest", "plain loop nests",
                  aside=True),
    LoweringStage("schedule", nests.choose_schedule, lambda state: state.schedule, ".sched", "their schedule",
                  aside=True),
    LoweringStage("scheduled-nest", nests.make_scheduled_nests, lambda state: state.scheduled_nests, ".nest",
                  "loop nests as their schedule makes them", aside=True),
    LoweringStage("loops", st.lower_to_loops, st.show_module, ".mlir", "scf loops over buffers", _loops),
    LoweringStage("gpu", st.lower_to_gpu, st.show_module, ".mlir", "kernels of the gpu dialect", _kernels),
)  # fmt: skip


def _dialects() -> Iterator[LoweringStage]:
    """The llvm dialect as each backend has it."""
    for name, about in dict.fromkeys(backend.dialect for backend in BACKENDS.values()):

        def taken(options: Options, name: str = name) -> bool:
            return options.backend.dialect[0] == name

        yield LoweringStage(name, code.lower_to_llvm_dialect, st.show_module, ".mlir", about, taken)


def _forms() -> Iterator[LoweringStage]:
    """The code that backends make; several may make code of one form."""
    forms = {form.name: form for backend in BACKENDS.values() for form in backend.forms if form.make}
    for name, form in forms.items():

        def taken(options: Options, name: str = name) -> bool:
            return code.form_of(options, name) is not None

        yield LoweringStage(name, code.emit(name), code.show_code(name), form.suffix, form.about, taken)


STAGES: tuple[LoweringStage, ...] = (
    *_UPPER,
    *_dialects(),
    LoweringStage("llvm", code.translate, code.show_llvm, ".ll", "LLVM IR"),
    *_forms(),
)

STAGE_NAMES = tuple(stage.name for stage in STAGES)


def planned(options: Options, first: str = "ast", last: str | None = None) -> list[LoweringStage]:
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
    unneeded = {form.name for form in options.backend.forms} - set(_made_of(options, last))
    return [s for s in taken[: names.index(last) + 1] if s.name not in unneeded]


def _made_of(options: Options, name: str) -> Iterator[str]:
    """The forms of code that one is made of, it included."""
    form = code.form_of(options, name)
    while form is not None:
        yield form.name
        form = code.form_of(options, form.of)


def compile_until(
    state: Compilation,
    last: str,
    *,
    first: str = "ast",
    after: Callable[[LoweringStage, Compilation, float], None] | None = None,
) -> LoweringStage:
    """Run the stages from `first` to `last`; `after` sees each with its seconds.

    Raises CompileError for a program or a module that is wrong, ValueError for stages that
    the options do not take.
    """
    taken = planned(state.options, first, last)
    with work_told(state.source, lambda: state.form or state.program), fewer_collections():
        for stage in taken:
            begin = time.perf_counter()
            with step(stage.name), _lock_for(stage):
                stage.run(state)
            if after:
                after(stage, state, time.perf_counter() - begin)
    return taken[-1]


def _lock_for(stage: LoweringStage) -> AbstractContextManager[object]:
    """Stages on IR run one at a time in a process."""
    if stage.name in ("ast", "typed"):
        return nullcontext()
    return MLIR_LOCK
