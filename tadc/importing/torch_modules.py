"""Modules and functions of PyTorch."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager, redirect_stderr, suppress
from copy import copy
from functools import wraps
from importlib import import_module
from io import StringIO
from logging import CRITICAL, getLogger
from typing import Any, cast
from warnings import catch_warnings, simplefilter

from tadc.caller.boundary import public, usage
from tadc.frontend.diagnostics import UsageError
from tadc.frontend.packages import imported
from tadc.importing.imported_function import ImportedFunction, imported_function
from tadc.importing.torch_graphs import decomposition_table, program_of_graph
from tadc.importing.torch_sizes import SizeNames
from tadc.passes.linalg.linalg_programs import NamedValue, legal_names
from tadc.passes.linalg.refusals import first_line, refuse, user_place
from tadc.passes.linalg.source_places import SourcePlace, is_of_user


@public
def from_torch(
    f: Callable[..., Any], /, *args: Any, dynamic_shapes: Any = None, buffers: bool = False
) -> ImportedFunction:
    """The function that `torch.export` makes of a module, or of a function of tensors.

    `args` are tensors like those of a call, or trees of them; what is no tensor is a constant. Parameters and
    buffers are arguments with their names, `conv1_weight`, which a call by position takes from the module.
    With `buffers` the new values of buffers that the module writes to are results too, behind its own.
    `dynamic_shapes` is that of `torch.export`: dimensions that are named there are sizes of the program.

    >>> import tadc, torch
    >>> f = tadc.from_torch(torch.nn.Linear(3, 2), torch.ones(5, 3))
    >>> f
    <tadc.ImportedFunction (weight: f32[2, 3], bias: f32[2], input: f32[5, 3]) -> (linear: f32[5, 2])>

    Raises UsageError (TAD0513) for what the language has not, at the line of the operation.
    """
    torch: Any = imported("torch", "`from_torch` needs PyTorch", "torch")
    if not callable(f):
        raise usage(f"a module or function of PyTorch is imported, not {type(f).__name__}")
    module = f if isinstance(f, torch.nn.Module) else _as_module(f)
    name, place = _name_and_place(f)
    exported = _exported(module, _apart(args), dynamic_shapes, name, place)
    return function_of_exported(exported, name, place, buffers=buffers)


def _exported(
    module: Any, args: Sequence[Any], dynamic_shapes: Any, name: str, place: SourcePlace | None
) -> Any:
    """What `torch.export` makes of a module. Raises UsageError (TAD0513) where it cannot."""
    torch: Any = import_module("torch")
    with _quiet():
        try:
            exported = torch.export.export(module, args, dynamic_shapes=dynamic_shapes, strict=False)
            _check_constants(exported)
            _refuse_stopped(exported, place)
            return exported
        except UsageError:
            raise
        except Exception as error:
            # Derivatives inside it cannot take, but for what is wrong with the module it has better words.
            with suppress(Exception):
                if not dynamic_shapes:
                    return torch.export.export(_differentiated(module, args), args, strict=False)
            refuse(
                f"PyTorch cannot export `{name}`: {first_line(error)}",
                user_place(error) or place,
                "`torch.export` needs an example tensor for each input, and rejects side effects and "
                "control flow that depends on elements",
            )


@contextmanager
def _quiet() -> Generator[None]:
    """Without what PyTorch says about itself: warnings, and the graph up to where it gave up."""
    logger = getLogger("torch")
    level = logger.level
    try:
        with catch_warnings(), redirect_stderr(StringIO()):
            simplefilter("ignore")
            logger.setLevel(CRITICAL)
            yield
    finally:
        logger.setLevel(level)


def _refuse_stopped(exported: Any, place: SourcePlace | None) -> None:
    """Refuse what has no derivative in PyTorch: a program would have one."""
    torch: Any = import_module("torch")
    for node in exported.graph.nodes:
        without = str(node.target) == "wrap_with_set_grad_enabled" and not node.args[0]
        if node.target is torch.ops.aten.detach.default or (without and len(node.args) > 2):
            refuse(
                "`detach` and `no_grad` cannot be imported: a gradient of the program would go through them",
                _line_of(node) or place,
                "give what is held fixed as an argument of its own",
            )


def _line_of(node: Any) -> SourcePlace | None:
    """The last line of the user's files in the trace of a node, or of who reads it."""
    traces = [of.meta.get("stack_trace") or "" for of in (node, *node.users)]
    lines = re.findall(r'File "([^"]+)", line (\d+)', next(filter(None, traces), ""))
    return next((SourcePlace(file, int(line)) for file, line in reversed(lines) if is_of_user(file)), None)


