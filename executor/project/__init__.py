"""What a run may do to the project: judged by name, and committed when the run is over."""
