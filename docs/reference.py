"""Writes the generated parts of docs/passes.md, dialect.md, command.md and how_it_works.md.

`python -m docs.reference` does. What stands between the marks of a page is made from the code: the registry
of passes, the definitions of operations and their docstrings, the tables of the command, and `docs/forms.py`.
Examples are lit tests, and what comes out of them is computed here. A test says whether the pages are what
this would write.
"""

from __future__ import annotations

import io
import re
import sys
from contextlib import redirect_stdout
from inspect import cleandoc, getclosurevars, getmodule
from pathlib import Path
from typing import Any

from docs.forms import how_it_works
from lit_tests.runner import Script
from tadc.backend.environment import OPTIONS as CHOICES
from tadc.cli import main
from tadc.commands.command_table import COMMANDS, FLAT
from tadc.commands.consistency import EXCLUDED
from tadc.commands.option_table import OPTIONS, Option
from tadc.compiler.run_passes import REGISTRY
from tadc.dialect import ops
from tadc.dialect.attributes import ATTRIBUTES
from tadc.dialect.mlir import ext, ir
from tadc.frontend.dtypes import types_listed
from tadc.passes import catalogue
from tadc.passes.registry import Pass, is_ours, options_of

ROOT = Path(__file__).parent.parent
MARK = "<!-- From here on the page is generated: `python -m docs.reference` writes it. -->\n"
END = "<!-- The generated part ends here. -->\n"

#: The lit test that shows what a pass does, of those of its folder.
EXAMPLES = {
    "tad-reverse-diff": "read.mlir",
    "tad-forward-diff": "sum.mlir",
    "tad-vjp": "host.mlir",
    "tad-to-linalg": "window.mlir",
    "linalg-to-tad": "guards.mlir",
    "tad-jvp": "host.mlir",
    "tad-jacobian": "window.mlir",
    "tad-materialize": "product.tad",
    "tad-collect-powers": "positive.tad",
    "tad-factor": "invariant.tad",
    "tad-log-products": "product.tad",
    "tad-drop-zeros": "variance.mlir",
    "tad-recompute": "pairs.tad",
    "tad-specialise": "sizes.tad",
    "tad-cancel-deltas": "stride.mlir",
    "tad-compress": "diagonal.tad",
    "tad-element-values": "messages.tad",
    "tad-fibres": "edges.tad",
    "tad-other-factors": "product.mlir",
    "tad-pack-lookups": "messages.tad",
    "tad-scatter": "columns.mlir",
    "tad-simplify": "implied-guard.mlir",
    "tad-fold": "literals.mlir",
    "tad-cut-fibres": "rows.tad",
    "tad-sum-steps": "factor.tad",
    "tad-cut": "sum.mlir",
    "tad-rows": "split.tad",
    "tad-skew": "wavefront.tad",
    "tad-split": "groups.tad",
    "tad-join-sums": "nested.tad",
    "tad-separate": "gates.tad",
    "tad-keep": "tables.mlir",
    "tad-fill": "band.mlir",
    "tad-fuse": "shared.mlir",
    "tad-chain": "rows.mlir",
    "tad-window": "heat.mlir",
    "tad-lay-out": "rows-last.mlir",
    "tad-to-loops": "scan.mlir",
    "tad-to-gpu": "element.mlir",
}

KINDS = {
    ext.OperandDef: "operand",
    ext.ResultDef: "result",
    ext.AttributeDef: "attribute",
    ext.RegionDef: "region",
}


def passes_reference() -> str:
    """Every pass: what it does, its options, an example."""
    parts = ["## Passes\n"]
    ours = [item for item in REGISTRY.values() if is_ours(item)]
    parts.append(table(["pass", "what it guarantees"], [[link(p.argument), p.description] for p in ours]))
    parts += [pass_section(item) for item in ours]
    return "\n".join(parts)


def pass_section(item: type[Pass]) -> str:
    """A pass: its sentence, its docstring, its options, its example."""
    options = [
        [f"`{o.name}`", o.kind, f"`{o.default}`" if o.default else "none", o.help] for o in options_of(item)
    ]
    folder = item.argument.removeprefix("tad-")
    if item.argument not in EXAMPLES:
        raise SystemExit(f"docs/reference.py: name a test of lit_tests/passes/{folder} for it in EXAMPLES")
    path = ROOT / "lit_tests" / "passes" / folder / EXAMPLES[item.argument]
    said = f"After it: {item.description}."
    parts = [f"### {item.argument}\n", text_of(item) + "\n", said + "\n"]
    parts.append(
        table(["option", "type", "default", "what it is"], options) if options else "It has no options.\n"
    )
    shown, title, pipeline, result = example(path)
    language = "mlir" if path.suffix == ".mlir" else "tad"
    parts.append(f"Example, `{path.relative_to(ROOT)}`: {title}\n")
    parts.append(f"```{language}\n{shown}```\n\n`tadc passes '{pipeline}' {path.name}` makes of it\n")
    parts.append(f"```mlir\n{result}```\n")
    return "\n".join(parts)


