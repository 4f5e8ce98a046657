"""Certificates as text for people, and as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from tadc.certificates.records import ReadRecord, Records, Unsolved
from tadc.certificates.text_blocks import (
    WIDTH,
    Block,
    beside,
    conditions,
    in_rows,
    loop_lines,
    loop_text,
    matrix_block,
    paragraph,
    rule,
    step_text,
    vector_block,
    wrapped,
)
from tadc.frontend.print_index import condition_text, conditions_text, form_text
from tadc.lattice.affine import Affine, Constraint, Floor, Lookup
from tadc.lattice.bounds import EliminationLimit
from tadc.lattice.certificate import Certificate
from tadc.lattice.loop_nests import LoopNest

_INDENT = "    "

PRINTED = "<program>"
"""The name of a source that had to be printed first."""


def all_text(found: Records) -> str:
    """The certificates of a program, a part for each read."""
    lines = [_summary(found)]
    if found.source.name == PRINTED:
        lines += ["", "the program:", *(f"  {line}".rstrip() for line in found.source.text.splitlines())]
    for title, entries in (
        ("conditions on sizes", found.conditions),
        ("compiled per value of", found.per_value),
        ("kept of recurrences", found.windows),
    ):
        if entries:
            lines += ["", f"{title}:", *(f"  {entry}" for entry in entries)]
    checks = [check for read in found.reads for check in read.checks]
    failed = {check.what for check in checks if not check.holds}
    holding = [what for what in dict.fromkeys(_order(found)) if what not in failed]
    if holding:
        lines += ["", "checked exactly, for every read:", *(f"  {what}" for what in holding)]
    if found.others:
        lines += ["", "nothing to solve:"]
    for read in found.others:
        first, *rest = paragraph(f"{read.text}: {read.reason}", "  ")
        lines += [f"  {_place(found, read)}: {first.lstrip()}", *rest]
    for read in found.reads:
        element = _element(read.gradient, read.element)
        first, *rest = paragraph(f"{read.text} into {element}", "   ")
        title = f"{_place(found, read)}: {first.lstrip()}"
        lines += ["", *([rule(title)] if not rest else [f"-- {title}", *rest])]
        lines.append(read_text(read))
    return "\n".join(lines)


def _place(found: Records, read: Unsolved | ReadRecord) -> str:
    """Where a read stands; no line is broken for a long path, so that tools and tests find it."""
    return f"{found.source.name}:{read.line}:{read.column}"


def _order(found: Records) -> list[str]:
    """What has been checked of the read with the most checks, then of the others."""
    reads = sorted(found.reads, key=lambda read: -len(read.checks))
    return [check.what for read in reads for check in read.checks]


def _summary(found: Records) -> str:
    count = len(found.reads)
    if not count:
        return f"certificate of the gradients by {', '.join(found.wrt)}: 0, for no read carries a cotangent"
    open_ones = sum(not check.holds for read in found.reads for check in read.checks)
    proven = f"{open_ones} of their checks not proven" if open_ones else "proven exact"
    reads = "1 read" if count == 1 else f"{count} reads"
    return f"certificate of the gradients by {', '.join(found.wrt)}: {reads}, {proven}"


def _element(name: str, indices: Sequence[str]) -> str:
    return f"{name}[{', '.join(indices)}]" if indices else name


def read_text(read: ReadRecord) -> str:
    """The certificate of one read, without its title."""
    lines = list(_scope(read))
    proof = read.proof
    if proof is None:
        text = "It is proven that no point of this domain reads an element: the read adds nothing."
        return "\n".join([*lines, "", *paragraph(text, "  ")])
    if proof.matrix:
        for part in (_equalities, _steps, _smith, _solutions):
            lines += ["", *part(proof)]
    lines += ["", *_result(proof), "", *_why(read, proof)]
    return "\n".join(lines)


def _labelled(label: str, entries: Sequence[str], indent: int = 20) -> Block:
    wide = any(indent + len(entry) >= WIDTH for entry in entries)
    margin = " " * indent
    lines = paragraph(", ".join(entries), margin) if wide else wrapped(list(entries) or ["none"], margin)
    return [f"  {label}".ljust(indent) + lines[0].lstrip(), *lines[1:]]


def _scope(read: ReadRecord) -> Iterator[str]:
    what = f"({', '.join(read.indices)})" if read.indices else "one point"
    rows = conditions(read.scope)
    yield from _labelled("iteration domain", [f"{what} with {rows[0]}", *rows[1:]] if rows else [what])
    maps = [f"{b} = {form_text(form)}" for b, form in zip(read.element, read.access, strict=True)]
    yield from _labelled("access map", maps or ["the one element, from every point"])
    if read.counted:
        yield from _labelled("counts where", conditions(read.counted))
    if read.outside:
        left = [f"it adds 0 where {conditions_text(rows)}" for rows in read.outside]
        yield from _labelled("left to the body", left)


def _equalities(c: Certificate) -> Iterator[str]:
    yield f"  equalities, A p = e(b) with p = ({', '.join(c.trace.unknowns)})"
    block = beside([matrix_block(c.matrix), " p = ", vector_block([form_text(e) for e in c.right_side])])
    rows = [row for row in c.rows if row.equality]
    own = {name for row in c.facts for name in row.form.variables}
    for line, row in zip(block, rows, strict=True):
        label = "access map" if row.form.variables & own else "condition"
        yield f"{_INDENT}{line}    {label}: {condition_text(row)}"
    for atom, name in c.trace.atoms.items():
        yield f"{_INDENT}{name} stands for {_atom_text(atom)}"


def _atom_text(atom: Floor | Lookup) -> str:
    if isinstance(atom, Lookup):
        return f"{atom}: 0 <= {atom} < {form_text(atom.below)}"
    form, rest, c = form_text(Affine.atom(atom)), form_text(atom.numerator), atom.denominator
    return f"{form}, the one integer q with {c}*q <= {rest} <= {c}*q + {c - 1}"


def _steps(c: Certificate) -> Iterator[str]:
    yield "  how the compiler solves them"
    linear = c.trace.steps[: c.trace.linear]
    yield from _numbered([step_text(step) for step in linear], 1)


def _numbered(texts: Sequence[str], first: int) -> Iterator[str]:
    for number, text in enumerate(texts, first):
        head, *rest = paragraph(text, _INDENT + "   ")
        yield f"{_INDENT}{number}. {head.lstrip()}"
        yield from rest


def _smith(c: Certificate) -> Iterator[str]:
    yield "  Smith normal form, S = U A V"
    form = c.smith
    parts = [
        beside([f"{name} = ", matrix_block(matrix)])
        for name, matrix in (("S", form.diagonal), ("U", form.left), ("V", form.right))
    ]
    yield from (_INDENT + line for line in in_rows(parts))


def _solutions(c: Certificate) -> Iterator[str]:
    free = c.trace.free
    names = ", ".join(free)
    particular = c.smith.pseudo_inverse
    as_product = c.offset_is_product
    first = "I e(b)" if as_product else "p0(b)"
    yield f"  solutions, p = {first} + K z with z = ({names})" if free else f"  the solution, p = {first}"
    parts: list[Block | str] = [vector_block(c.trace.unknowns), " = "]
    if as_product:
        e = vector_block([form_text(e) for e in c.right_side])
        parts += [matrix_block(particular), " ", e]
    else:
        parts.append(vector_block([form_text(x) for x in c.offset]))
    if free:
        parts += [" + ", matrix_block(c.kernel), " ", vector_block(free)]
    yield from (_INDENT + line for line in beside(parts))


def _result(c: Certificate) -> Iterator[str]:
    solution, trace = c.solution, c.trace
    later = trace.steps[trace.linear :]
    if later:
        yield "  what the inequalities add"
        yield from _numbered([step_text(step) for step in later], trace.linear + 1)
        values = [f"{name} = {form_text(form)}" for name, form in solution.substitution.items()]
        yield from _labelled("so", values)
        yield ""
    yield from _labelled("guards on b", [condition_text(row) for row in solution.guards])
    if solution.kernel:
        yield from _labelled("domain of z", conditions(solution.domain))
    nest = loops_of(c)
    if nest is None:
        yield from _labelled("loops", ["too many bounds: the compiler tests rows inside"])
        return
    loops = [line for level in nest.levels for line in loop_lines(level, 20)] or ["none: one point"]
    yield f"  loops             {loops[0]}"
    yield from (" " * 20 + line for line in loops[1:])
    tested = [row for row in nest.inside if not row.form.has_lookups]
    if tested:
        yield from _labelled("tested inside", [condition_text(row) for row in tested])
    yield from _fibres(c, [row for row in nest.inside if row not in tested])


def _fibres(c: Certificate, asked: Sequence[Constraint]) -> Iterator[str]:
    """Which index arrays are read, and how what is asked of their elements is found."""
    own = set(c.solution.kernel)
    values = ((name, c.solution.atoms[atom]) for atom, name in c.trace.atoms.items())
    read = [f"{name} = {form_text(value)}" for name, value in values if value.has_lookups]
    if read:
        yield from _labelled("read", read)
    names = dict.fromkeys(
        lookup.array for row in asked for lookup in row.form.lookups() if not own.isdisjoint(lookup.variables)
    )
    if names:
        yield from _labelled("by fibres", [condition_text(row) for row in asked])
        text = (
            f"A fibre of {', '.join(names)} has places in order of value, from a pointer up to the "
            "next. These are all the places where the values are as asked, each once, since the places are a "
            "permutation, along which the values do not fall, and the pointers count them: the inspector of "
            "each array tests that in linear time."
        )
        yield from ("  " + line for line in paragraph(text, ""))


def loops_of(c: Certificate) -> LoopNest | None:
    """The loops, where elimination gives them."""
    try:
        return c.nest
    except EliminationLimit:
        return None


def _why(read: ReadRecord, c: Certificate) -> Iterator[str]:
    yield f"  why {_element(read.gradient, read.element)} gets each contribution once"
    if c.matrix:
        text = (
            "All: det U and det V are 1 or -1, so p = V y maps integer vectors one to one onto integer "
            "vectors, and A p = e(b) is S y = U e(b):"
        )
        yield from paragraph(text, _INDENT)
        yield from (f"{_INDENT}  {line}" for line in _rows_of_smith(c))
    else:
        text = "All: no equality ties the indices, so every point of the domain counts."
        yield from paragraph(text, _INDENT)
    yield from paragraph(_once(c), _INDENT)
    text = (
        "No others: the rows of the iteration domain, with p put in, are guards where no z is left in "
        "them, and else bounds of the innermost loop in them."
    )
    yield from paragraph(text, _INDENT)
    missing = [check.what for check in read.checks if not check.holds]
    if missing:
        yield from wrapped([f"Not proven: {missing[0]}", *missing[1:]], _INDENT, "; ")


def _rows_of_smith(c: Certificate) -> Iterator[str]:
    form = c.smith
    for i, moved in enumerate(c.moved):
        right = form_text(moved)
        if i >= form.rank:
            yield f"0 = {right}: a guard" if moved.terms or moved.constant else "0 = 0"
        elif form.factors[i] == 1:
            yield f"y{i} = {right}"
        else:
            s = form.factors[i]
            yield f"{s}*y{i} = {right}: an integer y{i} exists where {s} divides that, a guard"
    if c.trace.free:
        free = ", ".join(f"y{form.rank + j} = {z}" for j, z in enumerate(c.trace.free))
        yield f"{free}: free"


def _once(c: Certificate) -> str:
    if not c.trace.free:
        return "Once: nothing is free, at most one p is left."
    if not c.matrix:
        return "Once: the loops run over the indices themselves."
    columns = "column" if len(c.trace.free) == 1 else f"{len(c.trace.free)} columns"
    return f"Once: K is the last {columns} of V, so A K = 0, and no two z give one p."


def as_json(found: Records) -> str:
    """The certificates as JSON: forms as text, matrices as lists."""
    made: dict[str, Any] = {
        "source": found.source.name,
        "wrt": list(found.wrt),
        "conditions_on_sizes": list(found.conditions),
        "compiled_per_value_of": list(found.per_value),
        "kept_of_recurrences": list(found.windows),
        "reads": [_read_json(read) for read in found.reads],
    }
    return json.dumps(made, indent=1)


def _read_json(read: ReadRecord) -> dict[str, Any]:
    made: dict[str, Any] = {
        "tensor": read.tensor,
        "gradient": read.gradient,
        "text": read.text,
        "line": read.line,
        "column": read.column,
        "element": list(read.element),
        "indices": list(read.indices),
        "iteration_domain": [str(row) for row in read.scope],
        "counts_where": [str(row) for row in read.counted],
        "zero_where": [[str(row) for row in rows] for rows in read.outside],
        "access_map": [str(form) for form in read.access],
        "checks": {check.what: check.holds for check in read.checks},
    }
    return made | (_proof_json(read.proof) if read.proof else {"is_empty": True})


def _proof_json(c: Certificate) -> dict[str, Any]:
    nest = loops_of(c)
    return {
        "unknowns": list(c.trace.unknowns),
        "A": c.matrix,
        "e": [str(e) for e in c.right_side],
        "floors": {name: str(atom) for atom, name in c.trace.atoms.items()},
        "steps": [step_text(step) for step in c.trace.steps],
        "S": c.smith.diagonal,
        "U": c.smith.left,
        "V": c.smith.right,
        "K": c.kernel,
        "p0": [str(x) for x in c.offset],
        "z": list(c.trace.free),
        "guards": [str(row) for row in c.solution.guards],
        "solution": {name: str(form) for name, form in c.solution.substitution.items()},
        "loop_variables": list(c.solution.kernel),
        "domain": [str(row) for row in c.solution.domain],
        "loops": None if nest is None else [loop_text(level) for level in nest.levels],
    }
