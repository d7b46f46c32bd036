"""Requests of the executor to a back end: the protocols that cells and containers implement."""

from base.lazy_exports import lend_names

__getattr__ = lend_names(__name__, __file__)
