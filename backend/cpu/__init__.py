"""The CPU: of this machine, or of another for which code is written.

backend     what the CPU is among the backends
processors  CPUs by name: what LLVM calls them, and what they have
lowering    loops over buffers -> llvm dialect
"""
