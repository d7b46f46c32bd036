"""How packages of each language are had, in two phases: a row for each ecosystem."""

from base.lazy_exports import lend_names

__getattr__ = lend_names(__name__, __file__)
