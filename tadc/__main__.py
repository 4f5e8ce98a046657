"""`python -m tadc`."""

from tadc.cli import script

script()
