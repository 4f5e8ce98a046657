"""The transposed solution of a component, as the gradient of its solution, which is linear."""

from __future__ import annotations

from dataclasses import replace

from tadc.apps.undoing.forms import ComponentForm, moved_definition, program_of, with_results
from tadc.apps.undoing.pieces import Pieces
from tadc.apps.undoing.roles import COTANGENT, LEAST, TANGENT, Role, RoledProgram
from tadc.toolkit.language import Definition, Program, Term, tensors_read
from tadc.toolkit.transforms import derive


def transposed(form: ComponentForm, inverse: RoledProgram) -> RoledProgram:
    """The new values, the cotangents of what is new and stays, and the least magnitude of pivots.

    With x_D = A^-1 (v_N - B v_S), the gradient of w_D x_D by v_N is A^-T w_D = z_N, and by v_S -B^T z_N.
    """
    pieces = Pieces(form)
    program, role = inverse.program, inverse.role
    solution = with_results(program, [d.name for d in program.outputs if role(d.name).kind == TANGENT])
    by = [a.name for a in solution.arguments if role(a.name).kind == TANGENT]
    # Of no numbers the solution reads none.
    made = derive(solution, "vjp", by) if by else replace(solution, definitions=())
    given = {
        a.name: pieces.given(COTANGENT, role(a.cotangent_of).name) for a in made.arguments if a.cotangent_of
    }
    for name in form.dying:
        pieces.given(COTANGENT, name)
    definitions = [replace(d, is_output=d.name in form.new) for d in form.program.definitions]
    least = [pieces.result(d, Role(LEAST)) for d in program.outputs if role(d.name).kind == LEAST]
    if least:
        definitions += [replace(d, is_output=False) for d in program.definitions if d.name != least[0].name]
    definitions += _gradients(pieces, inverse, made, given)
    known = {a.name: a for a in (*form.program.arguments, *program.arguments)} | pieces.tensors
    return RoledProgram(program_of([*definitions, *least], known.values(), pieces.terms), pieces.roles)


def _gradients(
    pieces: Pieces, inverse: RoledProgram, made: Program, given: dict[str, str]
) -> list[Definition]:
    """The definitions of a gradient under other names, then the cotangents of all values."""
    form, found = pieces.form, list[Definition]()
    names = given | {d.name: f"{d.name}_g" for d in made.definitions}
    read = tensors_read(d.body for d in made.definitions)
    gradients: dict[str, Term] = {name: pieces.algebra.zero for name in form.new}
    for definition in made.definitions:
        moved = moved_definition(definition, pieces.terms, names)
        if definition.gradient_of:
            gradients[inverse.role(definition.gradient_of).name] = moved.body
            if definition.name not in read:
                continue
        found.append(moved)
    for name, body in gradients.items():
        if name not in form.new:
            body = pieces.algebra.add(pieces.cotangent(name), body)
        found.append(pieces.define(f"z_{name}", name, body, Role(COTANGENT, name)))
    return found
