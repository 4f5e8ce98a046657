"""Calls on arrays that are divided over devices; each group runs in a process with eight of them."""

from __future__ import annotations

import os
import subprocess
import sys

import jax
import pytest

from tests.jax.sharded_calls import GROUPS

pytestmark = [
    pytest.mark.as_shipped,
    pytest.mark.skipif(
        not getattr(jax.config, "jax_use_shardy_partitioner", False),
        reason="this JAX does not divide by Shardy, so that arguments are gathered",
    ),
]


@pytest.mark.parametrize("group", GROUPS)
def test_calls_on_devices(group: str) -> None:
    environment = {
        **os.environ,
        "JAX_PLATFORMS": "cpu",
        "JAX_ENABLE_X64": "1",
        "XLA_FLAGS": "--xla_force_host_platform_device_count=8",
    }
    command = [sys.executable, "-m", "tests.jax.sharded_calls", group]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
