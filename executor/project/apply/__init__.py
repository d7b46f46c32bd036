"""Applying a plan: staged contents, a journal, and steps that can be repeated."""
