"""Pages with generated parts: what is generated is up to date, and the dialect is what it says."""

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

import tadc
from docs import reference
from docs.passes_reference import STAGES
from tadc.backend.base import CPU, Target
from tadc.compiler import run_passes, run_term_passes
from tadc.compiler.all_stages import compile_until
from tadc.compiler.compile_options import Options
from tadc.compiler.stages import Compilation
from tadc.dialect import ops
from tadc.dialect.attributes import ATTRIBUTES
from tadc.dialect.mlir import ir
from tadc.dialect.readable_text import parse_module
from tadc.frontend.source import Source
from tadc.passes.registry import Pass

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
#: The lines of lit tests, without the words that make them checks.
LIT = {re.sub(r"^\W*CHECK[\w-]*:\s*", "", line.strip()) for path in (ROOT / "lit_tests").rglob("*.mlir")
       for line in path.read_text().splitlines()}  # fmt: skip


def blocks(page: str, language: str) -> list[str]:
    text = (DOCS / page).read_text().partition(reference.MARK)[0]
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("page", reference.PAGES)
def test_the_generated_part_is_up_to_date(page: str) -> None:
    wanted = reference.generated(page)
    assert (DOCS / page).read_text() == wanted, f"docs/{page} is out of date: run `python -m docs.reference`"


@pytest.mark.parametrize("operation", ops.Tad.operations, ids=lambda operation: operation.OPERATION_NAME)
def test_the_form_of_an_operation_is_one_of_a_test(operation: type) -> None:
    doc = operation.__doc__ or ""
    shown = re.findall(r"^        (\S.*)$", doc, re.MULTILINE) or re.findall(
        r"`([^`]*tad\.yields?\"?.* : .*?)`", doc
    )
    assert shown
    assert [form for form in shown if form not in LIT] == []


def test_the_table_of_attributes_has_all() -> None:
    names = {c.OPERATION_NAME for c in ops.Tad.operations}
    files = [
        path for folder in ("dialect", "passes", "backend", "tadc") for path in (ROOT / folder).rglob("*.py")
    ]
    used = {name for path in files for name in re.findall(r'"(tad\.[a-z_]+)"', path.read_text())} - names
    assert used == set(ATTRIBUTES)


def test_the_modules_of_the_dialect_read_back() -> None:
    printed = [tadc.text(parse_module(text, ir.Context())) for text in blocks("dialect.md", "mlir")]
    assert {*re.findall(r"tad\.\w+(?= )", "".join(printed))} > {
        f"tad.{w}" for w in "map scan sum reduce guard read".split()
    }
    assert " at (%t = %src[%e] : " in "".join(printed)
    assert [tadc.text(parse_module(text, ir.Context())) for text in printed] == printed


MESSAGES = """\
src: index[20] in 9
dst: index[20] in 9
x: f64[9, 4]
m[n: 9] = sum{e: dst[e] = n} (sum{k} ((x[src[e], k] - x[n, k])**2))
"""


def test_passes_are_listed_in_the_order_in_which_they_run(monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[str] = []
    runners = {
        "rewrite_program": run_term_passes,
        "rewrite_maps": run_passes,
        "run_pass_objects": run_passes,
    }
    for name, module in runners.items():

        def recorded(
            subject: Any, passes: Iterable[Pass], *rest: Any, real: Any = getattr(module, name)
        ) -> Any:
            taken = list(passes)
            ran.extend(item.argument for item in taken)
            return real(subject, taken, *rest)

        monkeypatch.setattr(module, name, recorded)
    listed = [name for stage in STAGES[:5] for name in stage.passes]
    left_out = {}
    for target, last in ((CPU, "loops"), (Target("emulated"), "gpu")):
        ran.clear()
        options = Options(mode="vjp", wrt=("x",), target=target)
        compile_until(Compilation(options, source=Source(MESSAGES, "f.tad")), last)
        first = list(dict.fromkeys(ran[ran.index("tad-reverse-diff") :]))
        assert first == [name for name in listed if name in first]
        left_out[last] = {*listed} - {*first}
    for_others = {"tad-forward-diff", "tad-jacobian", "tad-compress", "tad-collect-powers"}
    assert left_out["loops"] == for_others | {"tad-to-gpu"}
    assert left_out["gpu"] == for_others | {
        *("tad-sum-steps", "tad-scatter", "tad-keep", "tad-fill", "tad-lay-out", "tad-to-loops")
    }
