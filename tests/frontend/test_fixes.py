"""Edits of errors: each puts right what it belongs to, and safe ones change no meaning."""

import re
from pathlib import Path

import pytest

import tadc
from tadc.commands.fix import applied, fixed, problems_of
from tadc.frontend.codes import PAGES
from tadc.frontend.source import Source
from tests.frontend.respelling import mistyped, respelt
from tests.frontend.test_elsewhere import GUESSES, MENDED, SAID
from tests.pages import blocks

ROOT = Path(__file__).parent.parent.parent
PAGES_OF_DOCS = sorted((ROOT / "docs").glob("*.md"))

EXAMPLE = re.compile(r"^```tad wrong\n(.*?)^```", re.MULTILINE | re.DOTALL)
WRONG = {
    *(file.read_text() for file in (ROOT / "lit_tests" / "errors").glob("*.tad")),
    *(text for page in PAGES.iterdir() for text in EXAMPLE.findall(page.read_text())),
    *(block.text for page in PAGES_OF_DOCS for block in blocks(page) if block.kind == "tad-wrong"),
    *(item[0] for item in (*SAID, *MENDED, *GUESSES)),
}

#: Programs without comments, and what they mean.
RIGHT = [
    re.sub(r"^#.*\n", "", text, flags=re.M)
    for text in (
        *(file.read_text() for file in sorted((ROOT / "examples").glob("*.tad"))),
        *(block.text for block in blocks(ROOT / "docs" / "language.md") if block.kind == "tad"),
    )
]


def meaning(text: str) -> str:
    return str(tadc.function(text))


def place(problem: tadc.Diagnostic) -> tuple[str, str, int]:
    return problem.code, problem.message, problem.primary.span.start if problem.primary else -1


def test_edits_remove_the_error_that_has_them() -> None:
    """And where all errors have some, nearly all programs are right then: an edit may uncover an error."""
    found, right, all_have = 0, 0, 0
    for text in sorted(WRONG):
        problems = problems_of(Source(text), {})
        for problem in problems:
            if not problem.edits:
                continue
            edits = sorted(problem.edits, key=lambda edit: (edit.span.start, edit.span.end))
            left = problems_of(Source(applied(text, edits)), {})
            assert place(problem) not in map(place, left), text
            found += 1
        if problems and all(problem.edits for problem in problems):
            all_have += 1
            right += not fixed(Source(text), {}, unsafe=True)[1]
    assert found > 100
    assert right > 0.9 * all_have


@pytest.mark.parametrize("part", range(5))
@pytest.mark.filterwarnings("ignore::tadc.CompileWarning")
def test_safe_edits_of_other_spellings_give_the_same_program(part: int) -> None:
    """Left to guess may be where a number ends, `1 / 2x`, and what a root is of."""
    same = guessed = 0
    for seed in range(80 * part, 80 * part + 80):
        right = RIGHT[seed % len(RIGHT)]
        text = respelt(right, seed)
        source, problems, _ = fixed(Source(text), {})
        if problems:
            assert any(problem.edits and not problem.is_safe for problem in problems), text
            guessed += 1
        else:
            assert meaning(source.text) == meaning(right), text
            same += 1
    assert same > 10 * guessed


@pytest.mark.parametrize("part", range(5))
@pytest.mark.filterwarnings("ignore::tadc.CompileWarning")
def test_safe_edits_of_slips_give_the_same_program_or_none(part: int) -> None:
    fixes = 0
    for seed in range(400 * part, 400 * part + 400):
        right = RIGHT[seed % len(RIGHT)]
        text = mistyped(right, seed)
        source, problems, changes = fixed(Source(text), {})
        if changes and not problems:
            assert meaning(source.text) == meaning(right), text
            fixes += 1
    assert fixes > 0
