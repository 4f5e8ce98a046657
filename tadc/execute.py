"""Programs to kernels of this machine."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from tadc.driver import compile_until
from tadc.frontend.diagnostics import CompileError, Diagnostic
from tadc.frontend.extents import substituted
from tadc.frontend.program import Program
from tadc.frontend.specialise import problems_at
from tadc.lattice.affine import Affine
from tadc.stages import Compilation, Options

if TYPE_CHECKING:
    from tadc.backend.runtime.kernel import Kernel
    from tadc.backend.target import Target


class Compiled:
    """A compiled function, called like the `Function` it was made from."""

    def __init__(self, kernel: Kernel, outputs: tuple[str, ...]) -> None:
        self.kernel = kernel
        self._result: Any = None
        if len(outputs) > 1:
            self._result = namedtuple("Result", outputs, rename=True)  # pyright: ignore[reportUntypedNamedTuple]

    def __repr__(self) -> str:
        inputs, outputs = (
            ", ".join(str(p) for p in side) for side in (self.kernel.inputs, self.kernel.outputs)
        )
        return f"<tadc.Compiled ({inputs}) -> ({outputs})>"

    def __call__(self, /, *args: Any, out: Any = None, **kwargs: Any) -> Any:
        """Evaluate; one output is the array itself, several are a named tuple in order.

        Raises ArgumentError that lists all that is wrong with the arguments.
        """
        found = self.kernel(args, kwargs, out)
        return self._result(*found) if self._result else found[0]


def compile_program(
    program: Program,
    target: Target | None = None,
    level: int = 3,
    materialize: str = "auto",
    memory_limit: int | None = None,
) -> Compiled:
    """Compile for this machine, value and derivatives alike.

    Raises CompileError where the target cannot be run here, or there is nothing to run.
    """
    if target is not None and target.is_cuda:
        raise CompileError(
            [
                Diagnostic(
                    "TAD0706",
                    f"target `{target}` can be emitted, but not run",
                    helps=["`as_text('ptx')` or `--emit ptx` gives its code; target `cpu` runs here"],
                )
            ]
        )
    if not program.outputs:
        raise CompileError([Diagnostic("TAD0405", "the program defines no output", source=program.source)])
    options = Options(target=target, level=level, materialize=materialize, memory_limit=memory_limit)
    state = Compilation(options, program.source, program=program)
    compile_until(state, "llvm", first="tad")
    return Compiled(load_kernel(state, program), tuple(d.name for d in program.outputs))


def load_kernel(state: Compilation, program: Program) -> Kernel:
    """Object code and its place in this process."""
    from tadc.backend.jit import load
    from tadc.backend.object_code import object_code
    from tadc.backend.runtime.arrays import Parameter
    from tadc.backend.runtime.kernel import Kernel
    from tadc.backend.runtime.sizes import SizeSymbols

    library = load(object_code(state.llvm_ir, state.options.level), [state.symbol])
    inputs = [Parameter(a.name, a.type, a.shape) for a in program.arguments]
    outputs = [Parameter(d.name, d.type, d.shape) for d in program.outputs]
    names = {f"s{n}": Affine.var(name) for n, name in enumerate(program.sizes)}
    temporaries = [
        Parameter(f"temporary {n}", type, substituted(shape, names))
        for n, (type, shape) in enumerate(state.temporaries)
    ]
    sizes = SizeSymbols(
        program.sizes, inputs, program.excluded, partial(problems_at, program), dict(program.given)
    )
    return Kernel(library[state.symbol], state.symbol, inputs, outputs, temporaries, library, sizes)


def evaluate(compiled: Compiled, arrays: Mapping[str, Any]) -> dict[str, Any]:
    """The results by name."""
    found = compiled.kernel((), dict(arrays))
    return dict(zip((p.name for p in compiled.kernel.outputs), found, strict=True))
