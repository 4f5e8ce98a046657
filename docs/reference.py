"""Writes the generated parts of docs/passes.md, dialect.md, command.md and how_it_works.md.

Run it as `python -m docs.reference`. The text between the marks of a page comes from the code: the passes
(`docs/passes_reference.py`), the operations and their docstrings, the tables of the command, and
`docs/forms.py`. A test fails if a page is out of date.
"""

from __future__ import annotations

import re
import sys
from inspect import cleandoc
from pathlib import Path
from typing import Any

from docs.forms import how_it_works
from docs.markdown import link, table
from docs.passes_reference import passes_reference
from tadc.backend.environment import OPTIONS as CHOICES
from tadc.commands.command_table import COMMANDS, FLAT
from tadc.commands.consistency import EXCLUDED
from tadc.commands.option_table import OPTIONS, Option
from tadc.dialect import ops
from tadc.dialect.attributes import ATTRIBUTES
from tadc.dialect.checks import index_array
from tadc.dialect.mlir import ext, ir
from tadc.frontend.dtypes import types_listed

ROOT = Path(__file__).parent.parent
MARK = "<!-- From here on the page is generated: `python -m docs.reference` writes it. -->\n"
END = "<!-- The generated part ends here. -->\n"

KINDS = {
    ext.OperandDef: "operand",
    ext.ResultDef: "result",
    ext.AttributeDef: "attribute",
    ext.RegionDef: "region",
}


def dialect_reference() -> str:
    """Every operation: its syntax, operands, results and rules; then the attributes."""
    classes: list[Any] = [*ops.Tad.operations]
    parts = ["## Operations\n"]
    rows = [[link(c.OPERATION_NAME), first_sentence(c)] for c in classes]
    parts += [table(["operation", "meaning"], rows), *(operation_section(c) for c in classes)]
    values = {"KINDS": ops.KINDS, "REGION_OPS": ops.REGION_OPS}
    named = [[f"`{name}`", ", ".join(f"`{v}`" for v in listed)] for name, listed in values.items()]
    functions = ", ".join(f"`{name}` ({arity})" for name, arity in ops.SCALAR_FUNCTIONS.items())
    parts += ["## Names in the rules\n"]
    parts.append(
        table(["name", "values"], [*named, ["`SCALAR_FUNCTIONS`", f"{functions}: operands in brackets"]])
    )
    parts += ["## Attributes\n"]
    parts.append(
        table(
            ["attribute", "carrier", "type", "meaning"],
            [[f"`{name}`", *about] for name, about in ATTRIBUTES.items()],
        )
    )
    return "\n".join(parts)


def first_sentence(operation: Any) -> str:
    """The first sentence about an operation."""
    return re.split(r"(?<=[^.])[.:](?=\s|$)", cleandoc(operation.__doc__))[0] + "."


def operation_section(operation: Any) -> str:
    """An operation: its docstring, the fields of its definition, its traits."""
    rows: list[list[str]] = []
    for field in operation._fields:
        kind = KINDS[type(field)]
        several = ", any number" if "variadic" in str(field.variadicity) else ""
        rows.append(
            [
                f"`{field.name.rstrip('_')}`",
                kind + several,
                "" if kind == "region" else type_name(field, operation),
            ]
        )
    traits = {ext.Pure: "no side effects", ir.IsTerminatorTrait: "ends a block"}
    listed = ", ".join(traits[trait] for trait in operation._traits)
    text = re.sub(r"((?:^    .*\n)+)", fenced, cleandoc(operation.__doc__) + "\n", flags=re.MULTILINE)
    fields = table(["field", "kind", "type"], rows)
    return f"### {operation.OPERATION_NAME}\n\n{text}\n{fields}\nTraits: {listed or 'none'}.\n"


def fenced(block: re.Match[str]) -> str:
    """An indented block between fences."""
    return "```mlir\n" + re.sub(r"^    ", "", block[1], flags=re.MULTILINE) + "```\n"


def type_name(field: Any, operation: Any) -> str:
    """The type of a field of an operation, as the dialect calls it."""
    elements = "i32" if index_array in operation.rules else types_listed("or", "")
    names = {
        Any: elements,
        ir.RankedTensorType: f"tensor of {elements}",
        ir.IndexType: "index",
        ir.FunctionType: "function",
        ir.FlatSymbolRefAttr: "symbol",
        ir.IntegerSetAttr: "integer set",
        ir.AffineMapAttr: "affine map",
        ir.StringAttr: "string",
    }
    return names[field.constraint]


def command_reference() -> str:
    """Settings, every option with the commands that have it, and which exclude each other."""
    shown = [option for option in OPTIONS.values() if option.names and option.about]
    rows = [[f"`{', '.join(o.names)}{' ' * bool(o.value)}{o.value}`", o.about, commands_of(o)] for o in shown]
    pairs = [[named(line.options), named(line.others), line.why or line.help] for line in EXCLUDED]
    return "\n".join(
        [
            "## The environment\n",
            "Variables of the environment, which [`tadc.config`](python.md#settings) sets in Python:\n",
            table(["variable", "in Python", "default", "meaning"], settings()),
            "## All options\n",
            table(["option", "what it is", "of"], rows),
            "## Options that exclude each other\n",
            table(["one of", "does not go with", "why, or what to do"], pairs),
        ]
    )


def settings() -> list[list[str]]:
    """The rows of settings, and of variables that are not tadc's own."""
    rows = [[f"`{c.variable}`", f"`{name}`", c.shown_default, c.about] for name, c in CHOICES.items()]
    others = {
        "`CUDA_HOME`, `CUDA_PATH`": "installation of CUDA with ptxas and libdevice",
        "`NO_COLOR`, `FORCE_COLOR`": "no colours; colours also where no terminal is",
    }
    return [*rows, *([variable, "", "", about] for variable, about in others.items())]


def commands_of(option: Option) -> str:
    """The commands that have an option; `tadc f.tad` stands for each of them, by an option of its own."""
    having = [name for name, command in COMMANDS.items() if option in command.taken]
    programs = [name for name, command in COMMANDS.items() if command.takes_program]
    if set(programs) <= set(having):
        return "all commands" if len(having) == len(COMMANDS) else "all that take programs"
    return ", ".join([*(["`tadc f.tad`"] if option in FLAT.taken else []), *(f"`{name}`" for name in having)])


def named(options: str) -> str:
    """Options of a list as code."""
    return ", ".join(f"`{option}`" for option in options.split(", "))


PAGES = {
    "passes.md": passes_reference,
    "dialect.md": dialect_reference,
    "command.md": command_reference,
    "how_it_works.md": how_it_works,
}


def generated(page: str) -> str:
    """A page with its generated part as the code says it is now."""
    before, _, made = (ROOT / "docs" / page).read_text(encoding="utf-8").partition(MARK)
    _, end, after = made.partition(END)
    return f"{before}{MARK}\n{PAGES[page]()}{end}{after}"


def write() -> int:
    """Write the pages; the exit code."""
    for page in PAGES:
        (ROOT / "docs" / page).write_text(generated(page), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(write())
