"""Jacobians of programs with index arrays as SciPy's sparse arrays: entries where a point reads."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from tadc.api.function import Function
from tadc.api.recipes import find_signature
from tadc.frontend.diagnostics import CompileError, Diagnostic

if TYPE_CHECKING:
    from tadc.api.jacobians import Jacobian
    from tadc.frontend.program import Program
    from tadc.passes.supports.entries import Entries


@dataclass(frozen=True)
class _Pattern:
    """Where the entries of a Jacobian go: those in `order` are added up from each of the `starts` on."""

    shape: tuple[int, int]
    order: Any
    starts: Any
    indptr: Any
    indices: Any

    @staticmethod
    def of(rows: Any, columns: Any, shape: tuple[int, int]) -> _Pattern:
        """The pattern of entries at these places; those in no row are none."""
        valid = np.flatnonzero(rows >= 0)
        rows, columns = rows[valid], columns[valid]
        # A stable sort: entries at one place are added up in their own order.
        order = np.lexsort((columns, rows))
        rows, columns = rows[order], columns[order]
        first = np.ones(len(rows), bool)
        first[1:] = (rows[1:] != rows[:-1]) | (columns[1:] != columns[:-1])
        starts = np.flatnonzero(first)
        indptr = np.searchsorted(rows[starts], np.arange(shape[0] + 1))
        small = max(len(starts), *shape) < 2**31
        wide = np.int32 if small else np.int64
        return _Pattern(shape, valid[order], starts, indptr.astype(wide), columns[starts].astype(wide))

    def filled(self, sparse: Any, values: Any) -> Any:
        """The sparse array of these entries."""
        taken = values[self.order]
        data = np.add.reduceat(taken, self.starts) if len(taken) else taken
        return sparse.csr_array((data, self.indices, self.indptr), shape=self.shape)


class JacobianEntries:
    """Two kernels: the values of all entries, and their places, which index arrays tell."""

    def __init__(self, jacobian: Jacobian) -> None:
        self.jacobian = jacobian
        #: The index arrays of the last call, where nobody writes to them, with what they gave.
        self.kept: tuple[list[Any], dict[str, _Pattern]] | None = None

    @cached_property
    def found(self) -> tuple[Program, list[Entries]]:
        """The program and its entries. Raises CompileError (TAD0411)."""
        from tadc.compiler.nonzeros import entries
        from tadc.passes.supports.entries import NoEntries

        origin = self.jacobian.origin
        assert origin is not None
        try:
            return entries(origin.base.program, origin.options.wrt or ())
        except NoEntries as why:
            message = f"the entries of this Jacobian cannot be told one by one: {why}"
            helps = ["call the Jacobian itself, which gives a dense array"]
            raise CompileError([Diagnostic("TAD0411", message, helps=helps)]) from None

    def _function(self, what: str) -> Function:
        def make() -> Program:
            from tadc.compiler import nonzeros

            made: Callable[[Any], Program] = getattr(nonzeros, what)
            return made(self.found)

        recipe = self.jacobian.recipe and self.jacobian.recipe.then("entries", what)
        return Function(make, None, None, recipe, find_signature(recipe), self.jacobian.options.of_derived)

    @cached_property
    def values(self) -> Function:
        """The function of the values."""
        return self._function("entry_values")

    @cached_property
    def places(self) -> Function:
        """The function of the rows and columns."""
        return self._function("entry_places")

    def toscipy(self, sparse: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """The Jacobians as `csr_array`s, several as a named tuple of these."""
        values = self.values.compiled().kernel(args, dict(kwargs))
        names = [f"d{one.output}_d{one.argument}" for one in self.found[1]]
        made: dict[str, Any] = {}
        for name, pattern in self._patterns(args, kwargs).items():
            own = [v.reshape(-1) for v, of in zip(values, names, strict=True) if of == name]
            made[name] = pattern.filled(sparse, np.concatenate(own))
        if len(made) == 1:
            return next(iter(made.values()))
        return namedtuple("Result", list(made), rename=True)(**made)  # pyright: ignore[reportUntypedNamedTuple]

    def _patterns(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, _Pattern]:
        from tadc.backend.runtime.relations import known

        program = self.found[0]
        given = {**dict(zip(self.places.inputs, args, strict=False)), **kwargs}
        indices = [known(given[a.name]) for a in program.passed() if a.is_index_array]
        if self.kept is not None and None not in indices and self.kept[0] == indices:
            return self.kept[1]
        found = self._new_patterns(args, kwargs)
        self.kept = (indices, found) if None not in indices else None
        return found

    def _new_patterns(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, _Pattern]:
        _, entries = self.found
        places = iter(self.places.compiled().kernel(args, dict(kwargs)))
        shapes = self._shapes(args, kwargs)
        rows: dict[str, list[Any]] = {}
        columns: dict[str, list[Any]] = {}
        extents: dict[str, tuple[int, int]] = {}
        for one in entries:
            name = f"d{one.output}_d{one.argument}"
            sides = shapes[one.output], shapes[one.argument]
            extents[name] = (int(np.prod(sides[0])), int(np.prod(sides[1])))
            for into, forms, shape in ((rows, one.rows, sides[0]), (columns, one.columns, sides[1])):
                own = [next(places) for _ in forms or (None,)]
                into.setdefault(name, []).append(_flat(own, shape or (1,)))
        return {
            name: _Pattern.of(np.concatenate(rows[name]), np.concatenate(columns[name]), extents[name])
            for name in rows
        }

    def _shapes(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, tuple[int, ...]]:
        from tadc.frontend.extents import shape_at

        origin = self.jacobian.origin
        assert origin is not None
        program = origin.base.program
        symbols = getattr(self.places.compiled().kernel, "sizes", None)
        sizes: Mapping[str, int] = {}
        if symbols is not None:
            given = {**dict(zip(self.places.inputs, args, strict=False)), **kwargs}
            told = {name: int(given[name]) for name in symbols.names if name in given}
            sizes = symbols.values([np.shape(given[name]) for name in self.places.inputs], told)
        return {name: shape_at(shape, sizes) for name, shape in program.shapes().items()}


def _flat(places: Sequence[Any], shape: Sequence[int]) -> Any:
    """Places in C order, -1 of those that are none."""
    total = np.zeros(places[0].shape, np.int64)
    for place, size in zip(places, shape, strict=True):
        total = total * size + place.astype(np.int64)
    return np.where(places[0] >= 0, total, -1).reshape(-1)
