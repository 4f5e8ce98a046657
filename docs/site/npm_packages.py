"""Packages of npm that the site is built with, by their checksums: Python for browsers, MathML from LaTeX."""

from __future__ import annotations

import base64
import hashlib
import io
import shutil
import subprocess
import tarfile
from dataclasses import dataclass
from pathlib import Path

#: Where archives are kept.
FOLDER = Path(__file__).parent.parent.parent / "build" / "npm"
#: Seconds for npm and for node.
PATIENCE = 180


class NoPackage(Exception):
    """Why there is no such package, in words."""


@dataclass(frozen=True)
class Package:
    """A package of npm with its version, and the SHA-512 of its archive."""

    name: str
    sha512: str

    def folder(self) -> Path:
        """The folder of the package's files. Raises NoPackage where npm or its registry cannot be had."""
        made = FOLDER / self.name.partition("@")[0]
        with tarfile.open(fileobj=io.BytesIO(self._archive())) as archive:
            archive.extractall(made, filter="data")
        return made / "package"

    def _archive(self) -> bytes:
        """The archive, which npm fetches once."""
        path = FOLDER / f"{self.name.replace('@', '-')}.tgz"
        if not path.exists():
            npm = shutil.which("npm")
            if npm is None:
                raise NoPackage("there is no npm in PATH")
            FOLDER.mkdir(parents=True, exist_ok=True)
            command = [npm, "pack", self.name, "--silent", "--pack-destination", str(FOLDER)]
            try:
                subprocess.run(
                    command, cwd=FOLDER, check=True, capture_output=True, text=True, timeout=PATIENCE
                )
            except subprocess.TimeoutExpired:
                raise NoPackage(f"npm has not answered within {PATIENCE} s") from None
            except subprocess.CalledProcessError as error:
                last = (error.stderr.strip().splitlines() or ["no message"])[-1]
                raise NoPackage(f"npm could not fetch {self.name}: {last}") from None
        content = path.read_bytes()
        found = base64.b64encode(hashlib.sha512(content).digest()).decode()
        if found != self.sha512:
            path.unlink()
            raise NoPackage(f"{self.name} has the checksum {found}, not {self.sha512}")
        return content


PYODIDE = Package(
    "pyodide@314.0.7",
    "0YvXxEhfEdpLfb/XkM2BFAeMROq0iMUX2bzzH9pOttyMcWkwq+HbE5uyuGD82LN7y2q+SNvi/6V5JEsOlD2R1A==",
)
TEMML = Package(
    "temml@0.13.5",
    "aPkDDgunanpLNL0ql32HbolqLep+w8DRcVXRql7rWrMt/PhczdLgL4UBYYVU3BYjCNjkGq4EqwIicu/zWr1iOg==",
)
