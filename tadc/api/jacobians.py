"""Jacobians that know where they are 0: their structure, their non-zeros alone, SciPy's sparse arrays."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

from tadc.api.function import Function, Origin
from tadc.api.recipes import find_listing, find_signature, keep_listing
from tadc.api.sparse_kinds import is_sparse
from tadc.backend.runtime.python_names import result_type
from tadc.caller.boundary import public, usage
from tadc.frontend.packages import imported
from tadc.lattice.affine import Affine, Lookup

if TYPE_CHECKING:
    from tadc.api.assembly import Assembly
    from tadc.api.compiled import Compiled
    from tadc.backend.runtime.host_kernel import HostKernel
    from tadc.frontend.program import Program
    from tadc.passes.supports.compress import KeptBox, Layout
    from tadc.passes.supports.entry_listing import Entries, Listing


class Jacobian(Function):
    """A function that computes Jacobians, each of shape `output.shape + argument.shape`.

    >>> import tadc
    >>> j = tadc.jacobian(tadc.function("x: f64[5]; f[i: 4] = x[i + 1] - x[i]"))
    >>> print(j.structure)
    banded: 0 <= x_0 - i <= 1; Toeplitz pattern
    >>> j.toscipy(x=[0, 0, 0, 0, 0]).nnz
    8
    """

    @cached_property
    @public
    def structure(self) -> Any:
        """Where elements can be other than 0: a `Structure`, of several Jacobians a named tuple of these.

        Derived from index maps, guards and domains, for all sizes at once: a factor that is a form of
        indices counts as a value that may be anything.
        """
        from tadc.analysis.structure import structures

        self._of_any_size()
        return _by_name(structures(self.program))

    @public
    def compressed(self) -> Compressed:
        """The function that computes the non-zeros alone, in time and memory of their order.

        Each result is an array over boxes of the pattern, of shape `[n, bandwidth]` for a band; see
        `Compressed.coordinates` for what stands where.
        """
        self._of_any_size()
        return self._compressed

    @cached_property
    def _compressed(self) -> Compressed:
        has_indices = self.differentiable != self.inputs
        return (ListedJacobian if has_indices else Compressed).of(self, "values")

    @public
    def toscipy(self, /, *args: Any, **kwargs: Any) -> Any:
        """The Jacobian at these inputs as a `scipy.sparse.csr_array`, several as a named tuple of these.

        Elements of the output are its rows and elements of the argument its columns, each in C order, as
        `reshape(f.size, x.size)` of the dense one. Stored are the elements of the pattern, also those
        that happen to be 0. Raises CompileError (TAD0802) without SciPy, ArgumentError as a call.
        """
        sparse = _scipy()
        given = self.at_call(args, kwargs)
        assert isinstance(given, Jacobian)
        if any(map(is_sparse, (*args, *kwargs.values()))):
            from tadc.api.sparse_arguments import sparse_call

            call = sparse_call(given.compressed().compiled().kernel, args, kwargs)
            args, kwargs = call.args, call.kwargs
        return given._sparse(sparse, args, kwargs)

    def _sparse(self, sparse: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        import numpy as np

        compressed = self.compressed()
        if isinstance(compressed, ListedJacobian):
            return _by_name(compressed.matrices(sparse, args, kwargs))
        values = compressed.named(args, kwargs)
        places = compressed.coordinates(*args, **kwargs)
        found: dict[str, Any] = {}
        for name, tensors in compressed.tensors.items():
            shape, split = compressed.shape_of(name, args, kwargs)
            flat = _product(shape[:split]), _product(shape[split:])
            wide = np.int32 if max(flat) < 2**31 else np.int64
            data: list[Any] = []
            where: list[Any] = []
            for kept in tensors:
                mask, indices = places[kept.name]
                data.append(values[kept.name][mask])
                row = _flattened(indices[:split], shape[:split], mask, wide)
                where.append((row, _flattened(indices[split:], shape[split:], mask, wide)))
            rows, columns = (np.concatenate([pair[n] for pair in where]) for n in (0, 1))
            entries = np.concatenate(data)
            # SciPy has no floats of 16 bits.
            entries = entries.astype(np.promote_types(entries.dtype, np.float32), copy=False)
            found[name] = sparse.coo_array((entries, (rows, columns)), shape=flat).tocsr()
        return _by_name(found)

    def at(self, sizes: Mapping[str, int] | None = None, *, dtype: Any = None) -> Jacobian:
        """As `Function.at`."""
        found = super().at(sizes, dtype=dtype)
        assert isinstance(found, Jacobian)
        return found

    def _of_any_size(self) -> None:
        """Raise CompileError where the program is one for each value of some sizes, or for each type."""
        self.require_types()
        if self.per_value is not None:
            raise self.per_value.needs_values()

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickled as what it is made from."""
        assert self.origin is not None
        return Origin.function, (self.origin,)


