"""Static analysis of programs: their work, where they are 0, where gradients vanish."""
