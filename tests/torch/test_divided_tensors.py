"""Tensors that are divided over processes, and models that are trained by several."""

from __future__ import annotations

from pathlib import Path

from tests.torch.divided_processes import run_processes


def test_dtensors(tmp_path: Path) -> None:
    run_processes("dtensors", 2, tmp_path)


def test_training(tmp_path: Path) -> None:
    run_processes("training", 2, tmp_path)


def test_a_mesh_of_two_dimensions(tmp_path: Path) -> None:
    run_processes("squares", 4, tmp_path)


def test_dtensors_in_graphs(tmp_path: Path) -> None:
    run_processes("compiled", 2, tmp_path)
