"""Running passes on a module, with MLIR's complaints as diagnostics of ours."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from tadc.dialect.locations import place_of
from tadc.dialect.mlir import LOCK, check_bindings, ir, passmanager
from tadc.dialect.program_reader import UnsupportedIR, tad_functions
from tadc.frontend.deep import deep_recursion
from tadc.frontend.diagnostics import CompileError, Diagnostic, Label
from tadc.frontend.index_sets import limits_told
from tadc.frontend.source import Source, Span
from tadc.frontend.suggest import did_you_mean
from tadc.lattice.late_dataclasses import replace
from tadc.passes.catalogue import REGISTRY
from tadc.passes.ir_printing import asked
from tadc.passes.map_pass import MapPass
from tadc.passes.maps.map import MapFunction
from tadc.passes.maps.read_maps import read_maps
from tadc.passes.maps.write_maps import write_maps
from tadc.passes.pass_manager import PipelineError, add_pass, build_pipeline, exceeded, is_of_mlir, left_out
from tadc.passes.registry import Pass


def run_passes(module: Any, pipeline: str, source: Source | None = None) -> list[Diagnostic]:
    """Run a textual pipeline of our passes and MLIR's on a module of any context; warnings (TAD0614).

    Raises CompileError where the text names no pipeline (TAD0604) or a pass fails (TAD0605), and TypeError
    for what is no module of the bindings that tadc uses.
    """
    check_bindings(module, "a module")
    try:
        with LOCK:
            manager = build_pipeline(pipeline, module.context)
    except PipelineError as problem:
        text = Source(problem.text, "<pipeline>")
        span = Span(problem.position, problem.position + problem.length)
        helps = [problem.help] if problem.help else []
        wrong = Diagnostic("TAD0604", problem.message, Label(span), helps=helps, source=text)
        raise CompileError([wrong]) from None
    return _run(manager, module, source)


def check_names(names: Iterable[str], option: str) -> None:
    """Raise CompileError (TAD0604) for a name that no pass has, of ours or of MLIR's."""
    for name in names:
        if name not in REGISTRY and not is_of_mlir(name):
            helps = did_you_mean(name, REGISTRY)
            message = f"`{option}`: no pass has the name `{name}`"
            raise CompileError([Diagnostic("TAD0604", message, helps=helps)])


def run_pass_objects(module: Any, passes: Iterable[Pass], source: Source | None = None) -> None:
    """Run passes that keep results of their own."""
    manager = passmanager.PassManager("builtin.module", module.context)
    for item in passes:
        add_pass(manager, item, module.context)
    _run(manager, module, source)


def rewrite_maps(
    module: Any, passes: Sequence[MapPass], source: Source | None = None
) -> list[tuple[ir.Operation, MapFunction]]:
    """Run passes on the maps of each function, in memory unless dumps show what is in between; the maps that
    each function has then.

    Raises CompileError as `run_passes`.
    """
    if asked().dumps:
        run_pass_objects(module, passes, source)
        passes = ()
    found: list[tuple[ir.Operation, MapFunction]] = []
    for function in tad_functions(module.operation):
        try:
            with LOCK, deep_recursion():
                before = maps = read_maps(function)
                for item in passes:
                    with limits_told(source):
                        maps = item.rewrite(maps)
                write_maps(function, before, maps)
        except UnsupportedIR as problem:
            raise CompileError([diagnostic_of(problem, source)]) from None
        found.append((function, maps))
    module.operation.verify()
    return found


def _run(manager: Any, module: Any, source: Source | None) -> list[Diagnostic]:
    operation = module.operation
    if asked().timing:
        manager.enable_timing()
    with LOCK, limits_told(source):
        exceeded.clear()
        left_out.clear()
        try:
            manager.run(operation)
        except ir.MLIRError as error:
            if exceeded:
                raise exceeded[0] from None
            found = [diagnostic_of(d, source) for d in error.error_diagnostics]
            raise CompileError(found or [Diagnostic("TAD0605", str(error), source=source)]) from None
        found = [diagnostic_of(problem, source, "TAD0614") for problem in left_out]
        return [replace(diagnostic, severity="warning") for diagnostic in found]


def diagnostic_of(problem: Any, source: Source | None, code: str = "TAD0605") -> Diagnostic:
    """A problem of ours or of MLIR, shown in a source where its location is in that, else named."""
    place = place_of(problem.location)
    made = Diagnostic(code, problem.message, source=source)
    if place is not None and source is not None and place.file == source.name:
        made.primary = Label(source.span_at(place))
    elif place is not None:
        made.notes.append(f"at {place.file}:{place.line}:{place.column}")
    return made
