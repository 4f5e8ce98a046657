"""The primitives of schedules: each turns a nest into another that computes the same."""
