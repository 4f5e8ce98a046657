"""Big inputs get an answer from the command, a program or the limit that they exceed, soon and in 2 GiB."""

from __future__ import annotations

import os
import re
import resource
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from tests.fuzz_input.attempt import failure

#: The aim is 10 s on a machine of today; tests run on slower ones and beside others.
SECONDS, BYTES = 20, 2 << 30
HEAD = "x: f64[8]\ny: f64\n"
MANY, DEEP = 10_000, 100_000


def indices(count: int) -> list[str]:
    return [f"k{n}" for n in range(count)]


#: The program, and the code of the error that it gives; an empty word where it is accepted.
CHECKED = {
    "parentheses": (f"{HEAD}f = {'(' * DEEP}y{')' * DEEP}", "TAD0107"),
    "signs": (f"{HEAD}f = {'-' * DEEP}y", "TAD0107"),
    "calls": (f"{HEAD}f = {'exp(' * DEEP}y{')' * DEEP}", "TAD0107"),
    "sums": (f"{HEAD}f = {'sum{k} (' * DEEP}y{')' * DEEP}", "TAD0112"),
    "ifs": (f"{HEAD}f[i: 3] = {'if {i = 0} then (' * DEEP}y{') else (0)' * DEEP}", "TAD0107"),
    "else ifs": (f"{HEAD}f[i: 3] = {'if {i = 0} then (y) else (' * DEEP}0{')' * DEEP}", "TAD0107"),
    "powers": (f"{HEAD}f = {'**'.join(['y'] * DEEP)}", "TAD0107"),
    "brackets that nothing closes": (f"{HEAD}f = {'([{' * DEEP}", "TAD0101"),
    "independent lets": (HEAD + "".join(f"let h{n}[i] = x[i] + {n}\n" for n in range(MANY)) + "f = y", ""),
    "a chain of lets": (
        f"{HEAD}let h0 = y\n"
        + "".join(f"let h{n} = h{n - 1} + {n}\n" for n in range(1, MANY))
        + f"f = h{MANY - 1}",
        "",
    ),
    "arguments": ("".join(f"x{n}: f64[3]\n" for n in range(MANY)) + "f[i] = x0[i]", ""),
    "outputs": (HEAD + "".join(f"out{n}[i] = x[i] * {n}\n" for n in range(MANY)), ""),
    "a long sum": (f"{HEAD}f[i] = {' + '.join(['x[i]'] * 142_000)}", "TAD0107"),
    "a long sum of indices": (f"{HEAD}f[i: 1] = x[{'+'.join(['i'] * 500_000)}]", "TAD0107"),
    "a long name": (f"{HEAD}f = {'a' * 1_000_000}", "TAD0204"),
    "a long number": (f"{HEAD}f = {'1' * 1_000_000}", "TAD0103"),
    "a long comment": (f"{HEAD}#{'é' * 500_000}\nf = y", ""),
    "conditions": (f"{HEAD}f[i: 3] = if {{{' and '.join(['i = 0'] * DEEP)}}} then (y) else (0)", "TAD0314"),
    "a huge size": (f"x: f64[{'9' * 10_000}]\nf[i] = x[i]", "TAD0103"),
    "a huge factor": (f"{HEAD}f[i: 3] = x[{'9' * 300} * i]", "TAD0309"),
    "a huge divisor": (f"{HEAD}f[i: 8] = x[i{' // 2' * 200}]", "TAD0309"),
    "a huge bound": (f"{HEAD}f = sum{{k}}_0^{2**63} (y)", "TAD0309"),
    "many divisions": (f"{HEAD}f[i: 8] = x[{' + '.join(f'i // {n}' for n in range(9, 3000))}]", "TAD0112"),
    "dimensions": (f"x: f64[{', '.join(['1'] * DEEP)}]\nf = 1", "TAD0112"),
    "indices of a sum": (f"f = sum{{{', '.join(f'{k}: 2' for k in indices(DEEP))}}} (1)", "TAD0112"),
    "characters that nothing has": ('\0é"' * 300_000, "TAD0104"),
    "empty lines": ("\n" * 1_000_000 + "f = 1", ""),
}

