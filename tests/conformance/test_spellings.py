"""Programs that mean the same and differ in spelling cost the same, value and gradients."""

from __future__ import annotations

import jax
import numpy as np
import pytest

import tadc
from tadc.frontend.extents import shape_at
from tests.conformance import spelled_kernels, spelled_losses
from tests.conformance.spelled_kernels import Kernel

KERNELS = (*spelled_kernels.KERNELS, *spelled_losses.LOSSES)
NAMES = [kernel.name for kernel in KERNELS]

#: The operations of the dearest spelling over those of the cheapest: what is asked for,
ENOUGH = 1.10
#: and where it is not reached yet, what is: of the value, and of value and gradients. These only fall.
ABOVE: dict[str, tuple[float, float]] = {
    # A quotient by a deviation that is a tensor of its own stays one: with what reads it, it might overflow.
    "layernorm": (1.15, 1.10),
    "cosine loss": (1.38, 1.82),
    "mixture": (1.10, 1.24),
    # Where several elements are the greatest, these are no equal gradients.
    "pool": (1.10, 1.17),
    # log(p/q) has values where both are negative, log(p) - log(q) has none; so it is with log(b*x), and with
    # the logarithm of a power. Nothing is known of arguments.
    "kl divergence": (1.50, 1.10),
    "jensen-shannon": (1.19, 1.50),
    "gaussian kl": (1.36, 1.22),
    "negative binomial": (1.10, 1.25),
    "log-normal likelihood": (1.59, 1.55),
    "gamma likelihood": (1.79, 4.13),
    "student likelihood": (1.10, 2.00),
    "rational quadratic": (1.60, 1.30),
    # x + log(1 + exp(-2*x)) stays, with two more additions; one spelling of a softmax takes no maximum.
    "log-cosh": (1.19, 1.10),
    "softmax kl": (1.15, 1.20),
    # What is divided is a mask of the slope where it stands in the quotient, and none where it stands beside.
    "rational": (1.10, 1.27),
    "pade": (1.10, 1.12),
    # A factor of two summands stays in them before the derivative.
    "charbonnier": (1.10, 1.30),
    "welsch": (1.10, 1.24),
    # Sums over several indices are nested otherwise, or one of them is known already.
    "mahalanobis": (1.43, 1.27),
    "poisson regression": (1.72, 1.99),
    # A difference of sums is a sum of differences, with one slope less.
    "triplet": (1.10, 1.20),
}


@pytest.mark.as_shipped
@pytest.mark.parametrize("kernel", KERNELS, ids=NAMES)
def test_spellings_cost_the_same(kernel: Kernel) -> None:
    found = [tadc.statistics(tadc.function(text), sizes=kernel.at()) for text in kernel.programs]
    values = [cost.value.work.weighted for cost in found]
    gradients = [cost.gradients.work.weighted for cost in found]
    ratios = (max(values) / min(values), max(gradients) / min(gradients))
    bounds = ABOVE.get(kernel.name, (ENOUGH, ENOUGH))
    for ratio, bound in zip(ratios, bounds, strict=True):
        assert ratio <= bound + 0.005, (values, gradients)


@pytest.mark.filterwarnings("ignore:warning.TAD0412")
@pytest.mark.parametrize("spelling", range(3))
@pytest.mark.parametrize("kernel", KERNELS, ids=NAMES)
def test_spellings_mean_the_same(kernel: Kernel, spelling: int) -> None:
    function = tadc.function(kernel.programs[spelling]).at(kernel.at(5))
    rng = np.random.default_rng(7)
    shapes = {a.name: shape_at(a.shape, {}) for a in function.program.arguments}
    arrays = {name: rng.uniform(kernel.low, 1.0, shape) for name, shape in shapes.items()}
    value, pullback = jax.vjp(kernel.reference, *arrays.values())
    cotangent = rng.uniform(-1, 1, value.shape)
    (given,) = tadc.vjp(function).cotangents.values()
    found = tadc.value_and_vjp(function)(**arrays, **{given: cotangent})
    for one, other in zip(found, (value, *pullback(cotangent)), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-11)
