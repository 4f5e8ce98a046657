"""Passes by name, and pipelines that mix ours with MLIR's.

    @register("tad-simplify", "guards and rows that say nothing are gone")
    @dataclass
    class Simplify(Pass): ...

A pipeline is a text, `tad-reverse-diff{wrt=a,d},tad-cancel-deltas,canonicalize,cse`. It is cut at its
top-level commas; each piece goes to ONE PassManager, ours as a callable, MLIR's as text, so that
verification, IR printing and timing treat both alike.
"""

from __future__ import annotations

import dataclasses
import re
import traceback
import typing
from collections.abc import Callable
from difflib import get_close_matches
from typing import Any, ClassVar

from tadc.dialect.mlir import new_context, passmanager
from tadc.dialect.program_reader import UnsupportedIR
from tadc.frontend.deep import deep_recursion
from tadc.frontend.index_sets import IndexSetLimit
from tadc.lattice.effort import EliminationLimit, WorkLimit, whole
from tadc.lattice.late_dataclasses import dataclass, field
from tadc.passes.ir_printing import with_dumps

#: What stopped a pass, for who runs the pipeline: MLIR hands on a text alone. Guarded by `mlir.LOCK`.
exceeded: list[Exception] = []

#: What passes have left as it was, and why, for who runs the pipeline. Guarded by `mlir.LOCK`.
left_out: list[UnsupportedIR] = []

REGISTRY: dict[str, type[Pass]] = {}


class PipelineError(ValueError):
    """A pipeline text that cannot be built; `position` and `length` say where in the text."""

    def __init__(self, text: str, position: int, message: str, help: str = "", length: int = 1) -> None:
        super().__init__(message)
        self.text, self.position, self.message, self.help = text, position, message, help
        self.length = length


def names_option(help: str) -> Any:
    """An option of a pass that is a list of names, empty by default."""
    return field(default_factory=list[str], metadata={"help": help})


def flag_option(help: str) -> Any:
    """An option of a pass that is off by default."""
    return field(default=False, metadata={"help": help})


def word_option(default: str, help: str, check: Callable[[str], object] | None = None) -> Any:
    """An option of a pass that is a word; `check` raises ValueError for one that it cannot be."""
    return field(default=default, metadata={"help": help, "check": check})


def number_option(default: int, help: str) -> Any:
    """An option of a pass that is a number."""
    return field(default=default, metadata={"help": help})


@dataclass
class Pass:
    """A pass over a module: a dataclass whose fields are its options."""

    argument: ClassVar[str] = ""
    description: ClassVar[str] = ""
    #: Dialects of what it makes, beside those of every context: none can be loaded while passes run.
    dialects: ClassVar[tuple[str, ...]] = ()

    def run(self, module: Any) -> None:
        """Transform the module in place; raises UnsupportedIR or a limit with what stops it."""
        raise NotImplementedError

    def __call__(self, operation: Any, external: Any) -> None:
        """Run under MLIR's pass manager."""
        try:
            with deep_recursion(), whole():
                self.run(operation)
        except UnsupportedIR as problem:
            problem.location.emit_error(f"{self.argument}: {problem.message}")
            external.signal_pass_failure()
        except (IndexSetLimit, WorkLimit, EliminationLimit) as problem:
            exceeded.append(problem)
            operation.location.emit_error(f"{self.argument}: {problem}")
            external.signal_pass_failure()
        except Exception as bug:
            if is_ours(type(self)):
                raise
            # A bug of a plug-in, which its author is to find.
            *_, last = traceback.extract_tb(bug.__traceback__)
            what = f"{type(bug).__name__}: {bug}" if str(bug) else type(bug).__name__
            message = f"{self.argument}: {what} (at {last.filename}:{last.lineno})"
            operation.location.emit_error(message)
            external.signal_pass_failure()

    def text(self) -> str:
        """How a pipeline spells this pass."""
        parts: list[str] = []
        for spec in dataclasses.fields(self):
            value: list[str] | bool | int | str = getattr(self, spec.name)
            default: Any = [] if spec.default is dataclasses.MISSING else spec.default
            if value != default:
                shown = ",".join(value) if isinstance(value, list) else str(value).lower()
                parts.append(f"{spec.name.replace('_', '-')}={shown}")
        return self.argument + ("{" + " ".join(parts) + "}" if parts else "")


P = typing.TypeVar("P", bound=Pass)

