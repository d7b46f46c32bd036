"""A run's view of the project, and the changes that it left there."""
