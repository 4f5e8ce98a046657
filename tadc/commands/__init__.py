"""The forms of the command: what each does, its options, its files and its messages."""