_NAME = re.compile(r"[a-z][a-z0-9-]*\Z")


def is_ours(cls: type[Pass]) -> bool:
    """Whether a pass is the compiler's own, and of no plug-in."""
    return cls.__module__.startswith("tadc.passes.")


def is_of_mlir(name: str) -> bool:
    """Whether MLIR has a pass of this name."""
    try:
        return passmanager.PassManager.parse(f"any({name or '-'})", new_context()) is not None
    except ValueError:
        return False


def register(argument: str, description: str) -> Callable[[type[P]], type[P]]:
    """Enter a pass under its name; `description` is one sentence of what it guarantees.

    A pass of a plug-in may be registered again, as a notebook's cell that runs twice does.

    Raises ValueError for a name that no pipeline can hold or that a pass of ours or MLIR's has, TypeError for
    what is no `Pass`, or has an option of a type that a pipeline cannot give.
    """

    def enter(cls: type[P]) -> type[P]:
        if not _NAME.match(argument):
            raise ValueError(f"`{argument}` is no name of a pass: lower-case letters, digits and `-`")
        if not is_ours(cls) and argument not in REGISTRY and is_of_mlir(argument):
            raise ValueError(f"`{argument}` is a pass of MLIR already")
        if argument in REGISTRY and is_ours(REGISTRY[argument]) and not is_ours(cls):
            raise ValueError(f"`{argument}` is a pass of tadc already")
        if not issubclass(cls, Pass):  # pyright: ignore[reportUnnecessaryIsInstance] - a plug-in may err
            raise TypeError(f"`{cls.__name__}` is not a subclass of `Pass`")
        cls.argument, cls.description = argument, description
        if not is_ours(cls):
            options_of(cls)
        REGISTRY[argument] = cls
        return cls

    return enter


def made_pass(
    base: type[P], argument: str, rewrite: Callable[..., object], options: dict[str, Any]
) -> type[P]:
    """A pass of such a kind with these options, to be registered."""
    name = "".join(word.capitalize() for word in argument.split("-")[1:])
    fields: list[tuple[str, type, object]] = [
        (name, list[str] if option.default is dataclasses.MISSING else type(option.default), option)
        for name, option in options.items()
    ]
    members = {"rewrite": rewrite, "__module__": __name__}
    return dataclasses.make_dataclass(name, fields, bases=(base,), namespace=members)  # pyright: ignore[reportReturnType]


@dataclass(frozen=True)
class PassOption:
    """An option of a pass as a pipeline writes it, `name=default`; `kind` says what its values are."""

    name: str
    kind: str
    default: str
    help: str


#: What the values of an option are, by the type of its field.
_KINDS = {list[str]: "names", bool: "flag", int: "number", str: "word"}


def options_of(cls: type[Pass]) -> list[PassOption]:
    """The options of a pass, in order; raises TypeError for a field of another type than a pipeline gives."""
    hints = typing.get_type_hints(cls)
    found: list[PassOption] = []
    for spec in dataclasses.fields(cls):
        if hints[spec.name] not in _KINDS:
            kinds = "list[str], bool, int or str"
            raise TypeError(f"option `{spec.name}` of `{cls.argument}` is not of type {kinds}")
        kind = _KINDS[hints[spec.name]]
        default = "" if spec.default is dataclasses.MISSING else str(spec.default)
        shown = default.lower() if kind == "flag" else default
        found.append(PassOption(spec.name.replace("_", "-"), kind, shown, spec.metadata.get("help", "")))
    return found


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


def build_pipeline(text: str, context: Any) -> Any:
    """The pass manager of a pipeline; raises PipelineError."""
    manager = passmanager.PassManager("builtin.module", context)
    for position, element in split_pipeline(text):
        match = _ELEMENT.match(element)
        if match and match.group(1) in REGISTRY:
            add_pass(manager, make_pass(match.group(1), match.group(2) or "", position, text), context)
            continue
        name = element.split("(")[0].split("{")[0].strip()
        try:
            with_dumps(manager, element, lambda element=element: manager.add(element))
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


def add_pass(manager: Any, item: Pass, context: Any) -> None:
    """Append one of our passes to a pass manager for modules of a context."""
    for name in item.dialects:
        context.get_dialect_descriptor(name)
    text = item.text()
    with_dumps(
        manager,
        text,
        lambda: manager.add(item, name=type(item).__name__, argument=text, description=item.description),
        name=type(item).__name__,
    )
