"""The state before a step of a recurrence from the state after it, where formulas say it exactly.

A step `n = F(a, s)` of a component that overwrites a by n, and reads s that stays, is undone

- where F is affine in a, F = A(s) a + b(s): a solution with A gives `a = A^-1 (n - b)`, so that coupling
  layers, leapfrog steps and rotations are undone;
- where it is triangular, and affine in each element, though not in those before it: element by element;
- where F is a function with an inverse of such a step, `tanh(A a + b)`: by that inverse first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from tadc.apps.undoing.inverse_plan import plan_of
from tadc.apps.undoing.plans.forms import ComponentForm
from tadc.apps.undoing.plans.kinds import Class
from tadc.apps.undoing.plans.planned import Plan, Step
from tadc.apps.undoing.solutions.inlined import direct
from tadc.apps.undoing.solutions.pieces import Pieces
from tadc.apps.undoing.solutions.programs import Programs
from tadc.apps.undoing.solutions.roles import TANGENT, Naming, Role, RoledProgram
from tadc.apps.undoing.solutions.triangles import Triangle
from tadc.apps.undoing.solutions.undone import NoFormula, Part, composed, naming
from tadc.apps.undoing.steps.step_chain import ChainReader, Rule, choice
from tadc.apps.undoing.steps.step_layout import StateLayout, layouts
from tadc.apps.undoing.steps.step_lift import Lift
from tadc.toolkit.language import (
    APPLIED,
    Affine,
    Apply,
    Argument,
    Definition,
    Program,
    Read,
    Select,
    Term,
    having,
    operands,
    reachable,
    tensors_read,
)
from tadc.toolkit.reporting import CompileError
from tadc.toolkit.transforms import Algebra, in_terms, is_const, simplify_program

_JUMPS = having("jumps")


@dataclass(frozen=True)
class InverseSteps:
    """The steps of a recurrence backwards.

    `program` computes `states`, all states of the recurrence in its shape, by a recurrence against its order:
    from the last `layout.depth` states, arguments `l<back>_<part>` (so many states before the last; the parts
    of a state are those of `layout`), and from what else its steps read, under its own names.
    """

    layout: StateLayout
    program: Program


def inverse_steps(program: Program, name: str, axis: int | None = None) -> InverseSteps:
    """The steps of the recurrence `name` of a program backwards. Raises NoFormula where none says them.

    Sizes must have values. Steps go along dimension `axis`; None is the one where they cost least. That a
    factor which is divided by is not 0, and how much of a state is lost to rounding, depends on values:
    compare the first states with those that the recurrence began with.
    """
    definition = next((d for d in program.definitions if d.name == name and d.order is not None), None)
    if definition is None:
        raise NoFormula(f"`{name}` is no recurrence")
    if program.sizes:
        raise NoFormula(f"sizes have no values: {', '.join(program.sizes)}")
    form = _form_of(program, definition)
    reasons: list[str] = []
    found: list[tuple[int, InverseSteps]] = []
    for layout in layouts(definition, form.shapes[name]):
        if axis not in (None, layout.axis):
            continue
        try:
            plan = plan_of(*ChainReader(form, definition, layout).step())
            found.append((plan.cost, InverseSteps(layout, _backwards(form, layout, plan))))
        except NoFormula as problem:
            reasons.append(str(problem))
        except CompileError as error:
            reasons.append(error.diagnostics[0].message)
    if not found:
        reasons = reasons or ["its states are not made one of the other by steps that are alike"]
        raise NoFormula("; or ".join(dict.fromkeys(reasons)))
    return min(found, key=lambda each: each[0])[1]


def _form_of(program: Program, definition: Definition) -> ComponentForm:
    """The recurrence alone; all that it reads is a parameter."""
    types, shapes = program.types(), program.shapes()
    read = tensors_read([definition.body]) - {definition.name}
    arguments = tuple(Argument(name, types[name], shapes[name]) for name in shapes if name in read)
    made = replace(definition, is_output=True, span=None)
    return ComponentForm(Program(arguments, (made,), program.terms), (), (), tuple(sorted(read)), ())


def _backwards(form: ComponentForm, layout: StateLayout, plan: Plan) -> Program:
    """As `InverseSteps.program`."""
    lift = Lift(form, layout)
    known = {(k, part): f"l{k}_{part}" for k, part in lift.states}
    ends = {key: lift.reading(name, lift.type) for key, name in known.items()}
    lift.steps(plan, _values(plan), {}, ends)
    extents = layout.extents
    arguments = [Argument(name, lift.type, extents) for name in known.values()]
    indices = tuple(f"i{n}" for n in range(len(layout.shape)))
    own = [Affine.var(i) for i in indices]
    state = layout.length - 1 - own[layout.axis] if layout.down else own[layout.axis]
    element = [own[n] for n in layout.rest]
    body = _of_part(lift, layout, own, [lift.tangent(state, n)(element) for n in range(len(layout.parts))])
    states = Definition("states", lift.type, layout.shape, indices, body)
    read = tensors_read(d.body for d in (*lift.made, states))
    taken = tuple(a for a in form.program.arguments if a.name in read)
    return simplify_program(Program((*arguments, *taken), (*lift.made, states), lift.terms))


def _of_part(lift: Lift, layout: StateLayout, own: Sequence[Affine], values: Sequence[Term]) -> Term:
    """The value of the part that the indices of split dimensions choose."""
    place = Affine.const(0)
    for n in layout.split:
        place = place * layout.shape[n] + own[n]
    return choice(lift.terms, place, values)


def _values(plan: Plan) -> RoledProgram:
    """What takes the values of a step's outputs to those of its inputs, last component first."""
    sizes, parts = plan.graph.sizes, list[Part]()
    for number, planned in enumerate(reversed(plan.steps)):

        def own(role: Role, named: Naming = naming(planned.names, number)) -> Role:
            # The values of a step stand where its tangents do.
            found = named(role)
            return Role(TANGENT, found.name) if found.name in sizes else found

        parts.append((_previous(planned), own))
    wanted = {Role(TANGENT, name) for name in plan.graph.inputs}
    return composed(parts, lambda role: role in wanted)


