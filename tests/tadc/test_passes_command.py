"""Passes from the command and from Python: what is said of them, plug-ins, and what a text expects."""

import re
from pathlib import Path

import pytest

import tadc
from tadc.cli import main
from tadc.commands.expected import differences, expected_of
from tadc.commands.split_file import pieces_of
from tadc.dialect.mlir import ir
from tadc.frontend.diagnostics import Diagnostic, Label
from tadc.frontend.source import Source, Span
from tadc.passes.catalogue import REGISTRY

PROGRAM = ["-e", "x: f64[3]; f[i] = 2 * x[i]"]


def run(capsys: pytest.CaptureFixture[str], *argv: str) -> tuple[int, str, str]:
    code = main(list(argv))
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def module_of(text: str) -> ir.Module:
    context = ir.Context()
    tadc.load_dialect(context)
    module = ir.Module.create(ir.Location.unknown(context))
    tadc.build(tadc.function(text), module)
    return module


def test_both_forms_read_back_as_the_same() -> None:
    module = module_of("x: f64[3]; f[i: 2] = sum{j: 2} (x[i + j])")
    readable, generic = tadc.text(module), tadc.text(module, generic=True)
    assert "tad.read %x[%i + %j] : tensor<3xf64>" in readable
    assert '"tad.read"(%x, %i, %j)' in generic
    assert '"func.func"()' in generic
    context = ir.Context()
    tadc.load_dialect(context)
    # Any reader of MLIR takes the generic form.
    assert tadc.text(ir.Module.parse(generic, context)).count("tad.read") == 1


