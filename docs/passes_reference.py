"""The generated part of docs/passes.md: the passes by stage, each with its options and an example.

Texts are docstrings of passes and of their modules. Examples are lit tests; their results are computed here.
"""

from __future__ import annotations

import io
import re
from contextlib import redirect_stdout
from dataclasses import dataclass
from importlib import import_module
from inspect import cleandoc, getclosurevars, getmodule
from pathlib import Path
from tempfile import TemporaryDirectory

from docs.markdown import link, table
from lit_tests.runner import Script
from tadc.cli import main
from tadc.passes.catalogue import REGISTRY, AddDerivatives
from tadc.passes.registry import Pass, PassOption, is_ours, options_of
from tadc.passes.term_pass import TermPass

ROOT = Path(__file__).parent.parent

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


@dataclass(frozen=True)
class StageOfPasses:
    """A heading of the page of passes: what happens there, and the passes in the order in which they run."""

    title: str
    about: str
    passes: tuple[str, ...]


STAGES = (
    StageOfPasses(
        "Differentiation",
        "The stage `diff` runs `tad-collect-powers`, `tad-factor`, `tad-materialize` and one of the first "
        "three passes\nbelow. The stage `cancel` runs `tad-cancel-deltas`, and `opt` runs the others, "
        "`tad-compress` only for Jacobians.",
        ("tad-reverse-diff", "tad-forward-diff", "tad-jacobian", "tad-cancel-deltas", "tad-simplify",
         "tad-drop-zeros", "tad-compress", "tad-fold"),
    ),
    StageOfPasses(
        "Fewer operations",
        "These passes run in the stage `hoist`, the first three only for programs with index arrays.",
        ("tad-element-values", "tad-fibres", "tad-other-factors", "tad-log-products", "tad-collect-powers",
         "tad-factor", "tad-recompute", "tad-materialize", "tad-pack-lookups"),
    ),
    StageOfPasses(
        "Programs that suit loops",
        "These passes run first in the stages `loops` and `gpu`, but `tad-sum-steps` and `tad-scatter` only "
        "for CPUs.",
        ("tad-skew", "tad-sum-steps", "tad-split", "tad-rows", "tad-cut-fibres", "tad-cut", "tad-join-sums",
         "tad-separate", "tad-scatter"),
    ),
    StageOfPasses(
        "Fusion and memory",
        "These passes on maps follow in the stages `loops` and `gpu`. For GPUs only `tad-fuse`, "
        "`tad-window`\nand `tad-chain` run.",
        ("tad-keep", "tad-fuse", "tad-fill", "tad-window", "tad-chain", "tad-lay-out"),
    ),
    StageOfPasses(
        "Loops and kernels",
        "The last pass of tadc, for a CPU or a GPU. Passes of MLIR follow, down to LLVM.",
        ("tad-to-loops", "tad-to-gpu"),
    ),
    StageOfPasses(
        "Between MLIR and tad",
        "No stage runs these: they are for hosts that hold modules of MLIR ([embedding](embedding.md)).",
        ("linalg-to-tad", "tad-vjp", "tad-jvp", "tad-specialise", "tad-to-linalg"),
    ),
)  # fmt: skip

HOW_TO_READ = """\
The table lists passes in the order in which they run. Options are listed with their type, and their default
if it is not empty or `false`. Examples are tests of the repository. Passes on programs are shown in the
language, as `tadc passes PIPELINE FILE | tadc emit typed -` prints it, others in MLIR.
"""

#: Passes on programs whose results the language does not show: two functions, marks, joint sums.
IN_DIALECT = {"tad-vjp", "tad-jvp", "tad-cut", "tad-join-sums", "tad-sum-steps"}

#: Modules that passes use, and whose docstrings are about no pass.
TOOLS = {
    f"tadc.passes.{name}"
    for name in (
        "maps.machine",
        "rewrites.stored_values",
        "schedule.cpu_machine",
        "schedule.vector_fusion",
        "terms.renewal",
    )
}

#: Modules whose docstrings follow that of a pass.
MORE = {"tad-materialize": ["rewrites.stored_values"], "tad-window": ["maps.windows"]}

MACHINE = {"vector-bytes", "registers", "least-work", "latency", "folds", "sets", "ways", "l2"}


def passes_reference() -> str:
    """Every pass by stage: what it does, its options, an example."""
    by_name = {item.argument: item for item in REGISTRY.values() if is_ours(item)}
    unlisted = by_name.keys() ^ {name for stage in STAGES for name in stage.passes}
    if unlisted:
        raise SystemExit(f"docs/passes_reference.py: STAGES and the registry differ in {', '.join(unlisted)}")
    rows = [
        ["" if n else f"[{stage.title}](#{anchor(stage.title)})", link(name), by_name[name].description]
        for stage in STAGES
        for n, name in enumerate(stage.passes)
    ]
    parts = ["## Passes by stage\n", HOW_TO_READ, table(["stage", "pass", "what it guarantees"], rows)]
    for stage in STAGES:
        parts += [f"## {stage.title}\n", stage.about + "\n"]
        parts += [pass_section(by_name[name]) for name in stage.passes]
    return "\n".join([*parts, machine_options()])


