"""Maps to kernels for a GPU: plans of threads, shared memory, launches."""