def test_generic_form_of_every_dump(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    code, out, err = run(
        capsys, *PROGRAM, "--generic", "--emit", "opt", "--wrt", "x", "--dump-dir", str(tmp_path / "d"),
        "--print-ir-after-all",
    )  # fmt: skip
    assert code == 0
    dumped = (tmp_path / "d" / "02-tad.mlir").read_text()
    assert all('"tad.map"' in text for text in (out, err, dumped))
    code, out, _ = run(capsys, *PROGRAM, "--emit", "opt")
    assert (code, '"tad.map"' in out) == (0, False)


def test_print_ir_is_of_the_passes_that_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    _, _, err = run(capsys, *PROGRAM, "--emit", "loops", "--print-ir-before", "canonicalize")
    assert err.count("IR Dump") == 1
    assert "IR Dump Before CanonicalizerPass: canonicalize" in err
    _, _, err = run(
        capsys,
        *PROGRAM,
        "--emit",
        "loops",
        "--print-ir-after=canonicalize,tad-simplify",
        "--print-ir-after=cse",
    )
    assert err.count("IR Dump After") == err.count("IR Dump") == 3


def test_print_ir_after_change_is_of_passes_that_are_printed_before_too(
    capsys: pytest.CaptureFixture[str],
) -> None:
    arguments = "passes", "cse,tad-simplify", *PROGRAM, "--print-ir-before=cse", "--print-ir-after-change"
    _, _, err = run(capsys, *arguments)
    assert re.findall("IR Dump .*? CSE", err) == ["IR Dump Before CSE"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("import tadc_is_not_a_module_here", "ModuleNotFoundError"),
        ("x = (", "SyntaxError"),
        ("x = 1", "registers no pass"),
        ("raise SystemExit(0)", "SystemExit"),
        ("import tadc\n@tadc.register_pass('My pass', '')\nclass P(tadc.Pass): ...", "no name of a pass"),
        (
            "import tadc\n@tadc.register_pass('tad-cut', '')\nclass P(tadc.Pass): ...",
            "a pass of tadc already",
        ),
        ("import tadc\n@tadc.register_pass('cse', '')\nclass P(tadc.Pass): ...", "a pass of MLIR already"),
        ("import tadc\n@tadc.register_pass('p', '')\nclass P: ...", "not a subclass of `Pass`"),
        (
            "import tadc, dataclasses\n@tadc.register_pass('p', '')\n@dataclasses.dataclass\n"
            "class P(tadc.Pass):\n    x: float = 1.0",
            "option `x` of `p` is not of type",
        ),
    ],
)
def test_a_wrong_plug_in(capsys: pytest.CaptureFixture[str], tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "plug.py"
    file.write_text(text)
    before = dict(REGISTRY)
    code, out, err = run(capsys, *PROGRAM, "--load", str(file))
    assert (code, out) == (1, "")
    assert "error[TAD0608]" in err
    assert said in err
    assert "Traceback" not in err
    assert before == REGISTRY


BODIES = {
    "raise KeyError('key')": "KeyError: 'key' (at ",
    "raise tadc.embed.UnsupportedIR('not so', module.location)": "mine: not so",
    "del module.regions[0].blocks[0].operations[0].attributes['sym_name']": "sym_name",
    "super().run(module)": "NotImplementedError",
}


@pytest.mark.parametrize("body", BODIES)
def test_a_pass_of_ones_own_that_fails(capsys: pytest.CaptureFixture[str], tmp_path: Path, body: str) -> None:
    file = tmp_path / "plug.py"
    file.write_text(
        "import tadc, tadc.embed\n@tadc.register_pass('mine', 'nothing')\nclass Mine(tadc.Pass):\n"
        f"    def run(self, module):\n        {body}\n"
    )
    code, out, err = run(capsys, *PROGRAM, "--load", str(file), "--passes", "mine")
    assert (code, out) == (1, "")
    assert "error[TAD0605]" in err
    assert BODIES[body] in err
    assert "mine" not in REGISTRY


def test_a_pass_of_ones_own_in_python() -> None:
    seen: list[str] = []

    @tadc.register_pass("see-functions", "nothing has changed")
    class See(tadc.Pass):
        def run(self, module: ir.Operation) -> None:
            seen.extend(str(op.attributes["sym_name"]) for op in module.regions[0].blocks[0].operations)

    try:
        tadc.run_passes(module_of("x: f64[3]; f[i] = x[i]"), "tad-reverse-diff,see-functions,canonicalize")
    finally:
        del REGISTRY[See.argument]
    assert seen == ['"f_vjp"']


def test_where_a_diagnostic_is_expected() -> None:
    lines = [
        "a  // expected-error {{one}}",
        "// expected-warning @+2 {{two}}",
        "// expected-note@below {{three}}",
        "b",
        "// expected-error-re@above {{a{{[0-9]+}}.}}",
        "// expected-error@-2 {{five}}",
        "// expected-error@unknown {{six}}",
        "// expected-error without braces",
    ]
    found = expected_of(Source("\n".join(lines)))
    assert [(e.severity, e.line) for e in found] == [
        ("error", 1), ("warning", 4), ("note", 4), ("error", 4), ("error", 4), ("error", 0),
    ]  # fmt: skip
    assert found[3].matches("error", 4, ["see a12."])
    assert not found[3].matches("error", 4, ["see a12,"])


def test_each_diagnostic_is_expected_once() -> None:
    source = Source("x  // expected-error {{wrong}}\ny\n")

    def wrong(line: int) -> Diagnostic:
        return Diagnostic(
            "TAD0204", "what is wrong", Label(Span(0, 1) if line == 1 else Span(31, 32)), source=source
        )

    assert differences([wrong(1)], source) == []
    assert [d.message for d in differences([], source)] == ['expected error "wrong" was not produced']
    assert len(differences([wrong(1), wrong(1)], source)) == 1
    assert len(differences([wrong(2)], source)) == 2


def test_pieces_keep_their_lines() -> None:
    source = Source("a\n// -----\nb\nc\n//-----x\n# -----\nd", "f.mlir")
    found = pieces_of(source)
    assert [piece.text.strip() for piece in found] == ["a", "b\nc\n//-----x", "d"]
    assert all(piece.line(n).strip() == text for piece, n, text in zip(found, (1, 3, 7), "abd", strict=True))


def test_list_of_passes_and_their_options(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run(capsys, "--list", "passes")
    lines = [line.split() for line in out.splitlines()]
    for item in REGISTRY.values():
        assert [item.argument, *item.description.split()] in lines
    limit = next(words for words in lines if words[0] == "limit")
    assert limit[:8] == "limit number = -1 maximum bytes of a".split()


def test_passes_by_name(capsys: pytest.CaptureFixture[str]) -> None:
    assert [
        line.split()[0] for line in run(capsys, "list", "passes", "tad-cut", "tad-simplify")[1].splitlines()
    ] == [
        "tad-cut",
        "gpu",
        "limit",
        "tad-simplify",
    ]
    assert "did you mean `tad-cut`?" in run(capsys, "list", "passes", "tad-cuts")[2]
    assert run(capsys, "list", "stages", "tad")[0] == 2


def test_small_mistakes(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, *PROGRAM, "--emit", "tad", "--print-ir-after", "tad-to-gpu")
    assert (code, err) == (0, "note: pass `tad-to-gpu` did not run, so there is no IR to print around it\n")
    assert "tad.map" in out
    assert "no pass has the name" in run(capsys, *PROGRAM, "--print-ir-after=")[2]
    assert "`--generic` is a form of IR" in run(capsys, *PROGRAM, "--generic")[2]
    wrong = "x: f64 # expected-error-re {{a{{(}}}}\nf = x"
    assert "no regular expression" in run(capsys, "-e", wrong, "--verify-diagnostics")[2]
    assert run(capsys, "-e", "x: f64; f = x\n# -----\n\n", "--split-input-file")[:2] == (
        0,
        "x: f64\nf: f64\n\nf = x\n",
    )


def test_passes_are_timed(capsys: pytest.CaptureFixture[str]) -> None:
    assert "\npasses " in run(capsys, *PROGRAM, "--passes", "tad-simplify", "--time")[2]
