"""The CPU: of this machine, or of another for which code is written.

backend     what the CPU is among the backends
processors  CPUs by name: what LLVM calls them, and what they have
data_caches the caches of a core: of this machine, and usual ones
lowering    loops over buffers -> llvm dialect
math_calls  transcendental ops -> calls of our scalar functions, or LLVM intrinsics
linking     object bytes -> addresses in this process; `elf` reads them
jit         links code that calls the pool of threads, `thread_pool`
kept_code   compiles our own code beside kernels, and keeps it: the pool, `python_calls`
"""
