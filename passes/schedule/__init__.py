"""Choice of schedules for maps: candidates, their cost on a machine, and the cheapest."""
