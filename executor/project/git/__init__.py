"""A run's work in repositories, carried to the host's by git itself."""
