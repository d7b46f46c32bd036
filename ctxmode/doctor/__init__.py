"""Checks of this machine: what works, what does not, and which command fixes it."""
