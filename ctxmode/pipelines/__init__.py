"""Pipelines of sandboxed steps in a file: loading, ordering, running, caching, reports."""
