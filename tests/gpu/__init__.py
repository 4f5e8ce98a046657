"""On a GPU of this machine, if there is one."""
