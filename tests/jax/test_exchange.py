"""What devices get of others, against NumPy's slices."""

from __future__ import annotations

import numpy as np
import pytest

from tadc.jax.exchange import Exchange


def done(exchange: Exchange, have: list[range], need: list[range], array: np.ndarray) -> None:
    """Move pieces as devices do, and compare."""
    own = [np.pad(array[h.start : h.stop], (0, exchange.own - len(h))) for h in have]
    if exchange.is_own or exchange.everything:
        return
    got = [np.full(exchange.length + exchange.spare, np.nan) for _ in have]
    for r in exchange.rounds:
        assert len({s for s, _ in r.pairs}) == len({t for _, t in r.pairs}) == len(r.pairs)
        sent = dict((t, s) for s, t in r.pairs)
        for device, end in enumerate(r.ends):
            start = r.starts[sent[device]] if device in sent else 0
            piece = own[sent[device]][start : start + r.length] if device in sent else np.zeros(r.length)
            got[device][end : end + r.length] = piece
    for n, found in zip(need, got, strict=True):
        np.testing.assert_array_equal(found[: len(n)], array[n.start : n.stop])


@pytest.mark.parametrize("devices", [2, 5, 8])
def test_random_boxes(devices: int) -> None:
    rng = np.random.default_rng(devices)
    for _ in range(200):
        extent = int(rng.integers(devices, 30))
        chunk = -(-extent // devices)
        have = [range(min(n * chunk, extent), min(n * chunk + chunk, extent)) for n in range(devices)]
        sides = np.sort(rng.integers(0, extent + 1, (devices, 2)))
        need = [range(int(a), int(b)) for a, b in sides]
        exchange = Exchange(have, need)
        done(exchange, have, need, rng.normal(size=extent))
        assert exchange.moved < (devices - 1) * chunk or exchange.length <= chunk or exchange.everything


def test_rounds_are_few() -> None:
    have = [range(4 * n, 4 * n + 4) for n in range(8)]
    window = [range(max(0, h.start - 6), min(32, h.stop + 1)) for h in have]
    exchange = Exchange(have, window)
    done(exchange, have, window, np.arange(32.0))
    assert exchange.moved == 1 + 2 + 4
    turned = Exchange(have, have[::-1])
    assert [sorted(r.pairs) for r in turned.rounds] == [[(n, 7 - n) for n in range(8)]]
    assert Exchange(have, [range(32)] * 8).everything
    assert Exchange(have, have).is_own
