"""A function of tadc as a callable on tensors."""

from __future__ import annotations

import weakref
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tadc.api.function import Function
from tadc.api.sparse_arguments import SparseCall
from tadc.api.sparse_kinds import is_sparse
from tadc.backend.runtime.call_messages import said
from tadc.backend.runtime.frameworks import is_divided
from tadc.backend.runtime.index_arguments import require_indices
from tadc.backend.runtime.kept_indices import Relation
from tadc.backend.runtime.python_names import result_type
from tadc.backend.runtime.read_calls import ReadCall, by_position, read_call
from tadc.caller.boundary import leaving, public
from tadc.caller.python_signatures import PythonSignature, typed_text
from tadc.compiler.kernel_interface import parameters_of, size_symbols_of
from tadc.frontend.diagnostics import ArgumentError, CompileError
from tadc.native.watched_calls import error_within
from tadc.torch.modules import FunctionModule
from tadc.torch.operators import operator_of
from tadc.torch.pytorch import compiler, forward_ad, is_traced, requires_gradient, torch, uncompiled
from tadc.torch.result_shapes import ELEMENTS
from tadc.torch.sharding_rules import refused_in_a_part, require_one_mesh
from tadc.torch.tensor_arguments import TENSORS, index_tensor, no_sparse_tensor, require_room

_KEPT = 64
"""A function is kept at sizes of so many calls."""


