"""Scalar functions in LLVM IR text: no library of the system computes `exp` or `sin`, but on a GPU libdevice.

scalar_functions  all of them, by name and type
branches          those of them that branch, for huge arguments
fast_functions    cheaper forms for `--fast-math`
float_formats     the bits of f32 and f64
and a module for each family: exponential, logarithm, power, trigonometry, hyperbolic, …
"""