def text_of(item: type[Pass]) -> str:
    """What a pass does: its docstring, or those of the modules whose functions it is."""
    steps = getclosurevars(vars(item).get("rewrite", item.run)).nonlocals.get("by_name")
    if steps is None or steps.__doc__:
        return cleandoc((steps or item).__doc__ or "")
    modules = [getmodule(vars(catalogue).get(name)) for name in steps.__code__.co_names]
    said = (module.__doc__ or "" for module in modules if module and module.__name__.count(".") > 2)
    return "\n\n".join(dict.fromkeys(map(cleandoc, said)))


def example(path: Path) -> tuple[str, str, str, str]:
    """A lit test: its text, what it shows, its first pass, and what that makes of it."""
    script = Script.load(path)
    found = re.search(r"""--passes ['"]?((?:linalg-to-)?tad[\w-]*(?:\{[^}]*\})?)""", script.lines[0])
    assert found, path
    lines = [line for line in script.text.splitlines() if not re.match(r"\W*(RUN|CHECK[\w-]*):", line)]
    comments = [line.lstrip("#/ ") for line in lines if line.startswith(("#", "//"))]
    body = "\n".join(line for line in lines if not line.startswith(("#", "//"))).strip() + "\n"
    text = io.StringIO()
    with redirect_stdout(text):
        code = main(["passes", found[1], str(path)])
    assert code == 0, path
    return body, " ".join(comments), found[1], text.getvalue()


def dialect_reference() -> str:
    """Every operation: how it is written, its operands and results, its rules; then the attributes."""
    classes: list[Any] = [*ops.Tad.operations]
    parts = ["## Operations\n"]
    rows = [[link(c.OPERATION_NAME), first_sentence(c)] for c in classes]
    parts += [table(["operation", "what it is"], rows), *(operation_section(c) for c in classes)]
    values = {"KINDS": ops.KINDS, "REGION_OPS": ops.REGION_OPS}
    named = [[f"`{name}`", ", ".join(f"`{v}`" for v in listed)] for name, listed in values.items()]
    functions = ", ".join(f"`{name}` ({arity})" for name, arity in ops.SCALAR_FUNCTIONS.items())
    parts += ["## What these names stand for\n"]
    parts.append(
        table(["name", "values"], [*named, ["`SCALAR_FUNCTIONS`", f"{functions}: operands in brackets"]])
    )
    parts += ["## Attributes\n"]
    parts.append(
        table(
            ["attribute", "of", "is", "says"], [[f"`{name}`", *about] for name, about in ATTRIBUTES.items()]
        )
    )
    return "\n".join(parts)


def first_sentence(operation: Any) -> str:
    """What an operation is, in one sentence."""
    return re.split(r"(?<=[^.])[.:](?=\s|$)", cleandoc(operation.__doc__))[0] + "."


def operation_section(operation: Any) -> str:
    """An operation: its docstring, the fields of its definition, its traits."""
    rows: list[list[str]] = []
    for field in operation._fields:
        kind = KINDS[type(field)]
        several = ", any number" if "variadic" in str(field.variadicity) else ""
        rows.append(
            [f"`{field.name.rstrip('_')}`", kind + several, "" if kind == "region" else type_name(field)]
        )
    traits = {ext.Pure: "no side effects", ir.IsTerminatorTrait: "ends a block"}
    listed = ", ".join(traits[trait] for trait in operation._traits)
    text = re.sub(r"((?:^    .*\n)+)", fenced, cleandoc(operation.__doc__) + "\n", flags=re.MULTILINE)
    fields = table(["field", "is", "type"], rows)
    return f"### {operation.OPERATION_NAME}\n\n{text}\n{fields}\nTraits: {listed}.\n"


def fenced(block: re.Match[str]) -> str:
    """An indented block between fences."""
    return "```mlir\n" + re.sub(r"^    ", "", block[1], flags=re.MULTILINE) + "```\n"


def type_name(field: Any) -> str:
    """The constraint of a field, as the dialect calls it."""
    names = {
        ir.RankedTensorType: f"tensor of {types_listed('or', '')}",
        ir.IndexType: "index",
        ir.IntegerSetAttr: "integer set",
        ir.AffineMapAttr: "affine map",
        ir.StringAttr: "string",
    }
    return names.get(field.constraint, types_listed("or", ""))


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


def link(name: str) -> str:
    """A link to the section of a name."""
    return f"[`{name}`](#{name.replace('.', '')})"


def table(head: list[str], rows: list[list[str]]) -> str:
    """A table in Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |\n" for line in lines)


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
