"""A function of tadc as a module of PyTorch, with some inputs as its parameters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import sqrt
from typing import Any, Protocol, cast

from tadc.backend.runtime.call_messages import declared, wrong_shape
from tadc.backend.runtime.inspector import INDEX_LIMIT
from tadc.backend.runtime.kept_indices import Relation
from tadc.backend.runtime.parameters import Parameter
from tadc.caller.boundary import usage
from tadc.frontend.extents import is_static
from tadc.frontend.suggest import did_you_mean
from tadc.torch.pytorch import torch
from tadc.torch.result_shapes import ELEMENTS
from tadc.torch.tensor_arguments import index_tensor, tensor_type_problem


class Computed(Protocol):
    """What a module computes by."""

    inputs: tuple[str, ...]

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """The inputs, with types and shapes."""
        ...

    @property
    def open_types(self) -> frozenset[str]:
        """The inputs whose types are those of tensors."""
        ...

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The results."""
        ...


class FunctionModule(torch.nn.Module):
    """Holds some inputs of a function as parameters, index arrays as buffers; `forward` takes the others, by
    position or name."""

    def __init__(self, f: Computed, given: Mapping[str, Any]) -> None:
        super().__init__()  # pyright: ignore[reportUnknownMemberType]
        self._computed_by = f
        for name, value in given.items():
            parameter = next((p for p in f.parameters if p.name == name), None)
            if parameter is None:
                near = did_you_mean(name, f.inputs) or [f"its inputs are {', '.join(f.inputs)}"]
                raise usage(f"there is no input `{name}`", near[0])
            if hasattr(self, name) or "." in name:
                raise usage(f"`{name}` is a name that modules of PyTorch have already", "rename the input")
            tensor = _first_values(parameter, value, is_open=name in f.open_types)
            if parameter.below is not None or isinstance(value, torch.nn.Buffer):
                self.register_buffer(name, tensor)
            else:
                self.register_parameter(name, torch.nn.Parameter(tensor))
        self._asked = tuple(name for name in f.inputs if name not in given)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """The function, at the parameters as they are."""
        values = dict(zip(self._asked, args, strict=False))
        if len(args) > len(self._asked) or any(name in values or name not in self._asked for name in kwargs):
            asked = ", ".join(self._asked)
            raise usage(f"the inputs of the module are {asked or 'none'}; its parameters are stored in it")
        values.update(kwargs)
        for name in self._computed_by.inputs:
            if name not in self._asked:
                values[name] = getattr(self, name)
        if len(values) == len(self._computed_by.inputs):
            return self._computed_by(*[values[name] for name in self._computed_by.inputs])
        return self._computed_by(**values)

    def extra_repr(self) -> str:
        """The program, as `print` shows it in a tree of modules."""
        return str(self._computed_by).strip()


def _first_values(parameter: Parameter, value: Any, *, is_open: bool) -> Any:
    """A tensor of the parameter's type, or where that is open of its own. Raises UsageError."""
    element = ELEMENTS[parameter.type]
    if is_open:
        element = value.dtype if isinstance(value, torch.Tensor) else torch.get_default_dtype()
    if parameter.below is not None:
        tensor = _indices(parameter, value)
    elif isinstance(value, torch.Tensor):
        if value.layout is not torch.strided:
            raise _sparse(parameter, value)
        if not value.is_floating_point():
            raise usage(
                f"the values of `{parameter.name}` are of type {value.dtype}", f"write `.to({element})`"
            )
        tensor = value.detach().to(element, copy=True)
    elif _is_shape(value):
        tensor = torch.zeros(tuple(value), dtype=element)
        if tensor.dim() > 1 and tensor.numel():
            bound = 1 / sqrt(tensor.shape[-1])
            torch.nn.init.uniform_(tensor, -bound, bound)
    else:
        help = f"pass its first values, `{parameter.name}=torch.zeros(…)`, or a shape"
        raise usage(f"the values of `{parameter.name}` are no tensor and no shape", help)
    if not parameter.fits(tuple(tensor.shape)):
        help = "" if is_static(parameter.shape) else "extents that are symbols can have any value"
        raise usage(wrong_shape(parameter, tuple(tensor.shape)).message, help, declared(parameter))
    return tensor


def _indices(parameter: Parameter, value: Any) -> Any:
    """A tensor of 32-bit integers of its own. Raises UsageError."""
    name = parameter.name
    if not isinstance(value, torch.Tensor | Relation):
        help = f"pass them as a tensor of integers: `{name}=torch.tensor(…)`"
        raise usage(f"`{name}` is an index array, whose elements nothing trains", help, declared(parameter))
    tensor = index_tensor(value)
    if tensor.dtype is not torch.int32:
        problem = tensor_type_problem(parameter, tensor)
        raise usage(problem.message, *problem.helps, *problem.notes)
    wrong = tensor < 0
    if wrong.any():
        given = value if isinstance(value, torch.Tensor) else tensor
        message = f"`{name}` has the element {int(given[wrong][0])}"
        raise usage(message, f"indices are at least 0 and below {INDEX_LIMIT}", declared(parameter))
    return tensor.detach().clone()


def _sparse(parameter: Parameter, value: Any) -> Exception:
    """The error for a tensor that is not dense."""
    name = parameter.name
    message = f"`{name}` is not dense: its layout is {value.layout}"
    if parameter.pattern is None:
        return usage(message, f"write `{name}={name}.to_dense()`", declared(parameter))
    at = parameter.pattern.at
    given = [f"{place}=S.indices()[{n}]" for n, place in enumerate(at)]
    help = f"of `S = {name}.to_sparse_coo().coalesce()` pass `{', '.join([*given, f'{name}=S.values()'])}`"
    return usage(message, help, "a module holds what it stores and the index arrays", declared(parameter))


def _is_shape(value: Any) -> bool:
    return isinstance(value, tuple | list) and all(
        isinstance(n, int) and n >= 0 for n in cast("Sequence[Any]", value)
    )
