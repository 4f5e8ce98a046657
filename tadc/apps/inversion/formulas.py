"""J^-1 v, J^-T w and log |det J| as programs of the language."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace

from tadc.apps.undoing.plans.forms import moved, moved_definition
from tadc.apps.undoing.plans.planned import Plan
from tadc.apps.undoing.solutions.inlined import without
from tadc.apps.undoing.solutions.pieces import log_sum
from tadc.apps.undoing.solutions.roles import PIVOT, TANGENT, VALUE, Role, RoledProgram
from tadc.apps.undoing.solutions.undone import undone
from tadc.apps.undoing.steps.step_programs import programs_of
from tadc.toolkit.language import (
    DEFAULT,
    Affine,
    Argument,
    Definition,
    Names,
    Program,
    Read,
    join_types,
    tensors_read,
)
from tadc.toolkit.transforms import derive, needed, simplify_program, without_copied_results, without_copies


def signature_of(plan: Plan, product: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The inputs and the outputs of a product's program, in order."""
    given, results = names_of(plan, product, Names(plan.graph.program))
    return (*(a.name for a in plan.graph.program.arguments), *given), tuple(results)


def names_of(plan: Plan, product: str, names: Names) -> tuple[list[str], list[str]]:
    """What a product's program takes beside the program's arguments, and what it makes."""
    if product == "logabsdet":
        return [], [names.free("logabsdet")]
    sides, form = (plan.outputs, plan.inputs), "{}_dot"
    if product == "jinvT":
        sides, form = sides[::-1], "d{}"
    given, results = ([names.free(form.format(n)) for n in side] for side in sides)
    return given, results


def _renamed(program: Program, spoken: dict[str, str]) -> Program:
    """The program with other names of tensors; those that stand in their way give way."""
    names = Names(program)
    own = dict(spoken)
    for tensor in (*program.arguments, *program.definitions):
        if tensor.name not in own and tensor.name in spoken.values():
            own[tensor.name] = names.free(tensor.name)
    return replace(
        program,
        arguments=tuple(replace(a, name=own.get(a.name, a.name)) for a in program.arguments),
        definitions=tuple(
            replace(d, name=own.get(d.name, d.name), body=moved(d.body, program.terms, own))
            for d in program.definitions
        ),
    )


