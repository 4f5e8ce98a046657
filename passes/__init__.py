"""Passes over the `tad` dialect: differentiation, delta cancellation, simplification, lowering."""
