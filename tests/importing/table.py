"""The table of `docs/importing.md`, of what is tried: `python -m tests.importing.table` writes it."""

from __future__ import annotations

import ast
from pathlib import Path

HERE = Path(__file__).parent
PAGE = HERE.parent.parent / "docs" / "importing.md"
BEGIN = "<!-- `python -m tests.importing.table` writes this table. -->\n"
END = "<!-- The table ends here. -->\n"


def names(file: str) -> list[str]:
    """The names of the cases in a file, read without importing what it needs."""
    for statement in ast.parse((HERE / file).read_text(encoding="utf-8")).body:
        if isinstance(statement, ast.AnnAssign) and getattr(statement.target, "id", "") == "CASES":
            assert isinstance(statement.value, ast.Dict)
            return [str(key.value) for key in statement.value.keys if isinstance(key, ast.Constant)]
    raise AssertionError(file)


def table() -> str:
    """The table."""
    rows = [(title, names(file)) for title, file in (("JAX", "jax_cases.py"), ("PyTorch", "torch_cases.py"))]
    lines = [f"| {title} ({len(cases)}) | {', '.join(cases)} |" for title, cases in rows]
    return "\n".join(["| from | functions |", "|---|---|", *lines]) + "\n"


def with_table(page: str) -> str:
    """The page with the table as it should be."""
    before, rest = page.split(BEGIN)
    return before + BEGIN + table() + END + rest.split(END)[1]


if __name__ == "__main__":
    PAGE.write_text(with_table(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
