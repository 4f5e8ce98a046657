"""Vector-Jacobian products of any order, by JAX."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import TypeAlias

# Read once, when XLA starts: each small kernel runs a few times only, so that compiling it is what costs.
os.environ.setdefault(
    "XLA_FLAGS",
    "--xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true"
    " --xla_cpu_use_fusion_emitters=false",
)
os.environ.setdefault("JAX_PLATFORMS", "cpu")

import jax
from jax import Array

jax.config.update("jax_enable_x64", True)

Tensors: TypeAlias = Mapping[str, Array]

#: A program as the reference sees it: outputs by name from inputs by name. It may be given more.
Function: TypeAlias = Callable[[Tensors], dict[str, Array]]


def pullback(function: Function, cotangents: Mapping[str, str], gradients: Mapping[str, str]) -> Function:
    """The vector-Jacobian product, as `tadc.vjp` defines it.

    `cotangents` names the cotangent of each output, `gradients` the gradient of each input asked for.
    """

    def pulled(values: Tensors) -> dict[str, Array]:
        def primal(chosen: Tensors) -> dict[str, Array]:
            return function({**values, **chosen})

        _, back = jax.vjp(primal, {name: values[name] for name in gradients})
        (found,) = back({output: values[name] for output, name in cotangents.items()})
        return {gradients[name]: gradient for name, gradient in found.items()}

    return pulled
