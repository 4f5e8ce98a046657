"""The programs that a component is inverted with, in the language itself, and those of a whole plan."""
