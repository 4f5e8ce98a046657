"""What is known of a program without running it: its work, where it is 0, where gradients vanish."""
