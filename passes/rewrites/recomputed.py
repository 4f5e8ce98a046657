"""Large tensors in between that would take longer to store and to read than to compute again are no tensors.

    let r[i: N, j: N] = sqrt(sum{d: 3} ((x[j, d] - x[i, d])**2)),  a[i] = sum{j} (m[j] / r[i, j]**3)
    is  a[i] = sum{j} (m[j] / sqrt(sum{d: 3} ((x[j, d] - x[i, d])**2))**3)

A tensor of pairs is larger than what it is made of, and passes through memory each time, or through a cache
that is not the nearest. It is a formula where it is read if the operations of computing it there, as often as
it is read, cost less than the traffic; and always where there is no room for it. What a derivative compares
for equality stays, for it has one value.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from tadc.frontend.extents import is_static
from tadc.frontend.program import Definition, Program
from tadc.frontend.terms import (
    Read,
    Reduce,
    Select,
    Term,
    holds,
    reachable,
    tensors_read,
)
from tadc.lattice.affine import Affine
from tadc.passes.rewrites.row_products import short_indices
from tadc.passes.terms.costs import (
    CACHED_BYTES,
    LARGER,
    SCATTERED,
    Costs,
    about,
    bytes_of,
    elements,
    has_room,
    points,
)
from tadc.passes.terms.index_ranges import Range, ranges_of
from tadc.passes.terms.liveness import needed
from tadc.passes.where import LEAVE_OUT, Inline, Materialised, Where

TRAFFIC = 16
"""The cost of an element that goes to memory, or comes from it: of so many operations in a vector."""

IN_STEPS = 2
"""A sum takes so many times as long in the steps of a recurrence, which pack nothing for it."""


def without_large_tensors(
    program: Program, limit: int | None = None, by_cost: bool = True, where: Where | None = None
) -> Program:
    """The program with formulas in the place of such tensors; it itself where there are none.

    `limit` is how many bytes a tensor may have at most; one whose shape has symbols has no bytes. If not
    `by_cost`, these limits alone count. Steps that are given stand in the place of costs: raises CompileError
    for a tensor of theirs that has to be stored.
    """
    where = where or Where()
    wanted = _wanted(program, where)
    found = _Recomputed(program, limit, by_cost, wanted)
    definitions = [found.added(definition) for definition in program.definitions]
    where.formulas |= found.formulas.keys()
    for name in found.formulas:
        where.note(Inline(name))
    return program if not found.formulas else replace(program, definitions=needed(definitions))


def _wanted(program: Program, where: Where) -> frozenset[str] | None:
    """The tensors that steps that are given have as formulas; None where there are none."""
    steps = where.wanted(Inline)
    for step in steps or ():
        if reason := reason_to_store(program, step.tensor):
            where.refuse(step, f"`{step.tensor}` is stored: {reason}", LEAVE_OUT)
    return None if steps is None else frozenset(step.tensor for step in steps)


def with_stored_values(program: Program, before: Collection[str], where: Where) -> Program:
    """The program where of the tensors that were not there `before` those are formulas again that no step
    that is given stores."""
    made = [d.name for d in program.definitions if not d.is_output and d.name not in before]
    steps = where.wanted(Materialised)
    if steps is None:
        stored = set(made)
    else:
        stored = {step.tensor for step in steps}
        inlined = {step.tensor for step in where.wanted(Inline) or ()} | (set(made) - stored)
        found = _Recomputed(program, None, False, frozenset(inlined))
        definitions = [found.added(definition) for definition in program.definitions]
        where.formulas |= found.formulas.keys()
        program = replace(program, definitions=needed(definitions)) if found.formulas else program
    for step in steps or ():
        where.check_known(step, [step.tensor], made)
    for name in made:
        if name in stored:
            where.note(Materialised(name))
    return program


def reason_to_store(program: Program, name: str) -> str:
    """Why a tensor of a program is stored whatever memory there is; nothing where it is no such tensor."""
    definition = next((d for d in program.definitions if d.name == name), None)
    if definition is None:
        return ""
    if definition.is_output:
        return "it is a result"
    if definition.order is not None:
        return "it reads itself"
    if name in _compared(program.definitions):
        return "a derivative compares its elements"
    return "" if definition.body.type == definition.type else "its elements have not the type of its formula"


@dataclass
class _Recomputed:
    """Definitions in order: `formulas` are those that are no tensors, over tensors alone."""

    program: Program
    limit: int | None
    by_cost: bool
    wanted: frozenset[str] | None = None
    formulas: dict[str, Definition] = field(default_factory=dict[str, Definition])
    known: dict[int, Term] = field(default_factory=dict[int, Term])
    held: dict[int, bool] = field(default_factory=dict[int, bool])

    def __post_init__(self) -> None:
        program = self.program
        self.terms, self.costs = program.terms, Costs(frozenset(program.sizes))
        shapes = [a.shape for a in program.arguments] + [d.shape for d in program.outputs]
        self.largest = max(map(about, shapes), default=0)
        self.types = {t.type for t in (*program.arguments, *program.definitions)}
        self.compared = _compared(program.definitions)
        self.same: set[str] = set()
        for definition in self.program.definitions:
            if tensors_read([definition.body]) <= self.same:
                self.same.add(definition.name)
        self.uses: dict[str, list[int]] = {d.name: [] for d in self.program.definitions if self.is_large(d)}
        stepped = [d.body for d in self.program.definitions if d.order is not None]
        self.in_steps = tensors_read(stepped)
        self.survey()

    def survey(self) -> None:
        """Note for each read of a large tensor how many elements it reads, all in all."""
        for definition in self.program.definitions if self.uses else ():
            for read in reachable([definition.body]):
                if isinstance(read, Read) and read.tensor in self.uses:
                    ranges = ranges_of(definition)
                    for index in short_indices(definition):
                        if index not in read.free:
                            ranges[index] = Range(Affine.const(0), Affine.const(0))
                    self.uses[read.tensor].append(points(ranges) * self.times(definition.body, ranges, read))

    def times(self, body: Term, ranges: Mapping[str, Range | None], read: Read) -> int:
        """How often a read is evaluated for an element."""
        return self.costs.evaluations(body, ranges, lambda node: node is read)

    def is_large(self, definition: Definition) -> bool:
        """Whether a tensor may be a formula, and has no room, or is large."""
        if definition.is_output or definition.order is not None or definition.name in self.compared:
            return False
        if not self.has_type(definition):
            return False
        if self.wanted is not None and definition.name in self.wanted:
            return True
        by_cost = self.by_cost and self.wanted is None
        return self.has_no_room(definition) or (by_cost and self.traffic(definition) > 0)

    def traffic(self, definition: Definition) -> int:
        """What it costs that an element is stored, or that a loop reads it: nothing where the tensor is no
        larger than what goes in and out of the program, or, of a size that is not known, not much larger; and
        in a cache, where it is the same in all calls."""
        is_known, size = is_static(definition.shape), about(definition.shape)
        if size <= self.largest or not (is_known or size >= LARGER * self.largest):
            return 0
        in_caches = is_known and bytes_of(definition.shape, definition.type) < CACHED_BYTES
        if in_caches:
            return 0 if definition.name in self.same else SCATTERED
        return TRAFFIC

    def has_type(self, definition: Definition) -> bool:
        """Whether its formula has the type of the tensor; of literals alone it has that of what is around."""
        type = definition.body.type
        return type == definition.type or (type is None and self.types == {definition.type})

    def has_no_room(self, definition: Definition) -> bool:
        return not has_room(definition.shape, definition.type, self.limit)

    def added(self, definition: Definition) -> Definition:
        """The definition over what stays a tensor; noted as a formula if it is to be one."""
        made = definition.with_body(self.rewritten(definition.body))
        is_forced = self.wanted is not None or self.has_no_room(made)
        if definition.name in self.uses and (is_forced or self.is_worth(made)):
            self.formulas[made.name] = made
        return made

    def is_worth(self, definition: Definition) -> bool:
        """Whether computing it where it is read costs less than storing it."""
        ranges = ranges_of(definition)
        once = self.costs.total(definition.body, ranges) / max(1, points(ranges))
        reads = self.uses[definition.name]
        uses = sum(reads) / max(1, elements(definition.shape))
        if definition.name in self.in_steps and any(
            isinstance(t, Reduce) for t in reachable([definition.body])
        ):
            uses *= IN_STEPS
        # What one loop reads again and again stays near.
        return once * uses <= once + self.traffic(definition) * (1 + len(reads))

    def rewritten(self, term: Term) -> Term:
        """The term with formulas in the place of what is no tensor; sums are opened for their indices."""
        if not self.holds(term):
            return term
        if term.number not in self.known:
            self.known[term.number] = self.with_formulas(term)
        return self.known[term.number]

    def with_formulas(self, node: Term) -> Term:
        """A term that holds a formula, with that."""
        match node:
            case Reduce():
                names, domain, body = self.terms.open(node)
                return self.terms.reduce_like(node, names, domain, self.rewritten(body))
            case Read():
                made = self.formulas[node.tensor]
                return self.terms.substitute(made.body, made.at(node.indices))
            case _:
                return self.terms.rebuild(node, list(map(self.rewritten, node.below)))

    def holds(self, term: Term) -> bool:
        """Whether a large tensor is read at or below a term."""
        return holds(term, self.held, self.is_formula)

    def is_formula(self, term: Term) -> bool:
        """Whether an element is read of what is no tensor: known, for definitions stand in order."""
        return isinstance(term, Read) and term.tensor in self.formulas


def _compared(definitions: Sequence[Definition]) -> set[str]:
    """The tensors whose values are compared for equality with those of tensors.

    What is compared with a number, as by `max(0, x)`, is computed wherever it is read without a tensor too
    (`compared.py` stores no such operand).
    """
    found: set[str] = set()
    for term in reachable([definition.body for definition in definitions]):
        if isinstance(term, Select) and term.relation in ("=", "!="):
            sides = [tensors_read([side]) for side in (term.lhs, term.rhs)]
            found |= sides[0] | sides[1] if all(sides) else set()
    return found
