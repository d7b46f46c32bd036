"""Facts that are found again: a ledger that is only added to, branches, recall in a budget."""

from base.lazy_exports import lend_names

__getattr__ = lend_names(__name__, __file__)
