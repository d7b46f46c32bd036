"""The same request on other machines, through an existing engine."""

from base.lazy_exports import lend_names

__getattr__ = lend_names(__name__, __file__)
