"""Build and check a release, and say what a person has to do to publish it (`make release`).

Uploads and tags nothing. Ends with exit code 1 at the first thing that is not as it should be, and says what.
"""

from __future__ import annotations

import datetime
import glob
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import try_package
from try_package import ROOT, environment, expect, run, step

OLDEST = (3, 11)
#: Minor versions of Python that may be on the PATH.
MINORS = range(OLDEST[1], 21)


def main() -> None:
    """All steps, each with how long it took."""
    version = try_package.version()
    notes = release_notes((ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), version)
    check_citation(version)
    wheel, sdist = try_package.main()
    with tempfile.TemporaryDirectory(prefix="tadc-release-") as name:
        work = Path(name)
        with step("checking both by twine"):
            twine = environment(work / "twine", "twine>=6")
            run(twine, "-m", "twine", "check", "--strict", wheel, sdist, at=work)
        for minor, python in oldest_and_newest(pythons()).items():
            with step(f"trying the wheel in Python {minor[0]}.{minor[1]}"):
                folder = work / f"with-{minor[1]}"
                (folder / "empty").mkdir(parents=True)
                try_package.try_it(environment(folder / "venv", str(wheel), of=python), folder / "empty")
    print(f"\nnotes of this release:\n\n{notes}\n\n{left_to_do(version, wheel, sdist)}")


def release_notes(changelog: str, version: str) -> str:
    """The section of a version, which has a date."""
    found = re.search(
        rf"^## \[{re.escape(version)}\] - (\S+)\n(.*?)(?=^## |^\[|\Z)", changelog, re.MULTILINE | re.DOTALL
    )
    expect(found is not None, f"CHANGELOG.md has no line `## [{version}] - YYYY-MM-DD`")
    assert found is not None
    try:
        datetime.date.fromisoformat(found[1])
    except ValueError:
        try_package.fail(f"CHANGELOG.md: `{found[1]}` is no date of {version}")
    return found[2].strip()


def check_citation(version: str) -> None:
    """CITATION.cff names this version."""
    told = re.search(r"^version: (\S+)$", (ROOT / "CITATION.cff").read_text(encoding="utf-8"), re.MULTILINE)
    expect(told is not None and told[1] == version, f"CITATION.cff does not say `version: {version}`")


def pythons() -> dict[tuple[int, int], str]:
    """The Pythons of this machine that make environments, by version."""
    named = [found for minor in MINORS if (found := shutil.which(f"python3.{minor}"))]
    candidates = [sys.executable, *named, *glob.glob(str(Path.home() / ".pyenv/versions/3.*/bin/python"))]
    ask = "import ensurepip, sys, venv; print(*sys.version_info[:2])"
    found: dict[tuple[int, int], str] = {}
    for python in candidates:
        done = subprocess.run([python, "-c", ask], capture_output=True, text=True, check=False)
        if done.returncode == 0:  # a shim of pyenv may name what is not there
            major, minor = map(int, done.stdout.split())
            found.setdefault((major, minor), python)
    return {version: python for version, python in found.items() if version >= OLDEST}


def oldest_and_newest(found: dict[tuple[int, int], str]) -> dict[tuple[int, int], str]:
    """Two of them, one where there is one; says which is missing."""
    if min(found) != OLDEST:
        print(f"Python {OLDEST[0]}.{OLDEST[1]}, the oldest that works, is not here", file=sys.stderr)
    return {version: found[version] for version in (min(found), max(found))}


def left_to_do(version: str, wheel: Path, sdist: Path) -> str:
    """What only a person can do, in order."""
    files = f"{wheel.relative_to(ROOT)} {sdist.relative_to(ROOT)}"
    dirty = run("git", "status", "--porcelain", at=ROOT).strip()
    commit = run("git", "rev-parse", "--short", "HEAD", at=ROOT).strip()
    steps = [
        *(["commit what is changed here, and run `make release` again: the files hold it"] if dirty else []),
        f"wait for CI (`.ci/run`) of commit {commit} to pass",
        f"git tag -s v{version} -m 'tadc {version}' {commit} && git push origin v{version}",
        f"python -m twine upload {files}   # needs a token of PyPI for `tadc-compiler`",
        f"make a release of the tag v{version} with the notes above and both files",
        "in the next commit: a new version in frontend/packages.py and CITATION.cff, `## [Unreleased]` in "
        "CHANGELOG.md",
    ]
    return "left to do by a person:\n" + "\n".join(f"  {n}. {words}" for n, words in enumerate(steps, 1))


if __name__ == "__main__":
    main()
