"""Boxes that stay for call after call, their interpreters, and runs in the background."""
