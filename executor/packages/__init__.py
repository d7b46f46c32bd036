"""Packages in two phases: locked and fetched in a cell that reaches only registries, then bound.

`layers.py` makes a layer from a request, `phases.py` runs a phase in a cell, `store.py` stores
layers and locks, sealed by `seal.py`. The rows are in `runtimes/languages/*/packages.toml`.
"""

from base.lazy_exports import lend_names

__getattr__ = lend_names(__name__, __file__)
