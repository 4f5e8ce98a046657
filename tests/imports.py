"""Which modules import which: at the top of a file, inside functions, for type checkers, and by strings."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

Graph = dict[str, set[str]]


def module_name(path: Path, root: Path) -> str:
    """The dotted name of a file: `tadc/cli.py` and `tadc/__init__.py` below `root` are `tadc.cli`, `tadc`."""
    parts = path.relative_to(root).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def import_graph(files: dict[str, Path]) -> Graph:
    """The modules among `files`, by dotted name, that each of them imports anywhere in its text.

    `from a import b` is an import of the module `a.b` where there is one, else of `a`. That Python runs the
    `__init__` of each package on the way is left out: it would make of every package one circle.

    A string that is the name of a module, `"a.b"`, is an import of it wherever it stands: it is handed to
    `import_module`, or stands in a table of what is imported at its first use. `import_module(f"a.{name}")`
    imports every module that fits. What needs something from above, as a function has a property for each
    framework, has a table that `tadc/__init__.py` fills, which nobody imports.
    """
    return {name: set(_imported(name, path, files)) - {name} for name, path in files.items()}


def _imported(name: str, path: Path, files: dict[str, Path]) -> Iterator[str]:
    package = name.split(".") if path.name == "__init__.py" else name.split(".")[:-1]
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in files)
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) + 1 - node.level] if node.level else []
            source = ".".join([*above, *(node.module or "").split(".")]).strip(".")
            for alias in node.names:
                found = next((m for m in (f"{source}.{alias.name}", source) if m in files), None)
                if found is not None:
                    yield found
        elif isinstance(node, ast.Constant) and node.value in files and "." in node.value:
            yield node.value
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith("import_module"):
            yield from _fitting(node.args[0], files)


def _fitting(name: ast.expr, files: dict[str, Path]) -> list[str]:
    """The modules that an argument of `import_module` can name: none where it begins with a variable."""
    parts = name.values if isinstance(name, ast.JoinedStr) else [name]
    texts = [re.escape(str(part.value)) if isinstance(part, ast.Constant) else r"\w+" for part in parts]
    return [] if texts[0] == r"\w+" else [module for module in files if re.fullmatch("".join(texts), module)]


def circles(graph: Graph) -> list[list[str]]:
    """The strongly connected components of more than one module, each sorted (Tarjan 1972)."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []

    def visit(module: str) -> None:
        index[module] = low[module] = len(index)
        stack.append(module)
        for other in sorted(graph[module]):
            if other not in index:
                visit(other)
                low[module] = min(low[module], low[other])
            elif other in stack:
                low[module] = min(low[module], index[other])
        if low[module] == index[module]:
            component = stack[stack.index(module) :]
            del stack[stack.index(module) :]
            if len(component) > 1:
                found.append(sorted(component))

    for module in sorted(graph):
        if module not in index:
            visit(module)
    return sorted(found)
