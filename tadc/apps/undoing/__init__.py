"""How the Jacobian of a program, or the steps of a recurrence, are inverted: plans, and programs for it."""
