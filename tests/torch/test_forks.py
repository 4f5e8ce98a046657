"""Workers of a DataLoader, which are forks, of a process that makes operators in another thread."""

from __future__ import annotations

import importlib.util
import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="no PyTorch")

PROGRAM = """
import itertools, threading
import torch
import tadc
from torch.utils.data import DataLoader, Dataset

def tripled(number):
    return tadc.function(f"x: f64[N]; y[i] = {number}*x[i] + tanh(0*x[i])").torch

shared = tripled(3)

class Rows(Dataset):
    def __len__(self):
        return 8

    def __getitem__(self, n):
        x = torch.full((4,), float(n), dtype=torch.float64, requires_grad=True)
        y = tripled(1000 + n)(x)
        y.sum().backward()
        return shared(x.detach()), x.grad

def making():
    for number in itertools.count(2):
        if done:
            return
        tripled(number)(torch.ones(2, dtype=torch.float64))

# What PyTorch makes at the first use of an operator is never made in a child, where another thread was making
# it at the fork: that hangs without tadc too.
warm = torch.ones(2, dtype=torch.float64, requires_grad=True)
shared(warm).sum().backward()
torch.cat([shared(warm.detach()), torch.full((2,), 1.0, dtype=torch.float64)]).tolist()

done = False
maker = threading.Thread(target=making, daemon=True)
maker.start()
try:
    for _ in range(2):
        loader = DataLoader(Rows(), batch_size=4, num_workers=2, timeout=90, multiprocessing_context="fork")
        rows, gradients = zip(*loader)
        assert torch.cat(rows)[:, 0].tolist() == [3.0*n for n in range(8)]
        assert torch.cat(gradients)[:, 0].tolist() == [1000.0 + n for n in range(8)]
finally:
    done = True
    maker.join()
"""


def test_workers_make_operators() -> None:
    run = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", PROGRAM],
        capture_output=True, text=True, timeout=240, check=False,
    )  # fmt: skip
    assert run.returncode == 0, run.stdout + run.stderr
