"""The tree-sitter grammar: its rules as data, against the parser's tables and what the parser reads.

Programs are recognised by Earley's algorithm (An Efficient Context-Free Parsing Algorithm, 1970), without a
generated parser. Where the command `tree-sitter` is found, it generates one, which finds in programs the
structure that the parser finds, and the queries the colours of the lexer.
"""

import json
import re
import shutil
import subprocess
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tadc.frontend import syntax
from tadc.frontend.dtypes import FLOATS
from tadc.frontend.functions import ALIASES, FUNCTIONS
from tadc.frontend.lexer import AT, IN, INCREASING, INDEX, KEYWORDS, RESERVED, SCAN, tokenize
from tadc.frontend.parser import read_statements
from tadc.frontend.source import Source
from tadc.frontend.token_classes import classified
from tadc.frontend.tree import walk
from tests.editing.programs import ROOT, drawn, files

FOLDER = ROOT / "editors" / "tree-sitter-tad"
needs_node = pytest.mark.skipif(shutil.which("node") is None, reason="no node, which reads the grammar")

#: What tree-sitter gives a grammar to be written with: here each makes data.
_DSL = """
const rule = (value) => value instanceof RegExp ? {re: value.source} : value;
Object.assign(globalThis, {
  seq: (...parts) => ({seq: parts.map(rule)}),
  choice: (...parts) => ({any: parts.map(rule)}),
  repeat: (part) => ({many: rule(part)}),
  optional: (part) => ({any: [rule(part), {seq: []}]}),
  token: rule, alias: rule, field: (name, part) => rule(part),
  prec: Object.assign((n, part) => part, {left: (n, part) => part, right: (n, part) => part}),
  grammar: (made) => made,
});
const $ = new Proxy({}, {get: (_, name) => ({name})});
const {rules} = require(process.argv[1]);
console.log(JSON.stringify(Object.fromEntries(Object.entries(rules).map(([n, f]) => [n, rule(f($))]))));
"""


@cache
def rules() -> dict[str, Any]:
    """The rules of the grammar."""
    command = ["node", "-e", _DSL, str(FOLDER / "grammar.js")]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


class RecognisedGrammar:
    """Productions: what each name may be, as tuples of names and of texts and patterns of tokens."""

    def __init__(self) -> None:
        self.made: dict[str, list[tuple[Any, ...]]] = {}
        for name, rule in rules().items():
            self.made[name] = [(self.symbol(rule),)]

    def symbol(self, rule: Any) -> Any:
        """A text, a pattern, or the name of productions."""
        if isinstance(rule, str) or "re" in rule:
            return ("text", rule) if isinstance(rule, str) else ("pattern", rule["re"])
        if "name" in rule:
            return rule["name"]
        own = f"#{len(self.made)}"
        self.made[own] = []
        if "seq" in rule:
            self.made[own] = [tuple(self.symbol(part) for part in rule["seq"])]
        elif "many" in rule:
            self.made[own] = [(), (own, self.symbol(rule["many"]))]
        else:
            self.made[own] = [(self.symbol(part),) for part in rule["any"]]
        return own

    def reads(self, words: list[str]) -> bool:
        """Whether words are a program."""
        columns: list[dict[tuple[str, tuple[Any, ...], int, int], None]] = [{} for _ in range(len(words) + 1)]
        columns[0] = dict.fromkeys(("program", body, 0, 0) for body in self.made["program"])
        empty: set[tuple[str, int]] = set()
        for at, column in enumerate(columns):
            todo = list(column)
            while todo:
                name, body, dot, origin = item = todo.pop()
                new: list[tuple[str, tuple[Any, ...], int, int]] = []
                if dot == len(body):
                    if origin == at:
                        empty.add((name, at))
                    parents = list(columns[origin])
                    new = [(n, b, d + 1, o) for n, b, d, o in parents if d < len(b) and b[d] == name]
                elif isinstance(body[dot], str):
                    new = [(body[dot], b, 0, at) for b in self.made[body[dot]]]
                    if (body[dot], at) in empty:
                        new.append((name, body, dot + 1, origin))
                elif at < len(words) and matches(body[dot], words[at]):
                    columns[at + 1][(name, body, dot + 1, origin)] = None
                todo += [i for i in new if i not in column]
                column.update(dict.fromkeys(new))
                assert item in column
        return any(n == "program" and d == len(b) for n, b, d, _ in columns[-1])


@cache
def matches(terminal: tuple[str, str], word: str) -> bool:
    kind, text = terminal
    if kind == "text":
        return word == text
    return word not in RESERVED and re.fullmatch(text, word) is not None


def words(text: str) -> list[str]:
    """The tokens of a program, without the ends of lines in brackets and of empty ones."""
    depth, found = 0, ["\n"]
    for token in tokenize(Source(text)).items:
        depth += (token.text in ("(", "[", "{")) - (token.text in (")", "]", "}"))
        if token.kind != "newline" or (not depth and found[-1] not in ("\n", ";")):
            found.append(token.text)
    return found[1:-1]


@needs_node
def test_words_are_those_of_the_tables() -> None:
    found = set(re.findall(r'"([a-z]\w*)"', json.dumps(rules())))
    own = {"name", "seq", "any", "many", "re", *rules()}
    functions = {name for name, f in FUNCTIONS.items() if f.is_reserved} | ALIASES.keys()
    assert found - own == (KEYWORDS | {SCAN, INDEX, IN, INCREASING, AT, *FLOATS} | functions) - own


