"""Large tensors in between that would take longer to store and to read than to compute again are no tensors.

    let r[i: N, j: N] = sqrt(sum{d: 3} ((x[j, d] - x[i, d])**2)),  a[i] = sum{j} (m[j] / r[i, j]**3)
    is  a[i] = sum{j} (m[j] / sqrt(sum{d: 3} ((x[j, d] - x[i, d])**2))**3)

    let c[i, j] = x[i, j] - m[i],  v[i] = sum{j} (c[i, j]**2)    is  v[i] = sum{j} ((x[i, j] - m[i])**2)

A tensor of pairs is larger than what it is made of, and passes through memory each time, or through a cache
that is not the nearest. It is a formula where it is read if the whole program costs less so: loops over the
same points are one, and what they share is computed once. It is always one where there is no room for it.
One operation on what lies in the same order takes no longer than to read its result, which is stored before.
What a derivative compares for equality stays, for it has one value.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from tadc.frontend.extents import is_static
from tadc.frontend.program import Definition, Program
from tadc.frontend.terms import (
    Apply,
    Read,
    Reduce,
    Select,
    Term,
    holds,
    operands,
    reachable,
    tensors_read,
)
from tadc.lattice.affine import Affine
from tadc.passes.rewrites.loop_costs import LoopCosts, is_plain
from tadc.passes.rewrites.row_products import short_indices
from tadc.passes.terms.costs import (
    CACHED_BYTES,
    COMPARED,
    LARGER,
    SCATTERED,
    Costs,
    about,
    bytes_of,
    elements,
    has_room,
    points,
    weight,
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
    large, wanted = _Large(program, limit), _wanted(program, where)
    if wanted is None:
        wanted = large.without_room()
        if by_cost:
            wanted |= large.cheaper_as_formulas() | large.cheap_as_formulas()
    found = _Formulas(program, wanted)
    made = found.made()
    where.formulas |= found.formulas.keys()
    for name in found.formulas:
        where.note(Inline(name))
    return made


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
        found = _Formulas(program, frozenset(inlined))
        program = found.made()
        where.formulas |= found.formulas.keys()
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
class _Large:
    """The tensors that are larger than what goes in and out of a program; which are better no tensors."""

    program: Program
    limit: int | None

    def __post_init__(self) -> None:
        program = self.program
        shapes = [a.shape for a in program.arguments] + [d.shape for d in program.outputs]
        self.largest = max(map(about, shapes), default=0)
        self.types = {t.type for t in (*program.arguments, *program.definitions)}
        self.compared = _compared(program.definitions)
        self.in_steps = tensors_read([d.body for d in program.definitions if d.order is not None])
        self.same: set[str] = set()
        for definition in self.program.definitions:
            if tensors_read([definition.body]) <= self.same:
                self.same.add(definition.name)

    def without_room(self) -> frozenset[str]:
        """Those that take more bytes than the limit."""
        found = (d for d in self.program.definitions if not has_room(d.shape, d.type, self.limit))
        return frozenset(d.name for d in found if self.may_be_formula(d))

    def cheaper_as_formulas(self) -> frozenset[str]:
        """Those that the program costs less without.

        Each is looked at once, beginning with all of them as tensors and with none: values that one loop has
        anyway cost nothing where a tensor of these is a formula, but may do so one by one.
        """
        found = {d.name: self.traffic(d) for d in self.program.definitions if self.may_be_formula(d)}
        far = {name: traffic for name, traffic in found.items() if traffic}
        if not far:
            return frozenset()
        if not is_plain(self.program):
            return self.cheaper_one_by_one(far)
        costs = LoopCosts(self.program, far)

        def cost(formulas: frozenset[str]) -> int:
            return costs.total(_Formulas(self.program, formulas).made().definitions)

        ends: list[tuple[int, frozenset[str]]] = []
        for formulas in (frozenset[str](), frozenset(far)):
            least = cost(formulas)
            for name in reversed(far):
                other = formulas ^ {name}
                if (new := cost(other)) <= least:
                    least, formulas = new, other
            ends.append((least, formulas))
        return min(ends, key=lambda end: end[0])[1]

    def cheaper_one_by_one(self, far: Mapping[str, int]) -> frozenset[str]:
        """Those of a program with recurrences or index arrays, whose loops are apart."""
        uses, made = self.uses(far), _Formulas(self.program, frozenset(far))
        costs = Costs(frozenset(self.program.sizes))
        for definition in self.program.definitions:
            whole = made.added(definition)
            if definition.name not in far:
                continue
            ranges, reads = ranges_of(definition), uses[definition.name]
            once = costs.total(whole.body, ranges) / max(1, points(ranges))
            again = sum(reads) / max(1, elements(definition.shape))
            if definition.name in self.in_steps and any(
                isinstance(t, Reduce) for t in reachable([whole.body])
            ):
                again *= IN_STEPS
            # What one loop reads again and again stays near.
            if once * again > once + far[definition.name] * (1 + len(reads)):
                del made.formulas[definition.name]
        return frozenset(made.formulas)

    def uses(self, names: Collection[str]) -> dict[str, list[int]]:
        """How often elements of tensors are read, by each read."""
        found: dict[str, list[int]] = {name: [] for name in names}
        costs = Costs(frozenset(self.program.sizes))
        for definition in self.program.definitions:
            ranges = ranges_of(definition)
            for read in (
                t for t in reachable([definition.body]) if isinstance(t, Read) and t.tensor in found
            ):
                rows = dict.fromkeys(i for i in short_indices(definition) if i not in read.free)
                around = {**ranges, **dict.fromkeys(rows, Range(Affine.const(0), Affine.const(0)))}
                times = costs.evaluations(definition.body, around, lambda node, read=read: node is read)
                found[read.tensor].append(points(around) * times)
        return found

    def cheap_as_formulas(self) -> frozenset[str]:
        """Those of one operation on elements that are read in the order of the tensor, a few times each."""
        shapes = {
            d.name: d.shape for d in self.program.definitions if self.may_be_formula(d) and _is_cheap(d)
        }
        uses = self.uses(shapes.keys() - self.in_steps)
        return frozenset(n for n, each in uses.items() if sum(each) <= COMPARED * elements(shapes[n]))

    def may_be_formula(self, definition: Definition) -> bool:
        """Whether a tensor need not be stored."""
        if definition.is_output or definition.order is not None or definition.name in self.compared:
            return False
        # What is of literals alone has the type of what is around.
        type = definition.body.type
        return type == definition.type or (type is None and self.types == {definition.type})

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


@dataclass
class _Formulas:
    """Definitions in order: `formulas` are those that are no tensors, over tensors alone."""

    program: Program
    wanted: frozenset[str]
    formulas: dict[str, Definition] = field(default_factory=dict[str, Definition])
    known: dict[int, Term] = field(default_factory=dict[int, Term])
    held: dict[int, bool] = field(default_factory=dict[int, bool])

    def __post_init__(self) -> None:
        self.terms = self.program.terms

    def made(self) -> Program:
        """The program without tensors for them; it itself where there are none."""
        if not self.wanted:
            return self.program
        definitions = [self.added(definition) for definition in self.program.definitions]
        return replace(self.program, definitions=needed(definitions)) if self.formulas else self.program

    def added(self, definition: Definition) -> Definition:
        """The definition over what stays a tensor; noted as a formula if it is to be one."""
        made = definition.with_body(self.rewritten(definition.body))
        if definition.name in self.wanted:
            self.formulas[made.name] = made
        return made

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


def _is_cheap(definition: Definition) -> bool:
    """Whether an element is one operation on such as lie in memory as it does, or have fewer indices.

    It is no quotient: where it is read its divisor may be one too, and the square of that too small.
    """
    own = frozenset(definition.indices)

    def below(term: Term) -> Sequence[Term]:
        return operands(term) if term.free >= own else ()

    terms = [term for term in reachable([definition.body], below) if term.free >= own]
    reads = [term.indices for term in terms if isinstance(term, Read)]
    is_quotient = any(isinstance(t, Apply) and t.function == "div" for t in reachable([definition.body]))
    if is_quotient or sum(0 if isinstance(t, Read) else weight(t) for t in terms) != 1:
        return False
    return all(isinstance(t, Apply | Read) for t in terms) and all(at == definition.own for at in reads)


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
