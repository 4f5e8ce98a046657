"""Tests of `tadc.inverse`, and what they share."""
