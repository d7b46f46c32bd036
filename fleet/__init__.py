"""The same request on other machines, through an engine that exists."""

from base.lazy_exports import lend_names

__getattr__ = lend_names(__name__, __file__)
