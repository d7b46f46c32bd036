"""Boxes that stay for several calls, their interpreters, and runs in the background."""
