"""`context-mode try`: the main job on real input of this machine, each number checked."""
