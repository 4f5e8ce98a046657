"""How the elements of a map are computed: candidates, what they cost on a machine, and the cheapest."""
