"""Sessions of agents: read from the hosts' transcripts, stored, and restored after a compaction."""

from base.lazy_exports import lend_names

__getattr__ = lend_names(__name__, __file__)
