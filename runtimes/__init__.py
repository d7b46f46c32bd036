"""Languages: rows of data for how each is started, compiled and probed."""

from base.lazy_exports import lend_names

__getattr__ = lend_names(__name__, __file__)
