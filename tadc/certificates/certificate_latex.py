"""Certificates in LaTeX: for each read the integer solutions, and where they lie."""

from __future__ import annotations

from collections.abc import Sequence

from tadc.certificates.records import ReadRecord, Records
from tadc.certificates.text_blocks import conditions
from tadc.frontend.latex import LATEX_FORMS, form_latex, name_latex
from tadc.lattice.affine import Affine


def certificates_latex(found: Records) -> str:
    """The reads of a program as a `gathered`, below each other; nothing for none."""
    if not found.reads:
        return ""
    return "\\begin{gathered}\n" + " \\\\\n".join(map(_read, found.reads)) + "\n\\end{gathered}"


def _read(read: ReadRecord) -> str:
    """The points that read an element: all integer solutions of the equations, in the iteration domain."""
    element = ", ".join(map(name_latex, read.element))
    access = ", ".join(form_latex(form) for form in read.access)
    equations = rf"({access}) = ({element})" if read.element else r"\text{the one element}"
    head = rf"{name_latex(read.gradient)}\colon\; {equations}"
    proof = read.proof
    if proof is None:
        return rf"{head} \text{{ at no point of the domain}}"
    if not proof.matrix:
        return rf"{head} \text{{ at every point}}"
    trace = proof.trace
    solution = rf"{_column(trace.unknowns)} = {_forms(proof.general)}"
    domain = r",\; ".join(conditions(read.scope, LATEX_FORMS))
    free = rf" \text{{ for }} {', '.join(map(name_latex, trace.free))} \in \mathbb{{Z}}" if trace.free else ""
    return rf"{head} \iff {solution}{free}" + (rf" \text{{ with }} {domain}" if domain else "")


def _column(names: Sequence[str]) -> str:
    return _matrix([name_latex(name) for name in names])


def _forms(forms: Sequence[Affine]) -> str:
    return _matrix([form_latex(form) for form in forms])


def _matrix(rows: Sequence[str]) -> str:
    return r"\begin{pmatrix} " + r" \\ ".join(rows) + r" \end{pmatrix}"
