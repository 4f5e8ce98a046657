"""What schedules are made of: each step of one turns a nest into another that computes the same."""
