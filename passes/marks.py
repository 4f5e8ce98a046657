"""Attributes of maps that say how they are to be computed."""

PARTS = "tad.parts"
"""The elements are long parts of a reduction: a tile has one of them, a thread a few."""

JOINED = "tad.joined"
"""Nothing long is left to do: vectors would be more code, and no faster."""
