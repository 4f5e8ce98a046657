"""Pipelines that mix our passes with MLIR's.

A pipeline is a text, `tad-reverse-diff{wrt=a,d},tad-cancel-deltas,canonicalize,cse`. It is cut at its
top-level commas; each piece goes to ONE PassManager, ours as a callable, MLIR's as text, so that
verification, IR printing and timing treat both alike.
"""

from __future__ import annotations

import dataclasses
import re
import traceback
import typing
from difflib import get_close_matches
from functools import partial
from typing import Any

from tadc.dialect.mlir import ir, new_context, passmanager
from tadc.dialect.program_reader import UnsupportedIR
from tadc.frontend.deep import deep_recursion
from tadc.frontend.index_sets import IndexSetLimit
from tadc.lattice.effort import EliminationLimit, WorkLimit, whole
from tadc.passes.ir_printing import with_dumps
from tadc.passes.registry import REGISTRY, Pass, is_ours
from tadc.passes.term_pass import Refused, TermPass
from tadc.passes.wrappers import rewrite_functions

#: What stopped a pass, for who runs the pipeline: MLIR hands on a text alone. Guarded by `mlir.LOCK`.
exceeded: list[Exception] = []

#: What passes have left as it was, and why, for who runs the pipeline. Guarded by `mlir.LOCK`.
left_out: list[UnsupportedIR] = []


class PipelineError(ValueError):
    """A pipeline text that cannot be built; `position` and `length` say where in the text."""

    def __init__(self, text: str, position: int, message: str, help: str = "", length: int = 1) -> None:
        super().__init__(message)
        self.text, self.position, self.message, self.help = text, position, message, help
        self.length = length


def _called(item: Pass, operation: Any, external: Any) -> None:
    """Run a pass under MLIR's pass manager."""
    place = operation.location
    try:
        with deep_recursion(), whole():
            if isinstance(item, TermPass):
                rewrite_functions(operation, item.rewrite, item.suffix)
                item.mark(operation)
            else:
                item.run(operation)
        return
    except UnsupportedIR as problem:
        place, what = problem.location, problem.message
    except Refused as problem:
        what = str(problem)
    except (IndexSetLimit, WorkLimit, EliminationLimit) as problem:
        exceeded.append(problem)
        what = str(problem)
    except Exception as bug:
        if is_ours(type(item)):
            raise
        # A bug of a plug-in, which its author is to find.
        *_, last = traceback.extract_tb(bug.__traceback__)
        what = f"{type(bug).__name__}: {bug}" if str(bug) else type(bug).__name__
        what += f" (at {last.filename}:{last.lineno})"
    place.emit_error(f"{item.argument}: {what}")
    external.signal_pass_failure()


def is_of_mlir(name: str) -> bool:
    """Whether MLIR has a pass of this name."""
    try:
        return passmanager.PassManager.parse(f"any({name or '-'})", new_context()) is not None
    except ValueError:
        return False


def split_pipeline(text: str) -> list[tuple[int, str]]:
    """The pieces between top-level commas, with their offsets; a `builtin.module(…)` around is taken off."""
    whole = re.match(r"\s*builtin\.module\s*\((.*)\)\s*\Z", text, re.S)
    base, body = (whole.start(1), whole.group(1)) if whole else (0, text)
    pieces: list[tuple[int, str]] = []
    depth = start = 0
    for position, char in enumerate(body + ","):
        if char in "({[":
            depth += 1
        elif char in ")}]":
            depth -= 1
        if depth < 0:
            raise PipelineError(text, base + position, f"unbalanced `{char}`")
        if char == "," and (not depth or position == len(body)):
            pieces.append((base + start, body[start:position]))
            start = position + 1
    if depth:
        raise PipelineError(text, base + len(body), "unbalanced bracket")
    return [(at + len(p) - len(p.lstrip()), p.strip()) for at, p in pieces if p.strip()]


_ELEMENT = re.compile(r"([A-Za-z0-9_.-]+)\s*(?:\{(.*)\})?\Z", re.S)
_OPTION = re.compile(r"\s*([A-Za-z0-9_-]+)=(\S*)")


def make_pass(name: str, options: str, position: int, text: str) -> Pass:
    """Build a registered pass from its options `key=value key=value`."""

    def wrong(message: str, help: str = "") -> PipelineError:
        return PipelineError(text, position, f"`{name}`{message}", help, len(name))

    cls = REGISTRY[name]
    hints = typing.get_type_hints(cls)
    known = {spec.name.replace("_", "-"): spec for spec in dataclasses.fields(cls)}
    values: dict[str, Any] = {}
    at = 0
    while options[at:].strip():
        match = _OPTION.match(options, at)
        if match is None:
            raise wrong(f": cannot read the options `{options[at:]}`")
        key, value = match.groups()
        if key not in known:
            raise wrong(f" has no option `{key}`", f"its options: {', '.join(known) or 'none'}")
        spec = known[key]
        try:
            values[spec.name] = _parse_value(hints[spec.name], value)
            if check := spec.metadata.get("check"):
                check(value)
        except ValueError as problem:
            raise wrong(f", option `{key}`: {problem}") from None
        at = match.end()
    return cls(**values)


def _parse_value(hint: Any, text: str) -> Any:
    if typing.get_origin(hint) is list:
        return [item for item in text.split(",") if item]
    if hint is bool:
        if text not in ("true", "false"):
            raise ValueError(f"expected true or false, got `{text}`")
        return text == "true"
    return hint(text)


def build_pipeline(text: str, context: ir.Context) -> passmanager.PassManager:
    """The pass manager of a pipeline; raises PipelineError."""
    manager = passmanager.PassManager("builtin.module", context)
    for position, element in split_pipeline(text):
        match = _ELEMENT.match(element)
        if match and match.group(1) in REGISTRY:
            add_pass(manager, make_pass(match.group(1), match.group(2) or "", position, text), context)
            continue
        name = element.split("(")[0].split("{")[0].strip()
        try:
            with_dumps(manager, element, partial(manager.add, element))
        except ValueError as problem:
            near = get_close_matches(name, REGISTRY, 1)
            help = f"did you mean `{near[0]}`?" if near else "`tadc list passes` shows those of tadc"
            nested = next((n for n in REGISTRY if n in element), None)
            if nested:
                help = f"`{nested}` runs on the module and cannot be nested"
            reason = str(problem).strip().splitlines()[0].split("error: ")[-1]
            # MLIR knows the pass where it is an option that it complains of.
            what = f"`{name}`" if reason.startswith("<Pass-Options-Parser>") else "no such pass"
            reason = reason.removeprefix("<Pass-Options-Parser>: ")
            raise PipelineError(
                text, position, f"{what}: {reason}", help if what[0] != "`" else "", len(name)
            ) from None
    return manager


def add_pass(manager: passmanager.PassManager, item: Pass, context: ir.Context) -> None:
    """Append one of our passes to a pass manager for modules of a context."""
    for name in item.dialects:
        context.get_dialect_descriptor(name)
    text, name, call = item.text(), type(item).__name__, partial(_called, item)
    add = partial(manager.add, call, name=name, argument=text, description=item.description)
    with_dumps(manager, text, add, name=name)
