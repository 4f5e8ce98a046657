"""Tools for applications on tadc: all that those of `tadc/apps/` import, and third parties may.

language     programs as data: definitions, terms, index forms, integer sets
transforms   derivatives and rewrites of programs
running      functions on arrays
reporting    errors, warnings, tables
"""
