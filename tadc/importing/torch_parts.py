"""Graphs of PyTorch of which programs compute what they can, and PyTorch the rest."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any
from warnings import catch_warnings, simplefilter

from tadc.api.function import Function
from tadc.importing.computation_parts import Part, Sorting
from tadc.importing.imported_function import ImportedFunction, imported_function
from tadc.importing.part_plans import LeftOperation, PartPlan, PartProgram, names_of
from tadc.importing.torch_equations import (
    TorchOperation,
    is_condition,
    operations_of,
    sorted_operations,
)
from tadc.importing.torch_graphs import decomposition_table, program_of_graph
from tadc.importing.torch_sizes import SizeNames, is_size
from tadc.passes.linalg.linalg_programs import NamedValue

#: Operators of PyTorch take 64 tensors, and gradients have one more for each result.
_MOST_INPUTS = 24


class TorchPlan:
    """What runs in the place of a graph without effects, of arguments with names."""

    def __init__(self, graph: Any, names: Sequence[str]) -> None:
        self.graph = graph
        nodes = list(graph.graph.nodes)
        self.arguments = [node for node in nodes if node.op == "placeholder"]
        self.outputs, after = nodes[-1].args[0]
        #: By argument what is written to it.
        self.written = {
            argument: new
            for argument, new in zip(self.arguments, after, strict=True)
            if new is not argument and hasattr(new, "meta")
        }
        self.names = {node: _short(name) for node, name in zip(self.arguments, names, strict=True)}
        operations = operations_of(graph.graph)
        #: The names of inputs and the programs of parts, by what is computed in them.
        self._made: dict[str, tuple[list[str], ImportedFunction]] = {}
        self.makers = {value: o for o in operations for value in o.outputs}

        def sort(refused: Mapping[TorchOperation, str]) -> Sorting[TorchOperation]:
            return sorted_operations(operations, refused)

        self.plan = PartPlan(
            operations, self._results(), sort, TorchOperation.said, self._program, _MOST_INPUTS
        )
        self.refused = self.plan.refused
        self.functions = self.plan.functions
        self.left = [LeftOperation(o.name, r, o.place) for o, r in self.plan.sorting.left.items()]

    def _results(self) -> list[Any]:
        """The values that are results, or written to arguments."""
        torch: Any = import_module("torch")
        found: list[Any] = []
        torch.fx.node.map_arg((self.outputs, list(self.written.values())), found.append)
        return list(dict.fromkeys(found))

    def run(self, args: Sequence[Any]) -> Any:
        """The results for arguments; what the graph writes to is written to."""
        torch: Any = import_module("torch")
        given = dict(zip(self.arguments, args, strict=True))
        # What is read is kept for gradients, which ask that nobody writes to it.
        known: dict[Any, Any] = {a: v.clone() if a in self.written else v for a, v in given.items()}
        host = TorchHost(self.graph)
        self.plan.run(host, known)

        def value(node: Any) -> Any:
            return host.value(node, known)

        for argument, new in self.written.items():
            given[argument].copy_(value(new))
        return torch.fx.node.map_arg(self.outputs, value)

    def _program(self, part: Part[TorchOperation]) -> PartProgram[TorchOperation]:
        orders = {v: order for v in part.inputs if (order := _order_in_memory(v.meta["val"])) is not None}
        key = _what_is_computed(part)
        if key not in self._made:
            names = names_of(part.inputs, self.makers, self.names.get, "x")
            results = names_of(part.outputs, self.makers, self.names.get, "y")
            self._made[key] = names, _function_of_part(part, names, results, self.graph, orders)
        return PartProgram(part, *self._made[key], orders)


def _what_is_computed(part: Part[TorchOperation]) -> str:
    """The operations of a part, the same for parts that compute the same of values alike.

    So equal modules, one behind the other, are compiled once.
    """
    torch: Any = import_module("torch")
    inside = [node for operation in part.equations for node in operation.nodes]
    numbers = {node: n for n, node in enumerate((*part.inputs, *inside))}

    def named(node: Any) -> str:
        return f"%{numbers[node]}" if node in numbers else str(node.meta["val"])

    tensors = [node.meta["val"] for node in part.inputs]
    given = [(list(t.shape), t.dtype, t.stride(), t.device) for t in tensors]
    lines = [(str(n.target), torch.fx.node.map_arg((n.args, n.kwargs), named)) for n in inside]
    return repr((given, lines, [numbers[node] for node in part.outputs]))


def _short(name: str) -> str:
    """What a person calls an argument of Dynamo's, `L_self_modules_fc_parameters_weight_`."""
    inner = re.sub(r"^[Ll]_|_$", "", name)
    return re.sub(r"(?:^self_|^\w*?)?(?:modules|parameters|buffers)_", "", inner).strip("_")


