"""A graph of Dynamo's as one whose operations write to no tensor, and still record gradients."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any


def functional_graph(module: Any, args: Sequence[Any]) -> Any:
    """The graph at the sizes of arguments, of operations of `aten`; sizes may be symbols of Dynamo's.

    Its results are those of the module, and what each argument is then. Raises what PyTorch raises where it
    cannot be traced so, as operations of higher order.
    """
    torch: Any = import_module("torch")
    tensors: Any = import_module("torch._subclasses.functional_tensor")
    fake_tensors: Any = import_module("torch._subclasses.fake_tensor")
    traceback: Any = import_module("torch.fx.traceback")
    make_fx: Any = import_module("torch.fx.experimental.proxy_tensor").make_fx
    shapes = next((a.node.shape_env for a in args if isinstance(a, torch.SymInt)), None)
    mode = fake_tensors.FakeTensorMode(allow_non_fake_inputs=True, shape_env=shapes)

    def fake(value: Any) -> Any:
        if not isinstance(value, torch.Tensor):
            return value
        if isinstance(value, fake_tensors.FakeTensor):
            return torch.empty_strided(value.shape, value.stride(), dtype=value.dtype, device=value.device)
        return mode.from_tensor(value.detach(), static_shapes=True)

    interpreter = torch.fx.Interpreter(module)

    def run(*given: Any) -> Any:
        return interpreter.run(*given), given

    functional = tensors.dispatch_functionalize(
        run, tensors.FunctionalTensorMode(pre_dispatch=True, export=True)
    )
    with mode, traceback.preserve_node_meta():
        made = make_fx(functional, pre_dispatch=True, record_stack_traces=True, _allow_non_fake_inputs=True)(
            *map(fake, args)
        )
    for node in list(made.graph.nodes):
        _simplify(made, node, mode)
    _read_parts_once(made)
    made.graph.eliminate_dead_code()
    return made


def _simplify(made: Any, node: Any, mode: Any) -> None:
    """Write constants and what is left out at random by operations that tell what is random."""
    torch: Any = import_module("torch")
    aten = torch.ops.aten
    if node.op == "get_attr":
        value = getattr(made, node.target)
        node.meta["val"] = mode.from_tensor(value, static_shapes=True)
        if value.dim() == 0:
            _replace(made, node, aten.full.default, ([], value.item()), {"dtype": value.dtype})
    elif node.target in (aten.lift_fresh_copy.default, aten.detach.default) and _is_constant(node.args[0]):
        node.replace_all_uses_with(node.args[0])
    elif node.target is aten.dropout.default:
        _simplify_dropout(made, node)
    elif node.target is aten._native_batch_norm_legit_functional.default:
        for running in (user for user in list(node.users) if user.args[1] > 2):
            with made.graph.inserting_after(running):
                stopped = made.graph.call_function(aten.detach.default, (running,))
            stopped.meta = dict(running.meta)
            running.replace_all_uses_with(stopped)
            stopped.args = (running,)


def _read_parts_once(made: Any) -> None:
    """Let one operation show the parts of complex numbers: gradients of both parts are one tensor then."""
    torch: Any = import_module("torch")
    first: dict[Any, Any] = {}
    for node in made.graph.find_nodes(op="call_function", target=torch.ops.aten.view_as_real.default):
        same = first.setdefault(node.args[0], node)
        if same is not node:
            node.replace_all_uses_with(same)


def _is_constant(node: Any) -> bool:
    return node.op == "get_attr" or (node.op == "call_function" and not node.all_input_nodes)


def _replace(made: Any, node: Any, target: Any, args: Any, kwargs: Any) -> Any:
    with made.graph.inserting_before(node):
        new = made.graph.call_function(target, args, kwargs)
    new.meta = dict(node.meta)
    node.replace_all_uses_with(new)
    return new


def _simplify_dropout(made: Any, node: Any) -> None:
    """Random numbers of a shape, which depend on nothing, times the tensor; nothing where all is kept."""
    torch: Any = import_module("torch")
    aten = torch.ops.aten
    tensor, probability, is_training = node.args
    if not is_training or probability == 0:
        node.replace_all_uses_with(tensor)
        made.graph.erase_node(node)
    elif probability < 1:
        value = node.meta["val"]
        with made.graph.inserting_before(node):
            shape = [_size_node(made, tensor, d, size) for d, size in enumerate(value.shape)]
            empty = made.graph.call_function(aten.empty.memory_format, (shape,), {"dtype": value.dtype})
            kept = made.graph.call_function(aten.bernoulli.p, (empty, 1 - probability))
            scaled = made.graph.call_function(aten.div.Tensor, (kept, 1 - probability))
            new = made.graph.call_function(aten.mul.Tensor, (tensor, scaled))
        for one in (empty, kept, scaled, new):
            one.meta = dict(node.meta)
        node.replace_all_uses_with(new)
        made.graph.erase_node(node)


def _size_node(made: Any, tensor: Any, dimension: int, size: Any) -> Any:
    """A size of a tensor as a graph has it: one that is a symbol is an argument where there is such."""
    torch: Any = import_module("torch")
    if not isinstance(size, torch.SymInt):
        return size
    for node in made.graph.find_nodes(op="placeholder"):
        value = node.meta["val"]
        if isinstance(value, torch.SymInt) and value.node.expr == size.node.expr:
            return node
    found = made.graph.call_function(torch.ops.aten.sym_size.int, (tensor, dimension))
    found.meta["val"] = size
    return found
