"""The operator of a function: its derivatives of any order, batches and casts, each an operator again."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, cast

from tadc.api.function import Function, function_of
from tadc.api.two_calls import in_two_calls
from tadc.frontend.forks import REGISTRY_LOCK
from tadc.torch.derived_operators import (
    BATCH,
    GRADIENTS,
    REST,
    TANGENTS,
    VALUE,
    derive,
    derived_name,
    name_operators,
    parsed_name,
)
from tadc.torch.pytorch import forward_ad, requires_gradient, single_level, torch, transforms
from tadc.torch.registration import (
    MOST_INPUTS,
    NAMESPACE,
    add_kernel,
    define,
    hand_on,
    library,
    operator_name,
)
from tadc.torch.result_shapes import ELEMENTS, results_like
from tadc.torch.sharding_rules import add_rules, hand_over_rules

_made: dict[str, Operator] = {}

#: Names of those that are made, or being made: PyTorch asks for a name while that is defined.
_begun: set[str] = set()


class Operator:
    """A function as an operator of PyTorch; `op` takes its inputs by position."""

    def __init__(self, name: str, f: Function) -> None:
        self.name = name
        self.function = f
        self.inputs = f.inputs
        self.outputs = f.outputs
        self._derived: dict[Any, Operator] = {}
        self._kept: dict[tuple[str, ...], tuple[str, ...]] = {}
        define(name, f)
        self._kernel = add_kernel(name, f)
        self.interface = self._kernel.interface
        packet = getattr(getattr(torch.ops, NAMESPACE), name)
        self.op = packet.default
        #: The kernel itself, where nothing is differentiated, as a function of C++.
        self.direct = packet.direct._op
        hand_on(name, self.op)
        torch.library.register_fake(f"{NAMESPACE}::{name}", self._fake, lib=library())
        library().impl(name, self._recorded, "Autograd", with_keyset=True)
        library().impl(name, self._on_gpu, "CUDA")
        for device in ("CPU", "CUDA"):
            library().impl(name, partial(self._cast, device), f"Autocast{device}")
        torch.library.register_vmap(f"{NAMESPACE}::{name}", self._batched, lib=library())
        add_rules(self.op, f)

    def called(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Its results by name, for inputs by name."""
        tensors = [values[name] for name in self.inputs]
        run = self.op if self.is_recorded(tensors) else self.direct
        return self.named(run(*tensors))

    def is_recorded(self, tensors: Sequence[Any]) -> bool:
        """Whether gradients or tangents of the results may be asked for."""
        return forward_ad._current_level >= 0 or (torch.is_grad_enabled() and requires_gradient(*tensors))

    def named(self, results: Any) -> dict[str, Any]:
        """Results by name."""
        return dict(zip(self.outputs, results if len(self.outputs) > 1 else (results,), strict=True))

    def derived(self, kind: str, names: Sequence[str]) -> Operator:
        """The operator of a kind (`tadc.torch.derived_operators`) for some inputs."""
        key = kind, tuple(names)
        with REGISTRY_LOCK:
            if key not in self._derived:
                name = derived_name(self.name, self.function, kind, names)
                self._derived[key] = _once(name, lambda: derive(self.function, kind, names))
            return self._derived[key]

    def kept(self, names: Sequence[str]) -> tuple[str, ...]:
        """What the operator `VALUE` keeps for that of `REST`; nothing where there are none such."""
        key = tuple(names)
        found = self._kept.get(key)
        if found is not None:
            return found
        with REGISTRY_LOCK:
            if key not in self._kept:
                two = in_two_calls(self.function, key) if key else None
                # The others are made, and take a cotangent for each result.
                fits = two is not None and len(two.gradient.inputs) <= MOST_INPUTS
                self._kept[key] = two.kept if two is not None and fits else ()
            return self._kept[key]

    def forget(self) -> None:
        """Free what this kernel and those of what is derived keep of index arrays; calls make it anew."""
        self._kernel.forget()
        for operator in list(self._derived.values()):
            operator.forget()

    def _fake(self, *tensors: Any) -> Any:
        found = results_like(self.interface, tensors)
        return found[0] if len(found) == 1 else tuple(found)

    def _on_gpu(self, *tensors: Any) -> Any:
        # A cotangent of `sum` repeats one number, and `vmap` moves dimensions.
        found = self.function(*[tensor.detach().contiguous() for tensor in tensors])
        return found if len(self.outputs) == 1 else tuple(found)

    def _cast(self, device: str, *tensors: Any) -> Any:
        """Under autocast: floats of 32 bits and less as the program has them."""
        keys = torch._C.DispatchKeySet(getattr(torch._C.DispatchKey, f"Autocast{device}"))
        with torch._C._ExcludeDispatchKeyGuard(keys):
            return self.op(*self.cast(tensors))

    def cast(self, tensors: Sequence[Any]) -> list[Any]:
        """Tensors as autocast gives them to the operator."""
        return [
            tensor.to(ELEMENTS[p.type])
            if tensor.is_floating_point() and tensor.dtype is not torch.float64
            else tensor
            for p, tensor in zip(self.interface.arguments, tensors, strict=True)
        ]

    def _recorded(self, keys: Any, *tensors: Any) -> Any:
        """Where gradients or tangents may be asked for."""
        hand_over_rules()
        records = torch.is_grad_enabled()
        if not self.is_recorded(tensors):
            return self.below(keys, records, tensors)
        record: Callable[..., Any] = cast("Any", super(torch.autograd.Function, Recorded)).apply
        if not transforms():
            return record(self, (keys, records), *tensors)
        # Transforms are layers of the dispatcher, which has come to one of them here: what
        # `Function.apply` does of its own for them would be done twice.
        with single_level():
            return record(self, (keys, records), *tensors)

    def below(self, keys: Any, records: bool, tensors: Sequence[Any]) -> Any:
        """The results, of which nothing is recorded here; transforms further out may record theirs."""
        keys &= torch._C._after_autograd_keyset
        with torch._C._AutoDispatchBelowAutograd():
            if not transforms():
                return self.op.redispatch(keys, *tensors)
            with torch.set_grad_enabled(records), forward_ad._set_fwd_grad_enabled(True):
                return self.op.redispatch(keys, *tensors)

    def _batched(self, _info: Any, in_dims: Sequence[int | None], *tensors: Any) -> Any:
        names = tuple(name for name, d in zip(self.inputs, in_dims, strict=True) if d is not None)
        moved = [t if d is None else t.movedim(d, 0) for t, d in zip(tensors, in_dims, strict=True)]
        found = self.derived(BATCH, names).op(*moved)
        return found, 0 if len(self.outputs) == 1 else (0,) * len(self.outputs)


