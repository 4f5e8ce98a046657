"""Programs over batches: one more leading index of arguments and of all results.

For each element of the batch the results are those of the program at that element of the named arguments.
What does not depend on these is computed once. No loop changes: a recurrence keeps its order, which the
index of the batch has no part in.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from tadc.frontend.program import Argument, Definition, Program
from tadc.frontend.terms import Read, Term, Terms, bottom_up, tensors_read
from tadc.lattice.affine import Affine, Floor, Lookup
from tadc.passes.terms.names import Names


def batch_size(program: Program, wish: str = "batch") -> str:
    """The symbol of the batch's size: the first of `wish`, `wish_1`, … that the program has no use for."""
    return _names(program).free(wish)


def batched(program: Program, names: Collection[str], size: str) -> Program:
    """The program where the named arguments and all results have a leading index of the size `size`.

    `size` is a symbol that is free in the program (`batch_size`). Other arguments are the same for the
    whole batch; a result that depends on no named one is repeated.
    """
    free = _names(program)
    free.free(size)
    index = free.free("b")
    front = _Front(program.terms, index, Affine.var(size), set(names))
    made = [d for definition in program.definitions for d in front.definitions(definition, free)]
    return replace(
        program,
        arguments=tuple(front.argument(a) for a in program.arguments),
        definitions=tuple(made),
        sizes=(size, *program.sizes),
    )


def _names(program: Program) -> Names:
    """The names in use, also of symbols that were given values: the text of the program still has them."""
    names = Names(program)
    given = {name for name, _ in program.given}
    names.tensors |= given
    names.taken |= given
    return names


class _Front:
    """Puts the index of the batch in front; `varying` are the tensors that have it."""

    def __init__(self, terms: Terms, index: str, size: Affine, varying: set[str]) -> None:
        self.terms = terms
        self.index = index
        self.size = size
        self.varying = varying
        #: Results that do not vary, by the tensors in between that have their elements once.
        self.once: dict[str, str] = {}
        self._memo: dict[int, Term] = {}

    def argument(self, argument: Argument) -> Argument:
        if argument.name not in self.varying:
            return argument
        # Each of the batch may rise, all of them one after the other do not.
        return replace(argument, shape=(self.size, *argument.shape), pattern=None, increasing=False)

    def definitions(self, definition: Definition, names: Names) -> list[Definition]:
        """The definition over the batch where it varies; else itself, and its copies where it is a result."""
        if tensors_read([definition.body]) & self.varying:
            self.varying.add(definition.name)
            return [self._varying(definition, self._moved(definition.body))]
        once = definition
        if definition.is_output:
            name = self.once[definition.name] = names.free(definition.name)
            once = definition.between(name, cotangent_of="")
        once = replace(once, body=self._moved(definition.body))
        if not definition.is_output:
            return [once]
        copy = self.terms.read(once.name, once.own, once.type, definition.body.span)
        return [once, replace(self._varying(definition, copy), order=None)]

    def _varying(self, definition: Definition, body: Term) -> Definition:
        return replace(
            definition,
            shape=(self.size, *definition.shape),
            indices=(self.index, *definition.indices),
            body=body,
            pattern=None,  # its first dimension is no longer that of index arrays
        )

    def _moved(self, body: Term) -> Term:
        """The body that reads the tensors of the batch.

        The index is the user's, so no sum binds it, and bound indices are named by the height of their
        sums, which a further index of a read does not change.
        """
        return bottom_up(body, self._memo, self._node)

    def _node(self, node: Term, below: list[Term]) -> Term:
        if not isinstance(node, Read):
            return self.terms.rebuild(node, below, self._form)
        assert node.type
        at = self._at(node.tensor, node.indices)
        return self.terms.read(self.once.get(node.tensor, node.tensor), at, node.type, node.span)

    def _at(self, tensor: str, at: Sequence[Affine]) -> tuple[Affine, ...]:
        """The subscripts of an element of a tensor or an index array."""
        front = [Affine.var(self.index)] if tensor in self.varying else []
        return (*front, *map(self._form, at))

    def _form(self, form: Affine) -> Affine:
        """A form whose lookups are in the arrays of the batch."""

        def moved(atom: str | Floor | Lookup) -> Affine | None:
            if not isinstance(atom, Lookup):
                return None
            return Affine.atom(replace(atom, at=self._at(atom.array, atom.at)))

        return form.replace(moved) if form.has_lookups else form
