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
    _state_types_of_numbers(graph)
    with mlir.LOCK, module_context() as context:
        importer = import_module(f"{mlir.SUPPLIER}.extras.fx_importer").FxImporter(context=context)
        try:
            importer.import_stateless_graph(graph)
        except Exception as error:
            refuse(f"torch-mlir cannot read the graph: {first_line(error)}", place)
        to_linalg(importer.module, place)
        module = lowered(importer.module)
        function = next(op for op in module.body.operations if op.operation.name == "func.func").operation
        return program_of(function, given, results, name, place, stays_open=True)


def _state_types_of_numbers(graph: Any) -> None:
    """Give numbers beside tensors the type of these.

    torch-mlir takes those before a tensor, as in `0.1 - x`, as f32, and folds `1.0 == 1` as that of bits.
    """
    torch: Any = import_module("torch")
    for node in graph.nodes:
        first: Any = node.args[0] if node.args else None
        value: Any = getattr(first, "meta", {}).get("val")
        kind = getattr(node.target, "_overloadname", "")
        if isinstance(first, float) and kind == "Tensor":
            with graph.inserting_before(node), node.meta["val"].fake_mode:
                dtype = {"dtype": node.meta["val"].dtype}
                made = graph.call_function(torch.ops.aten.full.default, ([], first), dtype)
                made.meta["val"] = torch.empty((), **dtype)
            node.update_arg(0, made)
        elif kind == "Scalar" and value is not None and value.is_floating_point():
            number_ = node.args[1]
            node.update_arg(1, float(number_) if type(number_) is int else number_)


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
    table |= get_decompositions([aten.linspace, aten.affine_grid_generator])
    table[aten.erfc.default] = _erfc
    table[aten.full_like.default] = _full_like
    table.pop(aten.full.default, None)
    table[aten.native_group_norm.default] = _group_norm
    table[aten._cdist_forward.default] = _distances
    table[aten.hypot.default] = _hypot
    table |= {aten.fmod.Tensor: _fmod, aten.fmod.Scalar: _fmod}
    table[aten.scaled_dot_product_attention.default] = _attention
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


def _full_like(x: Any, value: Any, *, dtype: Any = None, **_: Any) -> Any:
    """A constant array: of one like an array that nothing was written to, torch-mlir makes zeros."""
    torch: Any = import_module("torch")

    return torch.full(x.shape, value, dtype=x.dtype if dtype is None else dtype)


def _attention(
    query: Any, key: Any, value: Any, mask: Any = None, dropout: float = 0.0, is_causal: bool = False,
    *, scale: float | None = None, enable_gqa: bool = False,
) -> Any:  # fmt: skip
    """A mask alone can leave nothing of a row, which is 0 then; PyTorch's own asks that of each row."""
    torch: Any = import_module("torch")
    if enable_gqa:
        key, value = (
            x.repeat_interleave(query.size(-3) // x.size(-3), -3, output_size=query.size(-3))
            for x in (key, value)
        )
    scores = query @ key.transpose(-2, -1) * (query.size(-1) ** -0.5 if scale is None else scale)
    if is_causal:
        kept = torch.ones(scores.shape[-2:], dtype=torch.bool, device=scores.device).tril()
        scores = scores.masked_fill(~kept, -torch.inf)
    if mask is None:
        weights = torch.softmax(scores, -1)
    else:
        is_condition = mask.dtype == torch.bool
        scores = scores.masked_fill(~mask, -torch.inf) if is_condition else scores + mask
        weights = torch.ops.aten._safe_softmax(scores, -1)
    return (torch.dropout(weights, dropout, True) if dropout > 0 else weights) @ value


def _distances(x: Any, y: Any, p: float, *_: Any) -> Any:
    torch: Any = import_module("torch")

    return torch.linalg.vector_norm(x.unsqueeze(-2) - y.unsqueeze(-3), p, -1)


def _group_norm(
    x: Any, weight: Any, bias: Any, batch: int, channels: int, size: int, groups: int, eps: float
) -> Any:
    """PyTorch's own reads its scales through strides, which are tables of places in MLIR."""
    grouped = x.reshape(batch, groups, -1)
    mean = grouped.mean(-1, keepdim=True)
    rate = (grouped.var(-1, correction=0, keepdim=True) + eps).rsqrt()
    normal = ((grouped - mean) * rate).reshape(batch, channels, -1)
    normal = normal if weight is None else normal * weight.unsqueeze(-1)
    normal = normal if bias is None else normal + bias.unsqueeze(-1)
    return normal.reshape(x.shape), mean.squeeze(-1), rate.squeeze(-1)
