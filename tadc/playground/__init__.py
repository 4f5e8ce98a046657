"""The playground of the site: what a page asks of the compiler, in plain Python, and its answers.

answers         what a page shows of a text: errors, the checked program, gradients, …
wasm_kernels    modules of WebAssembly from terms
wasm_code       their instructions and sections as bytes
domain_pictures domains of reads and what an element of a gradient gathers, as SVG
"""
