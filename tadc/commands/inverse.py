"""`tadc inverse`: how the Jacobian of a program is inverted."""

from __future__ import annotations

from tadc.apps.inversion import inverse
from tadc.backend.compile_steps import step
from tadc.commands.certificate_plot import picture_format
from tadc.commands.files import Sink
from tadc.commands.given_program import read_program
from tadc.commands.options import Arguments
from tadc.commands.warn import function_of


def execute(arguments: Arguments) -> int:
    """Print how the Jacobian is inverted, or the program of a product, or draw it. Raises CompileError."""
    kind = picture_format(arguments.plot) if arguments.plot is not None else ""
    source = read_program(arguments)
    with step("typed"):
        program = function_of(arguments, source)
    with step("plan"):
        made = inverse(program, arguments.wrt_names)
        plan = made.plan
    if kind:
        from tadc.apps.inversion.plot import draw

        Sink(str(arguments.plot)).write(draw(plan, kind))
    if arguments.product is not None:
        with step("product"):
            text = str(getattr(made, arguments.product))
        Sink(arguments.output or "-").write(text)
    if arguments.plan or not (kind or arguments.product):
        Sink(arguments.output or "-").write(str(plan))
    return 0
