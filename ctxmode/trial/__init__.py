"""`context-mode try`: the demo on real files of this machine, with every number checked."""
