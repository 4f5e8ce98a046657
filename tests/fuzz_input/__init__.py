"""Inputs that are no programs, or nearly: all end in a program or in diagnostics."""
