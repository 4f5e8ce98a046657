"""Recurrences over whole states, undone step by step."""
