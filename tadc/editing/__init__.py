"""Support for editors and notebooks: colours, a formatter, a language server, a magic."""
