"""The points of a tile, all of them or those in one turn."""

from __future__ import annotations

from tadc.passes.nest.tile import Tile

TILE = Tile(4, {"a": 2, "b": 3, "c": 2})


def test_points_of_a_turn_are_those_that_have_its_values() -> None:
    names = ("a", "b")
    every = list(TILE.points(names))
    assert len(every) == 6
    for turn in ({}, {"a": 1}, {"b": 2}, {"a": 0, "b": 1}, {"b": 1, "c": 1}):
        wanted = [point for point in every if all(point.get(n, k) == k for n, k in turn.items())]
        assert list(TILE.points(names, turn)) == wanted


def test_a_turn_of_other_variables_leaves_all_points() -> None:
    assert list(TILE.points(("c",), {"a": 1})) == [{"c": 0}, {"c": 1}]
