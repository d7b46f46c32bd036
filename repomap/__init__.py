"""The map of a repository: its files, symbols and history; and packs of files for a task."""

from base.lazy_exports import lend_names

__getattr__ = lend_names(__name__, __file__)
