"""`tadc import`: a model in a file, as a program."""

from __future__ import annotations

from importlib import import_module

from tadc.api.load import MODEL_FILES
from tadc.commands.files import Sink
from tadc.commands.option_parser import BadUsage
from tadc.commands.options import Arguments


def execute(arguments: Arguments) -> int:
    """Print the program of a model. Raises CompileError, BadUsage for other files."""
    kind = next((k for k in MODEL_FILES if arguments.file.endswith(k)), None)
    if kind is None:
        kinds = ", ".join(MODEL_FILES)
        raise BadUsage(f"`{arguments.file}` is no model", f"`tadc import` reads files that end in {kinds}")
    model = import_module(MODEL_FILES[kind]).load_model(arguments.file)
    text = str(model)
    if model.constants:
        text = f"# {', '.join(model.constants)}: given by the model\n{text}"
    Sink(arguments.output or "-").write(text)
    return 0
