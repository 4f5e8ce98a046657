"""Show tools that read tadc, and do not run it, where its layers are: pyright, editors, import-linter.

`tadc.passes` is the folder `passes`, as `package-dir` of pyproject.toml says. Python finds it by the path of
the package, which `tadc/__init__.py` extends; those tools do not. They get, below build/,

- types: for each module of a layer one that hands on what it defines, so that `tadc.passes.x` and the file
  `passes/x.py`, which an editor opens, have the same classes (`extraPaths` in pyproject.toml);
- lib: a copy of all packages as a wheel has them.
"""

from __future__ import annotations

import shutil
import tomllib
from pathlib import Path
from symtable import symtable

ROOT = Path(__file__).parent.parent


def main() -> None:
    """Write both anew."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    layers: dict[str, str] = settings["tool"]["setuptools"]["package-dir"]
    write_types(layers, ROOT / "build" / "types")
    copy_packages({"tadc": "tadc", **layers}, ROOT / "build" / "lib")


def write_types(layers: dict[str, str], target: Path) -> None:
    """Files that are right are left alone: an editor looks at them."""
    texts = {target / "tadc" / "__init__.py": ""}  # pyright prefers a package to a folder without it
    for package, folder in layers.items():
        for path in sorted((ROOT / folder).rglob("*.py*")):
            if path.suffix in (".py", ".pyi"):
                place = Path(*package.split("."), path.relative_to(ROOT / folder)).with_suffix(".py")
                texts[target / place] = handing_on(path)
    for path in set(target.rglob("*.py")) - texts.keys():
        path.unlink()
    for path, text in texts.items():
        if not path.is_file() or path.read_text(encoding="utf-8") != text:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")


def handing_on(path: Path) -> str:
    """A module with all names of a module, private ones and those that `__all__` leaves out by name."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    module = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
    symbols = symtable(path.read_text(encoding="utf-8"), str(path), "exec").get_symbols()
    names = [s.get_name() for s in symbols if s.is_assigned() or s.is_imported()]
    others = sorted(n for n in names if ("__all__" in names or n.startswith("_")) and n != "__all__")
    lines = [f"from {module} import *", *(f"from {module} import {name}" for name in others)]
    return "\n".join([*lines, ""])


def copy_packages(folders: dict[str, str], target: Path) -> None:
    """Each package in the folder of its name."""
    shutil.rmtree(target, ignore_errors=True)
    for package, folder in folders.items():
        unread = shutil.ignore_patterns("__pycache__", ".*")
        shutil.copytree(ROOT / folder, target.joinpath(*package.split(".")), ignore=unread)


if __name__ == "__main__":
    main()
