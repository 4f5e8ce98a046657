"""The project's frame: what CI runs, what is packaged, and the examples."""

import ast
import re
import tomllib
from pathlib import Path

import pytest

import tadc.cli
from tadc.frontend.packages import DISTRIBUTION, VERSION
from tests.imports import circles, import_graph, module_name

ROOT = Path(__file__).parent.parent
LAYERS = ("backend", "dialect", "frontend", "lattice", "passes")
SOURCES = sorted(
    path
    for folder in (*LAYERS, "bench", "examples", "lit_tests", "tadc", "tests")
    for path in (ROOT / folder).rglob("*.py")
)
EXAMPLES = sorted((ROOT / "examples").glob("*.tad"))


def settings() -> dict[str, dict[str, dict[str, list[str]]]]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]


def test_ci_runs_the_commands_of_the_readme() -> None:
    ci = (ROOT / ".ci" / "run").read_text().splitlines()
    readme = (ROOT / "README.md").read_text()
    commands = [line.split("#")[0].strip() for line in readme.splitlines() if line.startswith("    make")]
    assert commands == ["make demo", "make check", "make test"]
    assert [line for line in ci if line.startswith("make")] == [
        "make test", "make sweep", "make frameworks", "make .venv/site.stamp .venv/lint.stamp",
        "make -j2 --output-sync=target site package lint",
    ]  # fmt: skip


def test_each_layer_is_a_folder_packaged_and_type_checked() -> None:
    """And no file is a link: a checkout on Windows makes texts of these."""
    files = [path for folder in (*LAYERS, "tadc", "tests") for path in (ROOT / folder).rglob("*")]
    assert [path for path in files if path.is_symlink()] == []
    setuptools, pyright = settings()["setuptools"], settings()["pyright"]
    assert {*LAYERS, "tadc"} == set(pyright["strict"]) < set(pyright["include"])
    modules = [path.relative_to(ROOT) for path in SOURCES]
    parts = [module.parent.parts for module in modules if module.parts[0] in (*LAYERS, "tadc")]
    folders = {".".join(part if part[0] == "tadc" else ("tadc", *part)) for part in parts}
    assert folders == set(setuptools["packages"])
    assert setuptools["package-dir"] == {f"tadc.{layer}": layer for layer in LAYERS}


