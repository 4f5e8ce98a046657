"""Functions, their derivatives, and how arrays come in and go out."""

from tadc.api.array_kinds import as_given
from tadc.api.batches import batched
from tadc.api.chosen_versions import ChosenVersions
from tadc.api.derivatives import jvp, value_and_vjp
from tadc.api.function import Function, function_of_text
from tadc.api.index_relations import relation
from tadc.api.load import function_in_memory
from tadc.api.recipes import Signature
from tadc.api.sparse_arguments import SparseCall
from tadc.api.sparse_kinds import is_sparse
from tadc.backend.runtime.call_sizes import SizeSymbols
from tadc.backend.runtime.frameworks import is_lazy
from tadc.backend.runtime.free_memory import available_memory
from tadc.backend.runtime.host_arrays import HOST, Array, bind
from tadc.backend.runtime.index_arguments import IndexArguments
from tadc.backend.runtime.kept_indices import KeptIndexArray, Relation
from tadc.backend.runtime.new_arrays import new_array
from tadc.backend.runtime.parameters import Parameter
from tadc.backend.runtime.python_names import result_type
from tadc.backend.runtime.read_calls import Door, read_call
from tadc.backend.runtime.thread_count import sharing_threads
from tadc.caller.python_signatures import typed_text
from tadc.compiler.kernel_interface import parameters_of, size_symbols_of
from tadc.passes.numpy_types import numpy_type

__all__ = [
    "HOST", "Array", "ChosenVersions", "Door", "Function", "IndexArguments", "KeptIndexArray",
    "Parameter", "Relation", "Signature", "SizeSymbols", "SparseCall", "as_given", "available_memory",
    "batched", "bind", "function_in_memory", "function_of_text", "is_lazy", "is_sparse", "jvp",
    "new_array", "numpy_type", "parameters_of", "read_call", "relation", "result_type", "sharing_threads",
    "size_symbols_of", "typed_text", "value_and_vjp",
]  # fmt: skip
