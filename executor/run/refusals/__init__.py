"""Refusals of a run: what refused it, how certain that is, and what grants it."""
