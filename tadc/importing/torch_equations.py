"""The operations of a graph of PyTorch's, without effects on tensors, and what stays in PyTorch."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any

from tadc.importing.computation_parts import Computation, Sorting
from tadc.importing.torch_sizes import is_size
from tadc.lattice.late_dataclasses import dataclass
from tadc.passes.linalg.refusals import KNOWN
from tadc.passes.linalg.source_places import SourcePlace, is_of_user

_FLOATS = ("torch.float16", "torch.bfloat16", "torch.float32", "torch.float64")
_INTEGERS = ("torch.int8", "torch.int16", "torch.int32", "torch.int64", "torch.uint8")
#: They read elements at other places: whoever needs one computes it again.
_VIEWS = ("view", "reshape", "_unsafe_view", "transpose", "permute", "t", "expand", "unsqueeze", "squeeze")
#: They read at places that are integers, which do not count from the end.
_READS = ("embedding", "index_select", "gather", "index_add", "scatter_add")
_LINE = re.compile(r'File "([^"]+)", line (\d+)')


@dataclass(eq=False)
class TorchOperation(Computation):
    """An operation: its node, and those that take its results apart. Values are nodes."""

    nodes: list[Any]
    #: Whether PyTorch records gradients there.
    is_recorded: bool

    @property
    def name(self) -> str:
        """What PyTorch calls it, `softmax`."""
        target = self.nodes[0].target
        return str(getattr(target, "overloadpacket", target)).rpartition(".")[2]

    @property
    def has_effects(self) -> bool:
        """Whether the order counts: that of random numbers does."""
        return self.is_random or (self.nodes[0].is_impure() and not _may_be_random(self.nodes[0]))

    @property
    def is_random(self) -> bool:
        """Whether it draws random numbers: attention does where it leaves out some."""
        node = self.nodes[0]
        if self.name == "scaled_dot_product_attention":
            return bool((node.args[4:5] or [node.kwargs.get("dropout_p", 0.0)])[0])
        return _may_be_random(node)

    @property
    def modules(self) -> Sequence[str]:
        """See Computation."""
        stack: dict[Any, tuple[str, Any]] = self.nodes[0].meta.get("nn_module_stack") or {}
        return [path for path, _ in stack.values()]

    @property
    def is_view(self) -> bool:
        """Whether it does nothing but to read numbers at other places."""
        return self.name in _VIEWS and is_float(self.outputs[0])

    @property
    def place(self) -> SourcePlace | None:
        """Its line in the user's source."""
        found = [(file, line) for file, line in _LINE.findall(self.nodes[0].meta.get("stack_trace") or "")]
        own = [SourcePlace(file, int(line)) for file, line in found if is_of_user(file)]
        return own[-1] if own else None

    def said(self) -> tuple[str, ...]:
        """What it is, the same for those that compute the same of values of the same types."""
        node = self.nodes[0]
        torch: Any = import_module("torch")
        return self.name, str(torch.fx.node.map_arg((node.args, node.kwargs), _type))


def _type(node: Any) -> tuple[Any, ...]:
    value: Any = node.meta.get("val")
    return tuple(getattr(value, "shape", ())), getattr(value, "dtype", type(value).__name__)


def _dtype(node: Any) -> str:
    return str(_type(node)[1])


def is_float(node: Any) -> bool:
    """Whether a value has numbers that programs have."""
    return _dtype(node) in _FLOATS


def is_condition(node: Any) -> bool:
    """Whether a value has truth values."""
    return _dtype(node) == "torch.bool"


def _may_be_random(node: Any) -> bool:
    torch: Any = import_module("torch")
    return torch.Tag.nondeterministic_seeded in getattr(node.target, "tags", ())


def operations_of(graph: Any) -> list[TorchOperation]:
    """The operations of a graph in order."""
    found: dict[Any, TorchOperation] = {}
    is_recorded = True
    for node in graph.nodes:
        if node.op != "call_function":
            continue
        if "_set_grad_enabled" in str(node.target):
            is_recorded = bool(node.args[0])
        elif str(node.target) == "<built-in function getitem>" and isinstance(
            node.args[0].meta.get("val"), tuple | list
        ):
            made = found[node.args[0]]
            made.nodes.append(node)
            made.outputs = tuple(made.nodes[1:])
        else:
            found[node] = TorchOperation(tuple(node.all_input_nodes), (node,), [node], is_recorded)
    return list(found.values())


def sorted_operations(
    operations: Sequence[TorchOperation], refused: Mapping[TorchOperation, str]
) -> Sorting[TorchOperation]:
    """What stays in PyTorch: what is refused, what no program has, and integers that are no constants."""
    sizes = {v for o in operations for v in (*o.inputs, *o.outputs) if is_size(v)}
    constants = {v for v in sizes if v.op == "placeholder"}
    sorting = Sorting[TorchOperation](constants=constants, static=sizes)
    for operation in operations:
        if is_size(operation.outputs[0]):
            sorting.shared.add(operation)
            continue
        is_static = all(v in sorting.static for v in operation.inputs)
        reason = refused.get(operation) or why_left(operation)
        sorting.add(operation, is_static, reason, lambda o: _is_of_integers(o, sorting.static))
    return sorting


def _is_of_integers(operation: TorchOperation, static: set[Any]) -> bool:
    if not all(is_float(v) or is_condition(v) for v in operation.outputs):
        return True
    is_number = all(is_float(v) or is_condition(v) or v in static for v in operation.inputs)
    return not is_number and operation.name not in _READS


def why_left(operation: TorchOperation) -> str:
    """Why an operation is none of a program's, whatever it reads; nothing where it may be one."""
    node, name = operation.nodes[0], operation.name
    space = getattr(node.target, "namespace", None)
    if space not in ("aten", "prims"):
        return "an operation that is none of PyTorch's tensors"
    if not operation.is_recorded or name == "detach":
        return "no gradient is recorded"
    if operation.is_random:
        return KNOWN["random"][0]
    known = next((said for key, (said, _) in KNOWN.items() if key in name), None)
    if known is not None:
        return known
    if operation.has_effects:
        return "side effects"
    if name == "embedding" and any(argument not in (-1, False) for argument in node.args[2:]):
        return "derivatives that leave out what is read"
    tensors = [v for v in (*operation.inputs, *operation.outputs) if not is_size(v)]
    strange = [d for v in tensors if (d := _dtype(v)) not in _TYPES]
    if strange:
        return "complex numbers" if "complex" in strange[0] else f"values of type `{strange[0]}`"
    is_here = all(v.meta["val"].device.type == "cpu" for v in tensors)
    return "" if is_here else "tensors that are not on the CPU"


_TYPES = (*_FLOATS, *_INTEGERS, "torch.bool")
