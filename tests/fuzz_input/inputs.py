"""Random inputs from seeds, of three kinds: bytes, tokens, and valid programs with a few words changed."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path

from tadc.frontend.functions import FUNCTIONS, REDUCTIONS
from tadc.frontend.lexer import CLOSERS, KEYWORDS, match_brackets, tokenize
from tadc.frontend.source import Source
from tests.fuzz.generate import generate

ROOT = Path(__file__).resolve().parents[2]

_ODD_BYTES = [
    b"\0",
    b"\xff",
    b"\xef\xbb\xbf",
    b"\r\n",
    b"\r",
    b"\xed\xa0\x80",
    b"\xe2\x88\x92",
    b"\x1b[31m",
    b"\t",
]
_ODD_BYTES += [
    "\u202e\u0301".encode(),
    "\N{SUPERSCRIPT TWO}".encode(),
    "\U0001f600".encode(),
    b"\x0b\x0c\x85",
    b"\\",
    b'"',
]
_NUMBERS = (
    "0 1 2 3 4 5 7 8 9 16 100 0.5 1e-3 1e308 1e999 0.0 .5 3. 007 1_0 2147483648 4611686018427387904".split()
)
_NUMBERS += [str(2**63 - 1), str(2**63), "9" * 40, "9" * 400]
_NAMES = "x y a b f g h i j k l m n N M df dx z0 x_0 _ _q then out e1".split()
_OPERATORS = "+ - * / // % **".split()
_RELATIONS = "= != < <= > >=".split()
_OTHERS = "( ) [ ] { } , ; : ^ == && || \n".split(" ")
_FORMS = [
    "sum{k}_0^4 (",
    "sum{k} (",
    "sum{k: 3} (",
    "max{k}_(max [0; i - 1])^(min [3; j]) (",
    "if {i = j} then (",
]
_FORMS += [
    ") else (",
    "select(x[i] > 0, ",
    "let h[i] = ",
    "f[i, j] = ",
    "\nx: f64[3, 4]\n",
    "size N = 3\n",
    "f32",
    "f64",
]
VOCABULARY = [*_NUMBERS, *_NAMES, *_OPERATORS, *_RELATIONS, *_OTHERS, *_FORMS]
VOCABULARY += [*sorted(KEYWORDS), *sorted(FUNCTIONS), *sorted(REDUCTIONS)]


@cache
def corpus() -> tuple[str, ...]:
    """The programs of the examples and the lit tests, the small ones."""
    files = sorted([*ROOT.glob("examples/*.tad"), *ROOT.glob("lit_tests/**/*.tad")])
    texts = [re.sub(r"^#.*\n", "", file.read_text(), flags=re.MULTILINE) for file in files]
    return tuple(text for text in texts if len(text) < 2000)


def words(text: str) -> list[str]:
    """A text cut into tokens; white space goes with the token in front of it."""
    starts = [token.start for token in tokenize(Source(text)).items]
    return [text[a:b] for a, b in zip([0, *starts[1:]], [*starts[1:], len(text)], strict=True)]


def random_bytes(rng: random.Random) -> bytes:
    """A program with bytes changed, or nothing but random bytes."""
    if rng.random() < 0.2:
        return rng.randbytes(rng.choice((0, 1, 2, 5, 50, 500)))
    data = bytearray(rng.choice(corpus()).encode())
    for _ in range(rng.choice((1, 1, 2, 4, 16))):
        at = rng.randrange(len(data) + 1)
        end = min(len(data), at + rng.choice((1, 1, 2, 10, 100)))
        match rng.randrange(6):
            case 0:
                data[at:end] = b""
            case 1:
                data[at:at] = data[at:end] * rng.choice((1, 2, 30))
            case 2:
                data[at:at] = rng.choice(_ODD_BYTES)
            case 3:
                data[at:end] = rng.randbytes(end - at)
            case 4:
                data = data.replace(b"\n", rng.choice((b"\r\n", b"\r", b"", b";")))
            case _:
                data[at : at + 1] = bytes([rng.randrange(128)])
    return bytes(data)


def random_tokens(rng: random.Random) -> bytes:
    """Words of the language in any order, or a program with words lost, moved and exchanged."""
    if rng.random() < 0.4:
        head = rng.choice(("", "x: f64[4]\ny: f64[3, 4]\n", "x: f64[4]\nf[i, j: 3] = "))
        return (head + " ".join(rng.choices(VOCABULARY, k=rng.choice((1, 3, 10, 40, 200))))).encode()
    here = words(rng.choice(corpus()))
    for _ in range(rng.choice((1, 1, 2, 5, 20))):
        at = rng.randrange(len(here) + 1)
        end = min(len(here), at + rng.choice((1, 1, 1, 3, 12)))
        match rng.randrange(5):
            case 0:
                here[at:end] = []
            case 1:
                here[at:at] = [rng.choice(VOCABULARY) + " "]
            case 2:
                here[at:end] = [rng.choice(VOCABULARY) + " "]
            case 3:
                there = words(rng.choice(corpus()))
                start = rng.randrange(len(there))
                here[at:end] = there[start : start + rng.choice((1, 3, 12))]
            case _:
                piece = here[at:end]
                here[at:end] = []
                to = rng.randrange(len(here) + 1)
                here[to:to] = piece
    return "".join(here).encode()


def random_program(rng: random.Random) -> bytes:
    """A valid program with numbers, names, operators and bracketed parts exchanged for their like.

    Some have their lines in another order, or one of them twice.
    """
    text = rng.choice(corpus()) if rng.random() < 0.5 else str(generate(rng.randrange(10**6)))
    if rng.random() < 0.2:
        lines = text.split("\n")
        rng.shuffle(lines)
        text = "\n".join(lines + rng.sample(lines, rng.randint(0, 1)))
    here = words(text)
    for _ in range(rng.choice((0, 1, 1, 2, 3, 6))):
        at = rng.randrange(len(here))
        word = here[at].strip(" ")
        if word in CLOSERS:
            _exchange_part(rng, here, at)
            continue
        for pool in (_NUMBERS, _OPERATORS, _RELATIONS, sorted(FUNCTIONS), sorted(REDUCTIONS)):
            if word in pool or (pool is _NUMBERS and word[:1].isdigit()):
                small = str(int(word) + rng.choice((-1, 1))) if word.isdigit() and int(word) else ""
                here[at] = small if small and rng.random() < 0.5 else rng.choice(pool) + " "
                break
        else:
            names = [w for w in here if w.strip().isidentifier() and w.strip() not in FUNCTIONS]
            if word.isidentifier() and names:
                here[at] = rng.choice(names)
    return "".join(here).encode()


def _exchange_part(rng: random.Random, here: list[str], at: int) -> None:
    """Put another part in brackets of the same kind in the place of one."""
    tokens = tokenize(Source("".join(here))).items[:-1]
    partner = match_brackets([token.kind for token in tokens])
    if len(tokens) != len(here) or at not in partner:
        return
    like = [p for p, q in partner.items() if p < q and tokens[p].kind == tokens[at].kind]
    other = rng.choice(like)
    here[at : partner[at] + 1] = here[other : partner[other] + 1]


KINDS: dict[str, Callable[[random.Random], bytes]] = {
    "bytes": random_bytes,
    "tokens": random_tokens,
    "programs": random_program,
}


def make(kind: str, seed: int) -> bytes:
    """The input of a kind and a seed."""
    return KINDS[kind](random.Random(f"{kind} {seed}"))
