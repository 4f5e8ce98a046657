"""How the Jacobian of a program, or the steps of a recurrence, are inverted: plans, and programs for it.

plans           components of a program, and the classes of their matrices
solutions       programs that solve with them
steps           chains of steps, which are undone one by one
inverse_plan    the plan of a program
run_backwards   gradients of recurrences whose states `inverse_steps` makes from the last one on
"""
