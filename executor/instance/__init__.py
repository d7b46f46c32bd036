"""One server among several of a user: its lock, control socket, folder, and child processes."""

from base.lazy_exports import lend_names

__getattr__ = lend_names(__name__, __file__)
