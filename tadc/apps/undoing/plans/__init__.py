"""Programs as components: which statements are inverted together, and what their matrices look like."""
