"""One request becomes one result: guard, place in a sandbox, run, collect, keep."""

from base.lazy_exports import lend_names

__getattr__ = lend_names(__name__, __file__)
