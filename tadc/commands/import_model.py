"""`tadc import`: a model in a file, as a program."""

from __future__ import annotations

from importlib import import_module
from os.path import splitext

from tadc.api.load import MODEL_FILES
from tadc.commands.files import Sink
from tadc.commands.option_parser import BadUsage
from tadc.commands.options import Arguments


def execute(arguments: Arguments) -> int:
    """Print the program of a model. Raises CompileError, BadUsage for other files."""
    file = arguments.file or ""
    reader = MODEL_FILES.get(splitext(file)[1])
    if reader is None:
        kinds = ", ".join(MODEL_FILES)
        raise BadUsage(f"`{file}` is no model", f"`tadc import` reads files that end in {kinds}")
    model = import_module(reader).load_model(file)
    text = str(model)
    if model.constants:
        text = f"# {', '.join(model.constants)}: given by the model\n{text}"
    Sink(arguments.output or "-").write(text)
    return 0
