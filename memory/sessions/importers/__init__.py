"""Importers for the transcripts of each host and form."""

from base.lazy_exports import lend_names

__getattr__ = lend_names(__name__, __file__)