#: The same for the gradient by all arguments.
DIFFERENTIATED = {
    "a tower of powers": (f"{HEAD}f = {'**'.join(['y'] * 490)}", "TAD0113"),
    "nested maxima": (f"{HEAD}f = {'max(y, ' * 400}y{')' * 400}", "TAD0113"),
    "a long quotient": (f"{HEAD}f = {' / '.join(['y'] * 9_990)}", "TAD0113"),
    "a long product": (f"{HEAD}f = {' * '.join(['y'] * 9_990)}", "TAD0113"),
    "a chain of lets": CHECKED["a chain of lets"],
    "outputs": CHECKED["outputs"],
    "a product of elements": (f"x: f64[1000]\nf = {' * '.join(f'x[{n}]' for n in range(1000))}", "TAD0113"),
    "a sum of ifs": (
        f"{HEAD}f[i: 300] = {' + '.join(f'if {{i < {n}}} then (y) else (0)' for n in range(300))}",
        "",
    ),
    "nested sums": (f"{HEAD}f = {''.join(f'sum{{{k}: 2}} (' for k in indices(50))}y{')' * 50}", ""),
    "a sum of many indices": (
        f"x: f64[51]\nf = sum{{{', '.join(f'{k}: 2' for k in indices(50))}}} (x[{' + '.join(indices(50))}])",
        "TAD0315",
    ),
    "a tensor of many dimensions": (
        f"x: f64[{', '.join(['2'] * 40 + ['1'] * 40)}]\n"
        f"f[{', '.join(indices(80))}] = x[{', '.join(indices(80))}]",
        "",
    ),
    "more points than can be counted": (f"{HEAD}f = sum{{k}}_0^{2**62} (x[k % 8] * y)", ""),
    "a size near 2**63 bytes": (f"x: f64[{2**60 - 1}]\nf[i] = x[i]", ""),
}


#: What takes seconds.
LONG = {
    *("ifs", "else ifs", "conditions", "a long sum", "a long sum of indices", "empty lines", "outputs"),
    *(
        "a chain of lets",
        "a long quotient",
        "a long product",
        "independent lets",
        "indices of a sum",
        "a tower of powers",
        "a product of elements",
    ),
}


def parameters(names: Iterable[str]) -> list[Any]:
    return [pytest.param(name, marks=pytest.mark.slow) if name in LONG else name for name in names]


def answer(text: str, file: Path, *argv: str) -> tuple[int, set[str]]:
    """The exit code and the codes of errors, under the limits."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
        resource.setrlimit(resource.RLIMIT_AS, (BYTES, BYTES))

    file.write_text(text)
    done = subprocess.run(
        [sys.executable, "-m", "tadc", str(file), *argv],
        preexec_fn=limit,
        timeout=4 * SECONDS,
        capture_output=True,
        text=True,
        check=False,
        # BLAS reserves address space for every processor.
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
    )
    assert len(done.stderr) < 20_000
    return done.returncode, set(re.findall(r"^error\[(TAD\d{4})\]", done.stderr, re.MULTILINE))


@pytest.mark.parametrize("name", parameters(CHECKED))
def test_checked(name: str, tmp_path: Path) -> None:
    text, code = CHECKED[name]
    assert answer(text, tmp_path / "big.tad") == ((1, {code}) if code else (0, set()))


@pytest.mark.parametrize("name", parameters(DIFFERENTIATED))
def test_differentiated(name: str, tmp_path: Path) -> None:
    text, code = DIFFERENTIATED[name]
    assert answer(text, tmp_path / "big.tad", "--wrt", "*") == ((1, {code}) if code else (0, set()))


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"", "TAD0405"),
        (b"# nothing\r\n#", "TAD0405"),
        (b"\xef\xbb\xbfx: f64\r\nf = x\r\n", ""),
        (b"x: f64\rf = x", ""),
        (b"x: f64; f = x\0", "TAD0104"),
        (b"x: f64\nf = x + \xff", "TAD0801"),
        ("x: f64\nf = x\N{LINE SEPARATOR}+ 1".encode(), "TAD0104"),
    ],
)
def test_bytes(data: bytes, code: str, tmp_path: Path) -> None:
    assert not failure(data, tmp_path / "input.tad")
    done = subprocess.run(
        [sys.executable, "-m", "tadc", "-"], input=data, capture_output=True, check=False, timeout=60
    )
    assert done.returncode == bool(code)
    assert code.encode() in done.stderr
