"""A run's view of the project, and its changes there."""

from base.lazy_exports import lend_names

__getattr__ = lend_names(__name__, __file__)
