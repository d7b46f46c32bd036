"""What `context-mode memory` does, by what it is for."""
