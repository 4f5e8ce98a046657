"""What the playground's page loads: Python for browsers, the front half of the compiler, and scripts.

Pages that are opened as files may fetch nothing, so everything is a script: `tadcFile(name, text)`, where
what is no text is base64 of gzip.
"""

from __future__ import annotations

import base64
import gzip
import io
import json
import shutil
import subprocess
import zipfile
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from docs.site.npm_packages import PATIENCE, PYODIDE, TEMML
from docs.site.playground_examples import EXAMPLES, write_kernel

ROOT = Path(__file__).parent.parent.parent
HERE = Path(__file__).parent / "playground"
#: The parts of tadc that run there; a folder's modules, without those below.
PACKAGES = (
    *"frontend frontend/functions lattice passes passes/terms passes/derivatives passes/supports".split(),
    *"passes/rewrites backend backend/cpu backend/cuda backend/rocm backend/wasm backend/runtime".split(),
    *"tadc/caller tadc/certificates tadc/compiler tadc/native tadc/playground".split(),
)


def write_files(folder: Path) -> None:
    """Write the scripts that the page loads. Raises NoPackage where npm or its registry cannot be had."""
    runtime = PYODIDE.folder()
    folder.mkdir(parents=True, exist_ok=True)
    binary = {
        "pyodide.asm.wasm": runtime / "pyodide.asm.wasm",
        "python_stdlib.zip": runtime / "python_stdlib.zip",
    }
    for name, path in binary.items():
        (folder / f"{name}.js").write_text(script(name, path.read_bytes()), encoding="utf-8")
    (folder / "tadc.zip.js").write_text(script("tadc.zip", compiler_archive(runtime)), encoding="utf-8")
    texts = {
        path.name: path.read_text(encoding="utf-8") for path in (runtime / "pyodide.js", HERE / "worker.js")
    }
    texts["pyodide.asm.js"] = classic_script((runtime / "pyodide.asm.mjs").read_text(encoding="utf-8"))
    lock = json.loads((runtime / "pyodide-lock.json").read_text(encoding="utf-8"))
    lines = [text_script("pyodide-lock.json", json.dumps({**lock, "packages": {}}))]
    lines += [text_script(name, text) for name, text in texts.items()]
    (folder / "scripts.js").write_text("".join(lines), encoding="utf-8")
    for path in (*HERE.glob("page.*"), TEMML.folder() / "dist" / "temml.min.js"):
        shutil.copy(path, folder)
    write_examples(folder)


def write_examples(folder: Path) -> None:
    """Write what the page has before Python starts: the list of examples, what runs kernels, and for each
    example a script with the compiler's kernel."""
    (folder / "examples").mkdir(exist_ok=True)
    with TemporaryDirectory() as made:
        module = Path(made, "f.wasm")
        for example in EXAMPLES:
            about = write_kernel(example.text, module) if example.file else None
            if about:
                lines = [text_script(f"{example.file}.json", json.dumps(about))]
                lines.append(script(f"{example.file}.wasm", module.read_bytes()))
                (folder / "examples" / f"{example.file}.js").write_text("".join(lines), encoding="utf-8")
    texts = {
        "examples.json": json.dumps([example.as_json() for example in EXAMPLES]),
        "kernels.js": (HERE / "kernels.js").read_text(encoding="utf-8"),
    }
    lines = [text_script(name, text) for name, text in texts.items()]
    (folder / "examples.js").write_text("".join(lines), encoding="utf-8")


def sources() -> Iterator[tuple[str, str]]:
    """The modules that run in browsers: their paths below `tadc`, and their texts.

    `tadc` itself is without its names, which are of the half that does not run there.
    """
    yield "__init__.py", '"""The front half of tadc."""\n'
    for package in PACKAGES:
        for path in sorted((ROOT / package).glob("*.py")):
            yield f"{package.removeprefix('tadc/')}/{path.name}", path.read_text(encoding="utf-8")


def compiler_archive(runtime: Path) -> bytes:
    """These modules as a zip, compiled by the Python that reads them where there is node, which is faster."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_STORED) as archive:
        for name, text in sources():
            archive.writestr(zipfile.ZipInfo(f"tadc/{name}"), text)
    node = shutil.which("node")
    if node is None:
        return made.getvalue()
    command = [node, str(HERE / "precompile.mjs"), str(runtime)]
    done = subprocess.run(command, input=made.getvalue(), check=True, capture_output=True, timeout=PATIENCE)
    return done.stdout


def classic_script(module: str) -> str:
    """The module of Pyodide as a script: a page that is opened as a file, and its workers, run no module."""
    end = "export default _createPyodideModule;"
    assert module.rstrip().endswith(end)
    return module.rstrip().removesuffix(end).replace("import.meta.url", "self.location.href")


def script(name: str, content: bytes) -> str:
    """A script that hands a file over."""
    packed = base64.b64encode(gzip.compress(content, 9, mtime=0)).decode()
    return f'tadcFile("{name}", "{packed}");\n'


def text_script(name: str, text: str) -> str:
    """A script that hands a text over."""
    return f"tadcFile({json.dumps(name)}, {json.dumps(text)}, true);\n"