def test_what_is_told_to_be_installed_is_this_project() -> None:
    """PyPI's `tadc` is another project; an extra that is not declared installs nothing, without a word."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["name"] == DISTRIBUTION
    extras = project["optional-dependencies"]
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md"), *(ROOT / "frontend").rglob("*.md"), *SOURCES]
    for page in pages:
        told = re.findall(r"pip install ['\"]?([\w-]+)(?:\[(\w+)\])?", page.read_text(encoding="utf-8"))
        for name, extra in told:
            assert name == DISTRIBUTION, page
            assert not extra or extra in extras, page


def test_all_files_name_this_version() -> None:
    """And the page of platforms the Pythons that CI tests."""
    names = ("CITATION.cff", "CHANGELOG.md", "docs/platforms.md", "Makefile")
    citation, changes, platforms, make = ((ROOT / name).read_text(encoding="utf-8") for name in names)
    assert f"\nversion: {VERSION}\n" in citation
    assert re.search(rf"^## \[{re.escape(VERSION)}\] - \d{{4}}-\d\d-\d\d$", changes, re.MULTILINE)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    oldest, newest = project["requires-python"].removeprefix(">="), make.split("\nNEWEST := ")[1].split()[0]
    assert f"| Python | {oldest} | {newest}" in platforms


def test_no_modules_import_each_other() -> None:
    """In a circle no part can be read, tested or replaced without the others."""
    names = {module_name(path, ROOT): path for path in SOURCES}
    files = {f"tadc.{n}" if n.split(".")[0] in LAYERS else n: path for n, path in names.items()}
    assert circles(import_graph(files)) == []


def test_what_works_on_maps_and_nests_sees_no_programs() -> None:
    """A pass that rewrites programs stands with the others that do: `passes/rewrites/`."""
    folders = [ROOT / "passes" / name for name in ("maps", "nest", "schedule", "cpu", "gpu")]
    modules = [path for folder in folders for path in folder.rglob("*.py")]
    found = [
        str(path.relative_to(ROOT))
        for path in modules
        if "frontend.program" in (text := path.read_text(encoding="utf-8"))
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.ImportFrom) and node.module == "tadc.frontend.program"
        if not {name.name for name in node.names}.isdisjoint(("Program", "Definition"))
    ]
    assert found == []


def test_circles_of_imports_are_found(tmp_path: Path) -> None:
    texts = {
        "a/__init__.py": "from a.one import f",
        "a/one.py": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from a import two",
        "a/two.py": "def f():\n    from .three import g",
        "a/three.py": "import a.one\nimport a.four",
        "a/four.py": "import os",
        "b/one.py": "import_module(f'b.{name}')",
        "b/two.py": "LAZY = {'f': 'b.three', 'b': 'b'}",
        "b/three.py": "importlib.import_module('b.one')\nimport_module(f'{name}.four')",
        "b/four.py": "from b.one import f",
        "b/c/five.py": "from b.one import f",
    }
    for name, text in texts.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    graph = import_graph({module_name(path, tmp_path): path for path in tmp_path.rglob("*.py")})
    assert graph["a"] == {"a.one"}
    assert graph["a.four"] == set()
    assert circles(graph) == [["a.one", "a.three", "a.two"], ["b.four", "b.one", "b.three", "b.two"]]


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = path.read_text(encoding="utf-8").splitlines()
    comment = [line for line in lines if line.startswith("#")]
    assert lines[: len(comment)] == comment
    assert 1 <= len(comment) <= 3
    assert tadc.cli.main([str(path), "--check-gradient"]) == 0
    checked = capsys.readouterr().out
    arguments = tadc.function(path.read_text()).program.arguments
    assert all(a.name in checked for a in arguments if not a.is_index_array)


def test_contributing_names_files_that_exist() -> None:
    named = re.findall(
        r"`([\w.-]+(?:/[\w.-]*)+|[\w-]+\.(?:py|md|toml))`", (ROOT / "CONTRIBUTING.md").read_text()
    )
    assert len(named) > 50
    assert [name for name in named if not (ROOT / name).exists()] == []


def test_packages_name_modules_that_exist() -> None:
    """In the lines of their docstrings that begin as `target    the table of backends`."""
    pages = {path: path.read_text() for path in SOURCES if path.name == "__init__.py"}
    named = [
        (path, name)
        for path, text in pages.items()
        for line in re.findall(r"^(\w+(?:, \w+)*)  +\S", text.partition('"""\n\n')[0], re.MULTILINE)
        for name in line.split(", ")
    ]
    assert len(named) > 40
    assert [found for found in named if not list(found[0].parent.glob(f"{found[1]}*"))] == []


def test_passes_say_what_they_take() -> None:
    found = {
        str(path.relative_to(ROOT)): len(re.findall(r"\bAny\b", path.read_text(encoding="utf-8")))
        for path in SOURCES
        if path.is_relative_to(ROOT / "passes")
    }
    assert sum(found.values()) <= 100, sorted(found.items(), key=lambda item: -item[1])[:10]


def test_numbers_of_passes_are_few() -> None:
    """Facts of a machine are in its tables; what else is a number says why, and is one of few."""
    number = re.compile(
        r"^_?[A-Z][A-Z_]*(?:, _?[A-Z][A-Z_]*)* = (?=.*\d)[-\d_.e()*/+<> ,]+(?:  #.*)?$", re.MULTILINE
    )
    found = {
        str(path.relative_to(ROOT)): len(number.findall(path.read_text(encoding="utf-8")))
        for path in SOURCES
        if path.is_relative_to(ROOT / "passes")
    }
    assert sum(found.values()) <= 116, sorted(found.items(), key=lambda item: -item[1])[:10]


#: The folders of backends.
BACKENDS = {path.parent for path in (ROOT / "backend").glob("*/backend.py")}

