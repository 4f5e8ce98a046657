"""Programs for given values of their size symbols."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from tadc.frontend.checker import check
from tadc.frontend.diagnostics import CompileError, Diagnostic
from tadc.frontend.extents import substituted
from tadc.frontend.parser import parse
from tadc.frontend.program import Argument, Pattern, Program
from tadc.frontend.size_values import refused, size_values
from tadc.frontend.sizes import unknown_size
from tadc.frontend.source import Source
from tadc.frontend.terms import Domain
from tadc.lattice.affine import Affine


def specialised(program: Program, sizes: Mapping[str, Any]) -> Program:
    """The program where some size symbols have values.

    Raises CompileError: TAD0209 for a symbol that the program has not, TAD0508 for what is no size,
    TAD0507 where the program has no meaning at these sizes.
    """
    if not sizes:
        return program
    known = {name: value for name, value in sizes.items() if name in program.sizes}
    problems = [unknown_size(name, program) for name in sizes if name not in known]
    values = size_values(known, problems)
    if problems:
        raise CompileError(problems)
    forms = {name: Affine.const(value) for name, value in values.items()}
    given = {**dict(program.given), **values}
    excluded: list[Domain] = []
    for rows in program.excluded:
        left = [row.substitute(forms) for row in rows]
        if all(row.form.is_constant and row.holds({}) for row in left):
            # A set may hold sizes that do no harm: what counts is a second, exact look.
            wrong = problems_at(replace(program, given=()), given)
            if wrong != []:
                raise CompileError(refused(wrong, given, rows))
        elif not any(row.form.is_constant and not row.holds({}) for row in left):
            excluded.append(tuple(row for row in left if not row.form.is_constant))
    terms = program.terms
    return replace(
        program,
        arguments=tuple(_argument(a, forms) for a in program.arguments),
        definitions=tuple(
            replace(
                d,
                shape=substituted(d.shape, forms),
                body=terms.substitute(d.body, forms),
                pattern=_pattern(d.pattern, forms),
            )
            for d in program.definitions
        ),
        sizes=tuple(name for name in program.sizes if name not in values),
        excluded=tuple(excluded),
        given=tuple(given.items()),
    )


def _argument(argument: Argument, values: Mapping[str, Affine]) -> Argument:
    below = argument.below
    if below is not None:
        (below,) = substituted([below], values)
    pattern = _pattern(argument.pattern, values)
    return replace(argument, shape=substituted(argument.shape, values), below=below, pattern=pattern)


def _pattern(pattern: Pattern | None, values: Mapping[str, Affine]) -> Pattern | None:
    return pattern and replace(pattern, shape=substituted(pattern.shape, values))


def problems_at(program: Program, sizes: Mapping[str, int]) -> list[Diagnostic] | None:
    """What is wrong with the text of a program at sizes, exactly; None where there is no such text."""
    return problems_in(program.source, {**dict(program.given), **sizes})


def problems_in(source: Source | None, sizes: Mapping[str, int]) -> list[Diagnostic] | None:
    """What is wrong with a text at the values of all its sizes, and of others that the compiler added."""
    if source is None:
        return None
    try:
        tree = parse(source)
    except CompileError:
        return None
    try:
        check(tree, source, sizes, and_others=True)
    except CompileError as error:
        return error.diagnostics
    return []
