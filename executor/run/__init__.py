"""One run in order: job, runner, capture, outcome, artifacts, and where its output goes."""

from base.lazy_exports import lend_names

__getattr__ = lend_names(__name__, __file__)
