"""Declarations stand anywhere, and an index may have the name of a definition below."""

from __future__ import annotations

import random
from collections.abc import Iterator
from importlib import import_module

import pytest

from bench.everyday import EVERYDAY
from bench.sparse import SPARSE
from bench.workloads import WORKLOADS
from tadc.compiler.derive import derive
from tadc.frontend import syntax
from tadc.frontend.checker import SizesNeeded, check
from tadc.frontend.codes import PAGES
from tadc.frontend.lexer import tokenize
from tadc.frontend.parser import parse
from tadc.frontend.printable import TermSpeller
from tadc.frontend.printer import print_program
from tadc.frontend.program import Definition, Program
from tadc.frontend.source import Source
from tadc.frontend.terms import Term, Terms
from tadc.frontend.tree import walk
from tadc.lattice.affine import Affine, box
from tests.pages import ROOT, blocks


def _texts() -> Iterator[str]:
    """The programs of the examples, the pages, the benches and the tests against JAX."""
    yield from (path.read_text(encoding="utf-8") for path in sorted((ROOT / "examples").glob("*.tad")))
    for folder, name in ((ROOT / "docs", ""), (PAGES, "right")):
        for page in sorted(folder.glob("*.md")):
            yield from (b.text for b in blocks(page) if b.kind == "tad" and name in ("", b.name))
    yield from (workload.program for workload in (*WORKLOADS, *EVERYDAY, *SPARSE))
    for path in sorted((ROOT / "tests" / "conformance").glob("test_*.py")):
        if "CATALOGUE = Catalogue()" in path.read_text(encoding="utf-8"):
            yield from (
                case.program for case in import_module(f"tests.conformance.{path.stem}").CATALOGUE.cases
            )


TEXTS = list(_texts())


def meaning(text: str) -> Program:
    """A program, at some sizes where it needs values."""
    source = Source(text)
    try:
        return check(parse(source), source)
    except SizesNeeded as needed:
        return check(parse(source), source, dict.fromkeys(needed.symbols, 2))


def shuffled(text: str, rng: random.Random) -> str:
    """The program with its declarations in any order and anywhere, its definitions in theirs."""
    statements = parse(Source(text)).statements
    lines = [text[s.span.start : s.span.end] for s in statements if isinstance(s, syntax.Define)]
    for statement in statements:
        if not isinstance(statement, syntax.Define):
            lines.insert(rng.randint(0, len(lines)), text[statement.span.start : statement.span.end])
    return "\n".join(lines)


def shadowing(text: str, rng: random.Random) -> str:
    """The program with indices that have the names of definitions below them."""
    definitions = [s for s in parse(Source(text)).statements if isinstance(s, syntax.Define)]
    chosen: dict[tuple[int, str], str] = {}
    tokens = [t for t in tokenize(Source(text)).items if t.kind == "name"]
    for number, definition in enumerate(definitions):
        inside = definition.span
        spoken = {t.text for t in tokens if inside.start <= t.start < inside.end}
        indices = sorted({n.name for _, _, n in walk(definition) if isinstance(n, syntax.IndexSpec)})
        below = sorted({d.name for d in definitions[number + 1 :]} - spoken)
        for index in rng.sample(indices, min(len(indices), len(below))):
            chosen |= {
                (t.start, index): below[0]
                for t in tokens
                if t.text == index and inside.start <= t.start < inside.end
            }
            del below[0]
    for token in reversed(tokens):
        if name := chosen.get((token.start, token.text)):
            text = text[: token.start] + name + text[token.end :]
    return text


def assert_same(one: str, other: str) -> None:
    """Both have the same declarations, in some order, and the same definitions but for names of indices."""
    first, second = meaning(one), meaning(other)
    assert declarations(first) == declarations(second)
    assert set(first.excluded) == set(second.excluded)
    ours, theirs = (TermSpeller(terms, frozenset(first.sizes), first.shapes()) for terms in [Terms()] * 2)
    for d, e in zip(first.definitions, second.definitions, strict=True):
        assert (d.name, d.type, d.shape, d.is_output, d.pattern) == (
            e.name,
            e.type,
            e.shape,
            e.is_output,
            e.pattern,
        )
        assert body(d, ours, first) is body(e, theirs, second), f"{one}\n{other}"


def declarations(program: Program) -> list[str]:
    return sorted(print_program(program).partition("\n\n")[0].splitlines())


def body(definition: Definition, speller: TermSpeller, program: Program) -> Term:
    """The body over indices of other names, in the table that is shared."""
    own = [f"own {n}" for n, _ in enumerate(definition.indices)]
    names = {name: Affine.var(new) for name, new in zip(definition.indices, own, strict=True)}
    return speller.spell(definition.body, names, box(own, definition.shape) + program.size_facts())


@pytest.mark.parametrize("part", range(5))
def test_declarations_in_any_order(part: int) -> None:
    for number, text in enumerate(TEXTS[part::5]):
        assert_same(text, shuffled(text, random.Random(number)))


@pytest.mark.parametrize("part", range(5))
def test_indices_with_names_of_definitions_below(part: int) -> None:
    texts = [(text, shadowing(text, random.Random(number))) for number, text in enumerate(TEXTS[part::5])]
    assert sum(text != other for text, other in texts) > 9
    for text, other in texts:
        assert_same(text, other)


@pytest.mark.parametrize("number", range(3, len(TEXTS), 25))
def test_gradients_of_declarations_in_any_order(number: int) -> None:
    first, second = meaning(TEXTS[number]), meaning(shuffled(TEXTS[number], random.Random(number)))
    if first.differentiable():
        one, other = (print_program(derive(program, "vjp")) for program in (first, second))
        assert sorted(one.splitlines()) == sorted(other.splitlines())
