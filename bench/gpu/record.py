"""What was found on a GPU: a JSON for each machine, on disk after each change, with a table beside it."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.gpu.table import markdown


@dataclass
class Record:
    """Parts by their kind (`test`, `bench`, `sanitize`): what was found by the name of a case."""

    file: Path
    parts: dict[str, Any]

    @staticmethod
    def of(folder: Path, machine: dict[str, Any]) -> Record:
        """What is there of the machine, or an empty one: `gpu-nvidia-h200.json`."""
        folder.mkdir(parents=True, exist_ok=True)
        device = "-".join(re.findall(r"[a-z0-9]+", machine["device"].lower()))
        file = folder / f"gpu-{device}.json"
        parts = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
        return Record(file, {**parts, "machine": machine})

    def begin(self, kind: str) -> dict[str, Any]:
        """A part without anything in it."""
        self.parts[kind] = {}
        return self.parts[kind]

    def enter(self, kind: str, name: str, found: Any) -> None:
        """Note what was found."""
        self.parts.setdefault(kind, {})[name] = found
        self.file.write_text(json.dumps(self.parts, indent=1), encoding="utf-8")
        self.file.with_suffix(".md").write_text(markdown(self.parts), encoding="utf-8")
