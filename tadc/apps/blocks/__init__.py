"""Blocks of programs: `f.block(i=…)`, a function of one block of f's results, and what it reads.

axes             which dimensions and sums go along with an index
batch_axes       along which indices a block is computed by the function itself
block_stages     a program as stages, of which each needs whole results of those before it
reach            which places are read, in forms of sizes
block_program    the program of a block of a stage
places_read      which places are read through index arrays: sets that an inspector lists
listed_places    which dimensions have lists of places, and which indices run over them
program_of_lists the program of a block over lists
block_places     places of a dimension: a run, or a list
domain_points    the integer points of domains with index arrays
place_inspector  lists places, and says where in lists the elements of index arrays stand
block_plan       which blocks there are, and their boxes
counted_operations   the operations of a program with index arrays, counted
traffic          what blocks cost: bytes moved, memory, operations
box_certificate  why boxes are enough, and the least
box_pictures     pictures of boxes
joining          parts of sums that are divided
block_lengths    which indices are divided, and how long blocks are
block_tasks      what tasks do, wherever they run: a block, a piece of a chunk, a join of two parts
mapped_files     arrays in files, which each process maps
chunked_tensors  tensors in chunks, and which of these have the places of a box
inner_parts      which places of a block read one chunk of each argument
block_calls      calls: arguments that are read in slices, sparse arrays, sizes
block_function   what `f.block` gives
"""

from tadc.apps.blocks.block_function import BlockFunction, Divide
from tadc.toolkit.running import Function

__all__ = ["BlockFunction", "Divide", "made"]


def made(f: Function) -> Divide:
    """What `f.block` is."""
    return Divide(f)
