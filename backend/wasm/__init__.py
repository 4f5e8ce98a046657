"""WebAssembly: code of the CPU's backend, for a processor that browsers and servers have."""
