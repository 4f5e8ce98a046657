"""Graphs of PyTorch of which programs compute what they can, and PyTorch the rest."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any
from warnings import catch_warnings, simplefilter

from tadc.importing.computation_parts import Part, Sorting
from tadc.importing.imported_function import imported_function
from tadc.importing.part_plans import LeftOperation, PartPlan, names_of
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
        self.makers = {value: o for o in operations for value in o.outputs}

        def sort(refused: Mapping[TorchOperation, str]) -> Sorting[TorchOperation]:
            return sorted_operations(operations, refused)

        self.plan = PartPlan(
            operations, self._results(), sort, TorchOperation.said, self._program, _MOST_INPUTS
        )
        self.refused = self.plan.refused
        self.functions = [program.function for program in self.plan.programs.values()]
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
        for part in self.plan.parts:
            if part in self.plan.programs:
                self.plan.programs[part].run(known, self.graph)
            else:
                compute(part.equations, known, self.graph)

        def value(node: Any) -> Any:
            return value_of(node, known, self.graph)

        for argument, new in self.written.items():
            given[argument].copy_(value(new))
        return torch.fx.node.map_arg(self.outputs, value)

    def _program(self, part: Part[TorchOperation]) -> TorchPartProgram:
        names = names_of(part.inputs, self.makers, self.names.get, "x")
        results = names_of(part.outputs, self.makers, self.names.get, "y")
        return TorchPartProgram(part, names, results, self.graph)


def _short(name: str) -> str:
    """What a person calls an argument of Dynamo's, `L_self_modules_fc_parameters_weight_`."""
    inner = re.sub(r"^[Ll]_|_$", "", name)
    return re.sub(r"(?:^self_|^\w*?)?(?:modules|parameters|buffers)_", "", inner).strip("_")


def value_of(node: Any, known: Mapping[Any, Any], graph: Any) -> Any:
    """What is known of a value, which may be a constant of the graph."""
    return getattr(graph, node.target) if node.op == "get_attr" else known[node]


def compute(operations: Sequence[TorchOperation], known: dict[Any, Any], graph: Any) -> None:
    """Run operations in PyTorch; what they compute is known then."""
    torch: Any = import_module("torch")

    def value(node: Any) -> Any:
        return value_of(node, known, graph)

    for operation in operations:
        with torch.set_grad_enabled(operation.is_recorded and torch.is_grad_enabled()):
            for node in operation.nodes:
                args, kwargs = torch.fx.node.map_arg((node.args, node.kwargs), value)
                known[node] = node.target(*args, **kwargs)


class TorchPartProgram:
    """The program of a part. Raises CompileError where there is none."""

    def __init__(
        self, part: Part[TorchOperation], names: Sequence[str], results: Sequence[str], graph: Any
    ) -> None:
        self.part, self.names = part, names
        place = next((o.place for o in part.own if o.place is not None), None)
        made = _decomposed(part, graph)
        sizes = SizeNames(names)
        tensors = [node.meta["val"] for node in part.inputs]
        given = [NamedValue(name, sizes.of(t)) for name, t in zip(names, tensors, strict=True)]
        program = program_of_graph(made, given, results, "graph", place)
        self.function = imported_function(program)

    def run(self, known: dict[Any, Any], graph: Any) -> None:
        """Call it in PyTorch; truth values are numbers to it."""
        given = dict(self.function.constants)
        for node, name in zip(self.part.inputs, self.names, strict=True):
            if name in self.function.inputs:
                tensor = value_of(node, known, graph)
                given[name] = tensor.int() if is_condition(node) else tensor
        found: Any = self.function.torch(**given)
        outputs = self.function.outputs
        by_name = dict(zip(outputs, found if len(outputs) > 1 else (found,), strict=True))
        for node, name in zip(self.part.outputs, self.function.results, strict=True):
            known[node] = by_name[name] != 0 if is_condition(node) else by_name[name]


def _decomposed(part: Part[TorchOperation], graph: Any) -> Any:
    """The operations of a part as a graph of those that torch-mlir knows."""
    torch: Any = import_module("torch")
    make_fx: Any = import_module("torch.fx.experimental.proxy_tensor").make_fx
    traceback: Any = import_module("torch.fx.traceback")
    shapes: Any = import_module("torch.fx.experimental.symbolic_shapes")
    alone: Any = torch.fx.Graph()
    # What sizes are is known of the tensors that a part reads.
    sizes = list(dict.fromkeys(v for operation in part.equations for v in operation.inputs if is_size(v)))
    env = {node: alone.placeholder(f"x{i}") for i, node in enumerate((*part.inputs, *sizes))}
    for operation in part.equations:
        for node in operation.nodes:
            if not is_size(node):
                env[node] = alone.node_copy(node, env.__getitem__)
    aten = torch.ops.aten
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

    fakes = [node.meta["val"] for node in part.inputs]
    with fakes[0].fake_mode, catch_warnings(), traceback.preserve_node_meta(), torch.no_grad():
        simplefilter("ignore")
        made = make_fx(run, decomposition_table=decomposition_table(), record_stack_traces=True)(*fakes)
    for node in made.graph.find_nodes(op="call_function", target=torch.sym_max):
        size, least = (getattr(v, "meta", {}).get("val", v) for v in node.args)
        if shapes.statically_known_true(size >= least):
            node.replace_all_uses_with(node.args[0])
    made.graph.eliminate_dead_code()
    return made.graph
