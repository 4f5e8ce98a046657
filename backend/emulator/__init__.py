"""PTX executed by NumPy, all lanes of many blocks at once; no GPU, and no compiler either.

ptx_reader   PTX text -> kernels with instructions, labels, variables
inlining     calls of functions -> their bodies
global_memory  buffers; an access out of bounds, misaligned or of what was never written is an error
shared       the shared memory of blocks, which also tells accesses that a barrier should divide
arithmetic   what an instruction computes: integers, floats, conversions, each a table
lane_registers  registers of lanes, and operands read from them and written to them
decoding     an instruction -> what it does to lanes
meeting      barriers and shuffles: lanes that wait for others
execution    the order in which lanes run, and launches
counts       bytes, sectors, bank conflicts, instructions of each launch
library      CUDA's driver API over all this: `handles`, and `launching` one by one and as `graphs`
"""
