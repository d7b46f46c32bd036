"""Installation of packages of each language, in two phases: a row for each ecosystem."""

from base.lazy_exports import lend_names

__getattr__ = lend_names(__name__, __file__)
