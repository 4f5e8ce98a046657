"""Loop nests as data."""
