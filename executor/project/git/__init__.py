"""A run's work in repositories, transferred to the host's by git itself."""
