"""Collects every lit test as a pytest item."""

from pathlib import Path

import pytest

from lit_tests import runner


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> "LitFile | None":
    """Take the files that `lit` takes."""
    if file_path.suffix in (".tad", ".mlir", ".nest"):
        return LitFile.from_parent(parent, path=file_path)
    return None


class LitFile(pytest.File):
    """One file, one test."""

    def collect(self) -> "list[LitItem]":
        """The one item; `REQUIRES: slow` leaves it to what runs slow tests."""
        item = LitItem.from_parent(self, name=self.path.stem)
        if runner.REQUIRES_SLOW.search(self.path.read_text(encoding="utf-8")):
            item.add_marker("slow")
        return [item]


class LitItem(pytest.Item):
    """A file whose RUN lines must hold."""

    def runtest(self) -> None:
        """Run it; raises `runner.Failure`."""
        from tadc.cli import main

        runner.run(self.path, main)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: object = None) -> str:
        """The failure's own words; a traceback only for an error of the runner."""
        if excinfo.errisinstance(runner.Failure):
            return str(excinfo.value)
        return str(super().repr_failure(excinfo))

    def reportinfo(self) -> tuple[Path, int, str]:
        """Where the test stands."""
        return self.path, 0, f"lit: {self.path.name}"
