"""PyPI's `tadc`, a package about tides, in the environment of this one."""

import subprocess
import sys
from pathlib import Path

import pytest

from tadc.frontend.packages import other_package

LAYERS = ("backend", "dialect", "frontend", "lattice", "passes")


def installed(folder: Path, root: Path) -> None:
    """Both packages, as an installer leaves them."""
    (folder / "tadc").mkdir()
    for path in (root / "tadc").iterdir():
        (folder / "tadc" / path.name).symlink_to(path)
    for layer in LAYERS:
        (folder / "tadc" / layer).symlink_to(root / layer)
    (folder / "tadc_compiler-0.2.0.dist-info").mkdir()
    (folder / "tadc-2.4.3.dist-info").mkdir()


def said(folder: Path, *words: str) -> tuple[int, str]:
    done = subprocess.run([sys.executable, *words], cwd=folder, capture_output=True, text=True, check=False)
    return done.returncode, done.stderr


def test_import_warns_of_a_package_beside_it(tmp_path: Path, root: Path) -> None:
    installed(tmp_path, root)
    code, words = said(tmp_path, "-c", "import tadc\nassert tadc.function")
    assert code == 0
    assert "<string>:1: CompileWarning: warning[TAD0804]: PyPI's `tadc` 2.4.3, a package about tides" in words
    assert "help: `pip uninstall tadc`" in words


def test_the_command_refuses_where_the_other_package_is_imported(tmp_path: Path, root: Path) -> None:
    installed(tmp_path, root)
    (tmp_path / "tadc" / "__init__.py").unlink()
    (tmp_path / "tadc" / "__init__.py").write_text("tides = 2\n")
    code, words = said(tmp_path, "-m", "tadc", "-e", "x: f64; f = x")
    assert code == 1
    assert "error[TAD0804]" in words


@pytest.mark.parametrize("name", ["tadc_compiler-0.2.0.dist-info", "tadc-compiler-0.2.0.dist-info", "tadc"])
def test_this_package_is_no_other(tmp_path: Path, name: str) -> None:
    (tmp_path / name).mkdir()
    assert other_package(str(tmp_path)) is None
    assert other_package(str(tmp_path / "missing")) is None
