"""The generated part of docs/how_it_works.md: a program in every form, and the folders with what flows out.

`python -m docs.reference` writes it; a test says whether the page is what this would write.
"""

from __future__ import annotations

import ast
import io
import re
from collections import Counter
from collections.abc import Container, Iterator
from contextlib import redirect_stdout
from dataclasses import dataclass, field
from graphlib import TopologicalSorter
from pathlib import Path
from tempfile import TemporaryDirectory

from tadc.cli import main

ROOT = Path(__file__).parent.parent

SOFTMAX = """\
x: f32[1024, 1024]
let e[i, k] = exp(x[i, k] - max{j} (x[i, j]))
y[i, k] = e[i, k] / sum{j} (e[i, j])
"""
TARGET = ("--target", "cpu:x86-64-v3")


def _all(text: str) -> str:
    return text


def _nest_of_dx(text: str) -> str:
    return "\n".join(part for part in text.split("\n\n") if part.startswith("nest dx("))


def _steps_of_dx(text: str) -> str:
    head, *maps = re.split(r"^(?=map )", text, flags=re.MULTILINE)
    return head + "".join(part for part in maps if part.startswith("map dx"))


def _last_loops(text: str) -> str:
    loops = [part for part in text.split("func.func ") if "vector.store" in part][-1].splitlines()
    first = next(n for n, line in enumerate(loops) if "scf.for" in line)
    return "\n".join(loops[first : loops.index("    return")])


def _last_vector_loop(text: str) -> str:
    blocks = re.split(r"^(?=\S+:$)", text, flags=re.MULTILINE)
    turns = [re.search(rf"(?s).*ymm.*\tj\w+\t{re.escape(block.split(':')[0])}\n", block) for block in blocks]
    return [turn for turn in turns if turn][-1][0]


#: Each form: what prints it, the part that computes `dx`, what happened on the way.
FORMS = (
    ("program", "emit typed", _all, "Ranges and shapes of everything are known."),
    (
        "gradient",
        "diff --wrt x",
        _all,
        "A program again. The cotangent of the maximum is proven 0, and dropped.",
    ),
    ("nest", "emit nest --wrt x", _nest_of_dx, "Each tensor has its own loops; `de` and `dx` share theirs."),
    ("schedule", "emit schedule --wrt x", _steps_of_dx, "Steps, chosen by a cost model."),
    (
        "scheduled nest",
        "emit scheduled-nest --wrt x",
        _nest_of_dx,
        "The nest after these steps: vectors of 8.",
    ),
    ("scf", "emit loops --wrt x", _last_loops, "MLIR's loops over buffers and vectors."),
    ("assembly", "emit asm --wrt x", _last_vector_loop, "LLVM's code."),
)


def how_it_works() -> str:
    """Both sections."""
    return f"{softmax()}\n{folders()}"


def softmax() -> str:
    """Each form of a softmax, with its number of lines."""
    rows = [("text", "", SOFTMAX, SOFTMAX, "The source.")]
    with TemporaryDirectory() as folder:
        path = Path(folder, "softmax.tad")
        path.write_text(SOFTMAX, encoding="utf-8")
        for name, words, part, about in FORMS:
            text = _printed([*words.split(), *(TARGET if part != _all else ()), str(path)])
            rows.append((name, f"`tadc {words}`", text, part(text), about))
    parts = ["## A softmax in every form\n", "| form | printed by | lines |\n|---|---|--:|"]
    parts += [f"| {name} | {words} | {len(text.splitlines())} |" for name, words, text, _, _ in rows]
    parts.append(
        f"\nForms from the nest on are for `{' '.join(TARGET)}`. "
        "Below is each form; long ones show the last loops of `dx`.\n"
    )
    parts += [
        f"**{name}**. {about}\n\n```diagram\n{_narrow(shown)}```\n" for name, _, _, shown, about in rows
    ]
    return "\n".join(parts)


def _printed(words: list[str]) -> str:
    text = io.StringIO()
    with redirect_stdout(text):
        code = main(words)
    assert code == 0, words
    return text.getvalue()


def _narrow(text: str) -> str:
    """Without the common indentation, tabs as spaces."""
    lines = text.expandtabs(8).rstrip().splitlines()
    indent = min(len(line) - len(line.lstrip()) for line in lines if line)
    return "".join(f"{line[indent:]}\n" for line in lines)


@dataclass
class Room:
    """A folder: the folders that import from it and its imported classes, with their numbers of modules."""

    about: str
    takers: Counter[str] = field(default_factory=Counter[str])
    classes: Counter[str] = field(default_factory=Counter[str])
    needs: set[str] = field(default_factory=set[str])


def folders() -> str:
    """Every folder above those that it imports from, with what others import of it the most."""
    rooms = _rooms()
    lines: list[str] = []
    for name in TopologicalSorter({name: sorted(room.needs) for name, room in rooms.items()}).static_order():
        lines += _drawn(name, rooms[name])
    about = (
        "Each folder is listed below all folders that it imports from, with the classes that others import "
        "from it\nmost, and the folders that import most of them."
    )
    drawing = "\n".join(lines)
    return f"## The folders\n\n{about}\n\n```diagram\n{drawing}\n```\n"


def _drawn(name: str, room: Room) -> Iterator[str]:
    yield f"{name:<20}{room.about}"
    if room.takers:
        classes, takers = (
            ", ".join(n for n, _ in each.most_common(4)) for each in (room.classes, room.takers)
        )
        yield f"    │ {classes}"
        yield f"    └─▶ {takers}"


def _rooms() -> dict[str, Room]:
    tops = ("lattice", "frontend", "dialect", "passes/*", "backend", "tadc/*")
    inits = [path for top in tops for path in sorted(ROOT.glob(f"{top}/__init__.py"))]
    rooms = {path.parent.relative_to(ROOT).as_posix(): Room(_first_words(path)) for path in inits}
    for name, room in rooms.items():
        for path in sorted((ROOT / name).rglob("*.py")):
            taken = [(source, names) for source, names in _imports(path, rooms) if source != name]
            for source in {source for source, _ in taken}:
                rooms[source].takers[name] += 1
                room.needs.add(source)
            for source, names in taken:
                rooms[source].classes.update(n for n in names if n[0].isupper() and not n.isupper())
    return rooms


def _first_words(package: Path) -> str:
    about = ast.get_docstring(ast.parse(package.read_text(encoding="utf-8"))) or ""
    return re.split(r"[:.,;](?:\s|$)", about)[0]


def _imports(path: Path, rooms: Container[str]) -> Iterator[tuple[str, list[str]]]:
    """The folders that a module imports from, and the names; not from modules that stand beside folders."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("tadc."):
            top, *below = node.module.split(".")[1:]
            found = [
                name for name in (top, f"{top}/{below[0] if below else ''}", f"tadc/{top}") if name in rooms
            ]
            for name in found[:1]:
                yield name, [alias.name for alias in node.names]