class Compressed(Function):
    """A Jacobian's non-zeros: a function with a result for each box of its pattern.

    `layout` says of each result which elements it holds: `{"df_dx": "df_dx[i, i + d]"}` for a result of
    indices `i, d`. Elements of a box that are out of range, or in a box before it, are 0.

    >>> import tadc
    >>> f = tadc.function("x: f64[5]; f[i: 4] = x[i + 1] - x[i]")
    >>> tadc.jacobian(f).compressed().layout
    {'df_dx': 'df_dx[i, d + i]'}
    """

    jacobian: Jacobian

    @staticmethod
    def of(jacobian: Jacobian, what: str) -> Compressed:
        """The function of a Jacobian's values, or of its pattern: how many terms make up an element."""

        def make() -> Program:
            from tadc.compiler.nonzeros import counts, values

            made: Callable[[Program, Layout], Program] = values if what == "values" else counts
            return made(jacobian.program, jacobian_layout(jacobian))

        recipe = jacobian.recipe and jacobian.recipe.then("compressed", what)
        options = jacobian.options.of_derived
        found = Compressed(make, None, None, recipe, find_signature(recipe), options)
        found.jacobian = jacobian
        found.remember()
        return found

    @property
    def tensors(self) -> Mapping[str, Sequence[KeptBox | Entries]]:
        """The tensors that keep each Jacobian."""
        kept = jacobian_layout(self.jacobian).tensors
        return {name: kept[name] for name in self.jacobian.outputs}

    @property
    def layout(self) -> dict[str, str]:
        """Which elements each result holds."""
        from tadc.frontend.print_index import form_text

        return {
            one.name: f"{name}[{', '.join(form_text(form) for form in one.at)}]"
            for name, kept in self.tensors.items()
            for one in kept
        }

    @cached_property
    def _pattern(self) -> Compressed:
        return Compressed.of(self.jacobian, "pattern")

    @public
    def coordinates(self, /, *args: Any, **kwargs: Any) -> dict[str, tuple[Any, tuple[Any, ...]]]:
        """For each result, where it holds an element of the pattern, and the indices of all elements.

        A mask of the result's shape; and an array for each index of the Jacobian, that broadcasts to the
        shape. Takes the inputs of the Jacobian, of which the shapes alone matter.
        """
        import numpy as np

        counts = self._pattern.named(args, kwargs)
        sizes = self.sizes(args, kwargs)
        found: dict[str, tuple[Any, tuple[Any, ...]]] = {}
        for kept in (one for several in self.tensors.values() for one in several):
            mask = counts[kept.name] > 0
            axes = np.ogrid[tuple(slice(n) for n in mask.shape)] if mask.shape else ()
            point = {**sizes, **dict(zip(kept.indices, axes, strict=True))}
            found[kept.name] = mask, tuple(np.asarray(_values(form, point)) for form in kept.at)
        return found

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickled as the Jacobian."""
        return Jacobian.compressed, (self.jacobian,)

    def _specialised(self, sizes: Mapping[str, int]) -> Function:
        return self.jacobian.at(sizes).compressed()

    def storing(self, materialize: str | None = None, memory_limit: int | str | None = None) -> Compressed:
        """As `Function.storing`."""
        jacobian = self.jacobian.storing(materialize, memory_limit)
        assert isinstance(jacobian, Jacobian)
        return self if jacobian is self.jacobian else jacobian.compressed()

    def named(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        """The results of a call by name."""
        return dict(zip(self.outputs, self._kernel().kernel(args, dict(kwargs)), strict=True))

    def sizes(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Mapping[str, int]:
        """The values of size symbols at a call."""
        import numpy as np

        symbols = self._kernel().kernel.sizes
        arrays = {**dict(zip(self.inputs, args, strict=False)), **kwargs}
        given = {name: int(arrays[name]) for name in symbols.names if name in arrays}
        return symbols.values([np.shape(arrays[name]) for name in self.inputs], given)

    def shape_of(
        self, name: str, args: Sequence[Any], kwargs: Mapping[str, Any]
    ) -> tuple[tuple[int, ...], int]:
        """The shape of a Jacobian at a call, and how many of its dimensions are the output's."""
        from tadc.frontend.extents import shape_at

        program = self.jacobian.program
        (definition,) = (d for d in program.outputs if d.name == name)
        split = len(definition.shape) - len(program.shapes()[definition.gradient_of])
        return shape_at(definition.shape, self.sizes(args, kwargs)), split

    def _kernel(self) -> Compiled:
        return self.compiled()


