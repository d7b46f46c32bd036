"""What a run was refused: by what, how certain that is, and what grants it."""
