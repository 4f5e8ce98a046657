"""Measures compiled kernels against peers: `make bench`."""
