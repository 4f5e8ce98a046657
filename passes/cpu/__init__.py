"""Functions for the nests of a program on a CPU: their memory, calls, recurrences, and ranges for threads."""
