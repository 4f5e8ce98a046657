"""Applications of tadc, which import only `tadc.toolkit` of the house.

inversion     `tadc.inverse`: products with the inverse of a Jacobian
undoing       how Jacobians and steps of recurrences are inverted: plans, and programs of the language
uncertainty   `tadc.propagate`: uncertainties of what is computed
dual          `tadc.dual`: derivatives of Python functions by dual numbers
"""