class TorchHost:
    """See Host."""

    def __init__(self, graph: Any) -> None:
        self.graph = graph

    def compute(self, operations: Sequence[TorchOperation], known: dict[Any, Any]) -> None:
        """See Host."""
        torch: Any = import_module("torch")

        def value(node: Any) -> Any:
            return self.value(node, known)

        for operation in operations:
            with torch.set_grad_enabled(operation.is_recorded and torch.is_grad_enabled()):
                for node in operation.nodes:
                    args, kwargs = torch.fx.node.map_arg((node.args, node.kwargs), value)
                    known[node] = node.target(*args, **kwargs)

    def value(self, value: Any, known: dict[Any, Any]) -> Any:
        """See Host."""
        return getattr(self.graph, value.target) if value.op == "get_attr" else known[value]

    def is_condition(self, value: Any) -> bool:
        """See Host."""
        return is_condition(value)

    def numbers(self, conditions: Any) -> Any:
        """See Host."""
        return conditions.int()

    def of_program(self, f: Function) -> Callable[..., Any]:
        """See Host."""
        return f.torch


def _order_in_memory(tensor: Any) -> list[int] | None:
    """The dimensions of a tensor without gaps, the outermost first; None where that is their own order.

    So a program reads the result of a Fourier transform where it is.
    """
    torch: Any = import_module("torch")
    if any(isinstance(size, torch.SymInt) for size in tensor.shape) or tensor.is_contiguous():
        return None
    order = sorted(range(tensor.dim()), key=lambda d: (-tensor.stride(d), d))
    return order if tensor.permute(order).is_contiguous() else None


def _function_of_part(
    part: Part[TorchOperation],
    names: Sequence[str],
    results: Sequence[str],
    graph: Any,
    orders: Mapping[Any, Sequence[int]],
) -> ImportedFunction:
    """The program of a part. Raises CompileError where there is none."""
    place = next((o.place for o in part.own if o.place is not None), None)
    made = _decomposed(part, graph, orders)
    sizes = SizeNames(names)
    tensors = [node.meta["val"] for node in part.inputs]  # what is in an order has no symbols
    given = [NamedValue(name, sizes.of(t)) for name, t in zip(names, tensors, strict=True)]
    return imported_function(program_of_graph(made, given, results, "graph", place))


def _decomposed(part: Part[TorchOperation], graph: Any, orders: Mapping[Any, Sequence[int]]) -> Any:
    """The operations of a part as a graph of those that torch-mlir knows."""
    torch: Any = import_module("torch")
    make_fx: Any = import_module("torch.fx.experimental.proxy_tensor").make_fx
    traceback: Any = import_module("torch.fx.traceback")
    shapes: Any = import_module("torch.fx.experimental.symbolic_shapes")
    alone: Any = torch.fx.Graph()
    # What sizes are is known of the tensors that a part reads.
    sizes = list(dict.fromkeys(v for operation in part.equations for v in operation.inputs if is_size(v)))
    env = {node: alone.placeholder(f"x{i}") for i, node in enumerate((*part.inputs, *sizes))}
    aten = torch.ops.aten
    for node, order in orders.items():
        back = sorted(range(len(order)), key=order.__getitem__)
        env[node] = alone.call_function(aten.permute.default, (env[node], back))
    for operation in part.equations:
        for node in operation.nodes:
            if not is_size(node):
                env[node] = alone.node_copy(node, env.__getitem__)
    results = [
        alone.call_function(aten._to_copy.default, (env[v],), {"dtype": torch.float32})
        if is_condition(v)
        else env[v]
        for v in part.outputs
    ]
    alone.output(tuple(results))
    interpreter = torch.fx.Interpreter(torch.fx.GraphModule(graph, alone))
    symbols = [node.meta["val"] for node in sizes]

    def run(*tensors: Any) -> Any:
        return interpreter.run(*tensors, *symbols)

    with_orders = ((node.meta["val"], orders.get(node)) for node in part.inputs)
    fakes = [t if order is None else t.permute(order) for t, order in with_orders]
    with fakes[0].fake_mode, catch_warnings(), traceback.preserve_node_meta(), torch.no_grad():
        simplefilter("ignore")
        made = make_fx(run, decomposition_table=decomposition_table(), record_stack_traces=True)(*fakes)
    for node in made.graph.find_nodes(op="call_function", target=torch.sym_max):
        size, least = (getattr(v, "meta", {}).get("val", v) for v in node.args)
        if shapes.statically_known_true(size >= least):
            node.replace_all_uses_with(node.args[0])
    made.graph.eliminate_dead_code()
    return made.graph
