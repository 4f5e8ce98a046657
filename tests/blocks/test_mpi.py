"""The example of MPI: two ranks, and one."""

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
MPIEXEC = Path(sys.executable).parent / "mpiexec"


@pytest.mark.skipif(
    not find_spec("mpi4py") or not MPIEXEC.exists(), reason="needs mpi4py and mpich, from PyPI"
)
@pytest.mark.parametrize("ranks", [2, 3])
def test_ranks_compute_the_bits_of_one(ranks: int) -> None:
    """The plate, and the gradient, of which rows do not divide by the number of ranks."""
    command = [MPIEXEC, "-n", str(ranks), sys.executable, ROOT / "examples" / "heat_mpi.py", "--steps", "5"]
    run = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert run.returncode == 0, run.stderr
    assert run.stdout == f"{ranks} ranks, 5 steps: the same bits as one\n"
