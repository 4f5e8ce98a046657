"""No stage of the compiler depends on the order of a set, or on where something is in memory."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

SEEDS = ("0", "1", "77")
EXAMPLES = Path(__file__).parents[2] / "examples"

#: Prints a digest of each stage of the programs in files: value, gradients, tangents, for a CPU or a GPU.
PROGRAM = """
import hashlib, sys
from pathlib import Path
from tadc.backend.target import parse_target
from tadc.compiler.all_stages import compile_until
from tadc.frontend.source import Source
from tadc.compiler.compile_options import Options
from tadc.compiler.stages import Compilation

target, modes, *files = sys.argv[1:]
for file in map(Path, files):
    for mode in modes.split(","):
        def after(stage, state, seconds):
            shown = stage.show(state)
            digest = hashlib.sha256(shown if isinstance(shown, bytes) else shown.encode()).hexdigest()
            print(file.name, mode, stage.name, digest)

        options = Options(mode=mode, target=parse_target(target))
        state = Compilation(options, Source(file.read_text(), file.name))
        compile_until(state, "asm" if target == "cpu" else "ptx", after=after)
"""


def digests(seed: str, target: str, modes: str, files: Sequence[Path]) -> list[str]:
    """What the program prints in a process of its own."""
    return subprocess.run(
        [sys.executable, "-W", "ignore", "-c", PROGRAM, target, modes, *map(str, files)],
        env={**os.environ, "PYTHONHASHSEED": seed},
        cwd=EXAMPLES.parent,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.splitlines()


def check(target: str, modes: str, files: Sequence[Path]) -> None:
    """Assert that every seed gives the same stages."""
    first, *others = (digests(seed, target, modes, files) for seed in SEEDS)
    assert len(first) >= 5 * len(files)
    for other in others:
        assert other == first


def test_stages_of_a_gradient() -> None:
    """Of the example whose definitions share most sums."""
    check("cpu", "value-and-vjp", [EXAMPLES / "stencil.tad"])


@pytest.mark.slow
@pytest.mark.parametrize("target", ["cpu", "cuda:sm_90"])
def test_stages_of_all_examples(target: str) -> None:
    """A recurrence has no kernel of a GPU."""
    files = sorted(EXAMPLES.glob("*.tad"))
    if target != "cpu":
        files = [file for file in files if "scan{" not in file.read_text()]
    check(target, "value,value-and-vjp,jvp", files)
