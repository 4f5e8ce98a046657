"""What operators are made of others, and how they are named.

`NAME_g0_2` gives the gradients of `NAME` for its first and its third input, `NAME_t0` tangents for those of
the first, and `NAME_b1` is `NAME` over a batch of its second. `NAME_v0_2` gives the value and what the
gradients `NAME_r0_2` for its first and its third input read of that (`tadc.api.two_calls`). So a name says
how an operator is made: code that PyTorch has kept of another process asks for operators by their names alone
(`torch.ops.tadc.NAME`), and gets them as soon as the function they derive from is wrapped.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from tadc.api.batches import batched
from tadc.api.derivatives import derived_for_framework, vjp
from tadc.api.function import Function
from tadc.api.two_calls import TwoCalls, in_two_calls
from tadc.torch.pytorch import torch
from tadc.torch.registration import NAMESPACE

GRADIENTS, TANGENTS, BATCH, VALUE, REST = "g", "t", "b", "v", "r"

_NAME = re.compile(r"(.+)_([gtbvr])(\d+(?:_\d+)*)")


_MAKERS: dict[str, Callable[[Function, Sequence[str]], Function]] = {
    GRADIENTS: vjp,
    TANGENTS: lambda f, names: derived_for_framework(f, "tangents", names),
    BATCH: batched,
    VALUE: lambda f, names: _two_calls(f, names).value,
    REST: lambda f, names: _two_calls(f, names).gradient,
}


def _two_calls(f: Function, names: Sequence[str]) -> TwoCalls:
    found = in_two_calls(f, names)
    assert found is not None
    return found


def derive(f: Function, kind: str, names: Sequence[str]) -> Function:
    """What is made of a function for some of its inputs."""
    return _MAKERS[kind](f, names)


def derived_name(name: str, f: Function, kind: str, names: Sequence[str]) -> str:
    """The name of the operator that is made of another."""
    return f"{name}_{kind}{'_'.join(str(f.inputs.index(n)) for n in names)}"


def parsed_name(name: str) -> tuple[str, str, list[int]] | None:
    """The name that one is derived of, the kind, and the positions of inputs; None of no such name."""
    found = _NAME.fullmatch(name)
    return found and (found[1], found[2], [int(n) for n in found[3].split("_")])


def name_operators(make: Callable[[str], None]) -> None:
    """Let PyTorch find derived operators that are not made yet; `make` makes one where it knows its base."""
    kind: Any = torch._ops._OpNamespace

    class Namespace(kind):
        """The operators of tadc, `torch.ops.tadc`."""

        __module__ = kind.__module__

        def __getattr__(self, name: str) -> Any:
            try:
                return kind.__getattr__(self, name)
            except AttributeError:
                if parsed_name(name) is None:
                    raise
            make(name)
            return kind.__getattr__(self, name)

    setattr(torch.ops, NAMESPACE, Namespace(NAMESPACE))
