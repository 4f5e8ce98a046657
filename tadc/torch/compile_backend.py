"""`torch.compile(model, backend="tadc")`: programs compute what they can of a graph, and PyTorch the rest."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tadc.importing.part_plans import LeftOperation
from tadc.importing.torch_functional import functional_graph
from tadc.importing.torch_parts import TorchPlan
from tadc.passes.linalg.refusals import first_line, user_place
from tadc.torch.pytorch import torch

#: For so many sizes of its arguments programs of a graph are made; others are computed by PyTorch.
MOST_SIZES = 8

#: What was left to PyTorch in this process.
LEFT: list[LeftOperation] = []


def compiled_graph(module: Any, example_inputs: Sequence[Any]) -> Callable[..., Any]:
    """The backend of `torch.compile`: what computes a graph of Dynamo's.

    Sizes that are symbols of Dynamo's are sizes of the programs. Where these cannot be imported, or more is
    left to PyTorch for their sake, programs are made for the sizes of each call.
    """
    plan = _plan_of_symbols(module, example_inputs)
    if plan is not None:
        LEFT.extend(plan.left)
        return lambda *args: plan.run(args)
    plans: dict[Any, TorchPlan | None] = {}

    def run(*args: Any) -> Any:
        key = tuple((a.shape, a.dtype, a.device) if isinstance(a, torch.Tensor) else a for a in args)
        if key not in plans and len(plans) < MOST_SIZES:
            plans[key] = _plan_of_sizes(module, args)
        plan = plans.get(key)
        return module(*args) if plan is None else plan.run(args)

    return run


def _plan_of_symbols(module: Any, example_inputs: Sequence[Any]) -> TorchPlan | None:
    """What runs for all sizes that Dynamo's guards admit; None where none is a symbol, or one must be told.

    It is made while Dynamo compiles, which makes guards of all that is asked about symbols meanwhile.
    """
    given = [node.meta.get("example_value") for node in module.graph.nodes if node.op == "placeholder"]
    if not any(isinstance(value, torch.SymInt) for value in given):
        return None
    _specialize_floats(module)
    numbers = [a.node.hint if isinstance(a, torch.SymInt) else a for a in example_inputs]
    try:
        plan = TorchPlan(functional_graph(module, given), _names(module))
        if plan.refused:
            other = TorchPlan(functional_graph(module, numbers), _names(module))
            return plan if len(plan.left) <= len(other.left) else None
    except Exception:  # whatever it is, the plans of sizes say it
        return None
    return plan


def _specialize_floats(module: Any) -> None:
    """Let floats that Dynamo hands over as tensors (`dynamic=True`) be numbers, which it guards."""
    numbers: dict[Any, float] = {}

    def changed(node: Any) -> Any:
        return numbers.get(node, node)

    for node in list(module.graph.nodes):
        node.args, node.kwargs = torch.fx.node.map_arg((node.args, node.kwargs), changed)
        value = node.meta.get("example_value")
        if node.target == "item" and isinstance(value, torch.SymFloat) and value.node.has_hint():
            numbers[node] = float(value)
    for node in numbers:
        module.graph.erase_node(node)
    module.recompile()


def _plan_of_sizes(module: Any, args: Sequence[Any]) -> TorchPlan | None:
    """What runs for arguments of such sizes; None where PyTorch can trace no graph without effects."""
    try:
        graph = functional_graph(module, args)
    except Exception as error:  # whatever it does not trace: the module itself is right
        reason = f"PyTorch cannot trace it without effects: {first_line(error)}"
        LEFT.append(LeftOperation("graph", reason, user_place(error)))
        return None
    plan = TorchPlan(graph, _names(module))
    LEFT.extend(plan.left)
    return plan


def _names(module: Any) -> list[str]:
    return [node.target for node in module.graph.nodes if node.op == "placeholder"]
