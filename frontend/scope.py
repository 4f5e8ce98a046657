"""What names mean: tensors, sizes and indices share one namespace."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from tadc.frontend import syntax
from tadc.frontend.diagnostics import GUESS, Diagnostic, Edit
from tadc.frontend.elsewhere import VALUES
from tadc.frontend.extents import Extent, Shape, as_form, extent, extent_text
from tadc.frontend.program import Pattern
from tadc.frontend.report import Rejected, Reporter, error
from tadc.frontend.source import Span
from tadc.frontend.suggest import correction, did_you_mean
from tadc.frontend.terms import ElementType
from tadc.frontend.tree import walk
from tadc.lattice.affine import Affine, Lookup
from tadc.lattice.late_dataclasses import dataclass, replace

#: Extents, strides and offsets are signed 64-bit integers.
INT64_MAX = 2**63 - 1


#: Where calls take arrays for results, so no name of an input.
OUT = "out"


@dataclass(frozen=True)
class ScopedTensor:
    """An argument, or a definition above; `dims` are the places that give its sizes.

    The elements of an index array are `below` an extent. The shape of a sparse tensor is that of what it
    stores; `whole` are the places of the sizes of its pattern.
    """

    name: str
    type: ElementType
    shape: Shape
    span: Span
    dims: tuple[Span, ...]
    is_argument: bool
    below: Extent | None = None
    pattern: Pattern | None = None
    whole: tuple[Span, ...] = ()

    def seen(self, read: syntax.Subscript) -> ScopedTensor:
        """The tensor as a read has it: `A[i, j]` is of all of a sparse one, `A[at e]` of what it stores."""
        if self.pattern is None or read.stored:
            return self
        return replace(self, shape=self.pattern.shape, dims=self.whole)

    def lookup(self, at: Iterable[Affine]) -> Affine | None:
        """An element as a form, if it is an index array."""
        if self.below is None:
            return None
        return Affine.atom(Lookup(self.name, tuple(at), as_form(self.below)))


@dataclass(frozen=True)
class ScopedSize:
    """A size symbol, with its value where it has one."""

    name: str
    value: int | None = None

    @property
    def form(self) -> Affine:
        """The symbol as a form."""
        return Affine.var(self.name) if self.value is None else Affine.const(self.value)


@dataclass(frozen=True)
class ScopedIndex:
    """An index in scope. `key` names it in index forms, unlike any index that it shadows.

    `kind` is that of the reduction that binds it, empty for an index of the head.
    """

    name: str
    key: str
    kind: str = ""


@dataclass(frozen=True)
class Scope:
    """The indices that a place of a definition sees, and the definition's head."""

    owner: str
    head: Span
    indices: Mapping[str, ScopedIndex]

    def own(self) -> list[str]:
        """The names of the head's indices."""
        return [name for name, index in self.indices.items() if not index.kind]

    def binds(self) -> str:
        """What the head binds, for messages."""
        own = [f"`{name}`" for name in self.own()]
        return f"binds only {', '.join(own)}" if own else "binds no index"


@dataclass(frozen=True)
class IndexRange:
    """The values of an index: from the greatest of some forms to the least of others, and what these see."""

    first: tuple[Affine, ...]
    last: tuple[Affine, ...]
    scope: Scope

    def __str__(self) -> str:
        """`0..N - 1`, `max [0; 2 - i]..min [4; N - i]`, with the names that the program has."""
        return f"{self._text(self.first, 'max')}..{self._text(self.last, 'min')}"

    @property
    def size(self) -> str:
        """How many values there are, of an index from 0 on."""
        return extent_text(extent(self.last[0] + 1))

    def _text(self, forms: Sequence[Affine], of_several: str) -> str:
        named = {index.key: Affine.var(index.name) for index in self.scope.indices.values()}
        texts = dict.fromkeys(extent_text(extent(form.substitute(named))) for form in forms)
        return next(iter(texts)) if len(texts) == 1 else f"{of_several} [{'; '.join(texts)}]"


@dataclass(frozen=True)
class NameSite:
    """Where a name of the program is declared or defined first."""

    kind: str  # "tensor" or "size"
    span: Span
    verb: str  # "declared" or "defined"
    #: The definition of a scalar, `N = 5`, which may be meant for a size.
    scalar: syntax.Define | None = None