def _check_constants(exported: Any) -> None:
    """Raise RuntimeError where a value of the trace, as in derivatives inside, was taken for a constant."""
    fake: Any = import_module("torch._subclasses.fake_tensor").FakeTensor
    is_wrapped: Any = import_module("torch._C._functorch").is_functorch_wrapped_tensor
    for value in exported.constants.values():
        if isinstance(value, fake) or is_wrapped(value):
            raise RuntimeError("a derivative inside of it reads what is traced outside")


def _differentiated(module: Any, args: Sequence[Any]) -> Any:
    """A module of plain operations, with those of the derivatives and `vmap`s that a module has inside."""
    torch: Any = import_module("torch")
    make_fx = import_module("torch.fx.experimental.proxy_tensor").make_fx
    preserve_node_meta = import_module("torch.fx.traceback").preserve_node_meta
    tree_leaves = import_module("torch.utils._pytree").tree_leaves

    def state_of(of: Any) -> dict[str, Any]:
        return {**dict(of.named_parameters()), **dict(of.named_buffers())}

    def call(state: Mapping[str, Any], *inputs: Any) -> Any:
        return torch.func.functional_call(module, state, inputs)

    graph = make_fx(call, tracing_mode="fake", record_stack_traces=True)(state_of(module), *args)
    made = copy(module)

    @wraps(module.forward)  # `torch.export` names the arguments by the signature
    def forward(*inputs: Any) -> Any:
        with preserve_node_meta():
            return torch.fx.Interpreter(graph).run(*tree_leaves((state_of(made), *inputs)))

    made.forward = forward
    return made


def function_of_exported(
    exported: Any, name: str, place: SourcePlace | None, *, buffers: bool = False
) -> ImportedFunction:
    """The function of a `torch.export.ExportedProgram`."""
    torch: Any = import_module("torch")
    pytree: Any = import_module("torch.utils._pytree")

    values = {**exported.state_dict, **exported.constants}
    signature = exported.graph_signature
    spec_of = {s.arg.name: s for s in signature.input_specs}
    program_ = _decomposed(exported)
    graph = program_.graph
    kinds = [s.kind.name for s in program_.graph_signature.output_specs]
    targets = [s.target for s in program_.graph_signature.output_specs]
    output = next(node for node in reversed(graph.nodes) if node.op == "output")
    wanted = [
        (node, kind, target)
        for node, kind, target in zip(output.args[0], kinds, targets, strict=True)
        if kind == "USER_OUTPUT"
        or (buffers and kind == "BUFFER_MUTATION" and node.meta["val"].is_floating_point())
    ]
    output.args = (tuple(node for node, _, _ in wanted),)
    graph.eliminate_dead_code()
    placeholders = [node for node in graph.nodes if node.op == "placeholder"]
    for node in list(placeholders):
        if not isinstance(node.meta.get("val"), torch.Tensor):
            if node.users:
                refuse("a size or number as an argument cannot be imported", place, "give it as a constant")
            graph.erase_node(node)
            placeholders.remove(node)
    wishes = [_wish(spec_of, node) for node in placeholders]
    names = legal_names(wishes)
    user = [node.name for node in placeholders]
    sizes = SizeNames(names)
    given = [NamedValue(n, sizes.of(node.meta["val"])) for n, node in zip(names, placeholders, strict=True)]
    results = _result_names(wanted, name)
    program = program_of_graph(graph, given, results, name, place)
    constants = {
        n: values[spec_of[node.name].target].detach()
        for n, node in zip(names, placeholders, strict=True)
        if n in program.inputs and spec_of[node.name].target is not None
    }
    order = [s.arg.name for s in signature.input_specs if s.kind.name == "USER_INPUT"]
    by_node = dict(zip(user, names, strict=True))

    def arguments_of(*actual: Any) -> dict[str, Any]:
        flat = pytree.tree_leaves((actual, {}), is_leaf=_is_none)
        return {
            by_node[node]: leaf
            for node, leaf in zip(order, flat, strict=False)
            if node in by_node and by_node[node] in program.inputs
        }

    tree = exported.call_spec.out_spec

    def result_of(flat: Sequence[Any]) -> Any:
        own = pytree.tree_unflatten(list(flat[: len(flat) - len(results) + own_results]), tree)
        return (own, *flat[own_results:]) if len(results) > own_results else own

    own_results = sum(1 for _, kind, _ in wanted if kind == "USER_OUTPUT")
    return imported_function(program, arguments_of, result_of, constants)


