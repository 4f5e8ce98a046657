"""Programs with fewer operations: sums that are split, kept, shared or written out."""
