"""Tier C: programs in containers of a Docker engine, here or elsewhere."""

from base.lazy_exports import lend_names

__getattr__ = lend_names(__name__, __file__)
