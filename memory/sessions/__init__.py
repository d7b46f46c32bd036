"""Sessions of agents: read from the hosts' own transcripts, kept, and back after a compaction."""