def operator_of(f: Function) -> Operator:
    """The operator of a function: one for equal programs.

    Operators stay as long as the process, and this of a function's program: not the function itself.
    """
    program = f.program
    return _once(operator_name(f), lambda: function_of(lambda: program, f.recipe, f.options))


def _once(name: str, make: Callable[[], Function]) -> Operator:
    with REGISTRY_LOCK:
        if name not in _made:
            f = make()
            _begun.add(name)
            _made[name] = Operator(name, f)
        return _made[name]


def _make_named(name: str) -> None:
    """Make the operator of a derived name, where that is one of what is there."""
    parsed = parsed_name(name)
    if parsed is None or name in _begun:
        return
    base, kind, positions = parsed
    _make_named(base)
    if base in _made and max(positions) < len(_made[base].inputs):
        _made[base].derived(kind, [_made[base].inputs[n] for n in positions])


name_operators(_make_named)


class Recorded(torch.autograd.Function):
    """A call of an operator, and the derivatives of it.

    Gradients of those inputs alone are computed that are asked for, and tangents for those that have some.
    """

    @staticmethod
    def forward(ctx: Any, operator: Operator, mode: Any, *tensors: Any) -> Any:
        """Compute; inputs are kept, and of the results in between what gradients would compute again."""
        keys, records = mode
        ctx.operator, ctx.copied, ctx.kept = operator, (), ()
        ctx.wrt = _names(operator, ctx.needs_input_grad)
        more: list[Any] = []
        if not transforms() and all(type(tensor) in _PLAIN for tensor in tensors):
            ctx.copied = tuple(n for n, tensor in enumerate(tensors) if not tensor.is_contiguous())
            more = [tensors[n].contiguous() for n in ctx.copied]
            ctx.kept = operator.kept(ctx.wrt)
        dense = _with(tensors, ctx.copied, more)
        run = operator.derived(VALUE, ctx.wrt) if ctx.kept else operator
        found = run.below(keys, records, dense)
        if ctx.kept:
            by_name = run.named(found)
            more += [by_name[name] for name in ctx.kept]
            own = [by_name[name] for name in operator.outputs]
            found = tuple(own) if len(own) > 1 else own[0]
        ctx.save_for_backward(*tensors, *more)
        ctx.save_for_forward(*tensors)
        ctx.set_materialize_grads(False)
        if len(operator.outputs) > 1:
            ctx.shapes = [(tensor.shape, tensor.dtype) for tensor in found]
        return found

    @staticmethod
    def backward(ctx: Any, *cotangents: Any) -> Any:
        """The gradients of inputs that need one."""
        operator: Operator = ctx.operator
        wrt = _names(operator, ctx.needs_input_grad)
        given = {name: c for name, c in zip(operator.outputs, cotangents, strict=True) if c is not None}
        if not given or not wrt:
            return (None,) * len(ctx.needs_input_grad)
        count = len(operator.inputs)
        tensors, more = ctx.saved_tensors[:count], ctx.saved_tensors[count:]
        values = dict(zip(operator.inputs, tensors, strict=True))
        kind = GRADIENTS
        # Derivatives of gradients are those by inputs: they go through nothing else that is kept.
        if not torch.is_grad_enabled():
            values = dict(zip(operator.inputs, _with(tensors, ctx.copied, more), strict=True))
            if ctx.kept and wrt == ctx.wrt:
                kind = REST
                values |= zip(ctx.kept, more[len(ctx.copied) :], strict=True)
        derived = operator.derived(kind, wrt)
        like, outputs = next(iter(given.values())), operator.outputs
        for name, cotangent in derived.function.cotangents.items():
            values[cotangent] = (
                given[name] if name in given else _zeros(like, ctx.shapes[outputs.index(name)])
            )
        results = derived.called(values)
        gradients = derived.function.gradients
        return None, None, *[results[gradients[n]] if n in gradients else None for n in operator.inputs]

    @staticmethod
    def jvp(ctx: Any, _operator: Any, _mode: Any, *tangents: Any) -> Any:
        """The tangents of the results."""
        operator: Operator = ctx.operator
        given = {name: t for name, t in zip(operator.inputs, tangents, strict=True) if t is not None}
        derived = operator.derived(TANGENTS, tuple(given))
        values = dict(zip(operator.inputs, ctx.saved_tensors, strict=False))
        values |= {derived.function.tangents[name]: t for name, t in given.items()}
        results = derived.called(values)
        of = derived.function.output_tangents
        found = tuple(results[of[name]] if name in of else None for name in operator.outputs)
        return found[0] if len(found) == 1 else found


#: Tensors that stand for nothing else, on whose copies may be computed.
_PLAIN = (torch.Tensor, torch.nn.Parameter)


def _names(operator: Operator, needed: Sequence[bool]) -> tuple[str, ...]:
    """The inputs whose gradients are needed, of what `Recorded` is applied to."""
    return tuple(name for name, is_needed in zip(operator.inputs, needed[2:], strict=True) if is_needed)


def _with(tensors: Sequence[Any], places: Sequence[int], others: Sequence[Any]) -> list[Any]:
    """Tensors with the first of others at some places."""
    found = list(tensors)
    for place, other in zip(places, others, strict=False):
        found[place] = other
    return found


def _zeros(like: Any, about: tuple[Any, Any]) -> Any:
    """The cotangent of a result that nobody reads."""
    shape, dtype = about
    return like.new_zeros(shape, dtype=dtype)
