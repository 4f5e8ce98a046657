"""Programs to loops: derivatives, rewrites of terms, maps and their fusion, schedules, nests of loops."""
