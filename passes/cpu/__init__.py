"""Maps to loops for the CPU: fusion, schedules, tiles of vectors, panels."""