class ProgramNames:
    """The tensors and sizes of a program: what is declared anywhere is known, and definitions above."""

    def __init__(self, module: syntax.Module, reporter: Reporter) -> None:
        #: None: it was rejected, and what depends on it is not reported again.
        self.known: dict[str, ScopedTensor | ScopedSize | None] = {}
        self.sites: dict[str, NameSite] = {}
        #: Declarations of what is defined, by name.
        self.outputs: dict[str, syntax.Declare] = {}
        #: The names that a definition gives a meaning, there and below.
        self.defined: set[str] = set()
        #: The names that are declared as index arrays.
        self.index_arrays: set[str] = set()
        #: Statements that define a name once more, by identity.
        self.repeated: set[int] = set()
        #: Size symbols that multiply an index or divide one, and where: forms have no such terms.
        self.coefficients: dict[str, Span] = {}
        #: The ranges of indices, by where they are bound.
        self.ranges: dict[int, IndexRange] = {}
        self._reported: set[str] = set()
        self._module = module
        self._collect(module, reporter)
        self.known.update(dict.fromkeys(module.unread - self.sites.keys()))

    def _collect(self, module: syntax.Module, reporter: Reporter) -> None:
        declared: dict[str, syntax.Declare] = {}
        for statement in module.statements:
            name, site = statement.name, _site(statement)
            first = self.sites.setdefault(name, site)
            alike = declared if isinstance(statement, syntax.Declare) else self.defined
            if first is site and name.startswith("_"):
                reporter.add(_underscore(name, site.span, site.kind))
            elif first is not site and (name in alike or "size" in (first.kind, site.kind)):
                self.repeated.add(id(statement))
                reporter.add(_defined_twice(name, site.span, first))
                continue
            if isinstance(statement, syntax.Declare):
                declared[name] = statement
            elif isinstance(statement, syntax.Define):
                self.defined.add(name)
        self.outputs = {name: declared[name] for name in declared if name in self.defined}
        self.index_arrays = {name for name, statement in declared.items() if statement.below is not None}
        for statement in module.statements:
            nodes = walk(statement) if isinstance(statement, syntax.Declare) else ()
            for _, role, node in nodes:
                if isinstance(node, syntax.Name) and node.id not in self.sites and role != "at":
                    self.sites[node.id] = NameSite("size", node.span, "declared")
        if OUT in self.sites and OUT not in self.defined:
            reporter.add(_given_results(self.sites[OUT]))

    def note_range(
        self, spec: syntax.IndexSpec, first: Sequence[Affine], last: Sequence[Affine], scope: Scope
    ) -> None:
        """Remember the range of an index, whose forms speak of what a scope has."""
        self.ranges[spec.span.start] = IndexRange(tuple(first), tuple(last), scope)

    def resolve(self, name: str, span: Span, scope: Scope) -> ScopedTensor | ScopedSize | ScopedIndex:
        """What a name means at this place.

        Raises Rejected if nothing has that name, or a definition below, silently if what does was rejected.
        """
        index = scope.indices.get(name)
        if index is not None:
            return index
        if name in self.known:
            found = self.known[name]
            if found is None:
                raise Rejected
            return found
        if name in self.defined:
            raise Rejected(self._too_early(name, span, scope.owner, scope.own()))
        if name in self.sites:
            raise Rejected
        raise Rejected(self.unknown(name, span, [*scope.indices, *self.known], "name"))

    def hidden(self, name: str, owner: str) -> NameSite | None:
        """What an index of this name would hide in the definition of `owner`: anything but what is defined
        below it."""
        is_below = name in self.defined and name not in self.known and name != owner
        return None if is_below else self.sites.get(name)

    def _too_early(self, name: str, span: Span, owner: str, indices: Sequence[str]) -> Diagnostic:
        """Build the error for a name whose definition stands below, or that `owner` itself has.

        `indices` are those of the owner.
        """
        if name == owner:
            message = f"`{name}` is read in its own definition"
            helps = ["a definition reads only definitions above it, and is no assignment"]
            if name in self.outputs:
                helps = [
                    f"`{name}` is declared, so it is an argument or an output: give the result another name"
                ]
            elif indices:
                head = f"scan{{{indices[0]}}} {name}[{', '.join(indices)}] = …"
                helps = [f"a recurrence states the order in which its elements are computed: `{head}`"]
            return error("TAD0206", message, span, "not computed yet", helps=helps)
        site = self.sites[name]
        if self._reads(name, owner):
            return error(
                "TAD0206",
                f"`{owner}` and `{name}` read each other",
                span,
                f"`{name}` stands below",
                secondary=[(site.span, f"reads `{owner}`")],
                notes=["a definition reads only definitions above it"],
                helps=[
                    "sequences that depend on each other are one tensor with an index that tells them apart:"
                    " `scan{t} s[t: 9, c: 2] = if {c = 0} then (… s[t - 1, 1] …) else (… s[t - 1, 0] …)`",
                    "docs/recurrences.md shows it",
                ],
            )
        where = "defined here" if site.verb == "defined" else "declared here, its definition stands below"
        message, helps = f"`{name}` is read before it is defined", [f"move the definition of `{name}` up"]
        return error("TAD0206", message, span, secondary=[(site.span, where)], helps=helps)

    def _reads(self, name: str, other: str) -> bool:
        """Whether the definition of a tensor reads another one."""
        bodies = [s.body for s in self._module.statements if isinstance(s, syntax.Define) and s.name == name]
        nodes = [node for body in bodies for _, _, node in walk(body)]
        return bool(other) and any(
            (isinstance(node, syntax.Subscript) and node.tensor == other)
            or (isinstance(node, syntax.Name) and node.id == other)
            for node in nodes
        )

    def is_visible(self, name: str, scope: Scope) -> bool:
        """Whether the name means something here, or in the program below."""
        return name in scope.indices or name in self.known or name in self.sites

    def is_size(self, name: str) -> bool:
        """Whether a variable of a form is a size symbol; an index never has the name of one."""
        return isinstance(self.known.get(name), ScopedSize)

    def unbound(self, name: str, span: Span, scope: Scope, what: str) -> Diagnostic | None:
        """Build the error for an unknown name where only an index can stand; None the second time."""
        if name in self._reported:
            return None
        self._reported.add(name)
        sizes = [known for known, found in self.known.items() if isinstance(found, ScopedSize)]
        helps = did_you_mean(name, [*scope.indices, *sizes])
        edits = correction(name, span, [*scope.indices, *sizes])
        if what == "tensor index":
            helps.append(f"to sum over it, write `sum{{{name}}} (…)`")
        elif not helps:
            helps.append(f"`size {name}` declares a size of this name")
        return error(
            "TAD0202",
            f"index `{name}` is never bound",
            span,
            f"`{name}` is not an index of `{scope.owner}` and no sum here binds it",
            secondary=[(scope.head, scope.binds())],
            helps=helps,
            edits=edits,
        )

    def unknown(self, name: str, span: Span, candidates: Iterable[str], what: str) -> Diagnostic | None:
        """Build the error for an unknown name; None the second time in a definition."""
        if name in self._reported:
            return None
        self._reported.add(name)
        tensor, _, index = name.partition("_")
        if hint := VALUES.get(name):
            helps, edits = [hint.help], hint.edits(span)
        elif index and isinstance(self.known.get(tensor), ScopedTensor):
            read = f"{tensor}[{', '.join(index) if index.isalpha() else index}]"
            helps, edits = [f"an element is read with brackets: `{read}`"], [Edit(span, read, GUESS)]
        else:
            names = list(candidates)
            helps, edits = did_you_mean(name, names), correction(name, span, names)
        message = f"unknown {what} `{name}`"
        return error("TAD0204", message, span, "nothing has this name", helps=helps, edits=edits)

    def unknown_tensor(self, name: str, span: Span, rank: int) -> Diagnostic | None:
        """Build the error for a read of an unknown tensor."""
        tensors = [known for known, found in self.known.items() if not isinstance(found, ScopedSize)]
        problem = self.unknown(name, span, tensors, "tensor")
        if problem and not problem.helps:
            shape = ", ".join(["8"] * rank)
            problem.helps.append(f"declare it, for example `{name}: f64[{shape}]`")
        return problem

    def forget_reported(self) -> None:
        """Begin a definition: unknown names are reported anew."""
        self._reported.clear()


