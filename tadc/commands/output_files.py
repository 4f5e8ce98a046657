"""`-o FILE`: what a file's name says it holds is what is written to it."""

from __future__ import annotations

from pathlib import Path

from tadc.backend.target import BACKENDS
from tadc.commands.option_parser import UsageError
from tadc.commands.options import Arguments
from tadc.compiler.all_stages import STAGES

_NOT_YET = "`--emit obj` writes object code, of which a linker makes one"

#: What a suffix says, and how such a file is made.
SUFFIXES = {
    ".o": ("object code", "`--emit obj` writes it"),
    ".obj": ("object code", "`--emit obj` writes it"),
    ".so": ("a shared library", _NOT_YET),
    ".dylib": ("a shared library", _NOT_YET),
    ".dll": ("a shared library", _NOT_YET),
    ".a": ("a library", _NOT_YET),
    ".lib": ("a library", _NOT_YET),
    ".bc": ("bitcode of LLVM", "`--emit llvm` prints LLVM IR, of which `llvm-as` makes it"),
    ".c": ("C", "`--emit asm` begins with how C calls the functions"),
    ".py": ("Python", "`tadc.load` takes a program into Python"),
    ".h": ("a header of C", "`--emit asm` begins with how C calls the functions"),
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
    """Raises UsageError for a name that says something else; a suffix that says nothing is free."""
    name = arguments.output
    if name in (None, "-") or arguments.run is not None:
        return  # of arrays the format follows the name, see `run.py`
    suffix = Path(name).suffix.lower()
    what, right = written(arguments)
    if suffix in SUFFIXES and suffix not in right:
        says, how = SUFFIXES[suffix]
        raise UsageError(
            f"`-o {name}` is the name of {says}, but {what} is written",
            f"let it end in {' or '.join(right)}",
            f"{says}: {how}",
        )


def written(arguments: Arguments) -> tuple[str, tuple[str, ...]]:
    """What a command writes, in words, and the suffixes of files that hold such."""
    if arguments.certificate:
        return "a certificate", (".txt", ".json")
    if arguments.stats:
        return "a table", (".txt", ".json")
    if arguments.command == "uncert":
        return "JSON", (".json",)
    if arguments.command == "inverse":
        return ("a plan", (".txt",)) if arguments.product is None else ("a program", (".tad",))
    if arguments.emit:
        suffix = next(stage.suffix for stage in STAGES if stage.name == arguments.emit)
        return SUFFIXES.get(suffix, ("the syntax tree", ""))[0], (suffix,)
    if arguments.is_nest:
        return "loop nests", (".nest",)
    if arguments.passes is not None or arguments.is_mlir:
        return "MLIR", (".mlir",)
    # What is on stdin may be IR.
    return "a program", (".tad", ".mlir") if arguments.file == "-" else (".tad",)
