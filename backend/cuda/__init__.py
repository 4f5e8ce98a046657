"""CUDA: kernels are compiled to PTX, and run on a GPU through its driver.

backend        what CUDA is among the backends
architectures  GPUs by LLVM's names
lowering       kernels of the gpu dialect -> nvvm dialect
ptx            LLVM IR text of a gpu module -> PTX -> cubin
device_functions  our scalar functions under the names of libdevice
approximate    instructions that `--fast-math` allows
toolkit        where ptxas and libdevice are
images         kernels as bytes on disk
listing        what runs on this machine

What runs kernels imports NumPy and ctypes only, no MLIR and no LLVM:

api         the functions of libcuda that are called, their types, names of errors
driver      these functions as methods that raise diagnostics; whether there is a GPU, and why not
device      a GPU: its context, memory, and the modules loaded into it
device_arrays  arrays that lie on a GPU: ours, and those of others
gpu_kernel  a compiled program as a callable: its arguments, its plans, its results
arguments   arrays of a call, and what is wrong with them
call        one call: where it runs, and what it reads; `results` is what it writes
repeats     calls like one before, by `glances` at their arrays
prepared    a call for given sizes on a stream: its memory and its launches, `launch_graphs` of many
bundles     programs that `tadc --bundle` wrote
manifest    what a kernel needs to know of its PTX, also as JSON
"""
