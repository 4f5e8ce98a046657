"""`Function`: a checked program that can be called, differentiated and lowered."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from tadc.calls import on_gpu, shape_of
from tadc.doubts import warn_of
from tadc.frontend.size_values import checked_sizes
from tadc.frontend.source import Source
from tadc.recipes import Recipe, Signature, find_kernel, find_signature, keep_signature
from tadc.reproducers import add_note, calling, compiling, deriving, noted, reading
from tadc.stages import Options

# A kernel of the disk cache runs without the front end, so what needs it is imported where it does.
if TYPE_CHECKING:
    from tadc.compiled import Compiled
    from tadc.frontend.per_value import PerValue
    from tadc.frontend.program import Program
    from tadc.lowered import Lowered

#: So many functions for values of sizes are kept.
_KEPT = 64


@dataclass(frozen=True)
class Origin:
    """What a derivative was made from."""

    base: Function
    mode: str
    wrt: tuple[str, ...]
    materialize: str = "auto"
    memory_limit: int | None = None
    chunk: int = 0
    kind: type[Function] | None = None

    def at(self, sizes: Mapping[str, int]) -> Origin:
        """The same for values of size symbols."""
        return replace(self, base=self.base.at(sizes))

    def again(self, sizes: Mapping[str, int]) -> Function:
        """The derivative of the function at values of size symbols."""
        return self.at(sizes).function()

    def function(self) -> Function:
        """The derivative."""
        details = (self.wrt, self.materialize, self.memory_limit, self.chunk)

        def make() -> Program:
            from tadc.derive import derive

            program = self.base.program
            with noted(partial(deriving, self)):
                return derive(program, self.mode, *details)

        recipe = self.base.recipe and self.base.recipe.then(self.mode, *details)
        kind = self.kind or Function
        return kind(make, self, self.base.per_value, recipe, find_signature(recipe))


class Function:
    """A program of the language as a Python function on arrays.

    `inputs` and `outputs` name its tensors in order. Calling it compiles it for this machine
    once; it takes arrays by position or by name and returns one array, or a named tuple of
    several in order. Arrays on a GPU are computed there. `str(f)` prints it as a program.
    """

    def __init__(
        self,
        make: Callable[[], Program],
        origin: Origin | None = None,
        per_value: PerValue | None = None,
        recipe: Recipe | None = None,
        signature: Signature | None = None,
    ) -> None:
        """`make` gives the program: at once, unless the signature is known from the disk.

        Raises what `make` raises.
        """
        self.origin = origin
        self.per_value = per_value
        self.recipe = recipe
        self._at: dict[tuple[tuple[str, int], ...], Function] = {}
        self._lock = threading.Lock()
        self._compiled: Compiled | None = None
        self._on_gpu: Compiled | None = None
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
        if not known and (self.per_value is None or self.origin is not None):
            keep_signature(self.recipe, self._signature)
            self.is_known = True

    def __str__(self) -> str:
        return self._text

    @cached_property
    def _text(self) -> str:
        from tadc.frontend.printer import print_program

        if self.per_value is not None:
            return self.per_value.text(self.program)
        return print_program(self.program)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickled as a program; the copy compiles anew."""
        if self.per_value is None:
            return _restore, (str(self), self.cotangents, self.gradients, dict(self._signature.tangents))
        if self.origin is None:
            return function, (self.per_value.source.text, self.per_value.source.name)
        return Origin.function, (self.origin,)

    def __repr__(self) -> str:
        return f"<tadc.Function ({', '.join(self.inputs)}) -> ({', '.join(self.outputs)})>"

    def __call__(self, /, *args: Any, out: Any = None, **kwargs: Any) -> Any:
        """Evaluate. `out` is an array, or a mapping or sequence of arrays, to write to.

        Raises ArgumentError (a CompileError and a ValueError) that lists all that is wrong with
        the arguments.
        """
        if self.per_value is not None:
            return self.at_call(args, kwargs)(*args, out=out, **kwargs)
        if on_gpu(args, kwargs):
            self._on_gpu = self._on_gpu or compile(self, "cuda")
            return self._on_gpu(*args, out=out, **kwargs)
        try:
            return (self._compiled or self.compiled())(*args, out=out, **kwargs)
        except Exception as bug:
            add_note(bug, partial(calling, self, args, kwargs))
            raise

    def at_call(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Function:
        """The function for the sizes of a call, where it is one for each value of some."""
        if self.per_value is None:
            return self
        arrays = {**dict(zip(self.inputs, args, strict=False)), **kwargs}
        shapes = {name: shape_of(value) for name, value in arrays.items()}
        # The cotangent of an output has its shape.
        shapes |= {of: shapes[name] for of, name in self.cotangents.items() if name in shapes}
        return self.at(self.per_value.values(shapes, kwargs))

    def at(self, sizes: Mapping[str, int]) -> Function:
        """The function for values of size symbols.

        Of a function that is compiled for each value of some symbols, these must be among them;
        what was made before is kept. Raises CompileError as `compile`.
        """
        if not isinstance(sizes, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(f"sizes are a mapping of names to integers, not {type(sizes).__name__}")
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
                    made = _function(partial(self.per_value.at, values), None, recipe)
                else:
                    made = self.origin.again(values)
                made.remember()
                while len(self._at) >= _KEPT:
                    self._at.pop(next(iter(self._at)))
                self._at[key] = made
        return made

    def _specialised(self, sizes: Mapping[str, int]) -> Function:
        """The same program where symbols have values."""

        def make() -> Program:
            from tadc.frontend.specialise import specialised

            return specialised(self.program, sizes)

        recipe = self.recipe and self.recipe.at(sizes)
        made = type(self)(make, self.origin and self.origin.at(sizes), None, recipe, find_signature(recipe))
        made.remember()
        return made

    def compiled(self) -> Compiled:
        """The kernel for this machine, from disk or compiled at the first use."""
        if self.per_value is not None:
            raise self.per_value.needs_values()
        if self._compiled is None:
            with self._lock:
                if self._compiled is None:
                    self._compiled = self._found_or_compiled(Options())
        return self._compiled

    def compiled_for(self, target: str, fast_math: bool = False) -> Compiled:
        """The kernel for a target, from disk or compiled. Raises CompileError as `compile`."""
        from tadc.backend.target import parse_target

        if not isinstance(target, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(f"a target is a string such as 'cpu', not {type(target).__name__}")
        return self._found_or_compiled(Options(target=parse_target(target), fast_math=fast_math))

    def compiled_fused(self) -> Compiled:
        """The kernel for this machine where a product and a sum may be rounded once."""
        return self._found_or_compiled(Options(fused=True))

    def _found_or_compiled(self, options: Options) -> Compiled:
        if self.origin:
            how = {"materialize": self.origin.materialize, "memory_limit": self.origin.memory_limit}
            options = replace(options, **how)
        found = find_kernel(self.recipe, options)
        if found is None:
            from tadc.execute import compile_recipe

            with noted(partial(compiling, self, options)):
                found = compile_recipe(self.recipe, self.program, options)
            if self.origin is None:
                self.remember()
        return found

    def lower(
        self, target: str = "cpu", sizes: Mapping[str, int] | None = None, fast_math: bool = False
    ) -> Lowered:
        """The program on its way to a target, every stage to look at."""
        from tadc.lowered import Derivation, Lowered

        made = self.at(sizes or {})
        origin = made.origin
        derivation = origin and Derivation(
            origin.base.program,
            origin.mode,
            origin.wrt,
            origin.materialize,
            origin.memory_limit,
            origin.chunk,
        )
        return Lowered(made.program, target, derivation, fast_math)


def compile(
    f: Function, target: str = "cpu", sizes: Mapping[str, int] | None = None, fast_math: bool = False
) -> Compiled:
    """Compile ahead of the first call; the result is called like `f`.

    Target `cuda` is the GPU of this machine, `cuda:sm_90` an architecture, `emulated` runs the same kernels
    without a GPU. Arrays on the GPU come back as arrays of the same library, on its current stream or
    `stream=`; NumPy arrays are copied over and back.

    With `fast_math` arithmetic may round otherwise than it is written, and `exp` and `tanh` err by up to
    5 units in the last place: results may differ in their last digits between machines and between
    numbers of threads.
    """
    if target == "cpu" and not fast_math:
        return f.at({} if sizes is None else sizes).compiled()
    return f.at({} if sizes is None else sizes).compiled_for(target, fast_math)


def function(source: str, name: str = "<string>", sizes: Mapping[str, int] | None = None) -> Function:
    """Parse and check a program, for values of size symbols if `sizes` gives some.

    Raises CompileError with all its errors, and warns (CompileWarning) of what is unlikely to be meant.
    """
    if not isinstance(source, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(f"a program is a string, not {type(source).__name__}")
    text = Source(source, name)
    recipe = Recipe(text).at(sizes or {})
    signature = find_signature(recipe)
    if signature is not None:
        return Function(lambda: _read(text, sizes)[0], recipe=recipe, signature=signature)
    program, per_value = _read(text, sizes)
    warn_of(program.doubts)
    return Function(lambda: program, per_value=per_value, recipe=recipe)


def _function(make: Callable[[], Program], origin: Origin | None, recipe: Recipe | None) -> Function:
    """The function of a program that is made if its signature is not on disk."""
    return Function(make, origin, recipe=recipe, signature=find_signature(recipe))


def _read(source: Source, sizes: Mapping[str, int] | None) -> tuple[Program, PerValue | None]:
    from tadc.frontend.per_value import PerValue, read_program

    with noted(partial(reading, source.text, sizes)):
        found = read_program(source, sizes)
    return (found.example, found) if isinstance(found, PerValue) else (found, None)


def _restore(
    text: str, cotangents: dict[str, str], gradients: dict[str, str], tangents: dict[str, str]
) -> Function:
    """A function from its text, and from what text does not say of a derivative."""
    plain = function(text)
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
    return _function(make, None, recipe)
