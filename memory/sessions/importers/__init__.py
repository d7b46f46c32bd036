"""Importers: the hosts and forms whose transcripts are read."""

from base.lazy_exports import lend_names

__getattr__ = lend_names(__name__, __file__)
