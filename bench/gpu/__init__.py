"""Tests and times on a GPU, from bundles: the machine needs Python, NumPy, the driver, and the peers to time.

`python -m bench.gpu write FOLDER` writes the bundles, where the compiler is. `test` and `bench` run them, and
write them before if they can.
"""