@needs_node
def test_programs_are_read() -> None:
    grammar, seen = RecognisedGrammar(), 0
    for text in (*files()[::2], *drawn(2)):
        if not read_statements(Source(text)).errors and len(text) < 1500:
            assert grammar.reads(words(text)), text
            seen += 1
    assert seen > 100


@needs_node
@pytest.mark.parametrize(
    "text",
    ["f =", "f = (x", "x: [3]", "f = sum{} (x)", "f = x y", "y[i = x", "f = if {i} then (1) else (2)",
     "let = 3", "f = sum{k}_0 (x[k])", "f = exp", "f = 2 ** * 3", "size 3", "x: f64 f64", "f = x\n+ y"],
)  # fmt: skip
def test_what_is_wrong_is_not_read(text: str) -> None:
    assert read_statements(Source(text)).errors
    assert not RecognisedGrammar().reads(words(text))


#: Texts in which words of the grammar are names.
NAMED_LIKE_WORDS = (
    "at: index[E] in N increasing\nA: f64[N] at at\nin[index: E] = scan[at] + A[at at]\nscan: f64[N]",
    "x: f64[N]; at: index[E] in N\ns[e] = x[at[e]]\nu[at] = x[at - 1]*x[at]",
    "x: f64[3]\nscan = x[0]\nf = scan*pi + max{i} (x[i])",
)
#: What the classes of words are called in queries.
CAPTURES = {"comment": "comment", "constant": "constant.builtin", "function": "function.builtin"}
#: Names of statements, and what they read, in the order of the text.
STRUCTURE = """
(declaration name: (_) @name)
(size name: (_) @name)
(definition name: (_) @name)
(element tensor: (_) @read)
(binary) @binary
(power) @binary
(conditional) @if
(reduction) @reduction
"""

_KINDS: dict[type, str] = {
    syntax.Declare: "name",
    syntax.SizeDecl: "name",
    syntax.Define: "name",
    syntax.Subscript: "read",
    syntax.Binary: "binary",
    syntax.IfExpr: "if",
    syntax.ReduceExpr: "reduction",
}


@pytest.fixture(scope="module")
def generated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a generated parser."""
    if shutil.which("tree-sitter") is None:
        pytest.skip("no command `tree-sitter`, which generates parsers")
    made = shutil.copytree(FOLDER, tmp_path_factory.mktemp("tree-sitter") / "grammar")
    subprocess.run(["tree-sitter", "generate"], cwd=made, check=True, timeout=120)
    return made


def found(generated: Path, queries: str, texts: list[str]) -> list[list[tuple[str, str]]]:
    """What queries find in each text, as (capture, text) in the order of the text."""
    (generated / "asked.scm").write_text(queries)
    paths = [generated / f"{n}.tad" for n in range(len(texts))]
    for path, text in zip(paths, texts, strict=True):
        path.write_text(text)
    said = subprocess.run(
        ["tree-sitter", "query", "--captures", "asked.scm", *paths],
        cwd=generated, check=True, timeout=120, capture_output=True, text=True,
    ).stdout  # fmt: skip
    of_texts = re.split(r"^\S+/\d+\.tad$", said, flags=re.MULTILINE)[1:]
    assert len(of_texts) == len(texts)
    capture = re.compile(r"capture: (?:\d+ - )?(\S+), start: .*?(?:, text: `(.*)`)?$", re.MULTILINE)
    return [capture.findall(of_text) for of_text in of_texts]


def right() -> list[str]:
    """Programs without errors of syntax, of files and pages."""
    return [text for text in (*NAMED_LIKE_WORDS, *files()) if not read_statements(Source(text)).errors]


def test_a_generated_parser_reads_programs(generated: Path) -> None:
    texts = right()
    assert len(texts) > 100
    for text, theirs in zip(texts, found(generated, STRUCTURE, texts), strict=True):
        nodes = [node for s in read_statements(Source(text)).statements for _, _, node in walk(s)]
        own = Counter(_KINDS.get(type(node), "") for node in nodes)
        # The parser reads `norm{k} (e)` as sqrt(sum{k} (e**2)).
        own["binary"] -= len(re.findall(r"^[^#]*\bnorm ?\{", text, re.MULTILINE))
        counts = Counter(kind for kind, _ in theirs)
        assert counts == {kind: n for kind, n in own.items() if kind and n}, text
        statements = (syntax.Declare, syntax.SizeDecl, syntax.Define)
        names = [node.name for node in nodes if isinstance(node, statements)]
        reads = [node.tensor for node in nodes if isinstance(node, syntax.Subscript)]
        assert [word for kind, word in theirs if kind == "name"] == names
        assert [word for kind, word in theirs if kind == "read"] == reads, text
    paths = [generated / f"{n}.tad" for n in range(len(texts))]
    subprocess.run(["tree-sitter", "parse", "--quiet", *paths], cwd=generated, check=True, timeout=120)


def test_queries_know_the_classes_of_words(generated: Path) -> None:
    texts = right()
    queries = (FOLDER / "queries" / "highlights.scm").read_text()
    for text, theirs in zip(texts, found(generated, queries, texts), strict=True):
        own = [
            (CAPTURES.get(kind, kind), text[start:end].rstrip())
            for start, end, kind in classified(text)
            if kind != "name"
        ]
        # Names have no colours of their own but where something is bound.
        assert [(c, w.rstrip()) for c, w in theirs if not c.startswith("variable")] == own, text
