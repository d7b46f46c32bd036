"""Storage for what stays out of the context window: detect, chunk, store, search."""

from base.lazy_exports import lend_names

__getattr__ = lend_names(__name__, __file__)
