"""Passes of one's own: Python files that register them, for the command and for tests of a plug-in.

import tadc

@tadc.register_pass("my-pass", "what it guarantees")
@dataclass
class MyPass(tadc.Pass):
    def run(self, module): ...
"""

from __future__ import annotations

import importlib.machinery
import importlib.util
import re
import sys
import traceback
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from pathlib import Path

from tadc.frontend.diagnostics import CompileError, Diagnostic, Label
from tadc.frontend.source import Place, Source
from tadc.frontend.suggest import did_you_mean
from tadc.passes.catalogue import REGISTRY
from tadc.passes.pass_manager import is_of_mlir
from tadc.passes.registry import P, Pass, is_ours, options_of, register

_NAME = re.compile(r"[a-z][a-z0-9-]*\Z")


def register_pass(argument: str, description: str) -> Callable[[type[P]], type[P]]:
    """Enter a pass under its name; `description` is one sentence of what it guarantees.

    A pass of a plug-in may be registered again, as a notebook's cell that runs twice does.

    Raises ValueError for a name that no pipeline can hold or that a pass of ours or MLIR's has, TypeError for
    what is no `Pass`, or has an option of a type that a pipeline cannot give.
    """

    def enter(cls: type[P]) -> type[P]:
        if not _NAME.match(argument):
            raise ValueError(f"`{argument}` is no name of a pass: lower-case letters, digits and `-`")
        if argument not in REGISTRY and is_of_mlir(argument):
            raise ValueError(f"`{argument}` is a pass of MLIR already")
        if argument in REGISTRY and is_ours(REGISTRY[argument]):
            raise ValueError(f"`{argument}` is a pass of tadc already")
        if not issubclass(cls, Pass):  # pyright: ignore[reportUnnecessaryIsInstance] - a plug-in may err
            raise TypeError(f"`{cls.__name__}` is not a subclass of `Pass`")
        cls.argument = argument  # an error names it
        options_of(cls)
        return register(argument, description)(cls)

    return enter


@contextmanager
def plugins(files: Iterable[str]) -> Generator[None]:
    """The passes of these files are registered in this block. Raises CompileError (TAD0608)."""
    before = dict(REGISTRY)
    try:
        for file in files:
            load_plugin(file)
        yield
    finally:
        REGISTRY.clear()
        REGISTRY.update(before)


def load_plugin(file: str) -> list[str]:
    """Run a Python file that registers passes; their names.

    Raises CompileError (TAD0608) where there is no such file, where it does not run, or registers no pass.
    """
    path = Path(file)
    before = dict(REGISTRY)
    name = f"tadc_plugin_{path.stem}"
    # With a loader, which reads the file whatever its suffix is.
    loader = importlib.machinery.SourceFileLoader(name, str(path))
    spec = importlib.util.spec_from_file_location(name, path, loader=loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    # Dataclasses and the types of their fields are looked up there.
    sys.modules[name] = module
    try:
        loader.exec_module(module)
    except FileNotFoundError as problem:
        if problem.filename != str(path):
            raise CompileError([_diagnostic(problem, path)]) from None
        siblings = [p.name for p in path.parent.iterdir()] if path.parent.is_dir() else []
        raise _error(f"no file `{file}`", *did_you_mean(path.name, siblings)) from None
    except (KeyboardInterrupt, CompileError):
        raise
    except BaseException as problem:  # SystemExit too: a plug-in does not end the command in silence
        raise CompileError([_diagnostic(problem, path)]) from None
    found = [key for key, value in REGISTRY.items() if before.get(key) is not value]
    if not found:
        help = 'decorate a subclass of `tadc.Pass` with `@tadc.register_pass("my-pass", "what it does")`'
        raise _error(f"`{file}` registers no pass", help)
    return found


def _error(message: str, *helps: str) -> CompileError:
    return CompileError([Diagnostic("TAD0608", message, helps=list(helps))])


def _diagnostic(problem: BaseException, path: Path) -> Diagnostic:
    """What a plug-in raised, at the line of its file where it did."""
    said = problem.msg if isinstance(problem, SyntaxError) else str(problem)
    made = Diagnostic("TAD0608", f"`{path}` cannot be loaded: {type(problem).__name__}")
    made.message += f": {said}" if said else ""
    frames = traceback.extract_tb(problem.__traceback__)
    lines = [frame.lineno for frame in frames if frame.filename == str(path)]
    line = problem.lineno if isinstance(problem, SyntaxError) and problem.filename == str(path) else None
    line = line or (lines[-1] if lines else None)
    if line:
        source = Source(path.read_text(encoding="utf-8", errors="replace"), str(path))
        text = source.line(min(line, source.text.count("\n") + 1))
        column = len(text) - len(text.lstrip()) + 1
        made.source, made.primary = source, Label(source.span_at(Place(str(path), line, column)))
    return made
