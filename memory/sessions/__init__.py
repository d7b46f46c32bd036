"""Sessions of agents: read from the hosts' own transcripts, kept, and back after a compaction."""

from base.lazy_exports import lend_names

__getattr__ = lend_names(__name__, __file__)
