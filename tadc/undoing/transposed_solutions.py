"""The transposed solution of a component, as the gradient of its solution, which is linear."""

from __future__ import annotations

from dataclasses import replace

from tadc.compiler.derive import derive
from tadc.frontend.program import Argument, Definition, Program
from tadc.frontend.terms import Term, tensors_read
from tadc.lattice.affine import Affine
from tadc.passes.terms.liveness import needed
from tadc.undoing.forms import Form, moved
from tadc.undoing.pieces import Pieces


def transposed(form: Form, inverse: Program) -> Program:
    """The new values, `z_n`, `u_s` and `least`, of the program of `x_d` and `least`.

    With x_D = A^-1 (v_N - B v_S), the gradient of w_D x_D by v_N is A^-T w_D = z_N, and by v_S -B^T z_N.
    """
    pieces = Pieces(form)
    solution = replace(
        inverse, definitions=needed([replace(d, is_output=d.name[:2] == "x_") for d in inverse.definitions])
    )
    read = {name for d in solution.definitions for name in tensors_read([d.body])}
    by = [a.name for a in solution.arguments if a.name[:2] == "v_" and a.name in read]
    solution = replace(solution, arguments=tuple(a for a in solution.arguments if a.name in read))
    made = derive(solution, "vjp", by)
    names = {a.name: f"w_{a.cotangent_of[2:]}" for a in made.arguments if a.cotangent_of}
    names |= {d.name: f"{d.name}_g" for d in made.definitions}
    for name in form.dying:
        pieces.given("w_", name)
    values = [replace(d, is_output=d.name in form.new) for d in form.program.definitions]
    least = [d for d in inverse.definitions if d.name == "least"]
    before = [replace(d, is_output=False) for d in inverse.definitions if d.name != "least"] if least else []
    return _program(form, pieces, inverse, [*values, *before, *_gradients(pieces, made, names), *least])


def _gradients(pieces: Pieces, made: Program, names: dict[str, str]) -> list[Definition]:
    """The definitions of a gradient under other names, then the cotangents of all values."""
    form, found = pieces.form, list[Definition]()
    gradients: dict[str, Term] = {}
    read = tensors_read(d.body for d in made.definitions)
    for definition in made.definitions:
        indices = tuple(f"i{n}" for n in range(len(definition.indices)))
        spoken = {a: Affine.var(b) for a, b in zip(definition.indices, indices, strict=True)}
        body = moved(definition.body, pieces.terms, names, spoken)
        if definition.gradient_of:
            gradients[definition.gradient_of[2:]] = body
            if definition.name not in read:
                continue
        order = definition.order and definition.order.substitute(spoken)
        found.append(
            replace(
                definition,
                name=names[definition.name],
                indices=indices,
                body=body,
                is_output=False,
                gradient_of="",
                span=None,
                order=order,
            )
        )
    for name in form.new:
        body = gradients.pop(name, pieces.algebra.zero)
        found.append(pieces.define(f"z_{name}", name, body, is_output=True))
    for name, body in gradients.items():
        own = pieces.read(pieces.given("w_", name), name)
        found.append(pieces.define(f"u_{name}", name, pieces.algebra.add(own, body), is_output=True))
    return found


def _program(form: Form, pieces: Pieces, inverse: Program, definitions: list[Definition]) -> Program:
    """The program of definitions, with all that they read as arguments."""
    kept = needed(definitions)
    read = {name for d in kept for name in tensors_read([d.body])} - {d.name for d in kept}
    known: dict[str, Argument] = {a.name: a for a in (*form.program.arguments, *inverse.arguments)}
    known |= pieces.tensors
    return Program(tuple(a for name, a in known.items() if name in read), kept, pieces.terms)
