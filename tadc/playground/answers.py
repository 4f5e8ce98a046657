"""What a page shows of a text: errors, the checked program, gradients, LaTeX, counts, a certificate, a header
of C, pictures, and kernels to run. Each answer is JSON, of one question: a page asks for what it shows.
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping
from itertools import product
from typing import TYPE_CHECKING, Any

from tadc.compiler.all_stages import compile_until
from tadc.compiler.compile_options import Options
from tadc.compiler.derive import derive
from tadc.compiler.stages import Compilation
from tadc.frontend.diagnostics import CompileError, Diagnostic
from tadc.frontend.extents import as_form, shape_at, type_text
from tadc.frontend.latex import program_latex
from tadc.frontend.per_value import PerValue, read_program
from tadc.frontend.printer import print_program, size_conditions_text
from tadc.frontend.program import Program
from tadc.frontend.render import render, render_json
from tadc.frontend.source import Source
from tadc.frontend.specialise import specialised
from tadc.frontend.token_classes import classified
from tadc.lattice.late_dataclasses import dataclass
from tadc.playground.wasm_kernels import NotRun, Placed, wasm_kernel

if TYPE_CHECKING:
    from tadc.backend.runtime.interface import Interface

#: Values that sizes get where nobody chose any, the first that fit.
_SIZES = (12, 5, 8, 4, 3, 6, 2, 1, 16, 24)
#: So many choices of sizes are tried.
_TRIES = 300

Sizes = Mapping[str, int]


@dataclass(frozen=True)
class _HeaderPart:
    """A function of a header."""

    name: str
    about: str
    interface: Interface


@dataclass(frozen=True)
class _HeaderUnit:
    """What a header is of."""

    prefix: str
    parts: tuple[_HeaderPart, ...]
    threads: str = "none"


class Answers:
    """Answers about a text, the last of which is known."""

    def __init__(self) -> None:
        self._text: str | None = None
        self._found: Program | PerValue | CompileError | None = None

    def answer(self, question: str, text: str, sizes: str = "{}") -> str:
        """The answer to a question, which is the name of a method, as JSON: `errors` has what is wrong."""
        found: dict[str, Any] = {}
        try:
            found = getattr(self, question)(text, json.loads(sizes))
        except CompileError as error:
            found = {"errors": _diagnostics(error.diagnostics, text)}
        except NotRun as reason:
            found = {"errors": [{"severity": "error", "code": None, "rendered": str(reason)}]}
        return json.dumps(found)

    # -- the program ---------------------------------------------------------------------------

    def _read(self, text: str) -> Program | PerValue:
        if text != self._text:
            self._text = text
            try:
                self._found = read_program(Source(text, "program.tad"))
            except CompileError as error:
                self._found = error
        if isinstance(self._found, CompileError):
            raise self._found
        assert self._found is not None
        return self._found

    def _program(self, text: str) -> Program:
        found = self._read(text)
        return found.example if isinstance(found, PerValue) else found

    def _at(self, text: str, sizes: Sizes) -> Program:
        """The program at sizes, or at some that fit where not all are chosen.

        Raises CompileError where it has no meaning there.
        """
        names = self._symbols(text)
        if not all(name in sizes for name in names):
            sizes = self._sizes(text, names)
        found = self._read(text)
        if isinstance(found, PerValue):
            program = found.at({name: sizes[name] for name in found.symbols})
        else:
            program = found
        return specialised(program, {name: sizes[name] for name in program.sizes})

    # -- questions -----------------------------------------------------------------------------

    def check(self, text: str, sizes: Sizes) -> dict[str, Any]:
        """The classes of words, what is wrong, the checked program, its arguments, and sizes that fit."""
        found: dict[str, Any] = {"words": [list(word) for word in classified(text)]}
        try:
            program = self._read(text)
        except CompileError as error:
            return {**found, "errors": _diagnostics(error.diagnostics, text)}
        example = program.example if isinstance(program, PerValue) else program
        shown = program.text() if isinstance(program, PerValue) else print_program(program)
        names = self._symbols(text)
        chosen = {name: sizes[name] for name in names if name in sizes}
        return {
            **found,
            "errors": _diagnostics(example.doubts, text),
            "text": size_conditions_text(example) + shown,
            "arguments": [_argument_text(a) for a in example.arguments],
            "sizes": chosen if len(chosen) == len(names) else self._sizes(text, names),
        }

    def warm(self, text: str, sizes: Sizes) -> dict[str, Any]:
        """Nothing: all that answers need is imported, and has run once."""
        chosen = self.check(text, sizes)["sizes"]
        for question in (self.gradient, self.kernel):
            question(text, chosen)
        return {}

    def gradient(self, text: str, sizes: Sizes) -> dict[str, Any]:
        """The program of the gradients by all arguments."""
        return {"text": print_program(derive(_with_arguments(self._program(text)), "vjp"))}

    def latex(self, text: str, sizes: Sizes) -> dict[str, Any]:
        """The program and its gradients as LaTeX."""
        program = self._program(text)
        shown = [program_latex(program)]
        if program.differentiable():
            shown.append(program_latex(derive(program, "vjp")))
        return {"formulas": shown}

    def counts(self, text: str, sizes: Sizes) -> dict[str, Any]:
        """Operations and bytes of the program as written, as compiled, and with gradients, at these sizes."""
        from tadc.passes.derivatives.cancel import cancel_program
        from tadc.passes.derivatives.fibres import with_fibres
        from tadc.passes.terms.operation_counts import count_program

        program = self._at(text, sizes)
        written = with_fibres(cancel_program(program)) if program.index_arrays() else program
        counted = {"as written": written, "value": hoisted(program, "value")}
        if program.differentiable():
            counted["with gradients"] = hoisted(program, "value-and-vjp")
        works = {name: count_program(form) for name, form in counted.items()}
        rows = [
            [title, *(("" if work.exact else "≤ ") + f"{getattr(work, field):,}" for work in works.values())]
            for title, field in (
                ("operations, weighted", "weighted"),
                ("operations", "operations"),
                ("bytes loaded", "loaded"),
                ("bytes stored", "stored"),
            )
        ]
        return {"columns": list(works), "rows": rows}

    def certificate(self, text: str, sizes: Sizes) -> dict[str, Any]:
        """Why each gradient gathers every contribution once."""
        from tadc.certificates.certify import certify

        found = self._read(text)
        symbols = found.symbols if isinstance(found, PerValue) else ()
        program = _with_arguments(self._program(text))
        return {"text": str(certify(program, per_value=symbols, windows=False))}

    def header(self, text: str, sizes: Sizes) -> dict[str, Any]:
        """The header of C that `tadc emit h` writes."""
        from tadc.backend.runtime.interface import Interface
        from tadc.compiler.kernel_interface import parameters_of
        from tadc.frontend.packages import VERSION
        from tadc.native.header import header_text

        program = self._program(text)
        prefix = f"tad_{program.outputs[0].name}"
        parts = [("", "the value", program)]
        if program.differentiable():
            parts.append(("_vjp", "gradients from cotangents", derive(program, "vjp")))

        def part(suffix: str, about: str, form: Program) -> _HeaderPart:
            inputs, outputs = parameters_of(form)
            interface = Interface(
                prefix + suffix, inputs, outputs, (), form.sizes, form.excluded, tuple(form.given)
            )
            return _HeaderPart(prefix + suffix, about, interface)

        unit = _HeaderUnit(prefix, tuple(part(*each) for each in parts))
        return {"text": header_text(unit, VERSION)}

    def picture(self, text: str, sizes: Sizes) -> dict[str, Any]:
        """Pictures of reads at these sizes: the domain, and what elements of the gradient gather."""
        from tadc.certificates.certify import certify
        from tadc.playground.domain_pictures import domain_pictures

        program = _with_arguments(self._at(text, sizes))
        pictures, missing = domain_pictures(certify(program, windows=False))
        return {"pictures": pictures, "missing": missing}

    def kernel(self, text: str, sizes: Sizes) -> dict[str, Any]:
        """A kernel for the value and gradients at these sizes, of the value alone where there are none."""
        program = self._at(text, sizes)
        mode = "value-and-vjp" if program.differentiable() else "value"
        form = derive(program, mode) if program.index_arrays() else hoisted(program, mode)
        made = wasm_kernel(form)
        about = {a.name: a for a in form.arguments}
        cotangents = {a.name: a.cotangent_of for a in form.arguments if a.cotangent_of}
        gradients = {d.name: d.gradient_of for d in form.outputs if d.gradient_of}

        def input(place: Placed) -> dict[str, Any]:
            argument = about[place.name]
            below = None if argument.below is None else as_form(argument.below).evaluate({})
            return {
                **_placed(place), "below": below, "increasing": argument.increasing,
                "cotangent": cotangents.get(place.name),
            }  # fmt: skip

        return {
            "code": b64encode(made.code).decode(),
            "inputs": [input(place) for place in made.inputs],
            "outputs": [{**_placed(p), "gradient": gradients.get(p.name)} for p in made.outputs],
        }

    # -- sizes ---------------------------------------------------------------------------------

    def _symbols(self, text: str) -> list[str]:
        found = self._read(text)
        if isinstance(found, PerValue):
            return [*found.symbols, *(name for name in found.example.sizes if name not in found.symbols)]
        return list(found.sizes)

    def _sizes(self, text: str, names: list[str]) -> dict[str, int]:
        """Sizes that the program has a meaning for, each another one where that can be."""
        for values, _ in zip(_choices(len(names)), range(_TRIES), strict=False):
            sizes = dict(zip(names, values, strict=True))
            try:
                program = self._at(text, sizes)
            except CompileError:
                continue
            if all(min(shape_at(t.shape, {}), default=1) for t in (*program.arguments, *program.definitions)):
                return sizes
        return dict.fromkeys(names, 8)


def _choices(count: int) -> Iterator[tuple[int, ...]]:
    """Values of so many sizes: different ones, the same, any."""
    cycle = [_SIZES[n % 5] for n in range(count)]
    yield tuple(cycle)
    yield tuple(reversed(cycle))
    yield (8,) * count
    yield from product(_SIZES, repeat=count)


def _with_arguments(program: Program) -> Program:
    """The program. Raises CompileError where there is nothing to differentiate by."""
    if not program.differentiable():
        raise CompileError([Diagnostic("TAD0401", "no argument to differentiate by", source=program.source)])
    return program


def hoisted(program: Program, mode: str) -> Program:
    """The program that goes to the code generator, before maps are fused."""
    wrt = tuple(program.differentiable()) if mode != "value" else None
    state = Compilation(Options(mode, wrt), program.source, program=program)
    compile_until(state, "hoist", first="tad")
    assert state.form is not None
    return state.form


def _argument_text(argument: Any) -> str:
    text = type_text(argument.type, argument.shape, argument.below, increasing=argument.increasing)
    return f"{argument.name}: {text}"


def _placed(place: Placed) -> dict[str, Any]:
    return {"name": place.name, "type": place.type, "shape": list(place.shape), "address": place.address}


def _diagnostics(diagnostics: Any, text: str) -> list[dict[str, Any]]:
    """Diagnostics as data, each with the text that the command prints; those of the text come with places."""
    return [{**render_json(d), "rendered": render(d)} for d in diagnostics]


ANSWERS: Callable[..., str] = Answers().answer
"""What a page calls."""
