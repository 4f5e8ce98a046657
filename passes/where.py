"""Where the tensors of a function are computed, as steps: chosen by the passes that decide, or given.

    function f
        inline r
        merge y, z
        keep w

Each pass that decides asks a `Where` which steps of its kind are given, decides by cost where none are, and
notes what it did. Steps that are given stand in the place of all that would be chosen: what no step names is
stored, in a nest of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import NoReturn, TypeVar

from tadc.frontend.diagnostics import CompileError, Diagnostic, Label
from tadc.frontend.source import Source, Span
from tadc.frontend.suggest import nearest_help
from tadc.lattice.late_dataclasses import dataclass, field


@dataclass(frozen=True)
class Inline:
    """A tensor in between is a formula, computed again wherever it is read."""

    TEXT = "inline {tensor:tensor}"
    tensor: str


@dataclass(frozen=True)
class Materialised:
    """A value that no definition names is a tensor, by a name that is found for it."""

    TEXT = "store {tensor:tensor}"
    tensor: str


@dataclass(frozen=True)
class Skewed:
    """A recurrence along diagonals is computed in wavefronts, whose elements stand side by side in memory."""

    TEXT = "skew {tensor:tensor}"
    tensor: str


@dataclass(frozen=True)
class InParts:
    """Long reductions of a tensor of few elements have parts, which several threads compute."""

    TEXT = "parts {tensor:tensor}"
    tensor: str


@dataclass(frozen=True)
class Separated:
    """Contractions that a tensor adds up are tensors of their own."""

    TEXT = "separate {tensor:tensor}"
    tensor: str


@dataclass(frozen=True)
class Merge:
    """Tensors over the same elements are computed in one nest: what only they read is no tensor any more."""

    TEXT = "merge {tensors:tensors}"
    tensors: tuple[str, ...]


@dataclass(frozen=True)
class Kept:
    """A tensor of no argument is computed in the first call alone, and kept."""

    TEXT = "keep {tensor:tensor}"
    tensor: str


@dataclass(frozen=True)
class Filled:
    """A tensor is filled with zeros, and then stored on the thin sets where it is something else."""

    TEXT = "fill {tensor:tensor}"
    tensor: str


@dataclass(frozen=True)
class AtRows:
    """The maps of tensors run one after the other for so many rows at a time, which indices of the first one
    number: rows of all, or steps of a recurrence."""

    TEXT = "at {indices} {rows}: {tensors:tensors}"
    indices: tuple[str, ...]
    rows: int
    tensors: tuple[str, ...]


@dataclass(frozen=True)
class InWindow:
    """Of a tensor that is computed step by step so many steps are in memory, by turns."""

    TEXT = "window {tensor:tensor} {steps}"
    tensor: str
    steps: int


@dataclass(frozen=True)
class OnTape:
    """A recurrence saves so many of its states, from which its steps are taken again, `block` at a time, for
    another that goes back over them."""

    TEXT = "tape {tensor:tensor} {states}[[ by {block}]]"
    tensor: str
    states: int
    block: int = 1


@dataclass(frozen=True)
class Copied:
    """The maps of tensors read a copy of another one, whose dimension of a number comes last in memory."""

    TEXT = "copy {tensor:tensor} last {axis:number}: {tensors:tensors}"
    tensor: str
    axis: int
    tensors: tuple[str, ...]


@dataclass(frozen=True)
class RowsLast:
    """A tensor in between is in memory in another order of its indices."""

    TEXT = "order {tensor:tensor} {indices}"
    tensor: str
    indices: tuple[str, ...]


InTerms = Skewed | InParts | Separated
WhereStep = (
    Inline | Materialised | InTerms | Merge | Kept | Filled | AtRows | InWindow | OnTape | Copied | RowsLast
)
LEAVE_OUT = "leave the step out"
SIZES_UNKNOWN, COMPILE_FOR_SIZES = "it needs sizes that are known", "compile for sizes, by `--size`"
S = TypeVar("S", bound=WhereStep)
Takes = Callable[[str], bool]
"""Whether a step that fits is made for a tensor."""
TAKE_ALL: Takes = bool
"""All are made: no name is empty."""


def _tensors(step: WhereStep) -> tuple[str, ...]:
    return step.tensors if isinstance(step, Merge | AtRows) else (step.tensor,)


@dataclass(frozen=True)
class Given:
    """The steps that a text has for a function, and where each and the function stand in it."""

    steps: tuple[WhereStep, ...]
    spans: tuple[Span, ...]
    span: Span
    source: Source


@dataclass
class Where:
    """The steps of a function that are `given`, None where all are to be chosen, and those that were
    `made`. Tensors that became `formulas`, or values of a nest, are computed where they are read."""

    given: Given | None = None
    made: list[WhereStep] = field(default_factory=list[WhereStep])
    formulas: set[str] = field(default_factory=set[str])
    asked: set[type] = field(default_factory=set[type])

    def wanted(self, kind: type[S]) -> tuple[S, ...] | None:
        """The steps of a kind that are given; None where they are to be chosen."""
        self.asked.add(kind)
        return None if self.given is None else tuple(s for s in self.given.steps if isinstance(s, kind))

    def of_tensors(self, kind: type[S], names: Collection[str]) -> S | None:
        """The step of a kind that is given for one of some tensors: the first that it names."""
        steps = self.wanted(kind) or ()
        return next((s for s in steps if _tensors(s)[0] in names), None)

    def takes(self, step: WhereStep) -> bool:
        """Whether a step that fits is made: one that is given, or any where all are chosen."""
        wanted = self.wanted(type(step))
        if wanted is None or step in wanted:
            self.note(step)
        return step in self.made

    def check_made(self, kind: type[InTerms | Filled], known: Collection[str], text: str) -> None:
        """Raises CompileError for a step of a kind that is given and was not made, which says why."""
        for step in self.wanted(kind) or ():
            self.check_known(step, [step.tensor], known)
            if step not in self.made and step.tensor not in self.formulas:
                self.refuse(step, f"`{step.tensor}` {text}", LEAVE_OUT)

    def note(self, step: WhereStep) -> None:
        """Take in a step that was made."""
        if step not in self.made:
            self.made.append(step)

    def with_merged(self, names: Iterable[str]) -> tuple[str, ...]:
        """Names of tensors, with those that are computed with these and are none."""
        groups = [step.tensors for step in self.made if isinstance(step, Merge)]
        found = ([t for group in groups if name in group for t in group] or [name] for name in names)
        return tuple(dict.fromkeys(name for each in found for name in each))

    def check_known(self, step: WhereStep, names: Iterable[str], known: Collection[str]) -> None:
        """Raises CompileError where a step that is given names no tensor, and no formula."""
        for name in names:
            if name not in known and name not in self.formulas:
                help = nearest_help(name, known, LEAVE_OUT)
                note = "which tensors there are depends on the steps above: `--emit schedule` says it"
                self.refuse(step, f"no tensor `{name}` is computed here", help, note)

    def refuse(self, step: WhereStep, text: str, help: str, *notes: str) -> NoReturn:
        """Raises CompileError: a step that is given does not fit."""
        given = self.given
        assert given is not None
        raise does_not_fit(text, given.spans[given.steps.index(step)], help, given.source, notes)


@dataclass
class Decisions:
    """Where tensors are computed, for each function of a module by its name.

    What is given for the only function of a program may have one of its other `names`.
    """

    given: Mapping[str, Given] = field(default_factory=dict[str, Given])
    names: frozenset[str] = frozenset()
    found: dict[str, Where] = field(default_factory=dict[str, Where])

    def of(self, function: str) -> Where:
        """That of a function."""
        other = next((given for name, given in self.given.items() if self.is_other(name)), None)
        return self.found.setdefault(function, Where(self.given.get(function, other)))

    def is_other(self, name: str) -> bool:
        """Whether the only function may be called so: by a name, or by one and what was taken of it."""
        return not self.names.isdisjoint((name, name.rpartition("_")[0]))

    def check_asked(self) -> None:
        """Raises CompileError for a step of a kind that no pass has asked for."""
        for where in self.found.values():
            for step in where.given.steps if where.given else ():
                if type(step) not in where.asked:
                    where.refuse(step, "the target, or an option, leaves no choice here", LEAVE_OUT)

    def check_inlined(self, known: Collection[str]) -> None:
        """Raises CompileError where steps are given for another function, or a tensor that is none."""
        for name, given in self.given.items():
            if name not in self.found and not self.is_other(name):
                help = f"the functions are {', '.join(map('`{}`'.format, self.found))}"
                raise does_not_fit(f"there is no function `{name}` here", given.span, help, given.source)
        for where in self.found.values():
            for step in where.wanted(Inline) or ():
                where.check_known(step, [step.tensor], known)


def does_not_fit(text: str, span: Span, help: str, source: Source, notes: Sequence[str] = ()) -> CompileError:
    """The error of a step that does not fit."""
    message = "this step of the schedule does not fit"
    label = Label(span, text)
    found = Diagnostic("TAD0612", message, label, notes=list(notes), helps=[help], source=source)
    return CompileError([found])
