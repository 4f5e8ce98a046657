"""PTX text to kernels: instructions, labels, registers, variables.

The language is that of "Parallel Thread Execution ISA" (NVIDIA), as far as LLVM writes it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from tadc.backend.emulator.errors import SourceLine, UnknownPtx
from tadc.lattice.late_dataclasses import dataclass, field

#: Bytes of each type of PTX.
SIZES = {f"{kind}{bits}": bits // 8 for kind in "busf" for bits in (8, 16, 32, 64)}

_COMMENTS = re.compile(r"//[^\n]*|/\*.*?\*/", re.S)
_TOP = re.compile(
    r"\s*(?:"
    r"(?P<header>\.(?:version|target|address_size)[^\n]*)"
    r"|(?P<section>\.section\s+\S+\s*\{[^}]*\})"
    r"|(?:\.(?:visible|extern|weak|common)\s+)*\.(?P<kind>entry|func)\b(?P<head>[^{;]*)(?P<opening>[{;])"
    r"|(?P<variable>(?:\.(?:visible|extern|weak|common)\s+)*\.(?:global|const|shared)\b[^;]*;)"
    r"|(?P<end>$))"
)
_FILE = re.compile(r'^\s*\.file\s+(\d+)\s+"([^"]*)"', re.M)
_VARIABLE = re.compile(
    r"\.(?P<space>global|const|shared|local)\s+(?:\.align\s+(?P<align>\d+)\s+)?"
    r"\.(?P<type>[busf]\d+)\s+(?P<name>[\w$.]+)(?P<array>\[(?P<count>\d*)\])?\s*(?:=\s*(?P<values>.*))?$",
    re.S,
)
_PARAMETER = re.compile(r"\.param\s+(?:\.align\s+\d+\s+)?\.([busf]\d+)\b[^,()]*?([\w$]+)(?:\[(\d+)\])?\s*$")
_STATEMENT = re.compile(
    r"\s*(?:(?P<scope>[{}])|(?P<label>[\w$]+)\s*:(?!:)"
    r"|\.loc\s+(?P<file>\d+)\s+(?P<line>\d+)\s+(?P<column>\d+)[^\n]*|(?P<text>[^;]*);|(?P<end>$))"
)
_OPERAND = re.compile(r"\{[^}]*\}|\[[^\]]*\]|\([^)]*\)|[^,\s][^,]*")


@dataclass(frozen=True)
class Variable:
    """Memory with a name: `space` is global, const, shared or local; `data` its first bytes."""

    name: str
    space: str
    align: int
    bytes: int
    data: bytes | None = None


@dataclass(frozen=True)
class Instruction:
    """`@guard name operands`; a guard of `!%p` holds where `%p` does not."""

    name: str
    operands: tuple[str, ...]
    guard: str = ""
    place: SourceLine | None = None

    @property
    def parts(self) -> list[str]:
        """The name at its points: `ld`, `global`, `f32`."""
        return self.name.split(".")

    def __str__(self) -> str:
        text = f"{self.name} {', '.join(self.operands)}".rstrip()
        return f"@{self.guard} {text}" if self.guard else text


@dataclass
class Routine:
    """A kernel or a function. A label is the number of the instruction after it."""

    name: str
    parameters: list[tuple[str, str]]
    """Names and types."""
    results: list[tuple[str, str]] = field(default_factory=list["tuple[str, str]"])
    instructions: list[Instruction] = field(default_factory=list[Instruction])
    labels: dict[str, int] = field(default_factory=dict[str, int])
    tables: dict[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    """Labels that `brx.idx` chooses from, by the name of their list."""
    registers: dict[str, str] = field(default_factory=dict[str, str])
    """The type of each, by the name without its number."""
    variables: list[Variable] = field(default_factory=list[Variable])
    most_threads: int | None = None


@dataclass
class PtxModule:
    """What a PTX text holds."""

    kernels: dict[str, Routine] = field(default_factory=dict[str, Routine])
    functions: dict[str, Routine] = field(default_factory=dict[str, Routine])
    variables: list[Variable] = field(default_factory=list[Variable])


def parse_ptx(text: str) -> PtxModule:
    """Read PTX. Raises UnknownPtx (TAD0709) for what is no PTX that LLVM writes."""
    # They stand at the end, and a name may look like a comment.
    files = {int(number): path for number, path in _FILE.findall(text)}
    text = _COMMENTS.sub("", _FILE.sub("", text))
    module = PtxModule()
    position = 0
    while True:
        found = _TOP.match(text, position)
        if found is None:
            raise UnknownPtx(f"`{text[position:].strip().splitlines()[0].strip()}`")
        position = found.end()
        if found["end"] is not None:
            return module
        if found["variable"]:
            module.variables.append(_variable(found["variable"].rstrip(";")))
        elif found["kind"]:
            routine = _head(found["head"])
            if found["opening"] == "{":
                end = _closing(text, position)
                _body(routine, text[position:end], files)
                position = end + 1
                (module.kernels if found["kind"] == "entry" else module.functions)[routine.name] = routine


def _closing(text: str, position: int) -> int:
    depth = 1
    for found in re.compile(r"[{}]").finditer(text, position):
        depth += 1 if found[0] == "{" else -1
        if depth == 0:
            return found.start()
    raise UnknownPtx("a body without an end")


def _head(text: str) -> Routine:
    """`(results) name (parameters) directives`."""
    found = re.match(r"\s*(?:\(([^)]*)\)\s*)?([\w$]+)\s*(?:\(([^)]*)\))?(.*)$", text, re.S)
    if found is None:
        raise UnknownPtx(f"`{text.strip()}`")
    threads = re.search(r"\.maxntid\s+([\d, ]+)", found[4])
    routine = Routine(found[2], _parameters(found[3] or ""), _parameters(found[1] or ""))
    if threads:
        routine.most_threads = 1
        for extent in threads[1].split(","):
            routine.most_threads *= int(extent)
    return routine


def _parameters(text: str) -> list[tuple[str, str]]:
    made: list[tuple[str, str]] = []
    for one in filter(None, (part.strip() for part in text.split(","))):
        found = _PARAMETER.match(one)
        if found is None:
            raise UnknownPtx(f"the parameter `{one}`")
        made.append((found[2], found[1]))
    return made


def _variable(text: str) -> Variable:
    found = _VARIABLE.search(text.strip())
    if found is None:
        raise UnknownPtx(f"`{text.strip()}`")
    size = SIZES[found["type"]]
    count = int(found["count"] or 0) if found["array"] else 1
    values = re.findall(r"[^\s,{}]+", found["values"] or "")
    data = b"".join(_bits(value).to_bytes(8, "little")[:size] for value in values) if values else None
    return Variable(found["name"], found["space"], int(found["align"] or size), size * count, data)


def _bits(value: str) -> int:
    if value[:2] in ("0f", "0F", "0d", "0D"):
        return int(value[2:], 16)
    return int(value.rstrip("U"), 0) & 0xFFFFFFFFFFFFFFFF


def _body(routine: Routine, text: str, files: dict[int, str]) -> None:
    place: SourceLine | None = None
    last_label = ""
    for found in _statements(text):
        if found["label"]:
            last_label = found["label"]
            routine.labels[last_label] = len(routine.instructions)
        elif found["file"]:
            line, column = int(found["line"]), int(found["column"])
            place = SourceLine(files.get(int(found["file"]), "?"), line, column) if line else None
        elif found["text"] and found["text"].startswith("."):
            _directive(routine, found["text"], last_label)
        elif found["text"]:
            routine.instructions.append(_instruction(found["text"], place))


def _statements(text: str) -> Iterator[re.Match[str]]:
    position = 0
    while position < len(text):
        found = _STATEMENT.match(text, position)
        if found is None:
            raise UnknownPtx(f"`{text[position:].strip().splitlines()[0]}`")
        position = max(found.end(), position + 1)
        yield found


def _directive(routine: Routine, text: str, label: str) -> None:
    word, rest = (*text.split(None, 1), "")[:2]
    if word == ".reg":
        found = re.match(r"\s*\.(\w+)\s+(.*)$", rest, re.S)
        assert found
        for name in found[2].split(","):
            routine.registers[re.sub(r"<\d+>", "", name.strip())] = found[1]
    elif word in (".local", ".shared"):
        routine.variables.append(_variable(text))
    elif word == ".branchtargets":
        routine.tables[label] = tuple(name.strip() for name in rest.split(","))
    elif word not in (".param", ".pragma"):
        raise UnknownPtx(f"`{text}`")


def _instruction(text: str, place: SourceLine | None) -> Instruction:
    guard = ""
    if text.startswith("@"):
        guard, text = text[1:].split(None, 1)
    name, _, rest = re.sub(r"\s+", " ", text).partition(" ")
    operands = tuple(operand.strip() for operand in _OPERAND.findall(rest))
    return Instruction(name, operands, guard, place)
