"""The variables of a tile that are no loop's: forms of indices are over them too."""

LANE = "lane"
"""The variable of the lanes of a vector."""

PARTS = "part"
"""The variable of the vectors that a reduction over lanes takes at once."""
