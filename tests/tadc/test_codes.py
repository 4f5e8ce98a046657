"""The table of diagnostic codes is what the code uses."""

import re
from pathlib import Path

from tadc.frontend.codes import CODES

FOLDERS = ("tadc", "backend", "dialect", "frontend", "lattice", "passes")


def test_every_code_is_in_the_table_and_used(root: Path):
    """No code without a title, no title without a use."""
    used: set[str] = set()
    for folder in FOLDERS:
        for file in (root / folder).glob("**/*.py"):
            if file.name != "codes.py":
                used |= set(re.findall(r"TAD\d{4}", file.read_text()))
    assert used == set(CODES)
