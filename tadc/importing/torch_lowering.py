"""Modules of torch-mlir's `torch` dialect, brought to `linalg`."""

from __future__ import annotations

import re
from typing import Any, NoReturn

from tadc.dialect import mlir
from tadc.passes.linalg.refusals import refuse, refuse_operation
from tadc.passes.linalg.source_places import SourcePlace, place_of

_PIPELINES = (
    "builtin.module(func.func(torch-match-quantized-custom-ops),torchdynamo-export-to-torch-backend-pipeline)",
    "builtin.module(torch-backend-to-linalg-on-tensors-backend-pipeline{allow-non-finites=true})",
)


def to_linalg(module: Any, place: SourcePlace | None) -> None:
    """Lower a module in place. Raises UsageError (TAD0513) for what torch-mlir cannot lower."""
    for passes in _PIPELINES:
        run_passes(passes, module, place)


def run_passes(passes: str, module: Any, place: SourcePlace | None) -> None:
    """Run passes. Raises UsageError (TAD0513) where they fail."""
    try:
        mlir.passmanager.PassManager.parse(passes, module.context).run(module.operation)
    except mlir.ir.MLIRError as error:
        _refuse_lowering(error, place)


def _refuse_lowering(error: Any, place: SourcePlace | None) -> NoReturn:
    """Say which operation a pass does not know."""
    text = str(error)
    found = re.search(r"failed to legalize operation '([\w.]+)'", text)
    known = place_of(text) or place
    if found:
        named = re.search(r'"((?:torch\.)?(?:aten|prims|onnx)\.[\w.]+)"', text)
        refuse_operation(found[1], known, named[1] if named else "")
    reason = next((line for line in text.splitlines() if "error: " in line), text).rpartition("error: ")[2]
    refuse(
        f"torch-mlir cannot lower the function: {reason[:200]}",
        known,
        "leave what it does not know in PyTorch, around functions of tadc",
    )