class TorchFunction:
    """A function on tensors by position or name, differentiated by PyTorch in every way that it has.

    Results are new tensors, one or a named tuple of several. Inputs have the types that the program says,
    but under autocast, which converts to these; any layout is read, with gaps by a copy. Sizes that no tensor
    tells are given by name.
    """

    __signature__ = PythonSignature()

    def __init__(self, f: Function) -> None:
        self.function = f
        self.inputs = f.inputs
        self.outputs = f.outputs
        #: The inputs, with types and shapes.
        self.parameters, _ = parameters_of(f.program)
        self._symbols = size_symbols_of(f.program)
        #: The function at sizes that no tensor tells, of the last calls.
        self._at: dict[tuple[int, ...], TorchFunction] = {}
        self._result: Any = None
        if len(f.outputs) > 1:
            self._result = result_type(f.outputs)
        self._op: Any = None
        self._direct: Any = None
        #: The elements of scalars, by position.
        self._scalars = {n: ELEMENTS[p.type] for n, p in enumerate(self.parameters) if not p.shape}
        self._is_sparse = any(p.pattern is not None for p in self.parameters)
        #: The positions of index arrays.
        self._indices = tuple(n for n, p in enumerate(self.parameters) if p.below is not None)
        if not f.is_open and not f.program.unbound_sizes() and f.inputs:
            operator = operator_of(f)
            self._op, self._direct = operator.op, operator.direct
            if self._indices:
                weakref.finalize(self, operator.forget).atexit = False
        #: Whether a call without names is the operator on its arguments.
        self._is_plain = self._direct is not None and not self._is_sparse and not self._indices

    @property
    def open_types(self) -> frozenset[str]:
        """The inputs whose types are those of tensors."""
        stated = self.function.type_parameters
        return frozenset(() if stated is None else stated.tensors)

    def __repr__(self) -> str:
        return f"<tadc.torch.{type(self).__name__} {typed_text(self.function)}>"

    def __str__(self) -> str:
        return str(self.function)

    def __reduce__(self) -> tuple[Any, ...]:
        return TorchFunction, (self.function,)

    def __deepcopy__(self, _memo: Any) -> TorchFunction:
        return self

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        """Evaluate. Raises ArgumentError (a CompileError and a ValueError) for all that is wrong."""
        __tracebackhide__ = True
        if is_traced() or compiler._is_compiling_flag:
            return self._traced(args, kwargs)
        try:
            tensors: Sequence[Any] | None = args
            if kwargs or not self._is_plain:
                tensors = self._operands(args, kwargs)
                if tensors is None:
                    return self._otherwise(args, kwargs)
            is_recorded = forward_ad._current_level >= 0 or requires_gradient(*tensors)
            found = self._op(*tensors) if is_recorded else self._direct(*tensors)
            return found if self._result is None else self._result(*found)
        except Exception as error:
            if isinstance(error, CompileError):
                leaving(error)
                raise
            other = error
        try:
            return self._explained(args, kwargs, other)
        except Exception as error:
            leaving(error)
            raise

    def _traced(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """What `torch.compile` and `torch.export` see: the operator alone."""
        given = len(args) + len(kwargs)
        if self._op is None or (self._is_sparse and given < len(self.inputs)):
            # What traces takes no error of tadc.
            raise TypeError(self._not_in_a_graph())
        if kwargs:
            args = (*args, *[kwargs[name] for name in self.inputs[len(args) :]])
        if self._scalars:
            args = tuple(self._scalar(n, value) for n, value in enumerate(args))
        if self._indices:
            args = self._with_indices(args)
        found = self._op(*args)
        return found if self._result is None else self._result(*found)

    def _not_in_a_graph(self) -> str:
        """Why a graph takes no call; a sparse tensor is nothing that PyTorch lets a graph look at."""
        named = ", ".join(f"{name!r}: …" for name in self.function.program.unbound_sizes())
        given = [f"{{{named}}}"] if named else []
        if self.function.type_parameters is not None:
            given.append("dtype='f32'")
        made = f"g = f.at({', '.join(given)}).torch" if given else "g = f.torch"
        if not self._is_sparse:
            what = "types" if self.function.type_parameters is not None else "sizes"
            text = f"error[TAD0501]: the {what} of a function in a graph come from its tensors"
            return f"{text}: write {made} outside of it"
        return (
            "error[TAD0504]: no graph of PyTorch takes a sparse tensor: outside of it make "
            f"S = A.to_sparse_coo().coalesce() and {made}, and pass S.indices()[0].clone(), …, S.values() "
            f"for {', '.join(self.inputs)}"
        )

    def _with_indices(self, args: Sequence[Any]) -> tuple[Any, ...]:
        """Arguments whose index arrays are of 32 bits."""
        return tuple(index_tensor(a) if n in self._indices else a for n, a in enumerate(args))

    def _scalar(self, position: int, value: Any) -> Any:
        """A number as a tensor, where the program has a scalar."""
        element = self._scalars.get(position)
        if element is None or isinstance(value, torch.Tensor):
            return value
        return torch.full((), value, dtype=element, device="cpu")

    @public
    def module(self, **parameters: Any) -> FunctionModule:
        """A `torch.nn.Module` that holds some inputs as parameters; it is called with the others.

        Each is given by name: a tensor with its first values; a `torch.nn.Buffer`, which is kept and not
        trained; or a shape, for values evenly between -1/sqrt(n) and 1/sqrt(n), n being the last extent, and
        0 where there are fewer than two dimensions.

        Raises UsageError for names that are no inputs, and values that do not fit.
        """
        return FunctionModule(self, parameters)

    def _operands(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Sequence[Any] | None:
        """What the operator takes in a call; None where a call is not the operator's as it stands."""
        if self._direct is None or (self._is_sparse and any(map(is_sparse, (*args, *kwargs.values())))):
            return None
        values = by_position(self.inputs, args, kwargs) if kwargs else args
        return values if values is None or not self._indices else self._with_indices(values)

    def _otherwise(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A call with sizes or sparse tensors, or of a function whose types or sizes are told otherwise."""
        if self.function.is_open:
            return self.function.at_call(args, kwargs).torch(*args, **kwargs)
        if self._is_sparse and any(map(is_sparse, (*args, *kwargs.values()))):
            return uncompiled(TorchFunction._sparse)(self, args, kwargs)
        call = read_call(self._symbols, args, kwargs, TENSORS)
        sizes = self._symbols.values(call.shapes, call.sizes)
        if self._direct is not None:
            return self(*call.arrays)
        return self._at_sizes({name: sizes[name] for name in self._symbols.untold}, call)

    def _explained(self, args: tuple[Any, ...], kwargs: dict[str, Any], refused: Exception) -> Any:
        """What a call gives that PyTorch refused: an error that says why, or results if it can be done."""
        if found := error_within(refused):
            raise found from None
        if self.function.is_open:
            raise refused
        if not self._is_sparse and any(map(is_sparse, (*args, *kwargs.values()))):
            return self._sparse(args, kwargs)
        symbols = self._symbols
        call = read_call(symbols, args, kwargs, TENSORS)
        if any(made is not value for made, value in zip(call.arrays, call.values, strict=True)):
            return self(*call.arrays)
        require_one_mesh(self.parameters, call.arrays)
        sizes = symbols.values(call.shapes, call.sizes)
        if "has no meaning" in str(refused) and sizes:
            return self._at_sizes(sizes, call)
        if "too little memory" in str(refused):
            raise ArgumentError([said("no memory")]) from None
        if any(map(is_divided, call.arrays)):
            raise refused_in_a_part(self.parameters, refused)
        require_indices(symbols, call)
        require_room(self.parameters, call.arrays)
        raise refused

    def _at_sizes(self, sizes: dict[str, int], call: ReadCall) -> Any:
        """A call of the function at some sizes; what is wrong is said of the program itself."""
        key = tuple(sizes.values())
        made = self._at.pop(key, None) or self.function.at(sizes).torch
        self._at[key] = made
        while len(self._at) > _KEPT:
            self._at.pop(next(iter(self._at)))
        if not made.inputs:
            return made._without_inputs()
        try:
            return made(*call.values)
        except ArgumentError:
            require_indices(self._symbols, call)
            raise

    def _sparse(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """A call with sparse tensors: one with what they store, of which PyTorch keeps the gradient."""
        program = self.function.program
        call = SparseCall(self.parameters, self._symbols.known, args, kwargs, no_sparse_tensor)
        untold = set(program.unbound_sizes())
        given = {n: v for n, v in call.kwargs.items() if n in self.inputs or n in untold or n in kwargs}
        given = {name: index_tensor(v) if isinstance(v, Relation) else v for name, v in given.items()}
        if not call.args and set(self.inputs) <= given.keys():
            # One that tensors tell, too: what a sparse one says is lost in what it stores.
            sizes = {name: size for name, size in call.kwargs.items() if name in program.sizes}
            self._symbols.values([np.shape(given[name]) for name in self.inputs], sizes)
        found = self(*call.args, **given)
        _, outputs = parameters_of(program)
        results = [
            call.result(p, t) for p, t in zip(outputs, found if self._result else (found,), strict=True)
        ]
        return self._result(*results) if self._result else results[0]

    def _without_inputs(self) -> Any:
        found = self.function()
        made = [torch.from_numpy(array) for array in (found if self._result else (found,))]
        return self._result(*made) if self._result else made[0]
