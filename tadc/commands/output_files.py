"""`-o FILE`: what a file's name says it holds is what is written to it."""

from __future__ import annotations

from pathlib import Path

from tadc.backend.target import BACKENDS, UNIT_FORMS
from tadc.commands.option_parser import BadUsage
from tadc.commands.options import Arguments
from tadc.compiler.all_stages import STAGES

_OF_OBJECT = "`--emit obj` writes object code, of which a linker makes one"

#: What a suffix says, and how such a file is made.
SUFFIXES = {
    ".o": ("object code", "`--emit obj` writes it"),
    ".obj": ("object code", "`--emit obj` writes it"),
    ".dylib": ("a shared library", _OF_OBJECT),
    ".dll": ("a shared library", _OF_OBJECT),
    ".lib": ("a library", _OF_OBJECT),
    ".bc": ("bitcode of LLVM", "`--emit llvm` prints LLVM IR, of which `llvm-as` makes it"),
    ".c": ("C", "`--emit h` writes how C calls the functions"),
    ".py": ("Python", "`tadc.load` takes a program into Python"),
    ".npz": ("arrays", "`tadc run` writes them"),
    ".npy": ("an array", "`tadc run` writes it"),
    ".json": ("JSON", "`tadc stats`, `tadc certificate` and `tadc uncert` write it"),
    ".svg": ("a picture", "`tadc plot` draws one"),
    ".png": ("a picture", "`tadc plot` draws one"),
    ".pdf": ("a picture", "`tadc plot` draws one"),
    ".tad": ("a program", "`tadc check` and `tadc diff` print one"),
    ".mlir": ("MLIR", "`--emit opt` prints it, as do other stages"),
    ".nest": ("loop nests", "`--emit nest` prints them"),
    ".sched": ("a schedule", "`--emit schedule` prints it"),
    ".ll": ("LLVM IR", "`--emit llvm` prints it"),
    ".s": ("assembly", "`--emit asm` prints it"),
}
for backend in BACKENDS.values():
    for form in backend.forms:
        how = f"`--emit {form.name} --target {backend.name}` writes it"
        SUFFIXES.setdefault(form.suffix, (form.about, how))


def check_output(arguments: Arguments) -> None:
    """Raises BadUsage for a name that says something else; a suffix that says nothing is free."""
    name = arguments.output
    writes_arrays = arguments.run is not None and arguments.command != "tune"
    if name in (None, "-") or writes_arrays:
        return  # of arrays the format follows the name, see `run.py`
    suffix = Path(name).suffix.lower()
    what, right = written(arguments)
    says, how = SUFFIXES.get(suffix, (what, ""))
    if says != what and suffix not in right:
        raise BadUsage(
            f"`-o {name}` is the name of {says}, but {what} is written",
            f"let it end in {' or '.join(right)}",
            f"{says}: {how}",
        )


def suffix_of(emitted: str) -> str:
    """How files end that hold what `--emit` names."""
    form = UNIT_FORMS.get(emitted)
    return form.suffix if form else next(stage.suffix for stage in STAGES if stage.name == emitted)


def written(arguments: Arguments) -> tuple[str, tuple[str, ...]]:
    """What a command writes, in words, and the suffixes of files that hold such."""
    if arguments.certificate:
        return "a certificate", (".txt", ".json")
    if arguments.stats:
        return "a table", (".txt", ".json")
    if arguments.command == "uncert":
        return "JSON", (".json",)
    if arguments.command == "tune":
        return "a schedule", (".sched",)
    if arguments.command == "plan":
        return "a plan", (".txt",)
    if arguments.command == "inverse":
        return ("a plan", (".txt",)) if arguments.product is None else ("a program", (".tad",))
    if arguments.emit:
        suffix = suffix_of(arguments.emit)
        return SUFFIXES.get(suffix, ("the syntax tree", ""))[0], (suffix,)
    if arguments.is_nest:
        return "loop nests", (".nest",)
    if arguments.passes is not None or arguments.is_mlir:
        return "MLIR", (".mlir",)
    # What is on stdin may be IR.
    return "a program", (".tad", ".mlir") if arguments.file == "-" else (".tad",)
