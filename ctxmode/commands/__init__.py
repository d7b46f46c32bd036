"""One verb of the command line a module: `add_arguments` declares, `run` does it."""