def anchor(title: str) -> str:
    """The anchor of a heading."""
    return title.lower().replace(" ", "-")


def pass_section(item: type[Pass]) -> str:
    """A pass: its docstring, its options, its example."""
    folder = item.argument.removeprefix("tad-")
    if item.argument not in EXAMPLES:
        raise SystemExit(
            f"docs/passes_reference.py: name a test of lit_tests/passes/{folder} for it in EXAMPLES"
        )
    path = ROOT / "lit_tests" / "passes" / folder / EXAMPLES[item.argument]
    as_program = issubclass(item, TermPass) and item.argument not in IN_DIALECT
    shown, title, pipeline, result = example(path, item.argument, as_program)
    return (
        f"### {item.argument}\n\n{text_of(item)}\n\n{options_text(item)}"
        f"Example, `{path.relative_to(ROOT)}`: {title}\n\n{shown}\n"
        f"After `tadc passes '{pipeline}'`:\n\n{result}"
    )


def options_text(item: type[Pass]) -> str:
    """The options of a pass as a list, and whose other options it has; ends with an empty line."""
    rules: list[type[Pass]] = [item.rule] if issubclass(item, AddDerivatives) else []
    inherited = {o.name for rule in rules for o in options_of(rule)}
    own = [o for o in options_of(item) if o.name not in inherited]
    others = [link(rule.argument) for rule in rules]
    if machine := {o.name for o in own} & MACHINE:
        own = [o for o in own if o.name not in machine]
        others.append("[the machine](#options-of-the-machine)")
    lines = [option_line(o) for o in own] + [f"- those of {other}\n" for other in others]
    return f"Options:\n\n{''.join(lines)}\n" if lines else ""


def option_line(option: PassOption) -> str:
    """An option in a list."""
    default = f", {option.default}" if option.default not in ("", "false") else ""
    return f"- `{option.name}` ({option.kind}{default}): {option.help}\n"


def machine_options() -> str:
    """The options that describe a processor."""
    options = [o for o in options_of(REGISTRY["tad-to-loops"]) if o.name in MACHINE]
    about = "They describe the processor for which schedules are chosen.\n"
    return f"## Options of the machine\n\n{about}\n{''.join(map(option_line, options))}"


def text_of(item: type[Pass]) -> str:
    """What a pass does: its docstring, or those of the modules whose functions it is."""
    more = [import_module(f"tadc.passes.{name}") for name in MORE.get(item.argument, [])]
    steps = getclosurevars(vars(item).get("rewrite", item.run)).nonlocals.get("by_name")
    if steps is None:
        said = [item.__doc__ or "", *(module.__doc__ or "" for module in more)]
    else:
        modules = [getmodule(steps.__globals__.get(name)) for name in steps.__code__.co_names]
        ours = [m for m in modules if m and m.__name__.count(".") > 2 and m.__name__ not in TOOLS]
        said = [module.__doc__ or "" for module in (*more, *ours)]
    texts = list(dict.fromkeys(map(cleandoc, said)))
    return "\n\n".join(texts if len(texts) < 2 else map(with_bold_title, texts))


def with_bold_title(text: str) -> str:
    """A text whose first paragraph is bold."""
    title, *rest = text.split("\n\n")
    return "\n\n".join([f"**{' '.join(title.split())}**", *rest])


def example(path: Path, name: str, as_program: bool) -> tuple[str, str, str, str]:
    """A lit test: its text, what it shows, its pipeline up to the pass, and the result.

    Text and result are fenced; `as_program` gives both in the language.
    """
    script = Script.load(path)
    found = re.search(rf"--passes ['\"]?([^'\"|]*\b{name}(?:\{{[^}}]*\}})?)", script.lines[0])
    assert found, path
    lines = [line for line in script.text.splitlines() if not re.match(r"\W*(RUN|CHECK[\w-]*):", line)]
    comments = [line.lstrip("#/ ") for line in lines if line.startswith(("#", "//"))]
    body = "\n".join(line for line in lines if not line.startswith(("#", "//"))).strip() + "\n"
    with TemporaryDirectory() as folder:
        made = Path(folder, "made.mlir")
        printed("passes", found[1], str(path), "-o", str(made))
        if path.suffix == ".tad":
            shown = f"```tad\n{body}```\n"
        else:
            shown = in_the_language(path) if as_program else f"```mlir\n{body}```\n"
        result = in_the_language(made) if as_program else f"```mlir\n{made.read_text(encoding='utf-8')}```\n"
    return shown, " ".join(comments), found[1], result


def in_the_language(path: Path) -> str:
    """A module as a fenced program of the language."""
    return f"```diagram\n{printed('emit', 'typed', str(path)).strip()}\n```\n"


def printed(*words: str) -> str:
    """What a command prints."""
    text = io.StringIO()
    with redirect_stdout(text):
        code = main(list(words))
    assert code == 0, words
    return text.getvalue()