class ListedJacobian(Compressed):
    """The entries of a Jacobian with index arrays: a result for each list of them.

    Entries are added that are of one element of the Jacobian.

    >>> import tadc
    >>> f = tadc.function("src: index[E] in N; x: f64[N]; y[e] = x[src[e]]**2")
    >>> tadc.jacobian(f).compressed().layout
    {'dy_dx_1': 'dy_dx[e, src[e]]'}
    """

    listing: Listing

    @staticmethod
    def of(jacobian: Jacobian, what: str) -> Compressed:
        """The function of a Jacobian's entries. Raises UsageError where these cannot be listed."""
        recipe = jacobian.recipe and jacobian.recipe.then("listed", what)
        options = jacobian.options.of_derived
        kept = find_listing(recipe)
        signature = None if kept is None else find_signature(recipe)
        made = ListedJacobian(lambda: _listed(jacobian)[0], None, None, recipe, signature, options)
        made.jacobian = jacobian
        made.listing = _listed(jacobian)[1] if kept is None or signature is None else kept
        if signature is None:
            made.remember()
            keep_listing(recipe, made.listing)
        return made

    @property
    def tensors(self) -> Mapping[str, tuple[Entries, ...]]:
        """The lists of each Jacobian."""
        return self.listing.lists

    def __call__(self, /, *args: Any, out: Any = None, **kwargs: Any) -> Any:
        """Evaluate, as other functions do. Pairs of places of one value may be left out: they are listed."""
        if self.listing.pairs and not {*self.listing.paired} & kwargs.keys() and len(args) < len(self.inputs):
            kwargs = {**kwargs, **self._assembly(args, kwargs).relations}
        return super().__call__(*args, out=out, **kwargs)

    @public
    def coordinates(self, /, *args: Any, **kwargs: Any) -> dict[str, tuple[Any, tuple[Any, ...]]]:
        """For each list, where it holds an entry, and the indices of all elements, as for other Jacobians.

        Takes the inputs of the Jacobian, of which the index arrays and the shapes matter.
        """
        from tadc.api.entry_lists import places_of

        found = self._assembly(args, kwargs)
        lists = (one for several in self.tensors.values() for one in several)
        return {entries.name: places_of(entries, found.arrays, found.sizes) for entries in lists}

    def matrices(self, sparse: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        """The Jacobians as arrays of SciPy."""
        return self._assembly(args, kwargs).matrices(sparse, args, kwargs)

    def _block(self, rows: int) -> HostKernel:
        """The kernel of so many rows of all lists, found once."""
        from tadc.compiler.compile_options import Options

        found: dict[int, HostKernel] = self.__dict__.setdefault("_blocks", {})
        if rows in found:
            return found[rows]

        def make() -> Program:
            from tadc.compiler.nonzeros import block_program

            return block_program(_listed(self.jacobian)[0], rows)

        recipe = self.recipe and self.recipe.then("rows", rows)
        made = Function(make, None, None, recipe, find_signature(recipe), self.options)
        kernel = cast("HostKernel", made.compiled_for(Options(long_fibres=False, often=True)).kernel)
        return found.setdefault(rows, kernel)

    def _assembly(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Assembly:
        """What is made of the index arrays: found once where these stay as they are."""
        from tadc.api.assembly import Assembly, call_key

        kernel = cast("HostKernel", self._kernel().kernel)
        last: Assembly | None = self.__dict__.get("_last")
        if last is None or last.key is None or last.key != call_key(kernel, self.listing, args, kwargs):
            last = self.__dict__["_last"] = Assembly(kernel, self.listing, self._block, args, kwargs)
        return last


def _listed(jacobian: Jacobian) -> tuple[Program, Listing]:
    """The program of the entries of a Jacobian with index arrays, and which they are; found once."""
    found = jacobian.__dict__.get("_entries")
    if found is None:
        from tadc.compiler.nonzeros import NotListed, entries

        try:
            found = jacobian.__dict__["_entries"] = entries(jacobian.program)
        except NotListed as error:
            message = f"the entries of `{', '.join(jacobian.outputs)}` cannot be listed: {error}"
            raise usage(message, "compute all of it: call the function itself") from None
    return found


def jacobian_layout(jacobian: Jacobian) -> Layout:
    """Where the elements of a Jacobian are kept; found once."""
    found = jacobian.__dict__.get("_layout")
    if found is None:
        from tadc.compiler.nonzeros import layout

        found = jacobian.__dict__["_layout"] = layout(jacobian.program)
    return found


def _values(form: Affine, point: Mapping[str, Any]) -> Any:
    """A form of integers and arrays of integers."""
    total: Any = form.constant
    for atom, k in form.terms:
        assert not isinstance(atom, Lookup), "a Jacobian with index arrays is listed"
        value = point[atom] if isinstance(atom, str) else _values(atom.numerator, point) // atom.denominator
        total = total + k * value
    return total


def _by_name(found: dict[str, Any]) -> Any:
    """One thing itself, several as a named tuple, as the results of a call."""
    if len(found) == 1:
        return next(iter(found.values()))
    return result_type(found)(*found.values())


def _product(shape: Sequence[int]) -> int:
    found = 1
    for size in shape:
        found *= size
    return found


def _flattened(indices: Sequence[Any], shape: Sequence[int], mask: Any, wide: Any) -> Any:
    """The place in C order of the elements where the mask holds."""
    import numpy as np

    found = np.zeros((), wide)
    for index, size in zip(indices, shape, strict=True):
        found = found * size + index.astype(wide)
    return np.broadcast_to(found, mask.shape)[mask]


def _scipy() -> Any:
    """SciPy's sparse arrays. Raises CompileError (TAD0802) where it is not installed."""
    note = "`compressed()` and its `coordinates` do without"
    return imported("scipy.sparse", "sparse arrays need SciPy", "scipy", note)
