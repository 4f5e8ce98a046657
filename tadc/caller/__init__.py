"""What meets the code that calls tadc: errors, warnings, files, notebooks, signatures."""
