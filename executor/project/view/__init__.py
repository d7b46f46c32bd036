"""What a run sees of the project, and what it left changed there."""
