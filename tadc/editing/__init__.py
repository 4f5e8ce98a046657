"""What editors and notebooks need: colours, a formatter, a language server, a magic."""
