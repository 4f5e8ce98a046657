"""Terms and programs: arithmetic on them, what they cost, compute and read."""
