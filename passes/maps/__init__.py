"""Maps as data: read off the dialect, fused, put into chains and recurrences, and written back."""
