"""What blocks cost, against what one counts by hand, and where more workers gain nothing."""

import pytest

import tadc

SLIDING = "x: f64[N]; w: f64[3]; y[i: N - 2] = sum{k} (w[k]*x[i + k])"
PRODUCT = "a: f64[N, K]; b: f64[K, M]; c[i, j] = sum{k} (a[i, k]*b[k, j])"


def test_halos_of_a_window() -> None:
    """Two places of 8 bytes of the next block for each block but the last, whose own they are."""
    found = tadc.function(SLIDING).block(i=100).traffic(N=1002)
    stage = found.stages[0]
    assert (stage.blocks, stage.moved, stage.copied, stage.written) == (10, 9 * 2 * 8, 3 * 8, 1000 * 8)
    assert stage.own == 1002 * 8
    assert found.memory == 8 * (102 + 3 + 100)


def test_gradients_have_parts_of_sums() -> None:
    f = tadc.value_and_vjp(tadc.function(SLIDING))
    stage = f.block(i=100).traffic(N=1002).stages[0]
    assert stage.joined == stage.blocks * 3 * 8
    assert (
        stage.operations == tadc.statistics(tadc.function(SLIDING), sizes={"N": 1002}).gradients.work.weighted
    )


def test_rows_and_columns_of_a_product() -> None:
    """The first block of a row owns its rows of a, others get them from there."""
    stage = tadc.function(PRODUCT).block(i=10, j=20).traffic(N=40, K=7, M=60).stages[0]
    assert stage.blocks == 12
    assert stage.own == 8 * 7 * (40 + 60)
    assert stage.moved == 8 * 7 * (40 * 2 + 60 * 3)


def test_more_workers_than_a_scheduler_serves() -> None:
    """With a block for each of 1,000 workers, whoever hands them out is what takes time."""
    found = tadc.function(SLIDING).block(i=10**6).traffic(workers=1000, N=10**9)
    seconds = found.simulated((1, 10, 1000), seconds_per_task=1e-3, operations_per_second=1e9)
    assert seconds[1] > 6
    assert 1 < seconds[1000] < 1.2
    assert found.operations < 10**7


def test_the_table() -> None:
    text = str(tadc.function(SLIDING).block().traffic(workers=1000, N=10**9))
    assert "blocks on 1,000 workers" in text
    assert "15 MiB" in text


def test_too_many_blocks() -> None:
    with pytest.raises(tadc.CompileError, match="longer blocks"):
        tadc.function(SLIDING).block(i=10).traffic(N=10**9)
    with pytest.raises(tadc.CompileError, match="`N` is missing"):
        tadc.function(SLIDING).block(i=10).traffic()
