"""Maps of the dialect, as the lowerings to the CPU and to the GPU see them."""
