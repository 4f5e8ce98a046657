"""Where ptxas and libdevice are found: folders laid out as NVIDIA's packages and installations are."""

import os
import sys
from pathlib import Path

import pytest

from tadc.backend.cuda.toolkit import LIBDEVICE, PTXAS, find_ptxas, toolkit_file


def laid_out(folder: Path) -> Path:
    """A folder with both files, the first a program."""
    for name in (PTXAS, LIBDEVICE):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).touch()
    (folder / PTXAS).chmod(0o755)
    return folder


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A place for packages where `nvidia` is, and nothing of CUDA is named elsewhere."""
    for name in ("CUDA_HOME", "CUDA_PATH"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    (tmp_path / "site" / "nvidia").mkdir(parents=True)
    monkeypatch.setattr("sys.path", [str(tmp_path / "site")])
    monkeypatch.delitem(sys.modules, "nvidia", raising=False)
    return tmp_path / "site" / "nvidia"


def found_in(folder: Path) -> bool:
    return (find_ptxas(), toolkit_file(LIBDEVICE)) == (folder / PTXAS, folder / LIBDEVICE)


@pytest.mark.parametrize("name", ["cuda_nvcc", "cu13", "cu14"])
def test_the_packages_of_cuda_12_and_later(site: Path, name: str) -> None:
    assert found_in(laid_out(site / name))


def test_of_several_packages_the_oldest_that_has_the_file(site: Path) -> None:
    (site / "cublas").mkdir()
    (site / "cuda_nvcc").mkdir()  # without files, as an uninstalled package leaves it
    laid_out(site / "cu14")
    assert found_in(laid_out(site / "cu13"))
    assert found_in(laid_out(site / "cuda_nvcc"))


@pytest.mark.parametrize("name", ["CUDA_HOME", "CUDA_PATH"])
def test_what_a_variable_names_comes_first(
    site: Path, tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    packaged = laid_out(site / "cuda_nvcc")
    monkeypatch.setenv(name, str(tmp_path / "cuda-12.4"))
    assert found_in(packaged)  # the folder does not exist
    assert found_in(laid_out(tmp_path / "cuda-12.4"))


def test_on_the_path_behind_a_link_too(site: Path, tmp_path: Path) -> None:
    assert find_ptxas() is None
    assert toolkit_file(LIBDEVICE) is None
    (tmp_path / "bin").mkdir()
    os.symlink(laid_out(tmp_path / "toolkit") / PTXAS, tmp_path / "bin" / "ptxas")
    assert find_ptxas() == tmp_path / "bin" / "ptxas"
    assert toolkit_file(LIBDEVICE) == tmp_path / "toolkit" / LIBDEVICE
