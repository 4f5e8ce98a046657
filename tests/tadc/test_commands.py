"""Commands behind `tadc`, and the tables that they, their helps and completion derive from."""

import dataclasses
import itertools
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from tadc.apps.uncertainty.result import KINDS
from tadc.cli import main
from tadc.commands.command_table import COMMANDS, FLAT
from tadc.commands.completion import bash
from tadc.commands.consistency import EXCLUDED, Excluded
from tadc.commands.option_table import METHODS, OPTIONS
from tadc.commands.options import Arguments
from tadc.commands.output_files import SUFFIXES
from tadc.commands.several import split
from tadc.compiler.all_stages import STAGES

PROGRAM = "x: f64[3]; w: f64; f[i] = w * x[i]**2"


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A program and arrays in the current folder."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "f.tad").write_text(PROGRAM)
    np.save(tmp_path / "x.npy", np.arange(3.0))
    return "f.tad"


def said(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    """What a command that does it prints."""
    assert main(list(words)) == 0, capsys.readouterr().err
    return capsys.readouterr().out


@pytest.mark.parametrize(
    ("command", "flat"),
    [
        ("check f.tad", "f.tad"),
        ("diff f.tad --wrt x", "f.tad --wrt x"),
        ("diff f.tad", "f.tad --wrt *"),
        ("diff f.tad --wrt w --wrt x", "f.tad --wrt w,x"),
        ("diff f.tad --mode jvp", "f.tad --mode jvp"),
        ("run f.tad x=x.npy w=2", "f.tad --run x=x.npy w=2"),
        ("run x=x.npy f.tad w=2", "f.tad --run x=x.npy --run w=2"),
        ("run f.tad x=x.npy --size N=4 w=2", "--run x=x.npy,w=2 f.tad"),
        ("emit cancel f.tad", "f.tad --emit cancel"),
        ("emit f.tad loops", "f.tad --emit loops"),
        ("passes canonicalize f.tad", "f.tad --passes canonicalize"),
        ("stats f.tad", "f.tad --stats"),
        ("certificate f.tad --wrt x", "f.tad --wrt x --certificate"),
        ("explain tad0302", "--explain TAD0302"),
        ("list stages", "--list stages"),
        ("help run", "run -h"),
        ("help", "-h"),
    ],
)
def test_a_command_is_the_form_with_its_option(
    capsys: pytest.CaptureFixture[str], file: str, command: str, flat: str
) -> None:
    assert file in command or "f.tad" not in flat
    words = command.replace(" --size N=4", "").split()
    assert said(capsys, *words) == said(capsys, *flat.split())


def test_gradcheck_and_files_named_by_o(capsys: pytest.CaptureFixture[str], file: str) -> None:
    assert "ok" in said(capsys, "gradcheck", file, "w=2", "--wrt", "x")
    assert said(capsys, "run", file, "x=x.npy", "w=3", "-o", "f.npy") == ""
    np.testing.assert_array_equal(np.load("f.npy"), [0, 3, 12])
    assert said(capsys, "plot", "-e", "x: f64[6]; f[i: 3] = x[2*i]", "-o", "f.svg") == ""
    assert "<svg" in Path("f.svg").read_text()


def test_a_command_wins_over_a_file_of_its_name(capsys: pytest.CaptureFixture[str], file: str) -> None:
    Path(file).rename("list")
    assert "cancel" in said(capsys, "list", "stages")
    assert "f[i] = w * x[i]**2" in said(capsys, "./list")


@pytest.mark.parametrize(
    ("line", "code", "words"),
    [
        ("rnu f.tad", 2, ["no command and no file `rnu`", "did you mean `run`?"]),
        ("f.tad run", 2, ["a second FILE, `run`", "`tadc run f.tad`"]),
        ("-e f=1 run", 2, ["a command stands first: `tadc run …`"]),
        ("--allow TAD0402 run f.tad", 2, ["a command stands first: `tadc run …`"]),
        ("f.tad x=x.npy", 2, ["`tadc run f.tad x=x.npy`"]),
        ("run f.tad --stats", 2, ["has no option `--stats`", "`tadc stats` does that"]),
        ("stats f.tad --values", 2, ["it is an option of `tadc run`, `tadc diff`"]),
        ("run f.tad --wtr x", 2, ["did you mean `--wrt`?"]),
        ("run f.tad g.tad w=2", 1, ["`g.tad` is not of the form NAME=FILE"]),
        ("run --size N=3", 2, ["give a FILE", "tadc run f.tad x=x.npy"]),
        ("run f.tad w = 2", 1, ["write `x=x.npy`, without blanks around `=`"]),
        ("run f.tad x=x.npy,w=2", 1, ["words of their own: `x=x.npy w=2`"]),
        ("uncert f.tad --at w=-2+/-.1", 2, ["write `--at w=-2 --u w=.1`"]),
        ("uncert f.tad --at w=2 --u w=3%", 2, ["`--u w=3%` is relative"]),
        ("check f.tad --time=yes", 2, ["`--time` takes no value, and `yes` is given"]),
        ("emit llvm f.tad -o f.bc", 2, ["is the name of bitcode of LLVM", ".ll"]),
        ("passes nosuch f.tad", 1, ["no such pass: 'nosuch'", "`tadc list passes` shows"]),
        ("passes canonicalize{foo=1} f.tad", 1, ["`canonicalize`: no such option foo"]),
        ("uncert f.tad w=2±.1", 2, ["`tadc uncert f.tad --at w=2`", "`--u w=.1`"]),
        ("passes f.tad --passes cse", 2, ["without the option: `tadc passes tad-"]),
        ("diff f.tad g.tad", 2, ["a second FILE, `g.tad`"]),
        ("emit asn f.tad", 2, ["`tadc emit` cannot be `asn`", "it can be ast"]),
        ("emit -o x.s", 2, ["needs a STAGE"]),
        ("emit f.tad", 2, ["needs a STAGE"]),
        ("passes f.tad", 2, ["needs a PIPELINE"]),
        ("version", 2, ["did you mean `--version`?"]),
        ("gradcheck f.tad --run x=x.npy", 2, ["`tadc gradcheck f.tad x=x.npy`"]),
        ("diff f.tad x", 2, ["`--wrt x`"]),
        ("run f.tad x=[1,2] w=3", 1, ["write a file, `x=x.npy`, or a number"]),
        ("plot f.tad", 2, ["needs `-o FILE`"]),
        ("list", 2, ["it can be stages"]),
        ("help rn", 2, ["did you mean `run`?"]),
        ("explain TAD0302 f.tad", 2, ["takes no `f.tad`"]),
        ("completion csh", 2, ["it can be bash, zsh, fish"]),
        ("run f.tad", 1, ["no arrays are given for `x`, `w`", "tadc run FILE x=x.npy w=w.npy"]),
        ("f.tad --run", 1, ["no arrays are given for `x`, `w`"]),
        ("f.tad --run x.npy", 1, ["`x.npy` is not of the form", "`x=x.npy` or `w=x.npy`"]),
        ("run f.tad w=2 x.npy", 1, ["write `x=x.npy`\n"]),
        ("f.tad --dump-dir x.npy", 1, ["names a file, not a folder"]),
        ("f.tad --dump-dir x.npy --emit ll", 2, ["cannot be `ll`"]),
        ("f.tad -o k.o", 2, ["the name of object code, but a program is written", "end in .tad"]),
        ("f.tad --emit asm -o k.ll", 2, ["but assembly is written", "end in .s"]),
        ("f.tad --stats -o k.npz", 2, ["but a table is written", "`tadc run` writes them"]),
        ("f.tad --emit ast -o k.tad", 2, ["but the syntax tree is written"]),
        ("diff f.tad -o k.json", 2, ["but a program is written"]),
        ("inverse f.tad -o k.svg", 2, ["but a plan is written"]),
    ],
)
def test_wrong_use(
    capsys: pytest.CaptureFixture[str], file: str, line: str, code: int, words: list[str]
) -> None:
    assert Path(file).exists()
    assert main(line.split()) == code
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("error") - err.count("this error") == 1
    for word in words:
        assert word in err


@pytest.mark.parametrize("command", ["stats", "inverse"])
def test_free_sizes_are_one_error(capsys: pytest.CaptureFixture[str], command: str) -> None:
    assert main([command, "-e", "a: f64[N]; b: f64[M]; f[i] = exp(a[i]); g[i] = exp(b[i])"]) == 1
    err = capsys.readouterr().err
    assert err.count("error[") == 1
    assert "`--size N=4,M=4`" in err


@pytest.mark.parametrize(
    ("kind", "text", "items"),
    [
        ("names", "a,b", ["a", "b"]),
        ("values", "x=a,b.npy,w=2", ["x=a,b.npy", "w=2"]),
        ("values", "V=1, I=-.5", ["V=1", "I=-.5"]),
        ("pairs", "V,I=-.36,V,phi=.8;I,phi=c,d.npy;", ["V,I=-.36", "V,phi=.8", "I,phi=c,d.npy"]),
    ],
)
def test_several_values(kind: str, text: str, items: list[str]) -> None:
    assert split(kind, [text]) == items
    assert split(kind, items) == items


def test_all_options_are_of_a_command_and_a_field() -> None:
    fields = {f.name for f in dataclasses.fields(Arguments)} | {"short_help", "help", "version"}
    assert set(OPTIONS) <= fields
    taken = {option.field for command in (FLAT, *COMMANDS.values()) for option in command.taken}
    assert set(OPTIONS) == taken | {w for c in COMMANDS.values() for w in (c.word, c.words) if w}
    assert set(METHODS) == set(KINDS)
    assert {s.suffix for s in STAGES} <= {*SUFFIXES, ".txt"}


@pytest.mark.parametrize("line", EXCLUDED, ids=lambda line: line.options)
def test_options_that_exclude_each_other(line: Excluded, capsys: pytest.CaptureFixture[str]) -> None:
    def words(option: str) -> list[str]:
        flag, _, value = option.partition(" ")
        found = next(o for o in OPTIONS.values() if flag in o.names)
        return [flag, *([value or str((*found.choices, "f.svg")[0])] if found.value else [])]

    for one, other in itertools.product(line.options.split(", "), line.others.split(", ")):
        command = {"--product": ["inverse"], "--watch": ["check"]}.get(one, [])
        assert main([*command, "-e", "x: f64; y = x", *words(one), *words(other)]) == 2
        assert f"`{one}` does not go with `{other}`" in capsys.readouterr().err


@pytest.mark.parametrize("name", COMMANDS)
def test_the_help_of_a_command(capsys: pytest.CaptureFixture[str], name: str) -> None:
    text = said(capsys, name, "-h")
    assert text.startswith(f"tadc {name}")
    assert COMMANDS[name].example in text
    assert max(map(len, text.splitlines())) <= 100
    assert COMMANDS[name].about in said(capsys, "help")


def completed(line: str, folder: Path) -> set[str]:
    """What bash offers for the last word of a line, by the function of the script."""
    words = line.split(" ")
    script = f"""{bash()}
COMP_WORDS=({" ".join(f"'{word}'" for word in words)}); COMP_CWORD={len(words) - 1}
_tadc; printf '%s\\n' "${{COMPREPLY[@]}}" """
    found = subprocess.run(["bash", "-c", script], cwd=folder, capture_output=True, text=True, check=True)
    assert found.stderr == ""
    return set(found.stdout.split("\n")) - {""}


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash")
def test_bash_completes(tmp_path: Path) -> None:
    for name in ("my f.tad", "x.npy", "notes.txt"):
        (tmp_path / name).touch()
    (tmp_path / "sub").mkdir()
    assert {"run", "diff", "my f.tad", "sub"} <= completed("tadc ", tmp_path)
    assert completed("tadc r", tmp_path) == {"run"}
    assert completed("tadc run --m", tmp_path) == {"--mode", "--materialize", "--memory-limit"}
    assert completed("tadc --pl", tmp_path) == {"--plot"}
    assert completed("tadc f.tad --emit a", tmp_path) == {"ast", "asm"}
    assert completed("tadc f.tad --emit = cu", tmp_path) == {"cubin"}
    assert completed("tadc emit ll", tmp_path) == {"llvm", "llvm-dialect"}
    assert completed("tadc run ", tmp_path) == {"my f.tad", "x.npy", "sub"}
    assert completed("tadc f.tad --dump-dir ", tmp_path) == {"sub"}
    assert completed("tadc explain TAD030", tmp_path) >= {"TAD0302", "TAD0303"}


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_scripts(capsys: pytest.CaptureFixture[str], shell: str) -> None:
    script = said(capsys, "completion", shell)
    assert "certificate" in script
    assert "llvm-dialect" in script
    if path := shutil.which(shell):
        subprocess.run([path, "-n"], input=script, text=True, check=True)


def test_arrays_that_no_memory_holds(
    file: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def too_much(*_: object) -> None:
        raise MemoryError("Unable to allocate 745. GiB")

    monkeypatch.setattr("tadc.commands.main.execute", too_much)
    assert main(["gradcheck", file]) == 1
    assert "error[TAD0506]: too little memory: Unable to allocate 745. GiB" in capsys.readouterr().err
