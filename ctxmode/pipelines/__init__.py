"""Pipelines of sandboxed steps, described in a file: loaded, ordered, run, remembered, reported."""
