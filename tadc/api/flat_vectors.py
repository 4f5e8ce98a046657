"""`flat`: functions of one vector, as solvers and optimisers take them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from tadc.api.array_kinds import shape_of
from tadc.api.derivatives import derivative_of, hvp, jacobian, value_and_grad, vjp
from tadc.api.function import Function
from tadc.caller.boundary import checked_function, public, shown_value, usage
from tadc.frontend.extents import shape_at, symbols_in, told_sizes
from tadc.frontend.packages import imported
from tadc.frontend.size_values import checked_sizes
from tadc.frontend.suggest import did_you_mean

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Vector = NDArray[np.float64]
    Arrays = Mapping[str, Any]


@public
def flat(f: Function, wrt: str | Sequence[str] | Arrays | None = None, /, **given: Any) -> Flat:
    """f as a function of one vector: the elements of the inputs of `wrt` (None: all that are not given).

    `wrt` names inputs, or gives arrays by name, whose shapes it takes; `given` are the other inputs, and
    sizes that no shape tells. What one scalar comes out of gives value and gradient, what else one vector,
    the elements of all results in order. Vectors are f64, elements in C order, whatever the types of f.

    >>> import tadc
    >>> fit = tadc.function("x: f64[N]; a: f64; b: f64; y: f64[N]; s = sum{i} ((a*x[i] + b - y[i])**2)")
    >>> loss = tadc.flat(fit, ["a", "b"], x=[0, 1, 2], y=[1, 3, 5])
    >>> loss([0, 0])
    (35.0, array([-26., -18.]))
    >>> loss.hessp([0, 0], [1, 0])
    array([10.,  6.])
    >>> loss.unpack([2, 1])
    {'a': array(2.), 'b': array(1.)}

    Raises UsageError for names that are no inputs, or a size that nothing tells.
    """
    checked_function(f, Function, "flat")
    return Flat(f, wrt, given)


class Flat:
    """A function of one vector of `size` elements: those of the inputs `names`, of these `shapes`.

    All methods take names to override what was given, for this call: `g(v, t=0.5)`.

    >>> import tadc
    >>> g = tadc.flat(tadc.function("x: f64[3]; t: f64; y[i: 2] = x[i + 1] - t*x[i]"), "x", t=1)
    >>> g
    <tadc.Flat (x[3]) of 3 elements, of <tadc.Function (x: f64[3], t: f64) -> (y: f64[2])>>
    >>> g.jac([1, 2, 3], t=2)
    array([[-2.,  1.,  0.],
           [ 0., -2.,  1.]])
    >>> g.vjp([1, 2, 3], [1, 1])
    array([-1.,  0.,  1.])
    """

    def __init__(self, f: Function, wrt: str | Sequence[str] | Arrays | None, given: Arrays) -> None:
        """As `flat`."""
        start: Arrays = wrt if isinstance(wrt, Mapping) else {}
        chosen = (wrt,) if isinstance(wrt, str) else wrt
        if chosen is None:
            chosen = [name for name in f.differentiable if name not in given]
        self._given = dict(given)
        self.names = _checked(f, chosen, given)
        arrays = {**start, **given}
        self.function = f = f.at_call((), arrays)
        shapes = {a.name: a.shape for a in f.program.arguments}
        given_sizes = checked_sizes({name: given[name] for name in f.program.sizes if name in given})
        sizes = _sizes(f, arrays, dict(f.program.given) | given_sizes)
        for name in self.names:
            for size in symbols_in(shapes[name]):
                if size not in sizes:
                    help = f"give it, `{size}=…`, or an array for `{name}`: `tadc.flat(f, {{'{name}': …}})`"
                    raise usage(f"size `{size}` of `{name}` is not known", help)
        self.shapes = {name: shape_at(shapes[name], sizes) for name in self.names}
        types = f.program.types()
        self._types = {name: _dtype(types[name]) for name in self.names}
        self.size = sum(map(prod, self.shapes.values()))
        self._sizes = sizes
        for name in start:
            if (found := shape_of(start[name])) != self.shapes[name]:
                raise usage(f"`{name}` has shape {found}, expected {self.shapes[name]}")
        self._start = start
        #: Whether one scalar comes out.
        self.is_scalar = [d.shape for d in f.program.outputs] == [()]

    def __repr__(self) -> str:
        parts = ", ".join(f"{name}{list(shape) if shape else ''}" for name, shape in self.shapes.items())
        return f"<tadc.Flat ({parts}) of {self.size} elements, of {self.function!r}>"

    # -- vectors ---------------------------------------------------------------------------------

    @public
    def pack(self, arrays: Arrays | Sequence[Any] | None = None, /) -> Vector:
        """The vector of arrays by name or in order; without any that of the arrays given to `flat`.

        Raises UsageError for one that is missing or has another shape.
        """
        given = self._start if arrays is None else arrays
        found: Arrays = given if isinstance(given, Mapping) else dict(zip(self.names, given, strict=False))
        parts: list[Any] = []
        for name, shape in self.shapes.items():
            if name not in found:
                raise usage(f"there is no array for `{name}`", f"pass one: `pack({{'{name}': …, …}})`")
            part = _numbers(found[name], f"`{name}`")
            if part.shape != shape:
                raise usage(f"`{name}` has shape {part.shape}, expected {shape}")
            parts.append(part.reshape(-1))
        return np.concatenate(parts) if parts else np.empty(0)

    @public
    def unpack(self, v: Any, /) -> dict[str, NDArray[np.floating]]:
        """The inputs that a vector stands for, each of its type; of f64 they are views of it.

        Raises UsageError for a vector of another size.
        """
        vector = _numbers(v, "the vector")
        if vector.shape != (self.size,):
            parts = ", ".join(f"{name} has {prod(shape)}" for name, shape in self.shapes.items())
            message = f"a vector of {self.size} elements is asked for, not of shape {vector.shape}"
            raise usage(message, "", parts)
        found: dict[str, Any] = {}
        begin = 0
        for name, shape in self.shapes.items():
            end = begin + prod(shape)
            found[name] = vector[begin:end].reshape(shape).astype(self._types[name], copy=False)
            begin = end
        return found

    @public
    def bounds(self, /, **limits: Sequence[Any]) -> Any:
        """Bounds of all elements as `scipy.optimize.Bounds`: of the inputs named, `(low, high)`.

        Either is a number or an array that broadcasts to the input, or None: no bound. Raises UsageError, and
        CompileError (TAD0802) without SciPy.
        """
        optimize = imported("scipy.optimize", "bounds are those of SciPy", "scipy")
        _refuse_unknown(limits, self.names)
        for name, pair in limits.items():
            if not isinstance(pair, tuple | list) or len(pair) != 2:
                help = f"write `{name}=(0, 1)`; None is no bound"
                raise usage(f"bounds of `{name}` are a pair, not {shown_value(pair)}", help)
        sides: list[Vector] = []
        for side, nothing in enumerate((-np.inf, np.inf)):
            each = {name: limits[name][side] if name in limits else None for name in self.names}
            parts = {name: self._limit(name, nothing if each[name] is None else each[name]) for name in each}
            sides.append(self.pack(parts))
        return optimize.Bounds(*sides)

    def _limit(self, name: str, limit: Any) -> Vector:
        """A bound of each element of an input. Raises UsageError for one of another shape."""
        found, shape = _numbers(limit, f"a bound of `{name}`"), self.shapes[name]
        try:
            return np.broadcast_to(found, shape)
        except ValueError:
            raise usage(f"a bound of `{name}` has shape {found.shape}, expected {shape} or ()") from None

    # -- values and derivatives ------------------------------------------------------------------

    @public
    def __call__(self, v: Any, /, **given: Any) -> Any:
        """The value and the gradient; of what is no scalar the vector of its values."""
        if not self.is_scalar:
            return _vector(self._run(self.function, v, given))
        value, *gradients = self._run(self._value_and_grad, v, given)
        return float(value), _vector(gradients)

    @public
    def hessp(self, v: Any, p: Any, /, **given: Any) -> Vector:
        """The Hessian of a scalar at v, times a vector p."""
        self._of_scalar("hessp", "`vjp` and `jvp` are for vectors")
        return _vector(self._run(self._hvp, v, given, self._moved(self._hvp, p)))

    @public
    def jac(self, v: Any, /, **given: Any) -> NDArray[np.float64]:
        """The Jacobian of a vector at v, dense: a row for each result; of a scalar its gradient."""
        if self.is_scalar:
            return self(v, **given)[1]
        blocks = self._run(self._jacobian, v, given)
        shapes = [prod(shape) for shape in self.shapes.values()]
        count = len(shapes)
        rows = [
            [np.asarray(b, np.float64).reshape(-1, n) if n else np.empty((_rows(b, s), 0))
             for b, n, s in zip(blocks[k : k + count], shapes, self.shapes.values(), strict=True)]
            for k in range(0, len(blocks), count)
        ]  # fmt: skip
        return np.concatenate([np.concatenate(row, axis=1) for row in rows], axis=0)

    @public
    def sparse_jac(self, v: Any, /, **given: Any) -> Any:
        """The Jacobian of a vector at v as a `scipy.sparse.csr_array` of what is not 0 for all v.

        Raises CompileError (TAD0802) without SciPy.
        """
        sparse = imported("scipy.sparse", "sparse arrays need SciPy", "scipy", "`jac` does without")
        found = self._jacobian.toscipy(**self._arguments(self._jacobian, v, given))
        blocks: list[Any] = [found] if len(self._jacobian.outputs) == 1 else list(found)
        count = len(self.names)
        rows = [blocks[k : k + count] for k in range(0, len(blocks), count)]
        return sparse.block_array(rows).tocsr()

    @public
    def jvp(self, v: Any, p: Any, /, **given: Any) -> Vector:
        """The Jacobian of a vector at v, times a vector p."""
        return _vector(self._run(self._jvp, v, given, self._moved(self._jvp, p)))

    @public
    def vjp(self, v: Any, u: Any, /, **given: Any) -> Vector:
        """The transposed Jacobian of a vector at v, times a vector u of results."""
        shapes = self._result_shapes(v, given)
        whole, begin = _numbers(u, "the vector of results").reshape(-1), 0
        count = sum(map(prod, shapes.values()))
        if whole.size != count:
            raise usage(f"a vector of {count} results is asked for, not of {whole.size}")
        more: dict[str, Any] = {}
        types = self._vjp.program.types()
        for output, shape in shapes.items():
            name = self._vjp.cotangents[output]
            part = whole[begin : begin + prod(shape)].reshape(shape)
            more[name] = part.astype(_dtype(types[name]), copy=False)
            begin += prod(shape)
        return _vector(self._run(self._vjp, v, given, more))

    @public
    def linear_operator(self, v: Any, /, **given: Any) -> Any:
        """The Jacobian of a vector at v as a `scipy.sparse.linalg.LinearOperator`, by products alone.

        Of a scalar it is the Hessian. Raises CompileError (TAD0802) without SciPy.
        """
        linalg = imported("scipy.sparse.linalg", "linear operators need SciPy", "scipy")
        at = self.pack(self.unpack(v))
        if self.is_scalar:

            def product(p: Any) -> Vector:
                return self.hessp(at, p.reshape(-1), **given)

            shape, forward, backward = (self.size, self.size), product, product
        else:
            rows = sum(map(prod, self._result_shapes(at, given).values()))
            shape = rows, self.size

            def forward(p: Any) -> Vector:
                return self.jvp(at, p.reshape(-1), **given)

            def backward(p: Any) -> Vector:
                return self.vjp(at, p, **given)

        return linalg.LinearOperator(shape, matvec=forward, rmatvec=backward, dtype=np.float64)

    # -- kernels, each made when it is first asked for -------------------------------------------

    @cached_property
    def _value_and_grad(self) -> Function:
        return value_and_grad(self.function, self.names)

    @cached_property
    def _hvp(self) -> Function:
        return hvp(self.function, self.names)

    @cached_property
    def _jacobian(self) -> Any:
        return jacobian(self.function, self.names)

    @cached_property
    def _jvp(self) -> Function:
        return derivative_of(self.function, "tangents", self.names)

    @cached_property
    def _vjp(self) -> Function:
        return vjp(self.function, self.names)

    def _moved(self, f: Function, p: Any) -> dict[str, Any]:
        return {f.tangents[name]: part for name, part in self.unpack(np.asarray(p).reshape(-1)).items()}

    def _run(self, f: Function, v: Any, given: Arrays, more: Arrays | None = None) -> list[Any]:
        found = f(**self._arguments(f, v, given), **(more or {}))
        return [found] if len(f.outputs) == 1 else list(found)

    def _arguments(self, f: Function, v: Any, given: Arrays) -> dict[str, Any]:
        if given:
            _refuse_unknown(given, [n for n in self.function.inputs if n not in self.names])
        arrays = {**{n: x for n, x in self._given.items() if n in self.function.inputs}, **given}
        untold = {n: self._sizes[n] for n in f.program.unbound_sizes() if n in self._sizes}
        return {**arrays, **self.unpack(v), **untold}

    def _result_shapes(self, v: Any, given: Arrays) -> dict[str, tuple[int, ...]]:
        """The shapes of all results, which may depend on what is given at a call."""
        program = self.function.program
        untold = {n: self._sizes[n] for n in program.unbound_sizes() if n in self._sizes}
        sizes = _sizes(self.function, self._arguments(self.function, v, given), untold)
        return {d.name: shape_at(d.shape, sizes) for d in program.outputs}

    def _of_scalar(self, what: str, help: str) -> None:
        if not self.is_scalar:
            raise usage(f"`{what}` is of functions with one scalar output", help)


def _sizes(f: Function, arrays: Arrays, known: Mapping[str, int]) -> dict[str, int]:
    """The sizes that are known, and those that the shapes of arrays tell."""
    sizes = dict(known)
    given = [a for a in f.program.arguments if a.name in arrays]
    told_sizes([a.shape for a in given], [shape_of(arrays[a.name]) for a in given], sizes)
    return sizes


def _rows(block: Any, shape: tuple[int, ...]) -> int:
    """The elements of the result that a Jacobian is of, by an input of this shape."""
    return prod(block.shape[: block.ndim - len(shape)])


def _numbers(given: Any, name: str) -> Vector:
    """What is given as numbers of f64. Raises UsageError for what is no array of real numbers."""
    try:
        found = np.asarray(given)
        if found.dtype.kind != "c":
            return found.astype(np.float64, copy=False)
    except (TypeError, ValueError) as problem:
        raise usage(f"{name} is not an array of numbers: {problem}") from None
    raise usage(f"{name} has elements of type {found.dtype}, which f64 cannot hold without loss")


def _dtype(type: str) -> np.dtype[Any]:
    """NumPy's type of elements of a type of the language; bf16 is one of ml_dtypes."""
    if type == "bf16":
        return np.dtype(imported("ml_dtypes", "NumPy has no bf16 of its own", "bf16").bfloat16)
    return np.dtype(type.replace("f", "float"))


