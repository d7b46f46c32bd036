"""Compiled programs: compiled in a cell without the project, and stored."""
