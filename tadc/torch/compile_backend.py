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

    Programs are made when it is first called with arguments of some sizes.
    """
    plans: dict[Any, TorchPlan | None] = {}

    def run(*args: Any) -> Any:
        key = tuple((a.shape, a.dtype, a.device) if isinstance(a, torch.Tensor) else a for a in args)
        if key not in plans and len(plans) < MOST_SIZES:
            plans[key] = _plan(module, args)
        plan = plans.get(key)
        return module(*args) if plan is None else plan.run(args)

    return run


def _plan(module: Any, args: Sequence[Any]) -> TorchPlan | None:
    """What runs for arguments of such sizes; None where PyTorch can trace no graph without effects."""
    try:
        graph = functional_graph(module, args)
    except Exception as error:  # whatever it does not trace: the module itself is right
        reason = f"PyTorch cannot trace it without effects: {first_line(error)}"
        LEFT.append(LeftOperation("graph", reason, user_place(error)))
        return None
    plan = TorchPlan(graph, [node.target for node in module.graph.nodes if node.op == "placeholder"])
    LEFT.extend(plan.left)
    return plan
