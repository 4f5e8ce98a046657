"""Graphs of PyTorch's tensors as programs."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib import import_module
from typing import Any

from tadc.dialect import mlir
from tadc.importing.linalg_modules import lowered, module_context
from tadc.importing.torch_lowering import to_linalg
from tadc.passes.linalg.linalg_programs import ImportedProgram, NamedValue, program_of
from tadc.passes.linalg.refusals import first_line, refuse
from tadc.passes.linalg.source_places import SourcePlace


def program_of_graph(
    graph: Any, given: Sequence[NamedValue], results: Sequence[str], name: str, place: SourcePlace | None
) -> ImportedProgram:
    """The program of a graph of operations that torch-mlir knows. Raises UsageError (TAD0513)."""
    with mlir.LOCK, module_context() as context:
        importer = import_module(f"{mlir.SUPPLIER}.extras.fx_importer").FxImporter(context=context)
        try:
            importer.import_stateless_graph(graph)
        except Exception as error:
            refuse(f"torch-mlir cannot read the graph: {first_line(error)}", place)
        to_linalg(importer.module, place)
        module = lowered(importer.module)
        function = next(op for op in module.body.operations if op.operation.name == "func.func").operation
        return program_of(function, given, results, name, place)


@cache
def decomposition_table() -> dict[Any, Any]:
    """By operation what it is made of, where torch-mlir does not know it, or not in f64."""
    torch: Any = import_module("torch")
    get_decompositions = import_module("torch._decomp").get_decompositions

    table: dict[Any, Any] = dict(
        import_module(f"{mlir.SUPPLIER}.extras.fx_decomp_util").get_decomposition_table()
    )
    aten = torch.ops.aten
    # torch-mlir has coefficients of some in f32, and does not know others.
    table.update(get_decompositions([aten.gelu, aten.logaddexp]))
    table[aten.erfc.default] = _erfc
    table[aten.hypot.default] = _hypot
    table |= {aten.fmod.Tensor: _fmod, aten.fmod.Scalar: _fmod}
    return table


def _erfc(x: Any) -> Any:
    torch: Any = import_module("torch")

    return 1 - torch.erf(x)


def _hypot(x: Any, y: Any) -> Any:
    torch: Any = import_module("torch")

    return torch.sqrt(x * x + y * y)


def _fmod(x: Any, y: Any) -> Any:
    torch: Any = import_module("torch")

    return x - torch.trunc(x / y) * y
