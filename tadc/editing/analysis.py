"""What an editor asks of a program while it is written: errors, meanings, names, ranges, what may stand here.

All of it comes from one run of the front end over the text; of a text that is wrong, from what could be read.
Places are offsets into the text: `language_server.py` tells editors lines and columns.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from functools import cached_property
from typing import NamedTuple

from tadc.frontend import syntax
from tadc.frontend.diagnostics import CompileError, Diagnostic
from tadc.frontend.dtypes import DEFAULT, FLOATS
from tadc.frontend.extents import type_text
from tadc.frontend.functions import ALIASES, FUNCTIONS, NORM, SPELLED_REDUCTIONS
from tadc.frontend.lexer import AT, IN, INCREASING, INDEX, KEYWORDS, RESERVED, SCAN, tokenize
from tadc.frontend.occurrences import NameMeaning, Occurrence, occurrences
from tadc.frontend.parser import read_statements
from tadc.frontend.per_value import PerValue, check_tree
from tadc.frontend.remembered import CheckMemory
from tadc.frontend.scope import IndexRange, ProgramNames, ScopedSize, ScopedTensor
from tadc.frontend.source import Source, Span
from tadc.frontend.token_classes import classified
from tadc.frontend.tree import walk
from tadc.frontend.type_parameters import of_tree
from tadc.lattice.late_dataclasses import dataclass, replace

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
#: The warnings that show where terms stand.
_ABOUT_TERMS = ("TAD0411",)
_WORDS = (*sorted(KEYWORDS - {"sum"}), SCAN, INDEX, IN, INCREASING, AT)


class Completion(NamedTuple):
    """A word that may stand at a place, what kind of word it is, and what it means."""

    word: str
    kind: str
    about: str


class SizeHint(NamedTuple):
    """A text that the program does not have, to show or to write at a place: the size of an index."""

    at: int
    text: str
    about: str


class NotRenamed(Exception):
    """A name that something cannot have; the message says why."""


@dataclass(frozen=True)
class Analysis:
    """A text, what is wrong with it, and what it means as far as it could be read."""

    source: Source
    module: syntax.Module
    diagnostics: tuple[Diagnostic, ...]
    #: None where the text was not checked.
    meanings: ProgramNames | None

    @cached_property
    def names(self) -> list[Occurrence]:
        """All names, in the order of the text."""
        return occurrences(self.module)

    def name_at(self, offset: int) -> Occurrence | None:
        """The name that a place touches."""
        n = bisect_right(self.names, offset, key=lambda o: o.span.start) - 1
        return self.names[n] if n >= 0 and offset <= self.names[n].span.end else None

    def all_of(self, symbol: NameMeaning) -> list[Occurrence]:
        """Where something is named."""
        return self._by_meaning.get(symbol, [])

    @cached_property
    def _by_meaning(self) -> dict[NameMeaning, list[Occurrence]]:
        found: dict[NameMeaning, list[Occurrence]] = {}
        for occurrence in self.names:
            found.setdefault(occurrence.symbol, []).append(occurrence)
        return found

    @cached_property
    def statements(self) -> tuple[syntax.Statement, ...]:
        """All that could be read, in the order of the text."""
        found = (*self.module.statements, *self.module.mended)
        return tuple(sorted(found, key=lambda s: s.span.start))

    @cached_property
    def _by_name(self) -> dict[str, list[syntax.Statement]]:
        found: dict[str, list[syntax.Statement]] = {}
        for statement in self.statements:
            found.setdefault(statement.name, []).append(statement)
        return found

    # -- meanings ---------------------------------------------------------------------------

    def about(self, offset: int) -> tuple[Span, str, str] | None:
        """The word at a place, lines of the language that say what it is, and a sentence about it."""
        found = self.name_at(offset)
        if found is not None:
            return found.span, *self._meaning(found.symbol)
        for start, end, kind in classified(self.source.text):
            if start <= offset <= end and kind == "function":
                return Span(start, end), *_of_function(self.source.text[start:end])
        return None

    def _meaning(self, symbol: NameMeaning) -> tuple[str, str]:
        match symbol.kind:
            case "index":
                return self._of_index(symbol)
            case "tensor":
                return self._of_tensor(symbol.name)
            case "size":
                known = self.meanings.known.get(symbol.name) if self.meanings else None
                value = (
                    f" = {known.value}" if isinstance(known, ScopedSize) and known.value is not None else ""
                )
                first = next(o.span for o in self.all_of(symbol) if o.binds)
                n = bisect_right(self.statements, first.start, key=lambda s: s.span.start) - 1
                return self._text(self.statements[n]), f"a size{value}"
            case "unknown":
                return symbol.name, "nothing has this name"

    def _of_index(self, symbol: NameMeaning) -> tuple[str, str]:
        assert symbol.bound is not None
        spec, node = self._binders[symbol.bound.start]
        found = self._range(spec)
        of = f"`{node.name}`" if isinstance(node, syntax.Define) else f"a `{node.kind}`"
        return f"{symbol.name} = {found}" if found else symbol.name, f"an index of {of}"

    @cached_property
    def _binders(self) -> dict[int, tuple[syntax.IndexSpec, syntax.Define | syntax.ReduceExpr]]:
        """What binds indices, by the places of these."""
        nodes = (node for statement in self.statements for _, _, node in walk(statement))
        binders = (node for node in nodes if isinstance(node, syntax.Define | syntax.ReduceExpr))
        return {spec.span.start: (spec, node) for node in binders for spec in node.indices}

    def _range(self, spec: syntax.IndexSpec) -> IndexRange | None:
        return self.meanings.ranges.get(spec.span.start) if self.meanings else None

    def _of_tensor(self, name: str) -> tuple[str, str]:
        known = self.meanings.known.get(name) if self.meanings else None
        statements = self._by_name.get(name, [])
        define = next((s for s in statements if isinstance(s, syntax.Define)), None)
        lines = [self._text(s) for s in statements]
        # Where types are parameters, that of a definition hangs on what they are in a call.
        if (
            isinstance(known, ScopedTensor)
            and not self.module.types
            and not any(isinstance(s, syntax.Declare) for s in statements)
        ):
            lines.insert(0, f"{name}: {type_text(known.type, known.shape, known.below)}")
        if define is None:
            return "\n".join(lines), "an argument"
        ranges = ((spec.name, self._range(spec)) for spec in define.indices)
        domain = [f"{name} = {found}" for name, found in ranges if found is not None]
        kind = "an intermediate" if define.is_let else "an output"
        return "\n".join(lines), f"{kind}, for {', '.join(domain)}" if domain else kind

    def _text(self, statement: syntax.Statement) -> str:
        return self.source.text[statement.span.start : statement.span.end]

    def hints(self) -> Iterator[SizeHint]:
        """The sizes of the indices that state neither a size nor bounds."""
        for spec, node in self._binders.values():
            found = self._range(spec)
            if found is not None and spec.size is None and not getattr(node, "lower", ()):
                yield SizeHint(spec.span.end, f": {found.size}", f"{spec.name} = {found}")

    # -- what may stand here ----------------------------------------------------------------

    def completions(self, offset: int) -> Iterator[Completion]:
        """The names of the program, then functions, reductions, types and words."""
        known = {o.symbol.name: o.symbol for o in self.names}
        tokens = tokenize(self.source).items
        # Those of statements that cannot be read too, but not what is being written.
        names = {t.text for t in tokens if t.kind == "name" and not t.start < offset <= t.end}
        for name in sorted(names - {*FUNCTIONS, *SPELLED_REDUCTIONS, *FLOATS}):
            symbol = known.get(name)
            if symbol is None or symbol.kind == "unknown":
                yield Completion(name, "name", "")
            else:
                line, about = self._meaning(symbol)
                yield Completion(name, symbol.kind, f"{line.splitlines()[0]}  ({about})")
        for name in (*FUNCTIONS, *SPELLED_REDUCTIONS):
            yield Completion(name, "function", _of_function(name)[1])
        for name in (*FLOATS, *_WORDS):
            yield Completion(name, "word", "")

    def renamed(self, offset: int, name: str) -> list[Span]:
        """Where a name has to be written in the place of that at `offset`. Raises NotRenamed."""
        found = self.name_at(offset)
        if found is None:
            raise NotRenamed("only tensors, sizes and indices have other names")
        if self.module.errors:
            raise NotRenamed("the program has errors of syntax, behind which names may stand")
        if name in RESERVED:
            raise NotRenamed(f"`{name}` is a word of the language")
        if not _NAME.fullmatch(name):
            raise NotRenamed(f"`{name}` is no name, which has letters, digits and `_`, and no digit first")
        spans = [o.span for o in self.all_of(found.symbol)]
        if self._with_name(spans, name) != self._numbered(self.names):
            raise NotRenamed(f"`{name}` means something else here")
        return spans

    def _with_name(self, spans: list[Span], name: str) -> list[int]:
        """What names mean where some are another one."""
        text = self.source.text
        for span in reversed(spans):
            text = text[: span.start] + name + text[span.end :]
        return self._numbered(occurrences(read_statements(Source(text))))

    @staticmethod
    def _numbered(names: list[Occurrence]) -> list[int]:
        """For each name the first that means the same."""
        first: dict[NameMeaning, int] = {}
        return [first.setdefault(o.symbol, n) for n, o in enumerate(names)]


def analysed(source: Source, memory: CheckMemory | None = None) -> Analysis:
    """Read and check a text. Raises nothing: what is wrong is in the analysis.

    With a `memory` of the texts before only definitions that are new or depend on such are checked.
    """
    module = read_statements(source)
    told: list[ProgramNames] = []
    try:
        module = _with_types(module, source)
        found = check_tree(module, source, {}, told.append, memory)
        program = found.example if isinstance(found, PerValue) else found
        diagnostics = program.doubts
        if memory is not None and any(d.code in _ABOUT_TERMS for d in diagnostics):
            # Terms that are remembered stand where they stood.
            return analysed(source)
    except CompileError as error:
        diagnostics = tuple(error.diagnostics)
    return Analysis(source, module, diagnostics, told[0] if told else None)


def _with_types(module: syntax.Module, source: Source) -> syntax.Module:
    """A program with a type in the place of its type parameters, the text as it is."""
    parameters = of_tree(module, source)
    if parameters is None:
        return module
    return replace(
        module,
        statements=tuple(
            replace(s, element_type=DEFAULT)
            if not isinstance(s, syntax.SizeDecl) and s.element_type in parameters.names
            else s
            for s in module.statements
        ),
    )


def _of_function(name: str) -> tuple[str, str]:
    """How a function or a reduction is written, and what it is."""
    if name in SPELLED_REDUCTIONS and name not in FUNCTIONS:
        square = "the length of a vector: sqrt(sum{k} (e**2))"
        return f"{name}{{k}} (e)", square if name == NORM else "over all k"
    function = FUNCTIONS.get(ALIASES.get(name, name))
    if function is None:
        return name, ""
    return f"{name}({', '.join('xy'[: function.arity])})", function.help
