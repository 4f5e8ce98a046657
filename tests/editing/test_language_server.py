"""The language server as an editor starts it: a process, in LSP over its stdin and stdout."""

import json
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("pygls", reason="the extra `lsp` is not installed")

URI = "file:///programs/f.tad"
TEXT = "x: f64[N]\nw: f64[3]  # \N{MATHEMATICAL ITALIC SMALL X}\ny[i] = sum{k} (w[k]*x[i + k])\n"


class Editor:
    """A client of LSP, in plain JSON-RPC."""

    def __init__(self) -> None:
        command = [sys.executable, "-m", "tadc", "lsp"]
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe)
        self.asked = 0

    def send(self, method: str, params: Any, **more: Any) -> None:
        """Send a message; one with an id is a request."""
        body = json.dumps({"jsonrpc": "2.0", "method": method, "params": params, **more}).encode()
        assert self.process.stdin
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        self.process.stdin.flush()

    def read(self) -> dict[str, Any]:
        """The next message."""
        assert self.process.stdout
        length = 0
        while line := self.process.stdout.readline().strip():
            name, _, value = line.partition(b":")
            length = int(value) if name.lower() == b"content-length" else length
        return json.loads(self.process.stdout.read(length))

    def ask(self, method: str, params: Any = None) -> Any:
        """The result of a request, or the message of an error."""
        self.asked += 1
        self.send(method, params, id=self.asked)
        while (answer := self.read()).get("id") != self.asked:
            pass
        return answer["result"] if "result" in answer else answer["error"]["message"]

    def at(self, line: int, character: int, **more: Any) -> dict[str, Any]:
        """A place in the text."""
        place = {"line": line, "character": character}
        return {"textDocument": {"uri": URI}, "position": place, **more}

    def wrong(self, text: str, version: int) -> list[dict[str, Any]]:
        """What is wrong with a text, after an edit that makes it."""
        document = {"uri": URI, "version": version}
        if version == 1:
            self.send(
                "textDocument/didOpen", {"textDocument": {**document, "languageId": "tad", "text": text}}
            )
        else:
            changes = [{"text": text}]
            self.send("textDocument/didChange", {"textDocument": document, "contentChanges": changes})
        while (said := self.read()).get("method") != "textDocument/publishDiagnostics":
            pass
        assert said["params"]["version"] == version
        return said["params"]["diagnostics"]


@pytest.fixture(scope="module")
def editor() -> Iterator[Editor]:
    made = Editor()
    made.ask("initialize", {"processId": None, "rootUri": None, "capabilities": {}})
    made.send("initialized", {})
    assert made.wrong(TEXT, 1) == []
    yield made
    made.ask("shutdown")
    made.send("exit", None)
    _, err = made.process.communicate(timeout=20)
    assert made.process.returncode == 0
    assert b"Traceback" not in err


def span(line: int, start: int, end: int) -> dict[str, dict[str, int]]:
    return {"start": {"line": line, "character": start}, "end": {"line": line, "character": end}}


def test_errors_and_their_fixes(editor: Editor) -> None:
    (error,) = editor.wrong(TEXT + "z[i] = ln(x[i])\n", 2)
    assert error["code"] == "TAD0201"
    assert error["range"] == span(3, 7, 9)
    assert error["message"].endswith("help: it is written `log` here")
    asked = {"textDocument": {"uri": URI}, "range": span(3, 8, 8), "context": {"diagnostics": []}}
    (fix,) = editor.ask("textDocument/codeAction", asked)
    assert fix["isPreferred"]
    assert fix["edit"]["changes"][URI] == [{"range": span(3, 7, 9), "newText": "log"}]
    (late,) = editor.wrong("x: f64[3]\ny[i: 3] = x[i + 1]\n", 3)
    assert late["code"] == "TAD0302"
    (unread,) = editor.wrong("x: f64[3]\nw: f64\ny[i] = x[i]\n", 4)
    assert (unread["code"], unread["severity"]) == ("TAD0408", 2)
    for version, text in enumerate(("", "f = ((", "\x00\ud83d"[:1], "x[" * 300, "sum{" * 50), 5):
        assert editor.wrong(text, version)
    assert editor.wrong(TEXT, 20) == []


def test_names(editor: Editor) -> None:
    place = editor.at(2, 22)
    assert editor.ask("textDocument/definition", place) == [{"uri": URI, "range": span(2, 2, 3)}]
    found = editor.ask("textDocument/references", {**place, "context": {"includeDeclaration": True}})
    assert [item["range"] for item in found] == [span(2, 2, 3), span(2, 22, 23)]
    edits = editor.ask("textDocument/rename", {**place, "newName": "row"})["changes"][URI]
    assert [(edit["range"], edit["newText"]) for edit in edits] == [
        (span(2, 2, 3), "row"), (span(2, 22, 23), "row"),
    ]  # fmt: skip
    assert editor.ask("textDocument/rename", {**place, "newName": "k"}) == "`k` means something else here"


def test_meanings_hints_words_and_style(editor: Editor) -> None:
    shown = editor.ask("textDocument/hover", editor.at(2, 11))
    assert shown["contents"]["value"] == "```tad\nk = 0..2\n```\nan index of a `sum`"
    assert editor.ask("textDocument/hover", editor.at(2, 6)) is None
    hints = editor.ask("textDocument/inlayHint", {"textDocument": {"uri": URI}, "range": span(2, 0, 99)})
    assert [(hint["position"]["character"], hint["label"]) for hint in hints] == [(3, ": N - 2"), (12, ": 3")]
    words = editor.ask("textDocument/completion", editor.at(2, 16))
    assert {"x", "w", "y", "k", "exp", "let"} <= {word["label"] for word in words}
    # What the program names stands before functions and words.
    assert max(words, key=lambda word: word["sortText"])["label"] == "at"
    assert sorted(words, key=lambda word: word["sortText"])[0]["label"] == "N"
    options = {"textDocument": {"uri": URI}, "options": {"tabSize": 4, "insertSpaces": True}}
    (edit,) = editor.ask("textDocument/formatting", options)
    assert edit["newText"] == TEXT


def test_an_outline_and_what_else_has_a_name(editor: Editor) -> None:
    shown = editor.ask("textDocument/documentSymbol", {"textDocument": {"uri": URI}})
    assert [(s["name"], s["detail"]) for s in shown] == [
        ("x", "an argument"), ("w", "an argument"), ("y", "an output, for i = 0..N - 3"),
    ]  # fmt: skip
    assert shown[2]["range"] == span(2, 0, 29)
    assert shown[2]["selectionRange"] == span(2, 0, 1)
    marked = editor.ask("textDocument/documentHighlight", editor.at(2, 2))
    assert [m["range"] for m in marked] == [span(2, 2, 3), span(2, 22, 23)]


def test_columns_are_utf16(editor: Editor) -> None:
    """The character in the comment has two units: what stands behind it on its line is one further."""
    text = "y = 1 # \N{MATHEMATICAL ITALIC SMALL X}\nz = 2 \N{MATHEMATICAL ITALIC SMALL X} q"
    assert editor.wrong(text, 30)[0]["range"] == span(1, 6, 8)
    assert editor.wrong(TEXT, 31) == []
