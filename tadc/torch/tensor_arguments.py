"""What is wrong with the tensors of a call, and what can be made to fit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tadc.backend.runtime.call_messages import declared, said, type_problem
from tadc.backend.runtime.copied_arrays import no_room
from tadc.backend.runtime.host_arrays import HOST
from tadc.backend.runtime.inspector import INDEX_LIMIT, admitted
from tadc.backend.runtime.kept_indices import Relation
from tadc.backend.runtime.parameters import Parameter
from tadc.backend.runtime.read_calls import Door
from tadc.frontend.diagnostics import ArgumentError, Diagnostic
from tadc.torch.pytorch import runs_alone, torch
from tadc.torch.result_shapes import DEVICES, ELEMENTS


class TensorDoor(Door):
    """Tensors of PyTorch of the program's type, none of them converted; numbers where the program has a
    scalar."""

    sparse = "a sparse tensor, as `{}.to_sparse_csr()`"

    def array(self, parameter: Parameter, value: Any) -> Any | Diagnostic:
        """See Door."""
        tensor = value if parameter.below is None else index_tensor(value)
        if not isinstance(tensor, torch.Tensor):
            # What no library takes is said in the same words as by NumPy's.
            found = HOST.seen(parameter, value)
            if isinstance(found, Diagnostic):
                return found
            if parameter.shape or not isinstance(value, int | float) or isinstance(value, bool):
                return said("foreign", parameter, found=type(value).__name__)
            tensor = index_tensor(torch.from_numpy(found))
        if tensor.device.type not in DEVICES:
            return said("device", parameter, found=tensor.device)
        if tensor.layout is not torch.strided or tensor.is_nested:
            return said("layout", parameter, found="nested" if tensor.is_nested else tensor.layout)
        return tensor

    def type_problem(self, parameter: Parameter, array: Any, value: Any) -> Diagnostic | None:
        """See Door."""
        return None if array.dtype is ELEMENTS[parameter.type] else tensor_type_problem(parameter, array)

    def as_read(self, parameter: Parameter, array: Any, value: Any) -> Any:
        """See Door: index arrays as they are given, for errors to say what is in them."""
        return array if parameter.below is None or not hasattr(value, "shape") else value


TENSORS = TensorDoor()


def no_sparse_tensor(parameter: Parameter, value: Any) -> Diagnostic | None:
    """The error (TAD0504) for a sparse array of another library."""
    if isinstance(value, torch.Tensor):
        return None
    name = parameter.name
    kind = type(value).__name__
    message = f"`{name}` is not a tensor but a value of type {kind}; sparse ones are `torch.sparse_*`"
    helps: list[str] = []
    if hasattr(value, "tocoo"):
        made = f"torch.sparse_csr_tensor({name}.indptr, {name}.indices, {name}.data, {name}.shape)"
        helps = [f"make it one: `{made}`, of `{name} = {name}.tocsr()`"]
    return Diagnostic("TAD0504", message, notes=[declared(parameter)], helps=helps)


def tensor_type_problem(parameter: Parameter, value: Any) -> Diagnostic:
    """The error (TAD0504) for a tensor of another type than the program's."""
    name = str(value.dtype).removeprefix("torch.")
    kind = "c" if value.is_complex() else "f" if value.is_floating_point() else "b" if name == "bool" else "i"
    try:
        is_lossy = not np.can_cast(np.dtype(name), parameter.dtype, "safe")
    except TypeError:  # of 16 bits or fewer, which NumPy does not have
        is_lossy = False
    return type_problem(parameter, kind, name, "torch", is_lossy=is_lossy)


def index_tensor(value: Any) -> Any:
    """A tensor of integers, or a relation, as kernels take index arrays; one that 32 bits do not hold becomes
    negative.

    Anything else stays, and is said to be wrong later.
    """
    if isinstance(value, Relation):
        return torch.from_numpy(value.kept.array)
    if not isinstance(value, torch.Tensor) or value.dtype is torch.int32 or value.dtype not in _INTEGERS:
        return value
    if type(value) is torch.Tensor and value.device.type == "cpu" and runs_alone():
        # One pass, in this thread: PyTorch's own threads wait in ways that cost others of the kernel.
        made, largest = admitted(np.require(value.numpy(), None, "C"))
        if largest < INDEX_LIMIT:
            return torch.from_numpy(made)
    if value.dtype not in _NARROW:
        # What is too large becomes 2**31, which is the least number of 32 bits.
        value = value.to(torch.int64).clamp(-1, INDEX_LIMIT)
    return value.to(torch.int32)


_NARROW = (torch.int8, torch.uint8, torch.int16, torch.uint16)
_INTEGERS = (*_NARROW, torch.int32, torch.uint32, torch.int64, torch.uint64)


def require_room(parameters: Sequence[Parameter], tensors: Sequence[Any]) -> None:
    """Raise ArgumentError (TAD0506) for tensors of the CPU that have to be copied without room for it."""
    problems: list[Diagnostic] = []
    for p, tensor in zip(parameters, tensors, strict=True):
        tensor = index_tensor(tensor)
        if tensor.device.type == "cpu":
            found = no_room(p, tensor.detach().numpy(), p.dtype)
            problems += [found] if found else []
    if problems:
        raise ArgumentError(problems) from None
