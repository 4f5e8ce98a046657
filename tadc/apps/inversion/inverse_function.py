"""`tadc.inverse`: products with the inverse of a Jacobian."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, lru_cache
from typing import Any, NamedTuple, cast

import numpy as np

from tadc.apps.inversion.formulas import FORMULAS, signature_of
from tadc.apps.inversion.inverse_products import Caller, ProgramProduct, SolvedProduct
from tadc.apps.inversion.modes import Modes
from tadc.apps.undoing.inverse_plan import plan_of
from tadc.apps.undoing.plans.inversion_errors import no_program
from tadc.apps.undoing.plans.planned import Plan
from tadc.toolkit.language import Argument, Program, needs_values, shape_at
from tadc.toolkit.reporting import (
    ArgumentError,
    CompileError,
    Diagnostic,
    checked_function,
    checked_sizes_given,
    public,
)
from tadc.toolkit.running import (
    HOST,
    Array,
    Function,
    Parameter,
    Signature,
    SizeSymbols,
    as_given,
    bind,
    function_in_memory,
    read_call,
    result_type,
    typed_text,
)
from tadc.toolkit.transforms import resolve_wrt, store_compared

#: So many values of sizes are kept.
_KEPT = 16


class Checked(NamedTuple):
    """A result and its relative residual, `|J x - v| / |v|` or `|J^T x - w| / |w|`."""

    value: Any
    residual: float


class Inverse:
    """The inverse of a function's Jacobian, by its inputs `wrt`, as products with vectors.

    `args` are all of the function's inputs, a sequence in order or a mapping by name. Vectors are arrays
    with the shapes of the outputs (`jinv`) or of the inputs `wrt` (`jinvT`), a sequence in order or a
    mapping by name; of one alone the array itself. So are results.

    Where formulas solve all components, and all sizes have values, the three are Functions too: `print`,
    `tadc.compile` and `tadc.vjp` take them. Elsewhere these raise TAD0915, which names the component.

    Raises, all from their first use on, where no size of the program is open from the start:
        CompileError: TAD0910 where inputs and outputs differ in size, TAD0911 where the Jacobian is
            singular whatever the values are.
        ArgumentError: arguments that do not fit, and TAD0912 where a step has no inverse at them.
    Warns (CompileWarning, TAD0913) of a step that nearly has none.
    (B. A. Pearlmutter and J. M. Siskind, on inverse accumulation modes of automatic differentiation.)

    >>> import tadc
    >>> inv = tadc.inverse(tadc.function("x: f64[3]; f[i] = 2*x[i]"))
    >>> inv.jinv([0, 0, 0], [1, 2, 3])
    array([0.5, 1. , 1.5])
    >>> result, residual = inv.jinv([0, 0, 0], [1, 2, 3], check=True)
    >>> residual
    0.0
    """

    def __init__(
        self, f: Function, wrt: str | Sequence[str] | None = None, sizes: Mapping[str, int] | None = None
    ) -> None:
        checked_function(f, Function, "inverse")
        checked_sizes_given(sizes)
        self.function = f.at(sizes) if sizes else f
        self.wrt = resolve_wrt(f.program, wrt)
        program = self.function.program
        self._symbols = SizeSymbols(program.sizes, _parameters(program), program.excluded)
        self._fixed = lru_cache(_KEPT)(self._made)
        if not self._open:
            self._fixed()

    @property
    def _open(self) -> bool:
        return self.function.per_value is not None or bool(self.function.program.sizes)

    def __repr__(self) -> str:
        return f"<tadc.Inverse of {typed_text(self.function)} by {', '.join(self.wrt)}>"

    @property
    @public
    def plan(self) -> Plan:
        """How the program is inverted. Raises CompileError (TAD0212) where a size has no value."""
        if self._open:
            raise self._needs_values()
        return self._fixed().plan

    def _needs_values(self) -> CompileError:
        """What a plan and a program ask for."""
        if self.function.per_value is not None:
            return self.function.per_value.needs_values()
        program = self.function.program
        return needs_values(program.sizes, "a plan is of values of all sizes", program.source)

    def at(self, sizes: Mapping[str, int]) -> Inverse:
        """The inverse at values of size symbols."""
        return Inverse(self.function, self.wrt, sizes)

    @cached_property
    def jinv(self) -> ProgramProduct:
        """J^-1 v, the change of the inputs that changes the outputs by v: `jinv(args, v)`.

        With `check=True` a pair, the result and its relative residual. A `Function` of the program's
        arguments and a tangent `y_dot` of each output where formulas solve all components.
        """
        return self._product("jinv", self._jinv)

    @cached_property
    def jinvT(self) -> ProgramProduct:
        """J^-T w, the cotangents of the outputs whose pullback is w: `jinvT(args, w)`; keeps no tape.

        With `check=True` a pair, the result and its relative residual. A `Function` of the program's
        arguments and a cotangent `dx` of each input where formulas solve all components.
        """
        return self._product("jinvT", self._jinvT)

    @cached_property
    def logabsdet(self) -> ProgramProduct:
        """log |det J|; -inf where J is singular: `logabsdet(args)`.

        A `Function` of the program's arguments where formulas solve all components; `tadc.grad` of it trains
        a flow.
        """
        return self._product("logabsdet", self._logabsdet, 1)

    def _product(self, name: str, caller: Caller, groups: int = 2) -> ProgramProduct:
        """The product as a program if there is one."""
        if self._open:
            return _solved(name, caller, self._needs_values)
        fixed = self._fixed()
        plan, missing = fixed.plan, fixed.modes.system
        if missing is not None:
            made = plan.graph.wholes(plan.graph.statements[n] for n in missing.component.statements)
            source = plan.graph.program.source
            return _solved(name, caller, lambda: no_program(name, missing.matrix.name, source, made))
        recipe = self.function.recipe and self.function.recipe.then("inverse", name, self.wrt)
        signature = Signature(*signature_of(plan, name), {}, {}, {})

        def make() -> Program:
            program = FORMULAS[name](plan)
            return function_in_memory(program, f"<{name}>").program

        return ProgramProduct(make, recipe=recipe, signature=signature).called_by(caller, groups)

    @public
    def _jinv(self, args: Any, v: Any, *, check: bool = False) -> Any:
        return self._solved(False, args, v, check)

    @public
    def _jinvT(self, args: Any, w: Any, *, check: bool = False) -> Any:
        return self._solved(True, args, w, check)

    def _solved(self, across: bool, args: Any, vector: Any, check: bool) -> Any:
        fixed, arguments = self._at_arguments(args)
        return as_given(fixed.solved(across, arguments, vector, check), args, vector)

    @public
    def _logabsdet(self, args: Any) -> float:
        fixed, arguments = self._at_arguments(args)
        return fixed.modes.logabsdet(arguments)

    def _at_arguments(self, args: Any) -> tuple[_Fixed, dict[str, Array]]:
        """The inverse for the sizes that arguments tell, and the arguments."""
        f = self.function
        names = [a.name for a in f.program.arguments]
        given = _given(args, f.program.arguments)
        sizes: dict[str, int] = {}
        if self._open:
            shapes = {n: np.shape(v) for n, v in given.items()}
            if f.per_value is not None:
                sizes = f.per_value.values(shapes, {})
            else:
                arrays = bind(self._symbols.inputs, (), given)
                sizes = self._symbols.values([a.shape for a in arrays], {})
        fixed = self._fixed(*sorted(sizes.items()))
        return fixed, dict(zip(names, read_call(fixed.arguments, (), given, HOST).arrays, strict=True))

    def _made(self, *sizes: tuple[str, int]) -> _Fixed:
        program = self.function.at(dict(sizes)).program if sizes else self.function.program
        return _Fixed(program, self.wrt)


class _Fixed:
    """The inverse for one value of all sizes."""

    def __init__(self, program: Program, wrt: Sequence[str]) -> None:
        self.plan = plan_of(store_compared(program, wrt), wrt)
        self.modes = Modes(self.plan)
        graph = self.plan.graph
        self.arguments = SizeSymbols((), _parameters(program))
        known = {p.name: p for p in self.arguments.inputs}
        made = [Parameter(d.name, d.type, shape_at(d.shape, {})) for d in program.outputs]
        #: What goes in and what comes out, by the names of values.
        self.inputs = {name: known[name] for name in wrt}
        self.outputs = dict(zip(graph.outputs, made, strict=True))
        sides = self.inputs.values(), self.outputs.values()
        self._tuples = [result_type(p.name for p in side) for side in sides]
        self._readers = [SizeSymbols((), list(side)) for side in sides]

    def solved(self, across: bool, arguments: dict[str, Array], vector: Any, check: bool) -> Any:
        """J^-1 v, or if `across` J^-T w; with its residual if that is to be checked."""
        given, wanted = (self.inputs, self.outputs) if across else (self.outputs, self.inputs)
        reader = self._readers[not across]
        arrays = read_call(reader, (), _given(vector, reader.inputs), HOST).arrays
        vectors = dict(zip(given, arrays, strict=True))
        found = self.modes.product("transposed" if across else "inverse", arguments, vectors)
        arrays = [found[name] for name in wanted]
        result = arrays[0] if len(arrays) == 1 else self._tuples[across](*arrays)
        if not check:
            return result
        solution = {name: found[name] for name in wanted}
        again = self.modes.product("vjp" if across else "jvp", arguments, solution)
        return Checked(result, _residual([(again[name], array) for name, array in vectors.items()]))


@public
def inverse(
    f: Function, wrt: str | Sequence[str] | None = None, sizes: Mapping[str, int] | None = None
) -> Inverse:
    """Products with the inverse of f's Jacobian by the inputs `wrt` (None: all).

    The inputs `wrt` and the outputs must have as many numbers. `sizes` gives values to size symbols; what is
    left open is told by the arguments of a call. Raises CompileError: TAD0401 for a name that is no input,
    TAD0910 and TAD0911 where there is no inverse.

    >>> import tadc
    >>> inv = tadc.inverse(tadc.function("x: f64[3]; f[i] = 2*x[i]"))
    >>> inv
    <tadc.Inverse of (x: f64[3]) -> (f: f64[3]) by x>
    >>> inv.jinvT([0, 0, 0], [1, 2, 3])
    array([0.5, 1. , 1.5])
    """
    return Inverse(f, wrt, sizes)


def _solved(name: str, caller: Caller, reason: Callable[[], CompileError]) -> ProgramProduct:
    """A product without a program, under the type of those that are functions: what asks for one says why."""
    return cast("ProgramProduct", SolvedProduct(name, caller, reason))


def _parameters(program: Program) -> list[Parameter]:
    return [Parameter(a.name, a.type, a.shape, a.below, a.increasing) for a in program.arguments]


def _given(given: Any, parameters: Sequence[Argument | Parameter]) -> Mapping[str, Any]:
    """What is given in order, or by name, or alone, by name; more than there are get names of their own."""
    if isinstance(given, Mapping):
        return dict(cast("Mapping[str, Any]", given))
    items: list[Any] = [given]
    if len(parameters) != 1 or _holds_one(given, len(parameters[0].shape)):
        items = _several(given, parameters)
    found = {p.name: item for p, item in zip(parameters, items, strict=False)}
    return found | {f"argument {n}": item for n, item in enumerate(items) if n >= len(parameters)}


def _several(given: Any, parameters: Sequence[Argument | Parameter]) -> list[Any]:
    """The arrays of a sequence, one for each parameter. Raises ArgumentError for others."""
    if isinstance(given, tuple | list) and len(given) <= len(parameters):  # pyright: ignore[reportUnknownArgumentType]
        return list(given)  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
    names = ", ".join(p.name for p in parameters)
    message = f"{len(parameters)} arrays are wanted here, one for each of {names}"
    if isinstance(given, tuple | list):
        message += f"; {len(given)} are given"  # pyright: ignore[reportUnknownArgumentType]
    help = f"pass a tuple `({names})` or a mapping by name"
    raise ArgumentError([Diagnostic("TAD0502", message, helps=[help])])


def _holds_one(given: Any, rank: int) -> bool:
    """Whether it is a sequence of one array of this rank, and no array itself."""
    return isinstance(given, tuple | list) and len(given) == 1 and np.ndim(given[0]) == rank  # pyright: ignore[reportUnknownArgumentType]


def _residual(pairs: Sequence[tuple[Array, Array]]) -> float:
    error = sum(float(np.sum(np.square(np.asarray(a, float) - b))) for a, b in pairs)
    size = sum(float(np.sum(np.square(np.asarray(b, float)))) for _, b in pairs)
    return float(np.sqrt(error / size)) if size else float(np.sqrt(error))
