"""The emulator of PTX."""
