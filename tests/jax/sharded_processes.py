"""One of two processes whose devices compute a call together; takes a port and its number."""

from __future__ import annotations

import sys

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import NamedSharding, PartitionSpec

from tests.jax.sharded_calls import STENCIL, devices, random, stencil


def main(port: str, number: str) -> None:
    """Compare this process's part of a value and of a gradient."""
    jax.config.update("jax_cpu_collectives_implementation", "gloo")
    jax.distributed.initialize(f"127.0.0.1:{port}", 2, int(number), initialization_timeout=60)
    x = random(32)
    placed = NamedSharding(devices(4), PartitionSpec("a"))
    given = jax.make_array_from_callback(x.shape, placed, lambda where: x[where])
    slope = jax.jit(jax.grad(lambda x: jnp.sin(STENCIL(x)).sum()))
    expected = jax.grad(lambda x: jnp.sin(stencil(x)).sum())(x)
    for found, whole in ((jax.jit(STENCIL)(given), stencil(x)), (slope(given), expected)):
        assert len(found.addressable_shards) == 2
        for part in found.addressable_shards:
            np.testing.assert_allclose(part.data, np.asarray(whole)[part.index], 1e-12, 1e-12)


if __name__ == "__main__":
    main(*sys.argv[1:])