@dataclass
class _Formula:
    """Gives a composed program the names that people read."""

    plan: Plan

    def __post_init__(self) -> None:
        program = self.plan.graph.program
        self.made: RoledProgram = undone(self.plan, programs_of, is_known=False)
        self.terms = self.made.program.terms
        self.names = Names(program)
        self.original = {t.name: t for t in (*program.arguments, *program.definitions)}
        graph = self.plan.graph
        given, results = names_of(self.plan, "jinv", self.names)
        self.tangents = {Role(TANGENT, value): name for value, name in zip(graph.outputs, given, strict=True)}
        self.results = dict(zip(graph.inputs, results, strict=True))
        self.total = self.names.free("logabsdet")
        self.letters = [self.names.index(letter, ()) for letter in "ijklmnpq"]

    def jinv(self) -> Program:
        """The program's arguments and a tangent `y_dot` of each output, to one `x_dot` of each input."""
        spoken = self._spoken()
        made = self._definitions(spoken, {Role(TANGENT, name) for name in self.plan.inputs})
        known = {d.name for d in made}
        graph, types = self.plan.graph, self.plan.graph.program.types()
        outputs: list[Definition] = []
        for name in graph.inputs:
            role, shape = Role(TANGENT, name), graph.shapes[name]
            source = spoken.get(self.made.names.get(role, ""), "")
            indices = tuple(self.letters[: len(shape)])
            read = source if source in known else self.tangents[role]
            body = self.terms.read(read, [Affine.var(i) for i in indices], types[name])
            outputs.append(Definition(self.results[name], types[name], shape, indices, body))
        arguments = [
            Argument(self.tangents[Role(TANGENT, value)], types[name], graph.shapes[name])
            for name, value in zip(self.plan.outputs, graph.outputs, strict=True)
        ]
        return self._program(arguments, [*made, *outputs])

    def logabsdet(self) -> Program:
        """The program's arguments to `logabsdet`, -inf where J is singular."""
        spoken = self._spoken()
        pivots = {role: inner for inner, role in self.made.roles.items() if role.kind == PIVOT}
        made = self._definitions(spoken, pivots)
        wanted = {spoken[inner] for inner in pivots.values()}
        total = log_sum(self.terms, [d for d in made if d.name in wanted])
        types = self.plan.graph.program.types()
        type = join_types(types[name] for name in self.plan.inputs) or DEFAULT
        return self._program((), [*made, Definition(self.total, type, (), (), total)])

    # -- names -------------------------------------------------------------------------------------

    def _spoken(self) -> dict[str, str]:
        """The names of tensors by those in the composed program."""
        found: dict[str, str] = {}
        arguments = {a.name for a in self.plan.graph.program.arguments}
        outputs = set(self.plan.graph.outputs)
        given = {a.name for a in self.made.program.arguments}
        for inner, role in self.made.roles.items():
            if role in self.tangents and inner in given:
                found[inner] = self.tangents[role]
            elif role.kind == VALUE and (
                role.name in arguments or (role.name in self.original and role.name not in outputs)
            ):
                found[inner] = role.name
            else:
                found[inner] = self.names.free(_wish(role))
        return found

    def _definitions(self, spoken: dict[str, str], wanted: Collection[Role]) -> list[Definition]:
        """The definitions that are wanted, none of them a result."""
        kept = [
            replace(d, is_output=self.made.roles[d.name] in wanted) for d in self.made.program.definitions
        ]
        found: list[Definition] = []
        for d in needed(kept):
            model = self.original.get(spoken[d.name])
            indices = (
                model.indices if isinstance(model, Definition) else tuple(self.letters[: len(d.indices)])
            )
            found.append(moved_definition(d, self.terms, spoken, indices))
        return found

    def _program(self, arguments: Sequence[Argument], definitions: Sequence[Definition]) -> Program:
        program = self.plan.graph.program
        taken = tuple(replace(a, cotangent_of="", tangent_of="") for a in program.arguments)
        given = Program((*taken, *arguments), needed(definitions), self.terms)
        made = without_copied_results(without_copies(given))
        # A result that copies what nothing else reads is that, also where it is not the next one.
        readers = Counter(name for d in made.definitions for name in tensors_read([d.body]))
        copied = {d.body.tensor for d in made.outputs if isinstance(d.body, Read)}
        inner = [d for d in made.definitions if not d.is_output and d.order is None]
        once = [d.name for d in inner if d.name in copied and readers[d.name] == 1]
        return simplify_program(replace(made, definitions=tuple(without(self.terms, made.definitions, once))))


def _wish(role: Role) -> str:
    """What a tensor is called, if nothing else is."""
    match role.kind:
        case "pivot":
            return "slope"
        case "tangent":
            return f"{role.name}_dot"
        case _:
            is_part = role.name.startswith(("end", "each", "start", "_")) or not role.name.isidentifier()
            return "part" if is_part else role.name


def _transposed(plan: Plan) -> Program:
    """The gradient of J^-1 v, which is linear, by v; so it does not depend on v."""
    made = _Formula(plan).jinv()
    tangents = [a.name for a in made.arguments[len(plan.graph.program.arguments) :]]
    found = derive(made, "vjp", tangents)
    given, results = names_of(plan, "jinvT", Names(plan.graph.program))
    spoken = {a.name: name for a, name in zip(found.arguments[-len(given) :], given, strict=True)}
    spoken |= {d.name: name for d, name in zip(found.outputs, results, strict=True)}
    taken = tuple(a for a in found.arguments if a.name not in tangents)
    return _renamed(replace(found, arguments=taken), spoken)


#: What makes each product of a plan; raises NoFormula where a component is solved as a system.
FORMULAS: dict[str, Callable[[Plan], Program]] = {
    "jinv": lambda plan: _Formula(plan).jinv(),
    "jinvT": _transposed,
    "logabsdet": lambda plan: _Formula(plan).logabsdet(),
}