def _site(statement: syntax.Statement) -> NameSite:
    kind = "size" if isinstance(statement, syntax.SizeDecl) else "tensor"
    verb = "defined" if isinstance(statement, syntax.Define) else "declared"
    scalar = statement if isinstance(statement, syntax.Define) and not statement.indices else None
    return NameSite(kind, statement.name_span, verb, scalar=scalar)


def _defined_twice(name: str, span: Span, first: NameSite) -> Diagnostic:
    return error(
        "TAD0205",
        f"`{name}` is defined twice",
        span,
        "defined again here",
        secondary=[(first.span, f"first {first.verb} here, as a {first.kind}")],
        helps=["choose another name: tensors and sizes share one namespace"],
    )


def _given_results(site: NameSite) -> Diagnostic:
    """The error for an argument or a size that calls could not take by name."""
    kind = "size" if site.kind == "size" else "argument"
    return error(
        "TAD0106",
        f"`{OUT}` is reserved and cannot name {'a' if kind == 'size' else 'an'} {kind}",
        site.span,
        "choose another name",
        helps=[
            f"`{OUT}_` is free",
            f"`{OUT}=` is where calls take arrays for their results; an output, a `let` or an index may have"
            " this name",
        ],
    )


def _underscore(name: str, span: Span, kind: str) -> Diagnostic:
    bare = name.lstrip("_")
    helps = [f"call it `{bare}`"] if bare[:1].isalpha() else []
    return error("TAD0208", f"the name of a {kind} cannot start with `_`", span, helps=helps)
