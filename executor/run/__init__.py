"""One run in order: job, runner, capture, outcome, artifacts, and the destination of its output."""

from base.lazy_exports import lend_names

__getattr__ = lend_names(__name__, __file__)
