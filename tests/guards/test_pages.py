"""Kernels touch nothing but their arguments, results and tensors in between."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.guards.machines import MACHINES, runs_here
from tests.guards.programs import RANDOM, SOURCES
from tests.guards.run import run


def test_an_access_outside_ends_a_process(root: Path) -> None:
    program = """
import ctypes, sys
from tadc.backend.runtime.parameters import Parameter
from tests.guards.pages import Fenced
for at_end in (False, True):
    fenced = Fenced(Parameter("x", "f32", (1000,)), at_end=at_end)
    ctypes.string_at(fenced.address, 4000)
    assert fenced.is_alone()
print("so far", flush=True)
ctypes.string_at(fenced.address, 4001)
"""
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=root)
    assert (done.stdout, done.returncode) == ("so far\n", -signal.SIGSEGV), done.stderr


@pytest.mark.parametrize("source", ["hand", "lookups"])
@pytest.mark.parametrize(("machine", "dtype"), [("avx512", "f32"), ("avx2", "f64")])
def test_programs_by_hand(source: str, machine: str, dtype: str) -> None:
    if not runs_here(machine):
        pytest.skip(f"this machine cannot run code for {machine}")
    report = run("pages", source, machine, dtype)
    assert not report.failures
    assert report.count > report.programs


@pytest.mark.slow
@pytest.mark.parametrize("machine", [name for name in MACHINES if runs_here(name)])
@pytest.mark.parametrize("source", [*SOURCES, *RANDOM])
def test_many_programs(source: str, machine: str) -> None:
    for dtype in ("f32", "f64"):
        assert not run("pages", source, machine, dtype).failures
