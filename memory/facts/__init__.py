"""Facts that agents recall: an append-only ledger, branches, recall within a token budget."""

from base.lazy_exports import lend_names

__getattr__ = lend_names(__name__, __file__)