def _previous(planned: Step) -> RoledProgram:
    """The values that die of the new ones, for a component, as its tangents. Raises NoFormula."""
    form = direct(planned.form)
    pieces = Pieces(form)
    algebra, kind = pieces.algebra, planned.matrix
    if not Programs(form, kind).is_closed:
        raise NoFormula(f"a step is solved as a system, {kind.name}")
    values: dict[str, Term] = {name: pieces.read(name, name) for name in form.new}
    while not _is_affine(pieces):
        solved = _one_by_one(pieces, kind, values)
        if solved is not None:
            return pieces.program([solved], taped=True)
        form, values = _peeled(form, values, algebra)
        pieces = Pieces(form)
    rest = {
        d.name: algebra.sub(
            values[d.name], pieces.rewritten(d.body, _at(form.dying, lambda _: algebra.zero), {})
        )
        for d in form.steps.definitions
        if d.name in form.new
    }
    programs = Programs(form, kind)
    _checked(d.body for d in programs.pivots.program.outputs)
    return pieces.program(programs.solution(pieces, rest)[0], taped=True)


def _at(names: Sequence[str], rule: Rule) -> Callable[[Read], Term]:
    """Others in the place of reads of these tensors alone."""
    return lambda read: rule(read.indices) if read.tensor in names else read


def _checked(pivots: Iterable[Term]) -> None:
    """Raise NoFormula where what is divided by is 0 whatever the values are."""
    if any(is_const(pivot, 0) for pivot in pivots):
        raise NoFormula("an element that a step makes does not depend on the one that it overwrites")


def _one_by_one(pieces: Pieces, kind: Class, values: Mapping[str, Term]) -> Definition | None:
    """The solution of a triangular step that is affine in each element, though not in those before it."""
    form = pieces.form
    if kind.base.method not in ("recurrence", "triangles"):
        return None
    triangle = Triangle(pieces, kind.base)
    pivot = triangle.pivot
    if not triangle.reads_before(pivot) or tensors_read([pivot]) & set(form.new):
        return None
    _checked([pivot])
    (made,) = (d for d in form.steps.definitions if d.name in form.new)
    before = _at(form.dying, triangle.before)
    body, factor = (pieces.rewritten(term, before, {}) for term in (made.body, pivot))
    value = pieces.algebra.div(pieces.algebra.sub(values[made.name], body), factor)
    return triangle.defined(value)


def _is_affine(pieces: Pieces) -> bool:
    """Whether the new values are affine in those that die: no tangent reads these, nor what may jump."""
    form = pieces.form
    between, found = pieces.tangents("_t", {name: pieces.seed(name) for name in form.dying})
    # A new value stands for a function of those that die, where a tangent needs it.
    moving = {*form.dying, *form.new}
    jumping = _jumping(d.body for d in form.steps.definitions)
    return not tensors_read([*found.values(), *(d.body for d in between), *jumping]) & moving


def _jumping(bodies: Iterable[Term]) -> Iterator[Term]:
    """Values of which something depends in jumps, that no slope tells."""
    for term in reachable(bodies):
        match term:
            case Select():
                yield from (term.lhs, term.rhs)
            case Apply(function=function) if function in _JUMPS:
                yield from term.operands
            case _:
                pass


def _peeled(
    form: ComponentForm, values: dict[str, Term], algebra: Algebra
) -> tuple[ComponentForm, dict[str, Term]]:
    """The component without the outermost function of its only new value. Raises NoFormula."""
    made = form.program.definitions
    body = made[0].body
    if len(made) != 1 or not isinstance(body, Apply):
        raise NoFormula("a step is neither affine in what it overwrites, nor a function of one such value")
    active = [t for t in operands(body) if tensors_read([t]) & set(form.dying)]
    value = values[made[0].name]
    if len(active) == 1 and body.function == "neg":
        value = algebra.apply("neg", value)
    elif len(active) == 1 and (inverse := APPLIED[body.function].inverse) is not None:
        value = in_terms(algebra, inverse, value)
    elif len(active) == 1 and len(body.operands) == 2 and body.function in ("add", "sub", "mul", "div"):
        left, right = body.operands
        value = _other_side(
            algebra, body.function, left if active[0] is right else right, value, active[0] is left
        )
    else:
        twice = "reads it twice" if len(active) > 1 else "has no inverse"
        raise NoFormula(f"a step is not affine in what it overwrites, and its `{body.function}` {twice}")
    definition = replace(made[0], body=active[0])
    program = replace(form.program, definitions=(definition,))
    return replace(form, program=program), {definition.name: value}


def _other_side(algebra: Algebra, function: str, known: Term, value: Term, is_left: bool) -> Term:
    """The operand, left or right, with which and what is known a function gives a value."""
    match function:
        case "add":
            return algebra.sub(value, known)
        case "sub":
            return algebra.add(value, known) if is_left else algebra.sub(known, value)
        case "mul":
            return algebra.div(value, known)
        case _:
            return algebra.mul(value, known) if is_left else algebra.div(known, value)
