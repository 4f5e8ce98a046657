"""The stages of the compiler: from a text to code, one after the other."""
