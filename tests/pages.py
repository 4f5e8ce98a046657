"""Runs what a page of the documentation shows, block by block, in one process.

| fence | what is done with it |
|---|---|
| `python` | run, in one namespace for the page |
| `console` | each line behind `$ ` is run; what stands below it must be what it prints |
| `text` | must be what the block before it printed |
| `tad` | a program, kept as `f.tad`: its gradients are checked, and it is what it prints |
| `tad-wrong` | a program that gets the code which its first line names |
| `math` | must be the LaTeX of the program before it, written or printed |
| `mlir` | a module, kept as `f.mlir` |
| `c`, `cmake`, `js`, `rust` | kept as a file of its name; `console` runs `cc`, `node`, …, where found |
| `sh`, `diagram` | nothing: for commands that install, need a GPU or take minutes, and for drawings |

A second word behind the fence is a name: the block is kept as a file of that name; Python is not run then.
A line `...` in what is printed stands for any lines. A page runs in a folder of its own, where `examples` is,
and a small program `f.tad`.
After a change of what is printed, `python -m tests.pages docs/tutorial.md` writes it into pages.
"""

from __future__ import annotations

import io
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Generator
from contextlib import chdir, contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

import tadc
import tadc.cli

ROOT = Path(__file__).parent.parent
_FENCE = re.compile(r"^```(\S*) ?(\S*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_TOOLS = ("cc", "cmake", "node", "rustc")
_PROGRAM = "x: f64[8]\nf[i: 3, j: 4] = exp(x[i + j])\n"


@dataclass(frozen=True)
class Block:
    """A fenced block of a page, and the line it begins at."""

    kind: str
    name: str
    text: str
    line: int

    @property
    def fence(self) -> str:
        """All of it, as it stands in the page."""
        return f"```{self.kind}{' ' if self.name else ''}{self.name}\n{self.text}```"


def blocks(page: Path) -> list[Block]:
    """All blocks of a page."""
    text = page.read_text(encoding="utf-8")
    found = _FENCE.finditer(text)
    return [Block(item[1], item[2], item[3], text.count("\n", 0, item.start()) + 1) for item in found]


def alike(shown: str, printed: str) -> bool:
    """Whether a page shows what is printed; see the top for `...`."""
    lines = (line.rstrip() for line in shown.strip("\n").splitlines())
    pattern = "".join(r"(?:.*\n)*?" if line == "..." else re.escape(line) + r"\n" for line in lines)
    plain = "".join(f"{line.rstrip()}\n" for line in printed.strip("\n").splitlines())
    return re.fullmatch(pattern, plain) is not None


def corrected(shown: str, printed: str) -> str:
    """What a page should show: what it shows, where that is right."""
    if alike(shown, printed):
        return shown
    return "".join(f"{line.rstrip()}\n" for line in printed.strip("\n").splitlines())


@dataclass
class Runner:
    """Runs the blocks of one page; `read` gives what was printed since it was last called, stderr last."""

    page: Path
    read: Callable[[], str]
    names: dict[str, Any] = field(default_factory=lambda: {"__name__": "page"})
    printed: str = ""
    status: int = 0

    def run(self, block: Block) -> str:
        """Run a block; returns what it should show. Raises AssertionError for a program that is not right."""
        place = f"{self.page.name}:{block.line}"
        if block.name:
            Path(block.name).write_text(block.text, encoding="utf-8")
        match block.kind:
            case "python" if block.name:
                pass
            case "python":
                code = "\n" * block.line + block.text
                exec(compile(code, str(self.page), "exec"), self.names)
                self.printed = self.read()
            case "console":
                return self._console(block.text, place)
            case "text":
                return corrected(block.text, self.printed)
            case "tad":
                self._program(Path(block.name or "f.tad"), block.text, place)
                self.printed = block.text
            case "tad-wrong":
                self._wrong(block.text, place)
            case "math":
                return f"{tadc.function(self.printed).latex()}\n"
            case "mlir":
                Path(block.name or "f.mlir").write_text(block.text, encoding="utf-8")
            case "c" | "cmake" | "js" | "rust":
                assert block.name, f"{place}: a file needs a name"
            case "sh":
                lines = [line for line in block.text.splitlines() if line.startswith("tadc ")]
                assert all("--target cuda" in line for line in lines), f"{place}: {lines} can be run"
            case _:
                assert block.kind == "diagram", f"{place}: what is a block `{block.kind}`?"
        return block.text

    def _console(self, text: str, place: str) -> str:
        made = ""
        for line, shown in re.findall(r"^\$ ((?:.*\\\n)*.*\n)((?:(?!\$ ).*\n)*)", text, re.MULTILINE):
            words = shlex.split(line.replace("\\\n", " "), comments=True)
            self._command(words, shown, f"{place}: {line}")
            made += f"$ {line}{corrected(shown, self.printed) if shown.strip() else shown}"
        return made

    def _command(self, words: list[str], shown: str, place: str) -> None:
        match words:
            case ["tadc", *arguments]:
                self.status = tadc.cli.main(arguments)
                self.printed = self.read()
                assert self.status == 0 or "error" in shown, f"{place}\n{self.printed}"
            case ["cat", *files]:
                self.printed = "".join(Path(file).read_text(encoding="utf-8") for file in files)
            case ["echo", "$?"]:
                self.printed = f"{self.status}\n"
            case [program, *_] if program in _TOOLS or program.startswith("./"):
                if shutil.which(program) is None:
                    self.printed = shown
                    return
                done = subprocess.run(words, capture_output=True, text=True, check=False)
                assert done.returncode == 0, f"{place}\n{done.stdout}{done.stderr}"
                self.printed = done.stdout
            case _:
                raise AssertionError(f"{place}: no command of a `console` block")

    def _program(self, path: Path, text: str, place: str) -> None:
        path.write_text(text, encoding="utf-8")
        sizes = ["--size", "M=3"] if "size M" in text else []
        status = tadc.cli.main([str(path), "--check-gradient", *sizes])
        checked = self.read()
        function = tadc.function(text)
        assert status == 0, f"{place}: {checked}"
        assert all(name in checked for name in function.program.differentiable()), place
        printed = [line for line in str(function).splitlines() if not line.startswith("#")]
        assert str(tadc.function("\n".join(printed))).splitlines() == printed, place

    def _wrong(self, text: str, place: str) -> None:
        with pytest.raises(tadc.CompileError) as refused:
            tadc.function(text)
        assert f"[{text[2:9]}]" in str(refused.value), place


@contextmanager
def folder_of_a_page(folder: Path) -> Generator[None]:
    """Run the block in a folder with the examples, and with a cache of its own: a page may clear it."""
    (folder / "examples").symlink_to(ROOT / "examples")
    (folder / "f.tad").write_text(_PROGRAM, encoding="utf-8")
    settings = {"NO_COLOR": "1", "COLUMNS": "100", "TADC_CACHE_DIR": str(folder / "cache")}
    with chdir(folder), mock.patch.dict(os.environ, settings):
        yield


def rewrite(page: Path) -> None:
    """Let a page show what is printed."""
    page = page.resolve()
    text = page.read_text(encoding="utf-8")
    streams = out, errors = io.StringIO(), io.StringIO()

    def read() -> str:
        printed = "".join(stream.getvalue() for stream in streams)
        for stream in streams:
            stream.seek(0)
            stream.truncate()
        return printed

    runner = Runner(page, read)
    with tempfile.TemporaryDirectory() as folder, folder_of_a_page(Path(folder)):
        for block in blocks(page):
            with redirect_stdout(out), redirect_stderr(errors):
                shown = runner.run(block)
            text = text.replace(block.fence, replace(block, text=shown).fence, 1)
    page.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    for name in sys.argv[1:]:
        rewrite(Path(name))
