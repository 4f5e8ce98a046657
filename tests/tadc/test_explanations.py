"""`tadc --explain`: a page for every code, and its examples are what they say."""

import re
import shlex
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

import tadc
from tadc.cli import main
from tadc.frontend.codes import CODES, PAGES, explanation

#: What shows these needs a broken tool, one that is missing, IR that no program gives, several devices, or
#: minutes.
UNCHECKED = {
    *("TAD0318", "TAD0603", "TAD0701", "TAD0702", "TAD0703", "TAD0704", "TAD0802", "TAD0804", "TAD1004"),
    *(f"TAD07{n:02}" for n in range(6, 12)),
}


def examples(code: str) -> dict[str, tuple[str, str]]:
    """The language and the text of the wrong and the right example."""
    found = re.findall(r"^```(\w+) (\w+)\n(.*?)^```$", explanation(code), re.MULTILINE | re.DOTALL)
    return {kind: (language, text) for language, kind, text in found}


def codes_of(language: str, text: str, capsys: pytest.CaptureFixture[str]) -> set[str]:
    """The codes that an example gives; none where it is accepted."""
    if language in ("tad", "python"):
        with warnings.catch_warnings(record=True, action="always", category=tadc.CompileWarning) as seen:
            try:
                if language == "tad":
                    tadc.function(text)
                else:
                    exec(text, {})
            except tadc.CompileError as error:
                return {d.code for d in error.diagnostics}
        return {
            each.message.diagnostic.code for each in seen if isinstance(each.message, tadc.CompileWarning)
        }
    if language == "mlir":
        Path("f.mlir").write_text(text)
        lines = ["tadc f.mlir --emit opt -o -"]
    else:
        lines = [line.removeprefix("$ ") for line in text.splitlines()]
    said = ""
    for line in lines:
        _, *argv = shlex.split(line)
        code = main(argv)
        said = capsys.readouterr().err
        assert code == bool("error[" in said)
    return set(re.findall(r"^(?:error|warning)\[(TAD\d{4})\]", said, re.MULTILINE))


def test_a_page_for_every_code_and_a_code_for_every_page() -> None:
    assert {page.name for page in PAGES.iterdir()} == {f"{code}.md" for code in CODES}


#: Their examples go up to a limit of the compiler.
DEAR = ("TAD0113", "TAD0312", "TAD0315")


@pytest.mark.parametrize(
    "code", [pytest.param(c, marks=[pytest.mark.sweep] if c in DEAR else []) for c in CODES]
)
def test_page(
    code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Two to five sentences and two examples, which give this code and none."""
    monkeypatch.chdir(tmp_path)
    heading, text, *_ = explanation(code).split("\n\n")
    assert heading == f"# {code}: {CODES[code]}"
    assert 2 <= len(re.findall(r"[.](?=\s|$)", text)) <= 5
    assert max(map(len, text.splitlines())) <= 100
    shown = examples(code)
    assert set(shown) == (set() if code in UNCHECKED else {"wrong", "right"})
    if shown:
        assert codes_of(*shown["wrong"], capsys) == {code}
        assert codes_of(*shown["right"], capsys) == set()


@pytest.mark.parametrize("word", ["TAD0302", "tad0302"])
def test_explain(capsys: pytest.CaptureFixture[str], word: str) -> None:
    assert main(["--explain", word]) == 0
    assert capsys.readouterr().out == explanation("TAD0302")


def test_explain_alone_lists_the_codes(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--explain"]) == 0
    assert capsys.readouterr().out.splitlines() == [f"{code}  {title}" for code, title in CODES.items()]


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (["--explain", "TAD302"], ["no code `TAD302`", "did you mean `TAD0302`?"]),
        (["--explain", "f.tad"], ["no code `f.tad`", "`tadc explain` lists all codes"]),
        (["--explain", "TAD0302", "f.tad"], ["`--explain` takes no program"]),
    ],
)
def test_wrong_use(capsys: pytest.CaptureFixture[str], argv: list[str], words: list[str]) -> None:
    assert main(argv) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert all(word in captured.err for word in words)


def test_explain_imports_neither_mlir_nor_numpy() -> None:
    program = (
        "import sys; from tadc.cli import main; assert main(['--explain', 'TAD0302']) == 0;"
        "assert not [m for m in sys.modules if 'mlir' in m.lower() or m in ('numpy', 'llvmlite')]"
    )
    subprocess.run([sys.executable, "-c", program], check=True, capture_output=True)


def test_errors_of_the_command_say_where_to_read_on(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["-e", "x: f64[3]; f[i: 4] = x[i]"]) == 1
    assert capsys.readouterr().err.splitlines()[-1] == "for more about this error: tadc --explain TAD0302"
    assert main(["-e", "x: f64[3]; f[i: 4] = x[i] + q + r"]) == 1
    last = capsys.readouterr().err.splitlines()[-1]
    assert last == "for more about these errors: tadc --explain TAD0302 (or TAD0204)"
    assert main(["-e", "f = 1", "--emit", "x"]) == 2
    assert "--explain" not in capsys.readouterr().err
    with pytest.raises(tadc.CompileError) as error:
        tadc.function("x: f64[3]; f[i: 4] = x[i]")
    assert "--explain" not in str(error.value)