def _apart(args: Any) -> Any:
    """The arguments, each a tensor of its own: PyTorch takes one that comes twice for one argument."""
    torch: Any = import_module("torch")
    pytree: Any = import_module("torch.utils._pytree")
    seen: set[int] = set()

    def own(leaf: Any) -> Any:
        is_new = not isinstance(leaf, torch.Tensor) or id(leaf) not in seen
        seen.add(id(leaf))
        return leaf if is_new else leaf.clone()

    return pytree.tree_map(own, args)


def _is_none(leaf: Any) -> bool:
    return leaf is None


def _as_module(f: Callable[..., Any]) -> Any:
    torch: Any = import_module("torch")

    @wraps(f)  # `torch.export` names the arguments by the signature
    def forward(*args: Any, **kwargs: Any) -> Any:
        return f(*args, **kwargs)

    module = torch.nn.Module()
    module.forward = forward
    return module


def _name_and_place(f: Any) -> tuple[str, SourcePlace | None]:
    torch: Any = import_module("torch")

    if isinstance(f, torch.nn.Module):
        code = getattr(cast("Any", type(f)).forward, "__code__", None)
        name = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", type(f).__name__).lower()
    else:
        inner = inspect.unwrap(f)
        code = getattr(inner, "__code__", None)
        name = getattr(inner, "__name__", type(f).__name__)
    own = code is not None and is_of_user(code.co_filename)
    place = SourcePlace(code.co_filename, code.co_firstlineno) if code is not None and own else None
    return ("result" if name == "<lambda>" else name), place


def _decomposed(exported: Any) -> Any:
    tensors = (node.meta.get("val") for node in exported.graph_module.graph.nodes)
    found: list[Any] = [getattr(getattr(t, "fake_mode", None), "shape_env", None) for t in tensors]
    # What PyTorch loads from a file has ranges of multiples, `2*batch`, too, which it takes for symbols here.
    ranges: Any = next((known.var_to_range for known in found if known is not None), dict[Any, Any]())
    for size in [size for size in ranges if not size.is_Symbol]:
        del ranges[size]
    with catch_warnings():
        simplefilter("ignore")
        return exported.run_decompositions(decomposition_table())


def _wish(spec_of: Mapping[str, Any], node: Any) -> str:
    spec = spec_of.get(node.name)
    if spec is not None and spec.target is not None:
        return "constant" if spec.kind.name == "CONSTANT_TENSOR" else spec.target.replace(".", "_")
    return node.name


def _result_names(wanted: Sequence[tuple[Any, str, Any]], name: str) -> list[str]:
    own = [node for node, kind, _ in wanted if kind == "USER_OUTPUT"]
    if len(own) == 1:
        wishes = [name]
    else:
        wishes = [f"{name}_{i}" for i in range(len(own))]
    wishes += [f"{target.replace('.', '_')}_new" for _, kind, target in wanted if kind != "USER_OUTPUT"]
    return legal_names(wishes)
