"""`tadc plan`: a program in blocks, what they cost on some workers, and the boxes that one reads."""

from __future__ import annotations

from tadc.api.derivatives import value_and_vjp
from tadc.backend.compile_steps import step
from tadc.commands.certificate_plot import picture_format
from tadc.commands.files import Sink
from tadc.commands.given_program import read_program
from tadc.commands.options import Arguments
from tadc.commands.warn import function_of

#: For so many workers the time of a model is shown.
WORKERS = (1, 10, 100, 1000)


def execute(arguments: Arguments) -> int:
    """Print the program of a block, what all blocks cost, and how long a model says that they take.

    Raises CompileError.
    """
    kind = picture_format(arguments.plot) if arguments.plot is not None else ""
    lengths = _lengths(arguments)
    source = read_program(arguments)
    sizes = dict(arguments.sizes)
    with step("typed"):
        f = function_of(arguments, source, sized=False)
    if arguments.wrt is not None:
        f = value_and_vjp(f, arguments.wrt_names)
    with step("blocks"):
        block = f.block(**lengths)
    with step("plan"):
        found = block.traffic(arguments.workers or 1, **sizes)
    if kind:
        Sink(str(arguments.plot)).write(block.plot(kind, **sizes))
    seconds = ", ".join(f"{count:,}: {time:.3g}" for count, time in found.simulated(WORKERS).items())
    text = f"{block}\n{found}\nseconds by a model on so many workers: {seconds}\n"
    if arguments.certificate:
        text += "".join(f"{witness}\n" for witness in block.certificate(**sizes))
    Sink(arguments.output or "-").write(text)
    return 0


def _lengths(arguments: Arguments) -> dict[str, int | None]:
    """How long blocks are along which indices."""
    words = [word.partition("=") for word in (arguments.block or "").split(",") if word]
    return {name: int(length) if length else None for name, _, length in words}
