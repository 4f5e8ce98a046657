"""AMD's GPUs: kernels to assembly and object code. Nothing here runs them.

backend        what ROCm is among the backends
architectures  GPUs by LLVM's names, and lanes of a wave
lowering       kernels of the gpu dialect -> rocdl dialect
code           LLVM IR text -> assembly, object code
device_functions  scalar functions under the names of ROCm's device library
"""
