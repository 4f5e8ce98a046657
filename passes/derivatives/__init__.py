"""Programs of derivatives: the tables of rules, both modes, and deltas out of sums."""
