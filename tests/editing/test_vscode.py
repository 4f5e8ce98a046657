"""The extension of VS Code: its files fit each other, and it starts the server."""

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest

from tests.editing.programs import ROOT

FOLDER = ROOT / "editors" / "vscode"

#: Runs the extension with modules that note what it does with those of VS Code.
_RUN = """
const Module = require("module");
const said = [];
class LanguageClient {
  constructor(id, name, server, client) { said.push({server, client}); }
  async start() { if (process.argv[2] === "fail") throw new Error("not there"); said.push("start"); }
  stop() { said.push("stop"); }
}
const vscode = {
  workspace: {getConfiguration: () => ({get: () => "/bin/tadc"})},
  window: {showErrorMessage: (text) => said.push(text)},
};
const load = Module._load;
Module._load = (name, ...rest) =>
  ({vscode, "vscode-languageclient/node": {LanguageClient}})[name] ?? load(name, ...rest);
const {activate, deactivate} = require(process.argv[1]);
activate().then(deactivate).then(() => console.log(JSON.stringify(said)));
"""


def run(*words: str) -> list[Any]:
    """What the extension did."""
    command = ["node", "-e", _RUN, str(FOLDER / "extension.js"), *words]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


@pytest.mark.skipif(shutil.which("node") is None, reason="no node, which runs the extension")
def test_the_extension_starts_the_server() -> None:
    made, *then = run()
    assert made["server"] == {"command": "/bin/tadc", "args": ["lsp"]}
    assert made["client"] == {"documentSelector": [{"language": "tad"}]}
    assert then == ["start", "stop"]
    _, refused = run("fail")
    assert "cannot start `/bin/tadc lsp`: not there" in refused


def test_files_of_the_extension_are_there() -> None:
    package = json.loads((FOLDER / "package.json").read_text())
    (language,) = package["contributes"]["languages"]
    (grammar,) = package["contributes"]["grammars"]
    assert grammar["language"] == language["id"] == "tad"
    for name in (package["main"], language["configuration"], grammar["path"]):
        assert (FOLDER / name).is_file()
    brackets = json.loads((FOLDER / language["configuration"]).read_text())["brackets"]
    assert brackets == [["(", ")"], ["[", "]"], ["{", "}"]]
    assert json.loads((FOLDER / grammar["path"]).read_text())["scopeName"] == grammar["scopeName"]


@pytest.mark.skipif(shutil.which("vsce") is None, reason="no command `vsce`, which packages extensions")
def test_it_is_packaged(tmp_path: Path) -> None:
    """Without its dependencies, which come from a registry."""
    made = shutil.copytree(FOLDER, tmp_path / "extension", ignore=shutil.ignore_patterns("node_modules"))
    script = json.loads((made / "package.json").read_text())["scripts"]["package"]
    subprocess.run([*script.split(), "--no-dependencies", "-o", tmp_path / "x.vsix"], cwd=made, check=True)
    names = ZipFile(tmp_path / "x.vsix").namelist()
    files = ("extension.js", "package.json", "language-configuration.json", "syntaxes/tad.tmLanguage.json")
    assert {f"extension/{name}" for name in files} <= set(names)
