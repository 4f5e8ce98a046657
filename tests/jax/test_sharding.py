"""Calls on arrays that are divided over devices; each group runs in a process with eight of them."""

from __future__ import annotations

import os
import socket
import subprocess
import sys

import pytest

from tests.jax.sharded_calls import GROUPS, SHARDY

pytestmark = pytest.mark.as_shipped
needs_shardy = pytest.mark.skipif(
    not SHARDY, reason="this JAX does not divide by Shardy, so that arguments are gathered"
)


def environment(devices: int) -> dict[str, str]:
    flags = {"JAX_PLATFORMS": "cpu", "JAX_ENABLE_X64": "1"}
    return {**os.environ, **flags, "XLA_FLAGS": f"--xla_force_host_platform_device_count={devices}"}


@pytest.mark.parametrize(
    "group", [g if g == "undivided" else pytest.param(g, marks=needs_shardy) for g in GROUPS]
)
def test_calls_on_devices(group: str) -> None:
    command = [sys.executable, "-m", "tests.jax.sharded_calls", group]
    done = subprocess.run(command, env=environment(8), capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr


@needs_shardy
def test_two_processes() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "tests.jax.sharded_processes", str(port)]
    pipe = subprocess.PIPE
    started = [
        subprocess.Popen([*command, n], env=environment(2), stdout=pipe, stderr=subprocess.STDOUT, text=True)
        for n in ("0", "1")
    ]
    try:
        said = [process.communicate(timeout=240)[0] for process in started]
        assert [process.returncode for process in started] == [0, 0], "\n".join(said)
    finally:
        for process in started:
            process.kill()
