"""Stores in SQLite files: opened, migrated, checked, copied once a day and restored."""

from base.lazy_exports import lend_names

__getattr__ = lend_names(__name__, __file__)
