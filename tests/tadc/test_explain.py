"""`f.explain(i=3)`, against derivatives and against index sets by hand."""

import numpy as np
import pytest

import tadc

SLIDING = "x: f64[N]; w: f64[K]; y[i: N - K + 1] = sum{k} (x[i + k] * w[k])"


def test_a_sliding_sum() -> None:
    f = tadc.function(SLIDING)
    x, w = np.arange(6.0), np.array([2.0, 3, 5])
    found = f.explain(i=2, x=x, w=w)
    assert [str(read) for read in found.reads] == [f"x[{2 + k}]" for k in range(3)] + [
        f"w[{k}]" for k in range(3)
    ]
    assert found.value == f(x, w)[2]
    for name in "xw":
        rows = [read for read in found.reads if read.tensor == name]
        assert sum(read.contribution or 0 for read in rows) == found.value
    assert [read.slope for read in found.reads] == [2, 3, 5, 2, 3, 4]
    assert "y[2] = 33" in str(found)
    assert "slope * value" in str(found)


def test_reads_through_tensors_in_between_are_counted() -> None:
    f = tadc.function("x: f64[8]; let s[i: 7] = x[i] + x[i + 1]; y[i: 6] = s[i] * s[i + 1]; z = x[0]")
    assert {str(r): r.times for r in f.explain("y", i=3).reads} == {"x[3]": 1, "x[4]": 2, "x[5]": 1}
    scan = tadc.function("x: f64[T]; scan{t} y[t] = if {t = 0} then (x[0]) else (y[t - 1] + x[t])")
    assert len(scan.explain(t=300, T=400).reads) == 301


def test_index_arrays_and_conditions() -> None:
    f = tadc.function("size N; src: index[E] in N; x: f64[E]; y[n: N] = sum{e: src[e] = n} (x[e]**2)")
    found = f.explain(n=2, src=[2, 0, 2], x=[1.0, 2, 3], N=3)
    assert [(str(r), r.slope) for r in found.reads] == [("x[0]", 2), ("x[2]", 6)]
    rows = tadc.function(
        "ptr: index[N + 1] in E + 1 increasing; x: f64[E];"
        "y[n: N] = sum{q: ptr[n] <= q and q < ptr[n + 1]} (x[q])"
    )
    assert [r.place for r in rows.explain(n=1, ptr=[0, 2, 4], E=4).reads] == [(2,), (3,)]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"x": np.ones(5), "w": np.ones(2)}, "needs `i`, an integer from 0 to 3"),
        ({"i": 4, "x": np.ones(5), "w": np.ones(2)}, "from 0 to 3, not 4"),
        ({"i": 0, "N": 5}, "needs the size `K`"),
        ({"j": 0, "N": 5, "K": 2}, "`j` is no index of `y`, input or size"),
    ],
)
def test_mistakes(given: dict[str, object], words: str) -> None:
    with pytest.raises(tadc.UsageError) as error:
        tadc.function(SLIDING).explain(**given)
    assert words in str(error.value)


def test_an_output_is_named_where_there_are_several() -> None:
    f = tadc.function("x: f64; y = x; z = 2*x")
    with pytest.raises(tadc.UsageError, match="several outputs"):
        f.explain(x=1)
    assert f.explain("z", x=1).reads[0].slope == 2


def test_types_and_sparse_tensors() -> None:
    f = tadc.function("x: T[N]; y[i] = 3*x[i]")
    assert [r.slope for r in f.explain(i=1, x=np.ones(3, np.float32)).reads] == [3]
    product = tadc.function(
        "size N; row: index[E] in N; col: index[E] in M; A: f64[N, M] at (row, col); x: f64[M];"
        "y[i: N] = sum{j} (A[i, j] * x[j])"
    )
    found = product.explain(i=0, row=[0, 1, 0], col=[1, 1, 0], A=[2.0, 3, 4], x=[1.0, 5], N=2)
    assert [(str(r), r.slope) for r in found.reads] == [("A[0]", 5), ("A[2]", 1), ("x[0]", 4), ("x[1]", 2)]


def test_index_arrays_that_are_wrong() -> None:
    f = tadc.function("s: index[E] in E; x: f64[E]; y[e: E] = x[s[s[e]]]")
    with pytest.raises(tadc.UsageError, match="out of range"):
        f.explain(e=0, s=[7, 0])
