"""Contact with the calling code: errors, warnings, files, notebooks, signatures."""
