"""`tadc.relation`: index arrays that are checked and sorted once, not at every call."""

from __future__ import annotations

import operator
from dataclasses import replace
from typing import Any

import numpy as np

from tadc.api.framework_views import admit_relations
from tadc.backend.runtime.host_arrays import HOST
from tadc.backend.runtime.index_arguments import out_of_range
from tadc.backend.runtime.inspector import INDEX_LIMIT
from tadc.backend.runtime.kept_indices import Relation
from tadc.backend.runtime.parameters import Parameter
from tadc.caller.boundary import public, usage
from tadc.frontend.diagnostics import ArgumentError, Diagnostic
from tadc.frontend.dtypes import INDEX_TYPE


@public
def relation(indices: Any, below: int) -> Relation:
    """An index array to pass in the place of `indices`, whose elements are integers from 0 to `below - 1`.

    It has a copy of its own, of 32-bit integers, and keeps what calls find out: whether its elements are in
    range, and where each value stands. Another array is compared with the elements of the last call.
    `below` is the size in calls where nothing else tells it; where arrays do, the elements are below that.

    >>> import tadc
    >>> f = tadc.function("size N; dst: index[E] in N; x: f64[E]; y[n: N] = sum{e: dst[e] = n} (x[e])")
    >>> edges = tadc.relation([2, 0, 2], 3)
    >>> edges
    <tadc.Relation of shape (3,) in 3>
    >>> f(edges, [1, 2, 3], N=3)
    array([2., 0., 4.])

    Raises UsageError for a bound that is no integer from 0 to 2**31, ArgumentError for elements that are no
    integers (TAD0504) or out of range (TAD0511).
    """
    try:
        bound = operator.index(below)
    except TypeError:
        raise usage(f"`below` is an integer, not {type(below).__name__}") from None
    if not 0 <= bound <= INDEX_LIMIT:
        raise usage(f"`below` is at least 0 and at most 2**31, not {bound}")
    array = np.asarray(indices) if isinstance(indices, Relation) else indices
    parameter = Parameter("indices", INDEX_TYPE, np.shape(array), bound)
    found = HOST.seen(parameter, array)
    if isinstance(found, Diagnostic):
        raise ArgumentError([replace(found, notes=[])])
    admit_relations()
    made = Relation(found.copy(), bound)
    if made.kept.largest >= bound:
        wrong = out_of_range(parameter, found, bound)
        raise ArgumentError([replace(wrong, notes=wrong.notes[:-1])])
    return made