def _vector(parts: Sequence[Any]) -> Vector:
    return np.concatenate([np.asarray(part, np.float64).reshape(-1) for part in parts])


def _checked(f: Function, chosen: Any, given: Arrays) -> tuple[str, ...]:
    """The names of inputs to put into the vector. Raises UsageError."""
    try:
        names = tuple(chosen)
    except TypeError:
        names = (chosen,)
    if not names or not all(isinstance(name, str) for name in names):
        help = 'write `tadc.flat(f, "x")`, `tadc.flat(f, ["x", "w"])` or `tadc.flat(f, {"x": x0})`'
        raise usage(f"what a vector stands for is named, not {shown_value(chosen)}", help)
    sizes = f.per_value.symbols if f.per_value is not None else ()
    _refuse_unknown(names, f.inputs)
    _refuse_unknown(given, [*f.inputs, *sizes, *f.program.sizes])
    indices = [name for name in names if name not in f.differentiable]
    if indices:
        raise usage(f"`{indices[0]}` is an index array, which has no derivative", "pass it by name")
    both = [name for name in dict.fromkeys(names) if name in given or names.count(name) > 1]
    if both:
        raise usage(f"`{both[0]}` is named twice", "an input is given or is part of the vector")
    return names


def _refuse_unknown(names: Any, known: Sequence[str]) -> None:
    for name in names:
        if name not in known:
            near = did_you_mean(name, known) or ([f"there are {', '.join(known)}"] if known else [""])
            raise usage(f"there is no input `{name}` here", near[0])
