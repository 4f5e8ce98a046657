"""The limit on the work of one question."""

import pytest

from tadc.lattice.affine import Affine, box
from tadc.lattice.effort import EliminationLimit, limited
from tadc.lattice.polyhedron import implied, irredundant
from tadc.lattice.solve import solve
from tests.lattice.support import fresh_names

i, j, k = (Affine.var(name) for name in "ijk")
FACTS = (*box("ijk", (5, 6, 7)),)


def test_a_question_beyond_the_limit_is_asked_again_with_a_larger_one():
    """What is cached is as it was before, wherever the work ended."""
    form = 3 * i - 2 * j + 4 * k + 11
    for entries in range(0, 400, 7):
        facts = (*FACTS, *box("n", (entries + 2,)))
        try:
            with limited(entries):
                implied(form, facts)
        except EliminationLimit:
            pass
        assert implied(form, facts)
        assert not implied(form - 2, facts)


def test_blocks_share_a_limit():
    def ask_often():
        for _ in range(100):
            with limited():
                irredundant(FACTS, ())

    ask_often()
    with pytest.raises(EliminationLimit), limited(50):
        ask_often()


def test_solve_is_limited():
    rows = [*FACTS, *box("p", (9,))]
    assert solve("ijk", rows, (), fresh_names()) is not None
    with pytest.raises(EliminationLimit), limited(10):
        solve("ijk", rows, (), fresh_names())
