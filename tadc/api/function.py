"""`Function`: a checked program that can be called, differentiated and lowered."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from tadc.api.array_kinds import are_foreign, on_gpu, shape_of
from tadc.api.bug_scripts import add_note, calling, compiling, noted, reading
from tadc.api.call_versions import adapt_to_calls
from tadc.api.framework_views import BLOCK, DASK, EXPLAIN, JAX, TORCH
from tadc.api.recipes import Recipe, Signature, find_kernel, find_signature, keep_signature
from tadc.api.tuned import with_tuned
from tadc.backend.compile_steps import is_logged, log, step
from tadc.backend.runtime.call_watchers import WATCHERS, WatchedCall, watched
from tadc.caller.boundary import checked_bytes, checked_choice, checked_sizes_given, leaving, public, usage
from tadc.caller.progress import shown_progress
from tadc.caller.python_signatures import PythonSignature, typed_text
from tadc.compiler.compile_options import MATERIALIZE, Options
from tadc.frontend.diagnostics import CompileError
from tadc.frontend.dtypes import DEFAULT, may_have_parameters
from tadc.frontend.forks import new_lock
from tadc.frontend.size_values import checked_sizes
from tadc.frontend.source import Source
from tadc.lattice.late_dataclasses import dataclass, replace

# A kernel of the disk cache runs without the front end, so what needs it is imported where it does.
if TYPE_CHECKING:
    from tadc.api.compiled import Again, Compiled
    from tadc.api.lowered import Lowered
    from tadc.backend.runtime.call_sizes import SizeSymbols
    from tadc.frontend.per_value import PerValue
    from tadc.frontend.program import Program
    from tadc.frontend.type_parameters import TypeParameters

#: What other modules of tadc ask of a function, and nobody else.
_INTERNAL = frozenset(
    (
        "at_call",
        "compiled_for",
        "compiled_fused",
        "differentiable",
        "is_known",
        "options",
        "origin",
        "per_value",
        "is_open",
        "kernel_source",
        "made_kernel",
        "recipe",
        "remember",
        "require_types",
        "run",
        "run_by",
        "type_parameters",
        "typed",
        "script",
        "size_symbols",
        "storing",
    )
)

#: What a function is compiled to if nothing is said.
_PLAIN = Options()

#: For what a call compiles it.
_CALLED = Options(long_fibres=False)

#: The packages of values whose class and `dtype` tell the type; of JAX's arrays some are of none.
_KINDS_OF = ("builtins", "numpy", "torch")

#: So many functions for values of sizes are kept.
_KEPT = 64


@dataclass(frozen=True)
class Origin:
    """What a derivative was made from."""

    base: Function
    options: Options
    kind: type[Function] | None = None

    def at(self, sizes: Mapping[str, int]) -> Origin:
        """What the derivative at values of size symbols is made from."""
        return replace(self, base=self.base.at(sizes))

    def typed(self, types: Mapping[str, str]) -> Function:
        """The derivative for types in the place of type parameters."""
        return replace(self, base=self.base.typed(types)).function()

    def again(self, sizes: Mapping[str, int]) -> Function:
        """The derivative of the function at values of size symbols."""
        return self.at(sizes).function()

    def script(self) -> str:
        """Python that makes the derivative, as `f`."""
        kind = f"tadc.api.jacobians.{self.kind.__name__}" if self.kind else "None"
        return f"{self.base.script()}f = Origin(f, {self.options}, {kind}).function()\n"

    def recipe(self) -> Recipe | None:
        """What the derivative is known by on disk."""
        return self.base.recipe and self.base.recipe.then("derivative", repr(self.options))

    def per_value(self) -> PerValue | None:
        """The symbols that need values first."""
        return self.base.per_value

    def derived_from(self) -> Program | None:
        """The program that the derivative is taken of."""
        return self.base.program

    def program(self) -> Program:
        """The program of the derivative."""
        from tadc.compiler.derive import derive
        from tadc.compiler.reversals import REVERSALS

        program = self.base.program
        made = derive(program, self.options.mode, self.options.wrt, self.options)
        return REVERSALS[self.options.reverse](made, program)

    def function(self) -> Function:
        """The derivative."""

        def make() -> Program:
            with noted(lambda: f"{self.script()}f.program\n"):
                return self.program()

        recipe = self.recipe()
        kind = self.kind or Function
        return kind(make, self, self.per_value(), recipe, find_signature(recipe), self.options)


class Function:
    """A program of the language as a Python function on arrays.

    `inputs` and `outputs` name its tensors in order. Calling it compiles it for this machine
    once; it takes arrays by position or by name and returns one array, or a named tuple of
    several in order. Arrays on a GPU are computed there. `str(f)` prints it as a program.

    Arrays of PyTorch and JAX, and of other libraries with the array API of Python, are read where they are,
    and results are arrays of the same library: of the first argument that is not NumPy's.

    >>> import tadc
    >>> f = tadc.function("x: f64[3]; f[i] = 2*x[i]")
    >>> f
    <tadc.Function (x: f64[3]) -> (f: f64[3])>
    >>> f([1, 2, 3])
    array([2., 4., 6.])
    """

    __signature__ = PythonSignature()
    block = BLOCK
    dask = DASK
    explain = EXPLAIN
    jax = JAX
    torch = TORCH

    def __init__(
        self,
        make: Callable[[], Program],
        origin: Origin | None = None,
        per_value: PerValue | None = None,
        recipe: Recipe | None = None,
        signature: Signature | None = None,
        options: Options = _PLAIN,
        types: TypeParameters | None = None,
    ) -> None:
        """`make` gives the program: at once, unless the signature is known from the disk.

        With type parameters it is that of an example.

        Of the options those count, unless a kernel is asked for others, that say which tensors are stored;
        of a derivative they are those that it was taken with. Raises what `make` raises.
        """
        if not callable(make):
            raise usage("a Function is not made from its class", "write `tadc.function(text)`")
        self.origin = origin
        self.options = options
        self.per_value = per_value
        self.type_parameters = types if origin is None else origin.base.type_parameters
        #: The function for types, by those of arrays in a call.
        self._by_types: dict[tuple[Any, ...], Function] = {}
        #: Whether a call says which function it is of.
        self.is_open = per_value is not None or self.type_parameters is not None
        self.recipe = recipe
        self._at: dict[tuple[tuple[str, int | str], ...], Function] = {}
        self._lock = new_lock()
        self._compiled: Compiled | None = None
        self._on_gpu: Compiled | None = None
        #: Does a call like the last one without another look at all that it is given.
        self._again: Again | None = None
        self._make = make
        self._program: Program | None = None
        #: Whether the disk says that the program is without error or warning.
        self.is_known = signature is not None
        self._signature = signature or Signature.of(self.program)

    @property
    def program(self) -> Program:
        """The checked program."""
        # No lock, as `cached_property` of Python 3.11 has for all functions: who makes a derivative waits
        # for MLIR's, and who holds that may ask for a program. At worst it is made twice.
        if self._program is None:
            self._program = self._make()
        return self._program

    @property
    def inputs(self) -> tuple[str, ...]:
        """The names of the arguments, in order."""
        return self._signature.inputs

    @property
    def differentiable(self) -> tuple[str, ...]:
        """The names of the arguments by which there are derivatives: all but index arrays."""
        return tuple(name for name in self.inputs if name not in self._signature.index_arrays)

    @property
    def outputs(self) -> tuple[str, ...]:
        """The names of the results, in order."""
        return self._signature.outputs

    @property
    def cotangents(self) -> dict[str, str]:
        """Of a vjp: the argument that is the cotangent of each output, `{"f": "df"}`."""
        return dict(self._signature.cotangents)

    @property
    def gradients(self) -> dict[str, str]:
        """Of a derivative: the result that is the gradient of each argument, `{"a": "da"}`."""
        return dict(self._signature.gradients)

    @property
    def tangents(self) -> dict[str, str]:
        """Of a jvp: the argument that is the tangent of each input that has one, `{"x": "x_dot"}`."""
        return {of: name for of, name in self._signature.tangents.items() if name in self.inputs}

    @property
    def output_tangents(self) -> dict[str, str]:
        """Of a jvp: the result that is the tangent of each output, `{"f": "f_dot"}`."""
        return {of: name for of, name in self._signature.tangents.items() if name in self.outputs}

    def remember(self) -> None:
        """Keep on disk that the program is without error or warning."""
        # What is compiled for each value of a size is parsed anew: the sizes are read off its text.
        known = self.is_known or self.program.doubts
        if not known and (not self.is_open or self.origin is not None):
            keep_signature(self.recipe, self._signature)
            self.is_known = True

    def __str__(self) -> str:
        return self._text

    def script(self) -> str:
        """Python that makes the function, as `f`, from its text and from what it is derived of."""
        if self.origin is not None:
            return self.origin.script()
        stated = self.per_value or self.type_parameters
        text = stated.source.text if stated is not None else str(self)
        about = self.options
        how = f"materialize={about.materialize!r}, memory_limit={about.memory_limit}"
        return f"f = tadc.function({text!r}{'' if about == _PLAIN else f', {how}'})\n"

    @cached_property
    def _text(self) -> str:
        from tadc.frontend.printer import print_program

        if self.per_value is not None:
            return self.per_value.text(self.program)
        if self.type_parameters is not None:
            names = ", ".join(self.type_parameters.names)
            head = f"# compiled for each type of {names}; this is the program for {DEFAULT}\n"
            return head + print_program(self.program)
        return print_program(self.program)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickled as a program; the copy compiles anew."""
        stated = self.per_value or self.type_parameters
        if stated is None:
            return restored, (
                str(self),
                self.cotangents,
                self.gradients,
                dict(self._signature.tangents),
                "<string>",
                self.options.of_derived,
            )
        if self.origin is None:
            source = stated.source
            return restored, (source.text, {}, {}, {}, source.name, self.options)
        return type(self.origin).function, (self.origin,)

    def __repr__(self) -> str:
        return f"<tadc.{type(self).__name__} {typed_text(self)}>"

    def __dir__(self) -> list[str]:
        return [n for n in object.__dir__(self) if n not in _INTERNAL and (n[0] != "_" or n[:2] == "__")]

    def latex(self) -> str:
        r"""The program in LaTeX, an `aligned` for a formula of its own.

        >>> import tadc
        >>> print(tadc.function("x: f64[3]; s = sum{i} (x[i]**2)").latex())
        \begin{aligned}
        s &= \sum_{i=0}^{2} x_{i}^{2}
        \end{aligned}
        """
        from tadc.frontend.latex import program_latex

        return program_latex(self.program)

    def _repr_latex_(self) -> str:
        return f"$\\displaystyle {self.latex()}$"

    def _repr_html_(self) -> str:
        from tadc.caller.showing import formula_html

        return formula_html(self.latex(), str(self))

    def __call__(self, /, *args: Any, out: Any = None, **kwargs: Any) -> Any:
        """Evaluate. `out` is an array, or a mapping or sequence of arrays, to write to.

        Raises ArgumentError (a CompileError and a ValueError) that lists all that is wrong with
        the arguments.
        """
        __tracebackhide__ = True
        try:
            if WATCHERS:
                f = self.at_call(args, kwargs)
                return watched(WatchedCall(f, args, kwargs, out), partial(f.run, args, kwargs, out))
            if self.is_open:
                return self.at_call(args, kwargs)(*args, out=out, **kwargs)
            if self._again is not None:
                found = self._again(args, kwargs, out)
                if found is not None:
                    return found
            return self._anew(args, kwargs, out)
        except Exception as error:
            add_note(error, partial(calling, self.script, args, kwargs))
            leaving(error)
            raise

    def run(self, args: Sequence[Any], kwargs: Mapping[str, Any], out: Any) -> Any:
        """Evaluate a function that is not open, as a call that nobody watches."""
        found = self._again and self._again(args, kwargs, out)
        return self._anew(args, kwargs, out) if found is None else found

    def _anew(self, args: Sequence[Any], kwargs: Mapping[str, Any], out: Any) -> Any:
        """Evaluate, whatever the call before was."""
        if are_foreign(args, kwargs, out):
            return self._called_with_foreign(args, kwargs, out)
        compiled = self._compiled or self.compiled()
        self._again = compiled.again
        return compiled.run(args, kwargs, out)

    def _called_with_foreign(self, args: Sequence[Any], kwargs: Mapping[str, Any], out: Any) -> Any:
        """Evaluate where the arrays are, some of which are of other libraries."""
        if on_gpu(args, kwargs):
            from tadc.backend.target import DEVICE, parse_target

            self._on_gpu = self._on_gpu or self.compiled_for(Options(target=parse_target(DEVICE)))
            self._again = self._on_gpu.again
            return self._on_gpu.run(args, kwargs, out)
        return (self._compiled or self.compiled()).run_on_host(args, kwargs, out)

    def at_call(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Function:
        """The function for the types and sizes of a call, where it is one for each value of some."""
        if not self.is_open:
            return self
        if self.type_parameters is not None:
            found = self._of_types(args, kwargs)
            return found.at_call(args, kwargs) if found.is_open else found
        assert self.per_value is not None
        arrays = {**dict(zip(self.inputs, args, strict=False)), **kwargs}
        shapes = {name: shape_of(value) for name, value in arrays.items()}
        # The cotangent of an output has its shape.
        shapes |= {of: shapes[name] for of, name in self.cotangents.items() if name in shapes}
        return self.at(self.per_value.values(shapes, kwargs))

    def _of_types(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Function:
        """The function for the types of a call; arrays of the kinds of others before them are not looked at
        anew."""
        kinds = tuple([(value.__class__, getattr(value, "dtype", None)) for value in args])
        found = None if kwargs else self._by_types.get(kinds)
        if found is None:
            from tadc.api.array_types import types_of_call

            assert self.type_parameters is not None
            arrays = {**dict(zip(self.inputs, args, strict=False)), **kwargs}
            roles = {name: of for of, name in (*self.cotangents.items(), *self.tangents.items())}
            found = self.typed(types_of_call(self.type_parameters, arrays, roles))
            if not kwargs and all(kind.__module__.partition(".")[0] in _KINDS_OF for kind, _ in kinds):
                self._by_types[kinds] = found
        return found

    def typed(self, types: Mapping[str, str]) -> Function:
        """The function for types in the place of type parameters, of which all are given."""
        key = tuple(types.items())
        with self._lock:
            made = self._at.get(key)
            if made is None:
                assert self.type_parameters is not None
                how = self.options.materialize, self.options.memory_limit
                if self.origin is None:
                    source = self.type_parameters.at(types)
                    made = function_of_text(source, self.type_parameters.sizes).storing(*how)
                else:
                    made = self.origin.typed(types)
                made.remember()
                self._at[key] = made
        return made

    @public
    def at(self, sizes: Mapping[str, int] | None = None, *, dtype: Any = None) -> Function:
        """The function for values of size symbols, and for types.

        `dtype` is the type in the place of all type parameters of the program (`x: T[N]`), or a mapping with
        one for each: `"f32"`, or what NumPy, PyTorch or JAX call it. Raises UsageError for another.

        Of a function that is compiled for each value of some symbols, these must be among them;
        what was made before is kept. Raises CompileError as `compile`.
        """
        sizes = {} if sizes is None else sizes
        checked_sizes_given(sizes)
        if dtype is not None:
            from tadc.api.array_types import checked_types

            return self.typed(checked_types(self.type_parameters, dtype)).at(sizes)
        if self.type_parameters is not None and sizes:
            raise self.type_parameters.needs_types()
        if self.per_value is None:
            return self._specialised(sizes) if sizes else self
        if not set(self.per_value.symbols) <= sizes.keys():
            raise self.per_value.needs_values()
        values = checked_sizes(sizes)
        key = tuple(values.items())
        with self._lock:
            made = self._at.get(key)
            if made is None:
                if self.origin is None:
                    recipe = self.recipe and self.recipe.at(values)
                    made = function_of(partial(self.per_value.at, values), recipe, self.options)
                else:
                    made = self.origin.again(values)
                made.remember()
                while len(self._at) >= _KEPT:
                    self._at.pop(next(iter(self._at)))
                self._at[key] = made
        return made

    def _specialised(self, sizes: Mapping[str, int]) -> Function:
        """The function at values of size symbols; a derivative is taken anew, which may be shorter then."""
        if self.origin is not None:
            derivative = self.origin.again(sizes)
            derivative.remember()
            return derivative

        def make() -> Program:
            from tadc.frontend.specialise import specialised

            return specialised(self.program, sizes)

        recipe = self.recipe and self.recipe.at(sizes)
        made = type(self)(make, None, None, recipe, find_signature(recipe), self.options)
        made.remember()
        return made

    def storing(self, materialize: str | None = None, memory_limit: int | str | None = None) -> Function:
        """The function that stores other tensors in between; a derivative is taken anew.

        Raises UsageError for what is no such choice, or no number of bytes.
        """
        how = checked_storage(materialize, memory_limit)
        options = self.options.storing(*how)
        if options == self.options:
            return self
        if self.origin is not None:
            return replace(self.origin, base=self.origin.base.storing(*how), options=options).function()
        made = type(self)(
            self._make, None, self.per_value, self.recipe, self._signature, options, self.type_parameters
        )
        made.is_known = self.is_known
        return made

    def compiled(self) -> Compiled:
        """The kernel for this machine, from disk or compiled at the first use."""
        if self.per_value is not None:
            raise self.per_value.needs_values()
        if self._compiled is None:
            with self._lock:
                if self._compiled is None:
                    self._compiled = self.compiled_for(_CALLED)
        return self._compiled

    def made_kernel(self) -> Any:
        """The kernel for this machine; None where no call has needed it yet."""
        return self._compiled and self._compiled.kernel

    def kernel_source(self) -> tuple[Function, Options]:
        """What that kernel is compiled of."""
        return self, with_tuned(self.recipe, self._stored_as(_CALLED))

    @cached_property
    def size_symbols(self) -> SizeSymbols:
        """How the shapes of a call tell its sizes."""
        from tadc.compiler.kernel_interface import size_symbols_of

        return size_symbols_of(self.program)

    def run_by(self, compiled: Compiled) -> None:
        """Let calls from now on take a kernel that was compiled for this machine by another schedule."""
        with self._lock:
            self._compiled, self._again = compiled, None

    def compiled_fused(self) -> Compiled:
        """The kernel for this machine where a product and a sum may be rounded once."""
        return self.compiled_for(Options(fused=True, long_fibres=False))

    def compiled_for(self, options: Options) -> Compiled:
        """The kernel of other options, from disk or compiled. Raises CompileError as `compile`."""
        self.require_types()
        options = self._stored_as(options)
        with step("cache"):
            found = find_kernel(self.recipe, tuned := with_tuned(self.recipe, options))
        begin, is_kept = time.perf_counter(), found is not None
        if found is None:
            with shown_progress():
                found = self._compiled_anew(options, tuned)
            if self.origin is None:
                self.remember()
        by = ", by a tuned schedule" if tuned is not options else ""
        log_kernel(self, tuned.target, None if is_kept else begin, by)
        adapt_to_calls(found.kernel, self, options)
        found.of = self, tuned
        return found

    def _stored_as(self, options: Options) -> Options:
        """Options that store what the function is to store."""
        how = self.options.materialize, self.options.memory_limit
        return replace(options.storing(*how), reverse=self.options.reverse)

    def _compiled_anew(self, options: Options, tuned: Options) -> Compiled:
        """The kernel by a schedule that was tuned, as far as that fits, or else by what is chosen."""
        from tadc.api.execute import compile_program

        if tuned is not options:
            # A kernel that cuts long fibres has other loops than one that does not.
            with suppress(CompileError):
                return compile_program(self.program, tuned, self.recipe)
        with noted(partial(compiling, self.script, options)):
            return compile_program(self.program, options, self.recipe)

    def require_types(self) -> None:
        """Raise CompileError (TAD0215) where arrays say what the types are."""
        if self.type_parameters is not None:
            raise self.type_parameters.needs_types()

    @public
    def lower(
        self, target: str = "cpu", sizes: Mapping[str, int] | None = None, fast_math: bool = False
    ) -> Lowered:
        """The program on its way to a target, every stage to look at."""
        from tadc.api.lowered import Lowered, lowering_target

        made = self.at({} if sizes is None else sizes)
        made.require_types()
        options = replace(made.options, target=lowering_target(target), fast_math=fast_math)
        options = replace(options, schedule=with_tuned(made.recipe, options.of_derived).schedule)
        return Lowered(made.program, options.for_calls, made.origin and made.origin.derived_from())


def log_kernel(f: Function, target: object, begin: float | None, more: str = "") -> None:
    """Tell of a kernel for a target that has been compiled since `begin`, or is from disk."""
    if is_logged(logging.INFO):
        how = "from disk" if begin is None else f"compiled in {time.perf_counter() - begin:.2f} s"
        log(logging.INFO, "kernel of %s for %s: %s%s", typed_text(f), target, how, more)


def checked_storage(materialize: str | None, memory_limit: int | str | None) -> tuple[str | None, int | None]:
    """Which tensors in between are stored, None where that is not said. Raises UsageError as `storing`."""
    if materialize is not None:
        checked_choice(materialize, "materialize", MATERIALIZE)
    return materialize, checked_bytes(memory_limit)


def function_of(make: Callable[[], Program], recipe: Recipe | None, options: Options = _PLAIN) -> Function:
    """The function of a program that is made if its signature is not on disk."""
    return Function(make, recipe=recipe, signature=find_signature(recipe), options=options)


def _read(source: Source, sizes: Mapping[str, int] | None) -> tuple[Program, PerValue | None]:
    from tadc.frontend.per_value import PerValue, read_program

    with noted(partial(reading, source.text, sizes)):
        found = read_program(source, sizes)
    return (found.example, found) if isinstance(found, PerValue) else (found, None)


def function_of_text(source: Source, sizes: Mapping[str, int] | None = None) -> Function:
    """The function of a text, of which nobody is warned."""
    if may_have_parameters(source.text):
        from tadc.frontend.type_parameters import type_parameters

        types = type_parameters(source, sizes)
        if types is not None:
            example = function_of_text(types.at(), sizes)
            recipe = Recipe(source).at(sizes or {})
            return Function(lambda: example.program, recipe=recipe, types=types)
    recipe = Recipe(source).at(sizes or {})
    signature = find_signature(recipe)
    if signature is not None:
        return Function(lambda: _read(source, sizes)[0], recipe=recipe, signature=signature)
    program, per_value = _read(source, sizes)
    return Function(lambda: program, per_value=per_value, recipe=recipe)


def restored(
    text: str,
    cotangents: dict[str, str],
    gradients: dict[str, str],
    tangents: dict[str, str],
    name: str = "<string>",
    options: Options = _PLAIN,
) -> Function:
    """A function from its text, and from what text does not say of a derivative. Warnings were given once."""
    plain = function_of_text(Source(text, name)).storing(options.materialize, options.memory_limit)
    if not cotangents and not gradients and not tangents:
        return plain
    first, second, third = (
        {name: of for of, name in roles.items()} for roles in (cotangents, gradients, tangents)
    )

    def make() -> Program:
        program = plain.program
        return replace(
            program,
            arguments=tuple(
                replace(a, cotangent_of=first.get(a.name, ""), tangent_of=third.get(a.name, ""))
                for a in program.arguments
            ),
            definitions=tuple(
                replace(d, gradient_of=second.get(d.name, ""), tangent_of=third.get(d.name, ""))
                if d.is_output
                else d
                for d in program.definitions
            ),
        )

    roles = (tuple(names.items()) for names in (first, second, third))
    recipe = plain.recipe and plain.recipe.then("roles", *roles)
    return function_of(make, recipe, options)
