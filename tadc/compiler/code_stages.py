"""The stages that backends do: the llvm dialect, LLVM IR, and code."""

from __future__ import annotations

from collections.abc import Callable

from tadc.backend.base import Form
from tadc.compiler.compile_options import Options
from tadc.compiler.stages import Compilation
from tadc.frontend.limits import LINE_WORK
from tadc.lattice.effort import work


def lower_to_llvm_dialect(state: Compilation) -> None:
    """Loops, or a gpu module, to the llvm dialect and that of the GPU."""
    from tadc.backend.to_llvm_dialect import lower_to_llvm_dialect as lower

    lower(state.module, state.options.settings)


def translate(state: Compilation) -> None:
    """The llvm dialect to LLVM IR, with the functions that it calls where the backend defines them there."""
    from tadc.backend import pipelines
    from tadc.backend.llvm_ir import exact_indices

    options, (dialect, _) = state.options, state.options.backend.dialect
    text = pipelines.translate(state.module, dialect)
    if state.program is not None:
        # Of a module that was given, integers may be anything.
        text = exact_indices(text)
    work(LINE_WORK * text.count("\n"))
    state.llvm_ir = options.backend.complete(text, options.settings)


def form_of(options: Options, name: str) -> Form | None:
    """The form of code of this name that the target has."""
    return next((form for form in options.backend.forms if form.name == name and form.make), None)


def emit(name: str) -> Callable[[Compilation], None]:
    """What makes a form of code of LLVM IR, or of the form before it."""

    def run(state: Compilation) -> None:
        form = form_of(state.options, name)
        assert form is not None
        assert form.make is not None
        text = state.code.get(form.of, state.llvm_ir)
        assert isinstance(text, str)
        state.code[name] = form.make(text, state.options.settings)

    return run


def show_llvm(state: Compilation) -> str:
    """LLVM IR; of functions that C can call it begins with how."""
    return _calls(state, ";") + state.llvm_ir


def show_code(name: str) -> Callable[[Compilation], str | bytes]:
    """What shows a form of code; assembly that C can call begins with how."""

    def show(state: Compilation) -> str | bytes:
        code = state.code[name]
        # `#` is no comment in the assembly of ARM, but where a line begins with it.
        return _calls(state, "#") + code if isinstance(code, str) else code

    return show


def _calls(state: Compilation, comment: str) -> str:
    """How C calls the functions; nothing of kernels, which it does not call."""
    return "\n".join([signature.text(comment) for signature in state.signatures] + [""])
