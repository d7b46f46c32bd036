"""What `context-mode pages` does, by what it is for."""
