"""The loop nest of a map: data, primitives on it, and what makes code of it."""
