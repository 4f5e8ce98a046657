"""Functions of JAX of which programs compute what they can, and JAX the rest."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any

from tadc.importing.computation_parts import Part, Sorting
from tadc.importing.jax_equations import BODIES, JaxEquation, JaxValue, equations_of, value_of
from tadc.importing.jax_part_programs import JaxHost, function_of_part
from tadc.importing.jax_sorting import sorted_equations
from tadc.importing.jax_tracing import traced_by_jax
from tadc.importing.part_plans import LeftOperation, PartPlan, PartProgram, names_of
from tadc.passes.linalg.source_places import SourcePlace


class PartialFunction:
    """A function of JAX of which programs compute what the language can say, and JAX the rest.

    It is called as the original, and transformed by JAX as it: derivatives of the programs are programs of
    tadc. Arguments of other shapes are traced anew. `functions` are the programs, `left` is what stays in
    JAX, for the arguments that it was made with.
    """

    def __init__(
        self,
        f: Callable[..., Any],
        names: Sequence[str],
        name: str,
        args: Sequence[Any],
        place: SourcePlace | None,
    ) -> None:
        jax: Any = import_module("jax")
        self._f, self._names, self._place = f, names, place
        self.__name__ = name
        self._plans: dict[Any, JaxPlan] = {}
        self._call = jax.jit(self._traced)
        plan = self._plan(args)
        self.functions = tuple(plan.functions)
        self.left = tuple(plan.left)

    def __repr__(self) -> str:
        count = len(self.functions)
        said = dict.fromkeys(f"{left.reason} ({left.where})" for left in self.left)
        head = f"{self.__name__}: {count} program{'' if count == 1 else 's'}"
        return f"<tadc.PartialFunction {head}; left to JAX: {', '.join(said) or 'nothing'}>"

    def __call__(self, /, *args: Any) -> Any:
        """Evaluate, under any of JAX's transformations."""
        return self._call(*args)

    def _traced(self, /, *args: Any) -> Any:
        jax: Any = import_module("jax")
        plan = self._plan(args)
        return jax.tree_util.tree_unflatten(plan.tree, plan.run(jax.tree_util.tree_leaves(args)))

    def _plan(self, args: Sequence[Any]) -> JaxPlan:
        jax: Any = import_module("jax")
        traced = traced_by_jax(self._f, args, self.__name__, self._place)
        leaves, tree = jax.tree_util.tree_flatten(args)
        key = tree, tuple(traced.jaxpr.in_avals)
        if key not in self._plans:
            names = self._names if len(self._names) == len(leaves) else [f"x{i}" for i in range(len(leaves))]
            structure = jax.tree_util.tree_structure(traced.out_info)
            self._plans[key] = JaxPlan(traced.jaxpr, names, structure, self.__name__, self._place)
        return self._plans[key]


class JaxPlan:
    """What runs for arguments of certain shapes."""

    def __init__(
        self, closed: Any, names: Sequence[str], tree: Any, name: str, place: SourcePlace | None
    ) -> None:
        self.tree, self.name, self.place = tree, name, place
        self.arguments = [JaxValue(t, n) for t, n in zip(closed.in_avals, names, strict=True)]
        equations, self.results = equations_of(closed, self.arguments)
        self.makers = {value: e for e in equations for value in e.outputs}

        def sort(refused: Mapping[JaxEquation, str]) -> Sorting[JaxEquation]:
            return sorted_equations(equations, refused)

        self.plan = PartPlan(equations, self.results, sort, JaxEquation.said, self._program)
        self.functions = self.plan.functions
        self.left: list[LeftOperation] = []
        for equation, reason in self.plan.sorting.left.items():
            if not self._divide_inside(equation):
                self.left.append(LeftOperation(equation.name, reason, equation.place))

    def run(self, leaves: Sequence[Any]) -> list[Any]:
        """The results for the leaves of arguments."""
        known = dict(zip(self.arguments, leaves, strict=True))
        self.plan.run(JaxHost(), known)
        return [value_of(result, known) for result in self.results]

    def _divide_inside(self, equation: JaxEquation) -> bool:
        """Of a loop or a choice that stays in JAX make programs inside; whether there are any."""
        params = dict(equation.original.params)
        inner: list[JaxPlan] = []
        for key in BODIES.get(equation.name, ()):
            bodies = params[key] if isinstance(params[key], tuple) else (params[key],)
            made: list[Any] = []
            for body in bodies:
                plan, divided = self._divided(body, equation)
                inner.append(plan)
                made.append(divided)
            params[key] = tuple(made) if isinstance(params[key], tuple) else made[0]
        if not any(plan.functions for plan in inner):
            return False
        equation.original = equation.original.replace(params=params)
        for plan in inner:
            self.functions += plan.functions
            self.left += plan.left
        return True

    def _divided(self, body: Any, equation: JaxEquation) -> tuple[JaxPlan, Any]:
        """What runs in the place of a body, and that as JAX has it, with its constants or without."""
        jax: Any = import_module("jax")
        closed = body if hasattr(body, "consts") else import_module("jax.extend.core").ClosedJaxpr(body, [])
        names = [f"x{i}" for i in range(len(closed.in_avals))]
        plan = JaxPlan(closed, names, None, self.name, equation.place)
        given = [
            jax.ShapeDtypeStruct(t.shape, t.dtype, weak_type=getattr(t, "weak_type", False))
            for t in closed.in_avals
        ]

        def run(*leaves: Any) -> list[Any]:
            return plan.run(leaves)

        made = jax.make_jaxpr(run)(*given)
        if closed is body:
            return plan, made
        if made.consts:
            plan.functions.clear()
        return plan, made.jaxpr

    def _program(self, part: Part[JaxEquation]) -> PartProgram[JaxEquation]:
        names = names_of(part.inputs, self.makers, _given_name, "x")
        results = names_of(part.outputs, self.makers, _given_name, "y")
        return PartProgram(part, names, function_of_part(part, names, results, self.name, self.place))


def _given_name(value: JaxValue) -> str:
    return value.name