#: Where a vendor's words may stand outside of its backend.
NAMED = {
    "backend/__init__.py": "says what the folders are",
    "backend/target.py": "the table of backends",
    "backend/emulator": "stands in for one vendor's driver, and runs its code",
    "backend/runtime/__init__.py": "a public name that a backend has",
    "backend/runtime/dlpack.py": "devices as DLPack numbers them",
    "backend/runtime/frameworks.py": "what frameworks call their streams and devices",
    "frontend/codes.py": "codes of errors",
    "passes/maps/machine.py": "the table of GPUs that schedules are chosen for",
    "tadc/__init__.py": "public names that a backend has",
    "tadc/api/load.py": "help for what a user writes",
    "tadc/commands/command_table.py": "help for what a user writes",
    "tadc/commands/option_table.py": "help for what a user writes",
    "tadc/torch": "what PyTorch calls its devices",
}


def test_the_versions_that_are_supported_are_stated() -> None:
    """In the README the least of each extra that a user may want, and where there is one the greatest."""
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    rows = re.findall(r"^\| `(\w+)` \| [^|]* \| ([^|]*) \|", (ROOT / "README.md").read_text(), re.MULTILINE)
    assert {name for name, _ in rows} == extras.keys() - {"sparse", "test", "bench", "lint", "site"}
    for name, stated in rows:
        (package,) = extras[name]
        least, most = re.search(r">=([\d.]+)", package), re.search(r"<(\d+)\.(\d+)", package)
        assert least
        text = f"{least[1]} to {most[1]}.{int(most[2]) - 1}" if most else f"from {least[1]}"
        assert re.match(rf"{re.escape(text)}\b", stated), (name, stated)


def test_vendors_are_named_in_their_backends_alone() -> None:
    words = re.compile(r"cuda|\bsm_|ptx|nvvm|rocm|gfx|rocdl", re.IGNORECASE)
    found = set[str]()
    for path in SOURCES:
        name = path.relative_to(ROOT).as_posix()
        if path.parent in BACKENDS or name.startswith(("bench/", "examples/", "lit_tests/", "tests/")):
            continue
        if words.search(path.read_text(encoding="utf-8")):
            found.add(next((known for known in NAMED if name.startswith(known)), name))
    assert found == set(NAMED)


def test_a_module_is_named_once() -> None:
    """But for those that each backend has, as the protocol asks."""
    places: dict[str, list[Path]] = {}
    for path in SOURCES:
        if path.relative_to(ROOT).parts[0] in (*LAYERS, "tadc") and path.stem != "__init__":
            places.setdefault(path.stem, []).append(path.parent)
    several = {name for name, found in places.items() if len(found) > 1 and not BACKENDS.issuperset(found)}
    assert several == set()


def test_a_class_is_named_once() -> None:
    """Two of one name are the same idea twice, or one of them has the wrong name."""
    places: dict[str, list[str]] = {}
    for path in SOURCES:
        module = path.relative_to(ROOT)
        if module.parts[0] in (*LAYERS, "tadc"):
            for name in re.findall(r"^ *class (\w+)\b.*:$", path.read_text(encoding="utf-8"), re.MULTILINE):
                places.setdefault(name, []).append(str(module))
    several = {name: found for name, found in places.items() if len(found) > 1}
    assert several == {}


#: How many lines of Python a folder may have: about what it has. Who makes it smaller lowers its limit.
LIMITS = {
    "lattice": 4_268,
    "frontend": 12_575,
    "dialect": 3_392,
    "passes": 53_785,
    "passes/cpu": 1_567,
    "passes/derivatives": 4_911,
    "passes/gpu": 3_542,
    "passes/linalg": 5_558,
    "passes/maps": 6_166,
    "passes/nest": 9_724,
    "passes/rewrites": 8_379,
    "passes/schedule": 5_162,
    "passes/supports": 2_160,
    "passes/terms": 4_644,
    "backend": 17_695,
    "tadc": 44_757,
    "tadc/apps": 14_587,
}


@pytest.mark.parametrize("folder", LIMITS)
def test_no_folder_grows_unnoticed(folder: str) -> None:
    counted = (len(path.read_text(encoding="utf-8").splitlines()) for path in (ROOT / folder).rglob("*.py"))
    lines = sum(counted)
    assert LIMITS[folder] // 2 < lines <= LIMITS[folder], f"{folder} has {lines} lines: see LIMITS"


def test_every_folder_has_a_limit() -> None:
    inner = (f"passes/{path.parent.name}" for path in (ROOT / "passes").glob("*/__init__.py"))
    assert set(LIMITS) == {*LAYERS, "tadc", "tadc/apps", *inner}
